//! What the arguments of an estimate choose from.

use std::path::PathBuf;

use clap::{ArgMatches, ValueEnum};
use kato_estimator::{GrowthLaw, StorageEngine};

use crate::source::is_stdin;
use crate::unused::{Unused, is_given, unless_absent};

/// Finds options that the store or the corpus of an estimate does not use.
pub(crate) fn unused(matches: &ArgMatches) -> Option<Unused> {
    let is_embedded = matches!(matches.get_one("engine"), Some(Engine::Embedded));
    // What a run is known by, these are for any store.
    let is_kept = matches.get_flag("json") || is_given(matches, "history");
    let of_parts = "it is for --engine embedded: no other store has parts";
    let is_limited = is_given(matches, "look_at");
    let by_documents = "--max-documents says how much is read, however long that takes";
    let mut sources = matches.get_many::<PathBuf>("sources").into_iter().flatten();
    let is_stdin = sources.any(|source| is_stdin(source));
    [
        (!is_embedded, "compact", of_parts),
        (!is_embedded && !is_kept, "workers", of_parts),
        (!is_embedded && !is_kept, "memory", of_parts),
        (is_limited, "time", by_documents),
        (
            is_stdin,
            "seed",
            "of standard input the first documents are read",
        ),
    ]
    .into_iter()
    .filter(|(is_unused, ..)| *is_unused)
    .find_map(|(_, id, why)| unless_absent(matches, id, why))
}

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
    /// The share of repeats stays as observed.
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
