//! Regular expressions as Oniguruma reads them, within a budget of steps: what Hugging Face's own library splits with.
//!
//! What is not supported, or what Oniguruma reads in a way of its own, is refused when the expression is read; no
//! expression is taken to mean something else.

pub(super) mod class;
mod node;
mod parse;
mod program;

use thiserror::Error;

pub(super) use self::class::Table;
use self::program::{Machine, Program};
use super::limits::{Overrun, Work};

/// Most bytes of an expression.
const MAX_BYTES: usize = 1 << 14;
/// Most groups inside each other.
const MAX_DEPTH: usize = 50;
/// Most different sets of characters of an expression.
const MAX_SETS: usize = 64;
/// Most instructions that an expression becomes.
const MAX_INSTRUCTIONS: usize = 1 << 14;

/// The error of an expression that is not supported.
#[derive(Debug, Error)]
pub(super) enum RegexError {
    #[error("at byte {at}: {what} is not supported")]
    Unsupported { at: usize, what: String },
    #[error("at byte {at}: {what}")]
    Syntax { at: usize, what: &'static str },
    #[error(
        "it is too large: at most {MAX_BYTES} bytes, {MAX_DEPTH} groups inside each other, {MAX_SETS} sets of \
         characters and {MAX_INSTRUCTIONS} instructions are supported"
    )]
    TooLarge,
}

/// An expression that is ready to be searched for.
#[derive(Debug)]
pub(super) struct Regex {
    program: Program,
}

impl Regex {
    /// Reads an expression.
    pub(super) fn new(pattern: &str) -> Result<Self, RegexError> {
        if pattern.len() > MAX_BYTES {
            return Err(RegexError::TooLarge);
        }
        let parsed = parse::parse(pattern)?;
        Ok(Self {
            program: Program::new(&parsed)?,
        })
    }

    /// Calls `found` with start and end of every match in order: the leftmost, then the next that begins where it ended.
    ///
    /// A match of no characters directly behind the match before it is passed over.
    pub(super) fn find_all<E: From<Overrun>>(
        &self,
        text: &str,
        work: &mut Work,
        mut found: impl FnMut(&mut Work, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut machine = Machine::new(&self.program, text);
        let (mut from, mut last_end) = (0, None);
        while from <= text.len() {
            let Some((start, end)) = machine.find(from, work)? else {
                break;
            };
            if start == end && last_end == Some(end) {
                // Looks again one character on.
                from += text[from..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            (from, last_end) = (end, Some(end));
            found(work, start, end)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
