//! The text of an expression to its tree, in Oniguruma's Ruby syntax.

mod atom;
mod folded;
mod quantifier;
mod set;

use self::folded::Folded;
use super::node::Node;
use super::{MAX_DEPTH, RegexError};

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
}

/// What a group turned out to be.
enum Group {
    Node(Node),
    /// Options for what follows.
    Flags(Flags),
    /// A comment.
    Nothing,
}

fn look(node: Node, behind: bool, negated: bool) -> Node {
    Node::Look {
        node: Box::new(node),
        behind,
        negated,
    }
}
