//! Repetitions: how often, and in which order it is tried.

use super::super::RegexError;
use super::super::node::{Kind, Node};
use super::super::program::width;
use super::Parser;

/// Most repetitions that may be asked for by number.
const MAX_REPEAT: u32 = 1_000;

impl Parser<'_> {
    /// Returns the numbers of an interval behind its `{`, and the bytes up to behind its `}`.
    pub(super) fn interval(&self) -> Option<(Option<u32>, Option<u32>, usize)> {
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
    pub(super) fn quantified(&mut self, mut node: Node) -> Result<Node, RegexError> {
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
