//! Characters, escapes and properties, outside of sets and, where they are the same there, inside.

use regex_syntax::hir::ClassUnicode;

use super::super::node::{Assert, Node};
use super::super::{RegexError, class};
use super::{Flags, Parser};

impl Parser<'_> {
    /// Reads one character, set or assertion.
    pub(super) fn atom(&mut self, flags: Flags) -> Result<Node, RegexError> {
        let start = self.at;
        Ok(match self.next().expect("the caller has seen it") {
            '.' => Node::Set(if flags.dot_all {
                class::negated(class::empty())
            } else {
                class::negated(class::single('\n'))
            }),
            '^' => Node::Assert(Assert::LineStart),
            '$' => Node::Assert(Assert::LineEnd),
            '[' => {
                let set = self.set(1)?;
                Node::Set(self.folded(set, flags, start)?)
            }
            '\\' => return self.escape(flags, start),
            '*' | '+' | '?' => {
                self.at = start;
                return Err(self.syntax("there is nothing to repeat"));
            }
            '{' if self.interval().is_some() => {
                self.at = start;
                return Err(self.syntax("there is nothing to repeat"));
            }
            character => self.literal(character, flags, start)?,
        })
    }

    fn literal(&mut self, character: char, flags: Flags, start: usize) -> Result<Node, RegexError> {
        if !flags.ignore_case {
            return Ok(Node::Char(character));
        }
        let set = self.folded(class::single(character), flags, start)?;
        Ok(match set.ranges() {
            [range] if range.start() == range.end() => Node::Char(character),
            _ => Node::Set(set),
        })
    }

    /// Adds what differs in case alone, where that is known to be what Oniguruma adds.
    fn folded(
        &mut self,
        mut set: ClassUnicode,
        flags: Flags,
        start: usize,
    ) -> Result<ClassUnicode, RegexError> {
        if !flags.ignore_case {
            return Ok(set);
        }
        // Letters beyond ASCII may be folded to several characters, or be part of several that are folded to one.
        let mut letters = class::named("Alphabetic").unwrap_or_else(class::empty);
        letters.union(&class::named("gc=M").unwrap_or_else(class::empty));
        letters.difference(&class::range('\0', '\u{7f}'));
        letters.intersect(&set);
        if !letters.ranges().is_empty() {
            self.at = start;
            return Err(self.unsupported("ignoring the case of letters beyond ASCII"));
        }
        set.case_fold_simple();
        Ok(set)
    }

    /// Reads what follows a `\` outside of sets.
    fn escape(&mut self, flags: Flags, start: usize) -> Result<Node, RegexError> {
        let Some(letter) = self.next() else {
            return Err(self.syntax("it ends with a `\\`"));
        };
        if let Some(set) = class::shorthand(letter) {
            let set = match letter {
                'w' => class::word_outside_sets().unwrap_or(set),
                'W' => class::word_outside_sets().map_or(set, class::negated),
                _ => set,
            };
            return Ok(Node::Set(self.folded_shorthand(set, flags, start)?));
        }
        Ok(match letter {
            'A' => Node::Assert(Assert::TextStart),
            'z' => Node::Assert(Assert::TextEnd),
            'Z' => Node::Assert(Assert::LastLineEnd),
            'b' => Node::Assert(Assert::WordBoundary),
            'B' => Node::Assert(Assert::NoWordBoundary),
            'p' | 'P' => {
                let from = self.at;
                let mut set = self.property(letter == 'P', start)?;
                let name = self.pattern[from..self.at].trim_matches(['{', '}', '^']);
                if name.eq_ignore_ascii_case("word") {
                    let is_negated = (letter == 'P') != self.pattern[from..].starts_with("{^");
                    let words = class::word_outside_sets().unwrap_or_else(class::empty);
                    set = if is_negated {
                        class::negated(words)
                    } else {
                        words
                    };
                }
                Node::Set(self.folded_shorthand(set, flags, start)?)
            }
            'R' => {
                let line_end = class::union(&[
                    class::range('\n', '\r'),
                    class::single('\u{85}'),
                    class::range('\u{2028}', '\u{2029}'),
                ]);
                Node::Atomic(Box::new(Node::Alternatives(vec![
                    Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]),
                    Node::Set(line_end),
                ])))
            }
            _ => {
                let character = self.escaped_char(letter, start)?;
                self.literal(character, flags, start)?
            }
        })
    }

    /// Lets sets of many letters pass only where case is heeded.
    fn folded_shorthand(
        &mut self,
        set: ClassUnicode,
        flags: Flags,
        start: usize,
    ) -> Result<ClassUnicode, RegexError> {
        if !flags.ignore_case {
            return Ok(set);
        }
        let mut folded = set.clone();
        folded.case_fold_simple();
        if folded != set {
            self.at = start;
            return Err(self.unsupported("ignoring the case of letters beyond ASCII"));
        }
        self.folded(set, flags, start)
    }

    /// Returns the character that `\` and `letter`, which has been read, stand for in and outside of sets.
    pub(super) fn escaped_char(&mut self, letter: char, start: usize) -> Result<char, RegexError> {
        Ok(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            'e' => '\u{1b}',
            'x' if self.eat("{") => {
                let character = self.hexadecimal(1, 8)?;
                if !self.eat("}") {
                    return Err(self.unsupported("this form of `\\x{…}`"));
                }
                character
            }
            // Two digits are a byte, which is a character up to 7F alone.
            'x' => match self.hexadecimal(1, 2)? {
                character if character.is_ascii() => character,
                _ => return Err(self.unsupported("`\\x` with a byte above 7F")),
            },
            'u' => self.hexadecimal(4, 4)?,
            letter if letter.is_ascii_alphanumeric() => {
                self.at = start;
                return Err(self.unsupported(format!("`\\{letter}`")));
            }
            character => character,
        })
    }

    fn hexadecimal(&mut self, min: usize, max: usize) -> Result<char, RegexError> {
        let digits = self
            .rest()
            .bytes()
            .take(max)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        let code = u32::from_str_radix(&self.rest()[..digits], 16)
            .ok()
            .filter(|_| digits >= min);
        let character = code
            .and_then(char::from_u32)
            .ok_or_else(|| self.syntax("a code is not that of a character"))?;
        self.at += digits;
        Ok(character)
    }

    /// Reads `{name}`.
    pub(super) fn property(
        &mut self,
        mut negated: bool,
        start: usize,
    ) -> Result<ClassUnicode, RegexError> {
        let name_end = self.rest().find('}').filter(|_| self.eat("{"));
        let Some(name_end) = name_end else {
            self.at = start;
            return Err(self.unsupported("`\\p` without `{…}`"));
        };
        let name_end = self.at + name_end - 1;
        negated ^= self.eat("^");
        let name = self.pattern.get(self.at..name_end).unwrap_or_default();
        let Some(set) = class::property(name) else {
            return Err(self.unsupported(format!("the property `{name}`")));
        };
        self.at = name_end + 1;
        Ok(if negated { class::negated(set) } else { set })
    }
}
