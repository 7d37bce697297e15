//! The history of runs: recording what `kato train` has done, and the views of `kato history`.

#[cfg(feature = "history")]
mod forecast;
#[cfg(not(feature = "history"))]
mod missing;
#[cfg(feature = "history")]
mod plots;
#[cfg(feature = "history")]
mod recording;
#[cfg(feature = "history")]
mod views;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use kato_loader::CorpusIdentity;
use kato_planner::Forecast;
use kato_runs::manifest::CorpusDigest;
use kato_scheduler::RunConfiguration;
use serde::Serialize;

use crate::source::shown;

#[cfg(not(feature = "history"))]
pub(crate) use missing::{Recorder, missing};
#[cfg(feature = "history")]
pub(crate) use recording::Recorder;
#[cfg(feature = "history")]
pub(crate) use {
    forecast::{Asked, forecast},
    plots::write_plots,
    views::{AccuracyView, ComparisonView, Imported, Removed, RunsView, SimilarView},
};

/// Whether and where a run is recorded, and what was foretold of it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryArgs {
    /// Record the run in this file, which is made where it is missing; see `kato history`.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Compare the run with what was foretold of it: a file that `kato plan --out` or `kato
    /// estimate --json` wrote. Without one the forecast comes from --history.
    #[arg(long, alias = "plan", value_name = "FILE")]
    pub(crate) forecast: Option<PathBuf>,
    /// Keep this note with the run.
    #[arg(long, value_name = "TEXT", requires = "history")]
    pub(crate) note: Option<String>,
}

/// Where a forecast is kept.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "History")]
pub(crate) struct ForetellArgs {
    /// Correct the forecast by the errors of earlier ones on this machine, and keep it in this file
    /// for `kato train --history`.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

impl ForetellArgs {
    /// Refuses a file that is no history, or cannot be written, before anything is measured.
    ///
    /// # Errors
    ///
    /// When it is such a file.
    pub(crate) fn check(&self) -> Result<()> {
        self.history
            .as_deref()
            .map_or(Ok(()), |path| Recorder::open(path).map(drop))
    }

    /// Corrects a forecast, and keeps it for the run of these facts; without a history it stays as it
    /// is.
    ///
    /// # Errors
    ///
    /// When the history cannot be read or written.
    pub(crate) fn foretell(
        &self,
        forecast: Forecast,
        facts: Option<&RunFacts>,
    ) -> Result<Forecast> {
        match self.history.as_deref().zip(facts) {
            Some((path, facts)) => Recorder::open(path)?.foretell(facts, forecast),
            None => Ok(forecast),
        }
    }
}

/// Returns the chunk sizes of a run, from the bottom up.
pub(crate) fn chunk_sizes(configuration: &RunConfiguration) -> Vec<u64> {
    let nodes = configuration.rules.learner.nodes.iter();
    nodes.map(|node| node.chunk_size as u64).collect()
}

/// What a run is trained with: for its record, and for the forecasts of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunFacts {
    /// Chunk sizes, from the bottom up.
    pub(crate) chunk_sizes: Vec<u64>,
    /// Kind of place that the knowledge goes to.
    pub(crate) backend: &'static str,
    /// Bytes of memory for what is not yet written.
    pub(crate) memory_bytes: u64,
    /// The sources as they were named, without what grants access.
    pub(crate) corpus: String,
    /// Digest of the corpus.
    pub(crate) fingerprint: String,
    /// Bytes of its files that are read; `None` where one does not tell.
    pub(crate) corpus_bytes: Option<u64>,
    /// Workers, as far as they are known before it begins.
    pub(crate) workers: Option<u64>,
    /// Documents that travel together; `None` where they do not travel.
    pub(crate) batch: Option<u64>,
    /// All settings that decide what is learned.
    pub(crate) configuration: serde_json::Value,
    /// Whether a part of the corpus is trained, so that its size says nothing.
    pub(crate) is_part: bool,
}

impl RunFacts {
    /// Returns the facts of a run over all of a corpus, into a directory.
    pub(crate) fn new(
        configuration: &RunConfiguration,
        identity: &CorpusIdentity,
        sources: &[PathBuf],
        memory_bytes: u64,
    ) -> Self {
        let sizes = identity.files().into_iter().map(|file| file.size);
        let names = sources.iter().map(|source| shown(source));
        let names: Vec<String> = names.collect();
        Self {
            chunk_sizes: chunk_sizes(configuration),
            backend: "embedded",
            memory_bytes,
            corpus: match names.is_empty() {
                true => "the text of this repository, or of the run".to_owned(),
                false => names.join(" "),
            },
            fingerprint: CorpusDigest::from_identity(identity).digest,
            corpus_bytes: sizes.sum(),
            workers: None,
            batch: None,
            configuration: configuration.to_json(),
            is_part: false,
        }
    }

    /// Sets the workers.
    pub(crate) fn with_workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = Some(workers.get() as u64);
        self
    }

    /// Takes the corpus as so many times as large: of a forecast for another size than that of its
    /// files. Where that is not known, its bytes are not either.
    pub(crate) fn scaled(mut self, times: Option<f64>) -> Self {
        let scaled = |(bytes, times): (u64, f64)| (bytes as f64 * times).round() as u64;
        self.corpus_bytes = self.corpus_bytes.zip(times).map(scaled);
        self
    }
}
