//! Of what a head is made.

use serde::{Deserialize, Serialize};

use crate::HeadError;

/// An expert: a way of saying what comes next. A head mixes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Expert {
    /// Kneser-Ney over the n-grams inside the patterns. Without it, all outcomes alike.
    Ngrams,
    /// What the history held before, rare symbols weighing more.
    CachedSymbols,
    /// The same, and the less the longer ago.
    RecentSymbols,
    /// The same, and the more the n-grams expect the symbol here: Σ rarity · fading · p over its
    /// latest places, p being the n-grams' probability.
    FittingSymbols,
    /// What followed the last symbol in the history.
    CachedPairs,
    /// What followed the last two symbols in the history.
    CachedTriples,
    /// What somebody else says, such as KATO's own predictions.
    Outside,
}

/// All experts, in the order in which their shares are added.
pub(crate) const EXPERTS: [Expert; N_EXPERTS] = [
    Expert::Ngrams,
    Expert::CachedSymbols,
    Expert::RecentSymbols,
    Expert::FittingSymbols,
    Expert::CachedPairs,
    Expert::CachedTriples,
    Expert::Outside,
];

/// Symbols of the longest n-grams at most.
pub(crate) const MAX_ORDER: usize = 16;

/// The number of experts.
pub(crate) const N_EXPERTS: usize = 7;

impl Expert {
    /// Returns the expert's place in [`EXPERTS`].
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Ngrams => 0,
            Self::CachedSymbols => 1,
            Self::RecentSymbols => 2,
            Self::FittingSymbols => 3,
            Self::CachedPairs => 4,
            Self::CachedTriples => 5,
            Self::Outside => 6,
        }
    }
}

/// How much of every count goes to n-grams that were not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Discounts {
    /// The same of every count of an order: n₁ / (n₁ + 2 n₂) (Ney, Essen and Kneser 1994).
    Single,
    /// One for counts of 1, one for counts of 2 and one for all others: modified Kneser-Ney (Chen
    /// and Goodman 1998).
    #[default]
    Modified,
}

/// Options of a head. All of them decide what it answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HeadOptions {
    /// The experts that are asked. Default: n-grams and the five of the cache.
    pub experts: Vec<Expert>,
    /// Symbols of the longest n-grams, 1 to 16. Default 5.
    pub order: usize,
    /// The number of levels whose patterns are counted, from the lowest up; `None`, the default,
    /// for all. With 1 no n-gram reaches across the border of a chunk.
    pub levels: Option<usize>,
    /// The discounts of the n-grams. Default: modified.
    pub discounts: Discounts,
    /// The latest symbols of a history that are kept, which is all that the cache and the n-grams go by; 1 to
    /// 2²⁴. Default 8192.
    pub cache_window: usize,
}

impl Default for HeadOptions {
    fn default() -> Self {
        Self {
            experts: EXPERTS[..Expert::Outside.place()].to_vec(),
            order: 5,
            levels: None,
            discounts: Discounts::default(),
            cache_window: 8192,
        }
    }
}

impl HeadOptions {
    /// Sets the experts that are asked.
    #[must_use]
    pub fn with_experts(mut self, experts: impl IntoIterator<Item = Expert>) -> Self {
        self.experts = experts.into_iter().collect();
        self
    }

    /// Asks one more expert.
    #[must_use]
    pub fn with_expert(mut self, expert: Expert) -> Self {
        self.experts.push(expert);
        self
    }

    /// Sets how many symbols the longest n-grams have.
    #[must_use]
    pub const fn with_order(mut self, order: usize) -> Self {
        self.order = order;
        self
    }

    /// Counts the patterns of the lowest levels only.
    #[must_use]
    pub const fn with_levels(mut self, levels: usize) -> Self {
        self.levels = Some(levels);
        self
    }

    /// Sets the discounts of the n-grams.
    #[must_use]
    pub const fn with_discounts(mut self, discounts: Discounts) -> Self {
        self.discounts = discounts;
        self
    }

    /// Sets how many symbols of a history the cache goes by.
    #[must_use]
    pub const fn with_cache_window(mut self, symbols: usize) -> Self {
        self.cache_window = symbols;
        self
    }

    /// Checks the options that have a range.
    pub(crate) fn check(&self) -> Result<(), HeadError> {
        let check = |option, value: usize, most: usize, expected| match (1..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(HeadError::Option {
                option,
                value: value.to_string(),
                expected,
            }),
        };
        check("order", self.order, MAX_ORDER, "1 to 16")?;
        check("levels", self.levels.unwrap_or(1), usize::MAX, "at least 1")?;
        check(
            "cache_window",
            self.cache_window,
            1 << 24,
            "1 to 16,777,216",
        )
    }
}
