//! The settings of samplers, as they stand in a file.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::require;

/// How the items of an epoch become batches, as it stands in a file under its `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SamplerSettings {
    /// Batches of one size, in the order of the items: for evaluation.
    InOrder(InOrder),
    /// Batches of one size, shuffled over all items.
    Shuffled(Shuffled),
    /// Batches of one size, of items that are about equally long.
    Bucketed(Bucketed),
    /// Batches of any size that are full of tokens.
    TokenBudget(TokenBudget),
}

/// The settings of batches in the order of the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct InOrder {
    /// How many items a batch has; the last may have fewer.
    pub batch_size: usize,
}

impl InOrder {
    /// Creates settings with this size.
    #[must_use]
    pub const fn new(batch_size: usize) -> Self {
        Self { batch_size }
    }
}

/// The settings of batches that are shuffled over all items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Shuffled {
    /// How many items a batch has.
    pub batch_size: usize,
    /// Whether the items that fill no batch are left out of the epoch (default: no). Which they
    /// are differs from epoch to epoch.
    #[serde(default)]
    pub drop_last: bool,
}

impl Shuffled {
    /// Creates settings that leave out nothing.
    #[must_use]
    pub const fn new(batch_size: usize) -> Self {
        Self {
            batch_size,
            drop_last: false,
        }
    }

    /// Leaves the items that fill no batch out of the epoch.
    #[must_use]
    pub const fn with_drop_last(mut self) -> Self {
        self.drop_last = true;
        self
    }
}

/// The settings of batches of items that are about equally long.
///
/// The items are put into buckets at the quantiles of their lengths, shuffled inside each bucket
/// and cut into batches; then the batches are shuffled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Bucketed {
    /// How many items a batch has; the last of each bucket may have fewer.
    pub batch_size: usize,
    /// How many quantiles there are (default 5: at 20, 40, 60, 80 and 100 %). Quantiles that are
    /// equally long are one bucket.
    #[serde(default = "default_n_buckets")]
    pub n_buckets: usize,
    /// Whether the items that fill no batch of their bucket are left out of the epoch (default:
    /// no).
    #[serde(default)]
    pub drop_last: bool,
}

fn default_n_buckets() -> usize {
    // More buckets waste less padding, and leave more batches that are not full.
    5
}

impl Bucketed {
    /// Creates settings with 5 buckets that leave out nothing.
    #[must_use]
    pub const fn new(batch_size: usize) -> Self {
        Self {
            batch_size,
            n_buckets: 5,
            drop_last: false,
        }
    }

    /// Sets how many quantiles there are.
    #[must_use]
    pub const fn with_n_buckets(mut self, n_buckets: usize) -> Self {
        self.n_buckets = n_buckets;
        self
    }

    /// Leaves the items that fill no batch of their bucket out of the epoch.
    #[must_use]
    pub const fn with_drop_last(mut self) -> Self {
        self.drop_last = true;
        self
    }
}

/// The settings of batches that are full of tokens.
///
/// The items are put in order of length, equal ones shuffled, and packed while items × longest ≤
/// `max_tokens` and items ≤ `max_items`; then the batches are shuffled. The budget is that of the
/// padded rectangle, which is what memory depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TokenBudget {
    /// How many tokens a batch has at most, padding included (default 4,096).
    pub max_tokens: usize,
    /// How many items a batch has at most (default 64).
    pub max_items: usize,
}

impl Default for TokenBudget {
    fn default() -> Self {
        Self {
            // 81 texts of 50 tokens, so that with those the other bound holds first.
            max_tokens: 4096,
            max_items: 64,
        }
    }
}

impl TokenBudget {
    /// Creates settings with these bounds.
    #[must_use]
    pub const fn new(max_tokens: usize, max_items: usize) -> Self {
        Self {
            max_tokens,
            max_items,
        }
    }
}

macro_rules! settings_from {
    ($($kind:ident),*) => {$(
        impl From<$kind> for SamplerSettings {
            fn from(settings: $kind) -> Self {
                Self::$kind(settings)
            }
        }
    )*};
}

settings_from!(InOrder, Shuffled, Bucketed, TokenBudget);

impl SamplerSettings {
    pub(super) fn check(&self) -> Result<(), GradientError> {
        let at_least_1 = |name, value: usize| require(value > 0, name, value, "at least 1");
        match self {
            Self::InOrder(s) => at_least_1("batch_size", s.batch_size),
            Self::Shuffled(s) => at_least_1("batch_size", s.batch_size),
            Self::Bucketed(s) => {
                at_least_1("batch_size", s.batch_size)?;
                at_least_1("n_buckets", s.n_buckets)
            }
            Self::TokenBudget(s) => {
                at_least_1("max_tokens", s.max_tokens)?;
                at_least_1("max_items", s.max_items)
            }
        }
    }

    /// Returns what the order depends on, for a fingerprint.
    pub(super) fn words(&self) -> [u64; 4] {
        match *self {
            // The first word is the kind: equal numbers of two kinds must differ.
            Self::InOrder(s) => [0, s.batch_size as u64, 0, 0],
            Self::Shuffled(s) => [1, s.batch_size as u64, u64::from(s.drop_last), 0],
            Self::Bucketed(s) => {
                let drop_last = u64::from(s.drop_last);
                [2, s.batch_size as u64, s.n_buckets as u64, drop_last]
            }
            Self::TokenBudget(s) => [3, s.max_tokens as u64, s.max_items as u64, 0],
        }
    }
}
