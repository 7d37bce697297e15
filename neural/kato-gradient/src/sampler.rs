//! Batches of items in an order that is a pure function of seed and epoch.

mod batches;
mod order;
mod plan;
mod settings;

use kato_random::SplitMix64;

use crate::GradientError;
use crate::error::require;

pub use batches::{PlannedBatch, PlannedBatches, SamplerPosition};
pub use plan::{EpochPlan, Replica};
pub use settings::{Bucketed, InOrder, SamplerSettings, Shuffled, TokenBudget};

/// Makes the batches of every epoch out of the lengths of the items.
///
/// An epoch holds each item once, but for those that `drop_last` leaves out and counts. Every
/// epoch has as many batches as the first, so the steps of a training are known before it begins.
/// It takes 4 bytes an item, and a plan 8 bytes an item and 8 a batch.
///
/// ```
/// use kato_gradient::sampler::{Sampler, TokenBudget};
///
/// let lengths = vec![3, 9, 4, 8, 2];
/// let sampler = Sampler::new(TokenBudget::new(16, 64), lengths, 7)?;
/// // [2, 3, 4] and [8], [9]: a rectangle of two rows of 9 would hold 18 tokens.
/// let plan = sampler.plan(0);
/// assert_eq!(plan.n_batches(), 3);
/// assert_eq!(plan, sampler.plan(0));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampler {
    settings: SamplerSettings,
    lengths: Vec<u32>,
    /// The greatest length of each bucket; empty without buckets.
    edges: Vec<u32>,
    seed: u64,
    n_batches: usize,
}

impl Sampler {
    /// Creates a sampler over items with these lengths, in tokens.
    ///
    /// # Errors
    ///
    /// - [`GradientError::Setting`] when a setting cannot be, when there is no item, or when
    ///   `drop_last` would leave out every item.
    /// - [`GradientError::ItemTooLong`] when an item alone is above the budget of tokens.
    pub fn new(
        settings: impl Into<SamplerSettings>,
        lengths: Vec<u32>,
        seed: u64,
    ) -> Result<Self, GradientError> {
        let settings = settings.into();
        settings.check()?;
        require(
            !lengths.is_empty(),
            "lengths",
            "empty",
            "the length of at least one item",
        )?;
        // The edges depend on the lengths alone, so they are found once and not in each epoch.
        let edges = match settings {
            SamplerSettings::Bucketed(s) => order::bucket_edges(&lengths, s.n_buckets),
            _ => Vec::new(),
        };
        if let SamplerSettings::TokenBudget(s) = settings {
            // Told here with the item, as no batch could ever hold it.
            let too_long = |(_, length): &(usize, &u32)| **length as usize > s.max_tokens;
            if let Some((item, length)) = lengths.iter().enumerate().find(too_long) {
                return Err(GradientError::ItemTooLong {
                    item,
                    length: *length as usize,
                    budget: s.max_tokens,
                });
            }
        }
        let mut sampler = Self {
            settings,
            lengths,
            edges,
            seed,
            n_batches: 0,
        };
        // Every epoch has as many: sizes depend on lengths, and these do not change.
        sampler.n_batches = sampler.plan(0).n_batches();
        // An epoch without batches would end a training before its first step, without a word.
        let wanted = "true only where a batch can be filled";
        require(sampler.n_batches > 0, "drop_last", true, wanted)?;
        Ok(sampler)
    }

    /// Creates a sampler over items that are all equally long.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) with lengths of 1.
    pub fn from_n_items(
        settings: impl Into<SamplerSettings>,
        n_items: usize,
        seed: u64,
    ) -> Result<Self, GradientError> {
        Self::new(settings, vec![1; n_items], seed)
    }

    /// Returns the batches of an epoch, counted from 0, in O(n log n).
    #[must_use]
    pub fn plan(&self, epoch: u64) -> EpochPlan {
        let lengths = &self.lengths;
        match self.settings {
            SamplerSettings::InOrder(s) => order::in_order(lengths.len(), s.batch_size),
            SamplerSettings::Shuffled(s) => {
                order::shuffled(lengths.len(), s.batch_size, s.drop_last, self.seed, epoch)
            }
            SamplerSettings::Bucketed(s) => {
                order::bucketed(s, lengths, &self.edges, self.seed, epoch)
            }
            SamplerSettings::TokenBudget(s) => order::token_budget(s, lengths, self.seed, epoch),
        }
    }

    /// Returns how many batches every epoch has.
    #[must_use]
    pub const fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// Returns how many items there are.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &SamplerSettings {
        &self.settings
    }

    /// Returns a number that differs, but for one chance in 2³², where the order would.
    fn fingerprint(&self) -> u32 {
        let lengths = self.lengths.iter().map(|length| u64::from(*length));
        // Settings first, since lengths are of any number.
        let words = self.settings.words().into_iter().chain(lengths);
        let mixed = words.fold(self.seed, |mixed, word| {
            SplitMix64::from_seed(mixed ^ word).next_u64()
        });
        // TOML holds no integer of 64 bits without a sign.
        (mixed >> 32) as u32
    }
}
