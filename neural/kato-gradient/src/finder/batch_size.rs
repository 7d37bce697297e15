//! The largest batch that fits and leaves room.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_positive};

/// The settings of [`find_batch_size`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BatchSizeSettings {
    /// The smallest size that is tried (default 2); even.
    pub min_size: usize,
    /// The largest size that is tried (default 256); even.
    pub max_size: usize,
    /// Which share of the memory a batch may take (default 0.8): what is left is for longer items
    /// and for what the allocator cannot use.
    pub max_memory_share: f64,
    /// How many forward and backward passes a size has to survive (default 2): the second one
    /// holds the optimizer's state, which the first has made.
    pub n_passes: u32,
}

impl Default for BatchSizeSettings {
    fn default() -> Self {
        Self {
            min_size: 2,
            max_size: 256,
            // The rest is for what nobody counts: caches of allocators, and other processes.
            max_memory_share: 0.8,
            n_passes: 2,
        }
    }
}

impl BatchSizeSettings {
    /// Sets the smallest and the largest size that are tried.
    #[must_use]
    pub const fn with_sizes(mut self, min_size: usize, max_size: usize) -> Self {
        self.min_size = min_size;
        self.max_size = max_size;
        self
    }

    /// Sets which share of the memory a batch may take.
    #[must_use]
    pub const fn with_max_memory_share(mut self, max_memory_share: f64) -> Self {
        self.max_memory_share = max_memory_share;
        self
    }

    /// Sets how many passes a size has to survive.
    #[must_use]
    pub const fn with_n_passes(mut self, n_passes: u32) -> Self {
        self.n_passes = n_passes;
        self
    }

    fn check(&self) -> Result<(), GradientError> {
        // Even, as kernels and pairs of replicas halve a batch.
        let is_size = |size: usize| size >= 2 && size.is_multiple_of(2);
        let wanted = "an even number of at least 2";
        require(is_size(self.min_size), "min_size", self.min_size, wanted)?;
        let wanted = "an even number of at least min_size";
        let holds = is_size(self.max_size) && self.max_size >= self.min_size;
        require(holds, "max_size", self.max_size, wanted)?;
        let share = self.max_memory_share;
        require_positive("max_memory_share", share)?;
        require(share <= 1.0, "max_memory_share", share, "at most 1")?;
        require(self.n_passes > 0, "n_passes", self.n_passes, "at least 1")
    }
}

/// What one pass of a trial took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryUse {
    /// It came to its end with this much memory at its peak.
    Fits {
        /// The most bytes that were in use at a time.
        peak_bytes: u64,
        /// How many bytes there are.
        limit_bytes: u64,
    },
    /// It came to its end, and nobody knows with how much memory.
    FitsUnmeasured,
    /// There was not enough memory.
    OutOfMemory,
}

impl MemoryUse {
    /// Creates the use of so many of so many bytes.
    #[must_use]
    pub const fn from_bytes(peak_bytes: u64, limit_bytes: u64) -> Self {
        Self::Fits {
            peak_bytes,
            limit_bytes,
        }
    }

    fn leaves_room(self, max_share: f64) -> bool {
        match self {
            Self::Fits {
                peak_bytes,
                limit_bytes,
            } => peak_bytes as f64 <= max_share * limit_bytes as f64,
            Self::FitsUnmeasured => true,
            Self::OutOfMemory => false,
        }
    }
}

/// One trial of a batch size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeTrial {
    /// The batch size.
    pub size: usize,
    /// What its last pass took.
    pub memory: MemoryUse,
    /// Whether all of its passes fitted and left room.
    pub fits: bool,
}

/// What [`find_batch_size`] has found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchSizeFound {
    /// The size. Its last trial is the last of all, and fitted.
    pub size: usize,
    /// All trials in their order.
    pub trials: Vec<SizeTrial>,
}

impl BatchSizeFound {
    /// Returns how many tokens a batch of this size has at most, when its longest item has `longest`:
    /// what can be computed at once, whatever the lengths.
    #[must_use]
    pub const fn tokens(&self, longest: usize) -> usize {
        self.size.saturating_mul(longest)
    }

    /// Returns how many batches of this size make up one step of at least `target` items.
    #[must_use]
    pub const fn accumulation(&self, target: usize) -> usize {
        let n_batches = target.div_ceil(self.size);
        if n_batches == 0 { 1 } else { n_batches }
    }
}

