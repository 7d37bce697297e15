//! The text of an expression to its tree, in Oniguruma's Ruby syntax.

use regex_syntax::hir::ClassUnicode;

use super::program::width;
use super::{MAX_DEPTH, RegexError, class};

/// What an expression matches.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Char(char),
    Set(ClassUnicode),
    /// All of them, one after the other; none is the empty expression.
    Concat(Vec<Self>),
    /// The first that leads to a match.
    Alternatives(Vec<Self>),
    Repeat {
        node: Box<Self>,
        min: u32,
        max: Option<u32>,
        kind: Kind,
    },
    /// What matched first is kept, whatever follows.
    Atomic(Box<Self>),
    Look {
        node: Box<Self>,
        behind: bool,
        negated: bool,
    },
    Assert(Assert),
}

/// In which order a repetition tries how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Greedy,
    Lazy,
    Possessive,
}

/// What must hold at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assert {
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    /// At the end, or before a line feed at the end.
    LastLineEnd,
    WordBoundary,
    NoWordBoundary,
}

/// Most repetitions that may be asked for by number.
const MAX_REPEAT: u32 = 1_000;

/// Options that hold up to the end of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    /// `.` is any character, a line feed too.
    dot_all: bool,
}

struct Parser<'a> {
    pattern: &'a str,
    at: usize,
    depth: usize,
}

