//! What the arguments of an estimate choose from.

use clap::ValueEnum;
use kato_estimator::{GrowthLaw, StorageEngine};

/// The store whose bytes are told.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Engine {
    /// A directory, as `kato train` makes by default.
    Embedded,
    /// A MongoDB, as `kato train --backend mongodb:` fills it; data and indexes, before
    /// compression.
    Mongodb,
    /// A stock KATO's MongoDB; data before compression, without indexes.
    StockKato,
}

impl Engine {
    /// Returns the kind of place that a run with it goes to.
    #[must_use]
    pub(crate) fn backend(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Mongodb => "mongodb",
            Self::StockKato => "kato",
        }
    }

    /// Returns the store, for a run of so many workers and so much memory.
    #[must_use]
    pub(crate) fn storage(self, is_compact: bool, workers: u64, memory: u64) -> StorageEngine {
        match self {
            // After a merge there is one part, however many workers and commits the run has had.
            Self::Embedded if is_compact => StorageEngine::embedded(),
            Self::Embedded => StorageEngine::embedded_of_run(workers, memory),
            Self::Mongodb => StorageEngine::mongodb(),
            Self::StockKato => StorageEngine::stock_kato(),
        }
    }
}

/// How distinct patterns are estimated.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Law {
    /// What documents tell; of a run, several laws of growth together.
    Ensemble,
    /// Pitman and Yor's process, by maximum likelihood.
    PitmanYor,
    /// By the share of patterns that were learned once.
    Slope,
    /// Heaps' law, from the growth within the sample.
    Heaps,
    /// No further repeats: an upper bound.
    Linear,
}

impl Law {
    /// Returns the single law that this names; `None` for the default.
    #[must_use]
    pub(crate) fn growth_law(self) -> Option<GrowthLaw> {
        match self {
            Self::PitmanYor => Some(GrowthLaw::PitmanYor),
            Self::Slope => Some(GrowthLaw::Slope),
            Self::Heaps => Some(GrowthLaw::Heaps),
            Self::Linear => Some(GrowthLaw::Linear),
            Self::Ensemble => None,
        }
    }
}