/// Returns the largest even batch size that fits and leaves room.
///
/// Sizes are doubled until one does not fit, then the gap is halved; the size that is named was
/// tried once more at the end, after all that the search has left behind. Where that last trial
/// fails, as memory is in pieces by then, the next smaller even size has to stand it. A search
/// takes at most about `2·log₂(max_size)` trials, and one for each size that fails at the end.
///
/// `pass` makes one forward and backward pass, with an optimizer step, of this many of the longest
/// items there are.
///
/// # Errors
///
/// - [`GradientError::Setting`] names the first setting that cannot be.
/// - [`GradientError::NothingFits`] when the smallest size does not fit.
/// - [`GradientError::Trial`] when a pass fails for another reason than memory.
///
/// ```
/// use std::convert::Infallible;
/// use kato_gradient::finder::{BatchSizeSettings, MemoryUse, find_batch_size};
///
/// // A model that takes 100 bytes, and 9 an item, of 1,000.
/// let pass = |size: usize| Ok::<_, Infallible>(MemoryUse::from_bytes(100 + 9 * size as u64, 1000));
/// let found = find_batch_size(BatchSizeSettings::default(), pass)?;
/// assert_eq!(found.size, 76); // 784 bytes; 78 would take 802 and leave less than a fifth
/// assert_eq!(found.accumulation(256), 4);
/// assert_eq!(found.tokens(50), 3_800); // items of up to 50 tokens
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
pub fn find_batch_size<E>(
    settings: BatchSizeSettings,
    pass: impl FnMut(usize) -> Result<MemoryUse, E>,
) -> Result<BatchSizeFound, GradientError>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    settings.check()?;
    let mut search = Search {
        settings,
        pass,
        trials: Vec::new(),
    };
    let mut size = search.largest()?;
    // The answer has to stand a trial after the search: memory that larger sizes have cut into
    // pieces may no longer hold it.
    while !search.last_trial_was(size) && !search.fits(size)? {
        if size <= settings.min_size {
            return Err(GradientError::NothingFits { size });
        }
        // By the least step: a smaller size would give away memory that is there.
        size -= 2;
    }
    Ok(BatchSizeFound {
        size,
        trials: search.trials,
    })
}

struct Search<P> {
    settings: BatchSizeSettings,
    pass: P,
    trials: Vec<SizeTrial>,
}

impl<P> Search<P> {
    /// Returns the largest size that fits as long as fitting is a matter of size alone.
    fn largest<E>(&mut self) -> Result<usize, GradientError>
    where
        P: FnMut(usize) -> Result<MemoryUse, E>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let BatchSizeSettings {
            min_size, max_size, ..
        } = self.settings;
        let mut fits = min_size;
        if !self.fits(fits)? {
            return Err(GradientError::NothingFits { size: fits });
        }
        // Doubling up to the first size that does not fit.
        let mut fails = loop {
            // Nothing is above it, so there is no gap to halve.
            if fits == max_size {
                return Ok(fits);
            }
            let next = fits.saturating_mul(2).min(max_size);
            if !self.fits(next)? {
                break next;
            }
            fits = next;
        };
        // Halving the gap between two even sizes.
        while fails - fits > 2 {
            let middle = (fits + (fails - fits) / 2) & !1;
            if self.fits(middle)? {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        Ok(fits)
    }

    /// Makes a trial of a size.
    fn fits<E>(&mut self, size: usize) -> Result<bool, GradientError>
    where
        P: FnMut(usize) -> Result<MemoryUse, E>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut memory = MemoryUse::FitsUnmeasured;
        let mut fits = true;
        for _ in 0..self.settings.n_passes {
            memory = (self.pass)(size).map_err(|source| GradientError::Trial {
                at: format!("batch size {size}"),
                source: source.into(),
            })?;
            fits = memory.leaves_room(self.settings.max_memory_share);
            // A pass without room says enough.
            if !fits {
                break;
            }
        }
        self.trials.push(SizeTrial { size, memory, fits });
        Ok(fits)
    }

    fn last_trial_was(&self, size: usize) -> bool {
        let last = self.trials.last();
        last.is_some_and(|trial| trial.size == size && trial.fits)
    }
}