/// Returns the tree of an expression.
pub(super) fn parse(pattern: &str) -> Result<Node, RegexError> {
    let mut parser = Parser {
        pattern,
        at: 0,
        depth: 0,
    };
    let node = parser.alternatives(Flags::default())?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.syntax("there is a `)` without a `(`")),
    }
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let here = self.rest().starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    fn unsupported(&self, what: impl Into<String>) -> RegexError {
        RegexError::Unsupported {
            at: self.at,
            what: what.into(),
        }
    }

    fn syntax(&self, what: &'static str) -> RegexError {
        RegexError::Syntax { at: self.at, what }
    }

    /// Reads up to the end of a group or of the expression.
    fn alternatives(&mut self, flags: Flags) -> Result<Node, RegexError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexError::TooLarge);
        }
        let mut alternatives = vec![self.concat(flags)?];
        while self.eat("|") {
            alternatives.push(self.concat(flags)?);
        }
        self.depth -= 1;
        Ok(match alternatives.len() {
            1 => alternatives.remove(0),
            _ => Node::Alternatives(alternatives),
        })
    }

    fn concat(&mut self, flags: Flags) -> Result<Node, RegexError> {
        let mut nodes = Vec::new();
        let mut before = Folded::default();
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            let start = self.at;
            let node = match next {
                '(' => match self.group(flags)? {
                    Group::Node(node) => node,
                    Group::Nothing => continue,
                    // The options hold for all that follows in the group, beyond a `|` too.
                    Group::Flags(flags) => {
                        nodes.push(self.alternatives(flags)?);
                        break;
                    }
                },
                _ => self.atom(flags)?,
            };
            let quantified = self.quantified(node)?;
            if flags.ignore_case {
                let folded = Folded::of(&quantified);
                if before.pairs_with(folded) {
                    self.at = start;
                    return Err(self.unsupported(
                        "ignoring case in letters that one character stands for as well, such as `ss`",
                    ));
                }
                before = folded;
            }
            nodes.push(quantified);
        }
        Ok(match nodes.len() {
            1 => nodes.remove(0),
            _ => Node::Concat(nodes),
        })
    }

    /// Reads what begins with `(`.
    fn group(&mut self, flags: Flags) -> Result<Group, RegexError> {
        let start = self.at;
        self.at += 1;
        let mut inner = flags;
        let mut wrap: fn(Node) -> Node = |node| node;
        if self.eat("?") {
            if self.eat("#") {
                return self.comment();
            }
            if self.eat(":") {
            } else if self.eat("=") {
                wrap = |node| look(node, false, false);
            } else if self.eat("!") {
                wrap = |node| look(node, false, true);
            } else if self.eat("<=") {
                wrap = |node| look(node, true, false);
            } else if self.eat("<!") {
                wrap = |node| look(node, true, true);
            } else if self.eat(">") {
                wrap = |node| Node::Atomic(Box::new(node));
            } else if self.eat("<") {
                self.group_name()?;
            } else if self.group_flags(&mut inner, start)? == ')' {
                return Ok(Group::Flags(inner));
            }
        } else if self.rest().starts_with('*') {
            return Err(self.unsupported("`(*`"));
        }
        let node = self.alternatives(inner)?;
        if !self.eat(")") {
            self.at = start;
            return Err(self.syntax("there is a `(` without a `)`"));
        }
        Ok(Group::Node(wrap(node)))
    }

    /// Passes over a comment.
    fn comment(&mut self) -> Result<Group, RegexError> {
        while let Some(next) = self.next() {
            match next {
                ')' => return Ok(Group::Nothing),
                '\\' => drop(self.next()),
                _ => {}
            }
        }
        Err(self.syntax("a comment has no end"))
    }

    /// Passes over the name of a group, which matters to references alone, which are refused.
    fn group_name(&mut self) -> Result<(), RegexError> {
        let name = self.rest().find('>').map(|end| &self.rest()[..end]);
        match name {
            Some(name)
                if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && name.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                self.at += name.len() + 1;
                Ok(())
            }
            _ => Err(self.syntax("the name of a group is not one")),
        }
    }

    /// Reads the flags of the group that begins at `start`; returns what ends them: `:` where they are of the group,
    /// `)` where they are of what follows it.
    fn group_flags(&mut self, flags: &mut Flags, start: usize) -> Result<char, RegexError> {
        let mut on = true;
        loop {
            match self.next() {
                Some('i') => flags.ignore_case = on,
                Some('m') => flags.dot_all = on,
                Some('-') if on => on = false,
                Some(end @ (':' | ')')) => return Ok(end),
                _ => {
                    let what: String = self.pattern[start..].chars().take(4).collect();
                    self.at = start;
                    return Err(self.unsupported(format!("`{what}`")));
                }
            }
        }
    }

    /// Reads one character, set or assertion.
    fn atom(&mut self, flags: Flags) -> Result<Node, RegexError> {
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
    fn escaped_char(&mut self, letter: char, start: usize) -> Result<char, RegexError> {
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
    fn property(&mut self, mut negated: bool, start: usize) -> Result<ClassUnicode, RegexError> {
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

    /// Reads a set after its `[`.
    fn set(&mut self, depth: usize) -> Result<ClassUnicode, RegexError> {
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

    /// Returns the numbers of an interval behind its `{`, and the bytes up to behind its `}`.
    fn interval(&self) -> Option<(Option<u32>, Option<u32>, usize)> {
        let end = self.rest().find('}')?;
        let inside = &self.rest()[..end];
        let number = |text: &str| {
            if text.is_empty() {
                return Some(None);
            }
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| Some(text.parse().unwrap_or(u32::MAX)))
        };
        let (min, max) = match inside.split_once(',') {
            Some((min, max)) => (number(min)?, number(max)?),
            None => (number(inside)?, number(inside)?),
        };
        (min.is_some() || max.is_some()).then_some((min, max, end + 1))
    }

    /// Reads the quantifiers behind a node.
    fn quantified(&mut self, mut node: Node) -> Result<Node, RegexError> {
        // Whether there was a quantifier, and whether it was an interval.
        let mut before = None;
        loop {
            let start = self.at;
            let (min, max, is_interval) = match self.peek() {
                Some('*') => (0, None, false),
                Some('+') => (1, None, false),
                Some('?') => (0, Some(1), false),
                Some('{') => {
                    self.at += 1;
                    let Some((min, max, len)) = self.interval() else {
                        // Not an interval: a character like others.
                        self.at = start;
                        return Ok(node);
                    };
                    self.at += len - 1;
                    (min.unwrap_or(0), max, true)
                }
                _ => return Ok(node),
            };
            self.at += 1;
            if before == Some(false) {
                self.at = start;
                return Err(self.unsupported("a repetition of a repetition"));
            }
            if matches!(node, Node::Assert(_) | Node::Look { .. }) {
                self.at = start;
                return Err(self.unsupported("a repetition of an assertion"));
            }
            if max.is_some_and(|max| max < min) || min.max(max.unwrap_or(0)) > MAX_REPEAT {
                self.at = start;
                return Err(self.unsupported(format!(
                    "an interval that falls or asks for more than {MAX_REPEAT} repetitions"
                )));
            }
            // Oniguruma leaves such a repetition early, in ways of its own.
            if is_interval && width(&node).0 == 0 {
                self.at = start;
                return Err(self.unsupported("an interval of what may match nothing"));
            }
            let mut kind = Kind::Greedy;
            if self.rest().starts_with('?') {
                if is_interval && max == Some(min) {
                    return Err(self.unsupported("`?` behind an interval of one number"));
                }
                self.at += 1;
                kind = Kind::Lazy;
            } else if !is_interval && self.eat("+") {
                // Behind an interval a `+` is one more repetition, which the next round reads.
                kind = Kind::Possessive;
            }
            node = Node::Repeat {
                node: Box::new(node),
                min,
                max,
                kind,
            };
            before = Some(is_interval && kind == Kind::Greedy);
        }
    }
}

/// What a group turned out to be.
enum Group {
    Node(Node),
    /// Options for what follows.
    Flags(Flags),
    /// A comment.
    Nothing,
}

/// A part of a set.
enum Item {
    Char(char),
    Set(ClassUnicode),
}

fn look(node: Node, behind: bool, negated: bool) -> Node {
    Node::Look {
        node: Box::new(node),
        behind,
        negated,
    }
}

/// Narrows what has been read of a set by the part that ends at a `&&`.
fn intersect(all: &mut Option<ClassUnicode>, set: ClassUnicode) {
    match all {
        Some(all) => all.intersect(&set),
        None => *all = Some(set),
    }
}

/// The letters that a part of an expression may consist of, as far as several of them are also one character, as `ss` is ß.
#[derive(Debug, Clone, Copy, Default)]
struct Folded {
    s: bool,
    f: bool,
    /// `i` or `l`, which follow an `f` in ligatures.
    after_f: bool,
    t: bool,
    /// The letters may be repeated.
    many: bool,
}

impl Folded {
    fn of(node: &Node) -> Self {
        let mut all = Self::default();
        all.add(node);
        all
    }

    fn add(&mut self, node: &Node) {
        match node {
            Node::Char(character) => self.add_set(&class::single(*character)),
            Node::Set(set) => self.add_set(set),
            Node::Concat(nodes) | Node::Alternatives(nodes) => {
                nodes.iter().for_each(|node| self.add(node));
            }
            Node::Repeat { node, max, .. } => {
                self.add(node);
                self.many |= *max != Some(1);
            }
            Node::Atomic(node) => self.add(node),
            Node::Look { .. } | Node::Assert(_) => {}
        }
    }

    fn add_set(&mut self, set: &ClassUnicode) {
        let has = |letter: char| {
            let mut both = class::single(letter);
            both.intersect(set);
            !both.ranges().is_empty()
        };
        self.s |= has('s');
        self.f |= has('f');
        self.after_f |= has('i') || has('l');
        self.t |= has('t');
    }

    fn pairs_with(self, next: Self) -> bool {
        let pair = |one: Self, next: Self| {
            (one.s && (next.s || next.t)) || (one.f && (next.f || next.after_f))
        };
        pair(self, next) || (next.many && pair(next, next))
    }
}
