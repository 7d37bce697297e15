//! Generations: a plan, and its extensions by more corpus, one after the other.

use kato_loader::Cursor;
use kato_scheduler::Counters;
use serde::{Deserialize, Serialize};

use crate::ClusterError;

/// Digits of a digest that name a generation at least.
const DIGEST_DIGITS: usize = 8;

/// Which generation is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanGeneration {
    /// The last that was planned, for whoever works on it. The default.
    #[default]
    Last,
    /// The newest that was published, for whoever reads.
    Newest,
    /// By number: 0 is the plan, 1 its first extension.
    Number(u32),
    /// By a tag, or by the first digits of the digest of its plan, eight at least.
    Named(String),
}

impl PlanGeneration {
    /// Creates it of a word: `last`, `newest`, a number of up to seven digits, or a name.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match (word, word.parse()) {
            ("last", _) => Self::Last,
            ("newest", _) => Self::Newest,
            // What is longer is the beginning of a digest that happens to have no letters.
            (_, Ok(number)) if word.len() < DIGEST_DIGITS => Self::Number(number),
            _ => Self::Named(word.to_owned()),
        }
    }
}

/// What a generation continues: the one before it, which is done when it is planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Base {
    /// Number of the generation before.
    pub(crate) generation: u32,
    /// Digest of its plan, which names what that continues in turn.
    pub(crate) plan: String,
    /// The position at the end of its corpus, with what was counted up to there.
    pub(crate) cursor: Cursor,
    /// What was counted up to there.
    pub(crate) counters: Counters,
}

/// A name that somebody gave to a generation. It stays with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// Number of the generation.
    pub generation: u32,
    /// Digest of its plan.
    pub plan: String,
}

/// One of the generations of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GenerationSummary {
    /// Its number.
    pub generation: u32,
    /// Digest of its plan, which is its name.
    pub plan: String,
    /// Files of its corpus, those of the generations before included.
    pub files: u64,
    /// Whether it was published.
    pub published: bool,
    /// Its tags. The list may lag behind.
    pub tags: Vec<String>,
}

/// Returns the key of an object of a generation: those of the first lie at the top.
pub(crate) fn within(generation: u32, key: &str) -> String {
    match generation {
        0 => key.to_owned(),
        number => format!("generations/{number:04}/{key}"),
    }
}

/// Returns whether a word is the beginning of a digest.
pub(crate) fn is_digest(word: &str) -> bool {
    word.len() >= DIGEST_DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Refuses a tag that means something else already.
pub(crate) fn check_tag(name: &str) -> Result<(), ClusterError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_named = matches!(PlanGeneration::from_word(name), PlanGeneration::Named(_));
    let is_word = !name.is_empty() && name.bytes().all(is_plain) && !name.starts_with('.');
    match is_named && is_word && !is_digest(name) {
        true => Ok(()),
        false => Err(ClusterError::TagName {
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_generations() {
        for (word, expected) in [
            ("last", PlanGeneration::Last),
            ("newest", PlanGeneration::Newest),
            ("12", PlanGeneration::Number(12)),
            ("12345678", PlanGeneration::Named("12345678".to_owned())),
            ("v1.0", PlanGeneration::Named("v1.0".to_owned())),
        ] {
            assert_eq!(PlanGeneration::from_word(word), expected, "{word}");
        }
    }

    #[test]
    fn a_tag_is_no_number_no_digest_and_no_path() {
        for name in ["v1", "2026-11", "wiki_and.books", "deadbee"] {
            check_tag(name).unwrap();
        }
        for name in [
            "", "7", "last", "newest", "deadbeef", "a/b", "..", ".a", "a b",
        ] {
            check_tag(name).unwrap_err();
        }
    }
}
