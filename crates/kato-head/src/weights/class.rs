//! The facts of a position.

use serde::Serialize;

use super::digits;
use crate::history::{Followers, History};
use crate::options::Expert;

/// The facts that decide how far experts are trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Class {
    /// Experts that have something to say, as bits in the order of [`Expert`].
    #[serde(skip)]
    pub(crate) experts: u8,
    /// Longest context, in symbols and at most 3, that the history held before and that was
    /// followed by something.
    pub cached_context: u8,
    /// How often it was: 0, 1, 2–3, 4–7, 8–15 or more, numbered from 0.
    pub cached_followers: u8,
    /// By how many different symbols: 0, 1, 2–3 or more, numbered from 0.
    pub cached_variety: u8,
    /// Longest context that the n-grams hold, at most 7.
    pub ngram_context: u8,
    /// Binary digits of what was counted after it, at most 12.
    pub ngram_count: u8,
    /// How much it says itself instead of leaving it to shorter ones, in eighths rounded down.
    pub ngram_share: u8,
    /// Binary digits of the number of symbols in the history.
    pub history: u8,
}

/// Different followers that are told apart at most.
const MOST_VARIETY: usize = 4;

/// Facts of a position.
const N_FACTS: usize = 6;

impl Class {
    /// Returns the keys of the facts.
    pub(super) fn facts(self) -> [u64; N_FACTS] {
        let cached = u64::from(self.cached_context) << 16
            | u64::from(self.cached_followers) << 8
            | u64::from(self.cached_variety);
        let context = u64::from(self.ngram_context);
        let key = |kind: u64, fact: u64| kind << 56 | fact;
        [
            key(0, self.experts.into()),
            key(1, cached),
            key(2, context << 8 | u64::from(self.ngram_count)),
            key(3, context << 8 | u64::from(self.ngram_share)),
            key(4, self.history.into()),
            key(5, cached << 8 | context),
        ]
    }

    /// Sums up what is known of the history at a position, and of what followed its last symbols
    /// before.
    pub(crate) fn of(history: &History, followers: &Followers) -> Self {
        let cached_context = followers.longest();
        let found = followers.after(cached_context);
        // All of these are below 256.
        Self {
            cached_context: cached_context as u8,
            cached_followers: digits(found.len() as u64).min(5),
            cached_variety: digits(history.variety(found, MOST_VARIETY) as u64).min(3),
            history: digits(history.len() as u64),
            ..Self::default()
        }
    }

    /// Adds an expert that has something to say.
    pub(crate) fn add(&mut self, expert: Expert) {
        self.experts |= 1 << expert.place();
    }

    /// Returns whether an expert has something to say.
    pub(crate) fn has(self, expert: Expert) -> bool {
        self.experts & (1 << expert.place()) != 0
    }
}
