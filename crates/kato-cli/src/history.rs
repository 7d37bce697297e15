//! The history of runs: recording what `kato train` has done, and the views of `kato history`.

#[cfg(not(feature = "history"))]
mod missing;
#[cfg(feature = "history")]
mod plots;
#[cfg(feature = "history")]
mod recording;
#[cfg(feature = "history")]
mod views;

use std::path::PathBuf;

#[cfg(not(feature = "history"))]
pub(crate) use missing::{Recorder, missing};
#[cfg(feature = "history")]
pub(crate) use recording::Recorder;
#[cfg(feature = "history")]
pub(crate) use {
    plots::write_plots,
    views::{AccuracyView, ComparisonView, ForecastView, Imported, Removed, RunsView, SimilarView},
};

/// Whether and where a run is recorded, and what was foretold of it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryArgs {
    /// Record the run in this file, which is made where it is missing; see `kato history`.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Compare the run with its plan, a file that `kato plan --out` wrote. Without one, what the
    /// runs of --history with the same settings took is the forecast.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Keep this note with the run.
    #[arg(long, value_name = "TEXT", requires = "history")]
    pub(crate) note: Option<String>,
}

/// What a run was trained with, for its record.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "history"),
    expect(dead_code, reason = "nothing is recorded without the feature")
)]
pub(crate) struct RunFacts {
    /// Chunk sizes, from the bottom up.
    pub(crate) chunk_sizes: Vec<u64>,
    /// Kind of place that the knowledge goes to.
    pub(crate) backend: &'static str,
    /// Bytes of memory for what is not yet written.
    pub(crate) memory_bytes: u64,
    /// The sources as they were named.
    pub(crate) corpus: String,
    /// Digest of the corpus.
    pub(crate) fingerprint: String,
    /// Bytes of its files; `None` where one does not tell.
    pub(crate) corpus_bytes: Option<u64>,
    /// All settings that decide what is learned.
    pub(crate) configuration: serde_json::Value,
    /// Whether a part of the corpus is trained, so that its size says nothing.
    pub(crate) is_part: bool,
}
