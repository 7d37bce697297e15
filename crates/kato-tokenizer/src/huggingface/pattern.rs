//! What a definition replaces or splits at: a text as it is written, or a regular expression.

use memchr::memmem::Finder;
use serde_json::Value;

use super::error::DefinitionError;
use super::limits::{MAX_AFFIX_BYTES, Overrun, Work};
use super::regex::Regex;

/// What is looked for in a text.
#[derive(Debug)]
pub(super) enum Pattern {
    /// This text, which is not empty.
    Literal(Box<Finder<'static>>),
    Regex(Box<Regex>),
}

impl Pattern {
    /// Reads `{"String": …}` or `{"Regex": …}`.
    pub(super) fn from_json(part: &str, value: &Value) -> Result<Self, DefinitionError> {
        let members = value.as_object().filter(|members| members.len() == 1);
        let (kind, text) = members
            .and_then(|members| members.iter().next())
            .and_then(|(kind, text)| Some((kind.as_str(), text.as_str()?)))
            .ok_or_else(|| DefinitionError::field(part, "pattern", "a `String` or a `Regex`"))?;
        match kind {
            "String" if text.len() > MAX_AFFIX_BYTES => {
                Err(DefinitionError::long(part, "pattern", text.len()))
            }
            // The expression of no characters, which matches everywhere.
            "String" if !text.is_empty() => {
                Ok(Self::Literal(Box::new(Finder::new(text).into_owned())))
            }
            "String" | "Regex" => {
                let regex = Regex::new(text).map_err(|source| DefinitionError::Regex {
                    part: part.to_owned(),
                    pattern: text.chars().take(200).collect(),
                    source,
                })?;
                Ok(Self::Regex(Box::new(regex)))
            }
            _ => Err(DefinitionError::field(
                part,
                "pattern",
                "a `String` or a `Regex`",
            )),
        }
    }

    /// Calls `found` with start and end of every match, in order.
    pub(super) fn find_all<E: From<Overrun>>(
        &self,
        text: &str,
        work: &mut Work,
        mut found: impl FnMut(&mut Work, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Literal(finder) => finder
                .find_iter(text.as_bytes())
                .try_for_each(|at| found(work, at, at + finder.needle().len())),
            Self::Regex(regex) => regex.find_all(text, work, found),
        }
    }
}
