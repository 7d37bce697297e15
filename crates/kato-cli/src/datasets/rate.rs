//! The number of documents that this machine learns in a second: as the user says, or measured in
//! about a second.

use std::io::Cursor;
use std::time::Duration;

use anyhow::Result;
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{Format, StreamingDatasetLoader};
use kato_random::corpus::{CorpusModel, write_corpus};
use kato_scheduler::{RunConfiguration, TrainingEvent, TrainingOptions, train_parallel};
use kato_store::MemoryStore;
use serde::Serialize;

use crate::numbers::counted;

/// Time that is measured for, and until what was begun then is learned; less where the text ends before.
const MEASURED: Duration = Duration::from_secs(1);
/// Synthetic text that is made for it: more than is learned in that time on slow machines.
const TEXT_BYTES: u64 = 16 << 20;
/// The text that the synthetic one resembles.
const SAMPLE: &str = include_str!("../../data/sample.txt");

/// A rate of learning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Rate {
    /// Documents a second.
    pub(crate) documents_per_second: f64,
    /// Origin of the figure, in words.
    pub(crate) source: String,
}

impl Rate {
    /// Creates a rate that the user knows.
    #[must_use]
    pub(crate) fn given(documents_per_second: f64) -> Self {
        Self {
            documents_per_second,
            source: "as given".to_owned(),
        }
    }

    /// Measures the rate on synthetic documents of about 2.1 kB (500 tokens), learned into memory
    /// with the settings that `kato train` has by default.
    ///
    /// # Errors
    ///
    /// When learning fails, which would be a bug.
    pub(crate) fn measure() -> Result<Self> {
        let mut text = Vec::new();
        write_corpus(&CorpusModel::from_text(SAMPLE)?, 1, TEXT_BYTES, &mut text)?;
        let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
            // The default levels of `kato train`.
            .with_chunk_sizes([5, 7, 9])
            .build()?;
        let mut loader = StreamingDatasetLoader::builder()
            .with_reader("measured.jsonl", Cursor::new(text))
            .with_format(Format::JsonLines)
            .build()?;
        let configuration = RunConfiguration::from_learner(&learner).to_json();
        let store = MemoryStore::new(&learner.node_names(), configuration);
        let options = TrainingOptions::default();
        // The run is stopped from within, by its own events, so it ends with a report like any
        // other.
        let stop = options.stop.clone();
        let report = train_parallel(&mut loader, &learner, &store, &options, |event| {
            if let TrainingEvent::Progress(progress) = event
                && progress.elapsed >= MEASURED
            {
                stop.stop();
            }
        })?;
        Ok(Self {
            documents_per_second: report.documents_per_sec,
            source: format!(
                "measured now: {} of 2.1 kB learned into memory in {:.1} s with {}",
                counted(report.session_documents, "synthetic document"),
                report.total_time_seconds,
                counted(report.n_workers, "thread")
            ),
        })
    }
}
