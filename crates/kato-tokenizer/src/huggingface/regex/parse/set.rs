//! Sets in brackets, with ranges, classes and intersections.

use regex_syntax::hir::ClassUnicode;

use super::super::{MAX_DEPTH, RegexError, class};
use super::Parser;

/// A part of a set.
enum Item {
    Char(char),
    Set(ClassUnicode),
}

impl Parser<'_> {
    /// Reads a set after its `[`.
    pub(super) fn set(&mut self, depth: usize) -> Result<ClassUnicode, RegexError> {
        if depth > MAX_DEPTH {
            return Err(RegexError::TooLarge);
        }
        let negated = self.eat("^");
        if self.rest().starts_with(']') {
            return Err(self.unsupported("a set that begins with `]`"));
        }
        let mut all: Option<ClassUnicode> = None;
        let mut set = class::empty();
        loop {
            let start = self.at;
            let Some(next) = self.next() else {
                return Err(self.syntax("a set has no end"));
            };
            let item = match next {
                ']' => break,
                '[' if self.rest().starts_with(':') && self.posix_end().is_some() => {
                    Item::Set(self.posix()?)
                }
                '[' => Item::Set(self.set(depth + 1)?),
                '&' if self.eat("&") => {
                    if set.ranges().is_empty() {
                        return Err(self.unsupported("`&&` behind nothing"));
                    }
                    intersect(&mut all, std::mem::replace(&mut set, class::empty()));
                    if self.rest().starts_with(']') {
                        return Err(self.unsupported("`&&` at the end of a set"));
                    }
                    continue;
                }
                '\\' => self.set_escape(start)?,
                character => Item::Char(character),
            };
            let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            match item {
                Item::Set(_) if is_range => {
                    return Err(self.unsupported("`-` behind a set inside a set"));
                }
                Item::Set(other) => set.union(&other),
                Item::Char('-') if is_range || (start > 0 && !self.is_first_or_last(start)) => {
                    return Err(self.unsupported("`-` in the middle of a set"));
                }
                Item::Char(first) if is_range => {
                    set.union(&class::range(first, self.range_end(first)?));
                }
                Item::Char(character) => set.union(&class::single(character)),
            }
        }
        intersect(&mut all, set);
        let set = all.unwrap_or_else(class::empty);
        Ok(if negated { class::negated(set) } else { set })
    }

    /// Reads what follows the first character of a range inside of a set; returns the last one.
    fn range_end(&mut self, first: char) -> Result<char, RegexError> {
        self.at += 1;
        let start = self.at;
        let last = match self.next() {
            Some('\\') => match self.set_escape(start)? {
                Item::Char(last) => Some(last),
                Item::Set(_) => None,
            },
            last => last.filter(|&last| last != '['),
        };
        match last {
            None => Err(self.unsupported("a range that ends with a set")),
            Some(last) if last < first => Err(self.syntax("a range ends before it begins")),
            Some(last) => Ok(last),
        }
    }

    /// Returns whether the `-` at `start` stands at one end of a set.
    fn is_first_or_last(&self, start: usize) -> bool {
        let before = &self.pattern[..start];
        self.rest().starts_with(']')
            || before.ends_with('[')
            || before.ends_with("[^")
            // Written with a backslash it is a character like others.
            || self.pattern[start..].starts_with('\\')
    }

    /// Reads what follows a `\` inside of a set.
    fn set_escape(&mut self, start: usize) -> Result<Item, RegexError> {
        let Some(letter) = self.next() else {
            return Err(self.syntax("it ends with a `\\`"));
        };
        if let Some(set) = class::shorthand(letter) {
            return Ok(Item::Set(set));
        }
        Ok(match letter {
            'p' | 'P' => Item::Set(self.property(letter == 'P', start)?),
            'b' => Item::Char('\u{8}'),
            _ => Item::Char(self.escaped_char(letter, start)?),
        })
    }

    fn posix_end(&self) -> Option<usize> {
        let end = self.rest().find(":]")?;
        let name = &self.rest()[1..end.max(1)];
        name.chars()
            .all(|character| character.is_ascii_alphabetic() || character == '^')
            .then_some(end)
    }

    /// Reads `:name:]`.
    fn posix(&mut self) -> Result<ClassUnicode, RegexError> {
        let end = self.posix_end().unwrap_or(1);
        let name = &self.rest()[1..end];
        let plain = name.trim_start_matches('^');
        let Some(set) = class::posix(plain) else {
            return Err(self.unsupported(format!("`[:{name}:]`")));
        };
        let negated = plain.len() < name.len();
        self.at += end + 2;
        Ok(if negated { class::negated(set) } else { set })
    }
}

/// Narrows what has been read of a set by the part that ends at a `&&`.
fn intersect(all: &mut Option<ClassUnicode>, set: ClassUnicode) {
    match all {
        Some(all) => all.intersect(&set),
        None => *all = Some(set),
    }
}
