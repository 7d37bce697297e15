//! Estimates of what a run will store, from a sample of the corpus or from finished runs.

mod record;
mod sample;

use kato_estimator::calibration::HeldOut;
use kato_estimator::{Calibration, StorageBreakdown};
use serde::Serialize;

use crate::inspect::View;

pub(crate) use record::run_record;
pub(crate) use sample::sample;

/// An estimate of what a run will store, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// The documents that were looked at.
    pub(crate) observed: Observed,
    /// Learn calls, patterns and bytes that the run will store.
    #[serde(flatten)]
    pub(crate) breakdown: StorageBreakdown,
}

/// The documents that an estimate rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Observed {
    /// Documents.
    pub(crate) documents: u64,
    /// Bytes of their text, where known.
    pub(crate) text_bytes: Option<u64>,
    /// Whether these documents are the whole corpus.
    pub(crate) whole_corpus: bool,
    /// Predictions of parts of these documents from the rest, with their errors.
    pub(crate) held_out: Vec<HeldOut>,
}

impl Observed {
    /// Returns what a calibration rests on.
    #[must_use]
    pub(crate) fn of(calibration: &Calibration, whole_corpus: bool) -> Self {
        Self {
            documents: calibration.samples,
            text_bytes: calibration.text_bytes,
            whole_corpus,
            held_out: calibration.held_out.clone(),
        }
    }

    /// Describes in a sentence what was looked at, for people.
    fn text(&self) -> String {
        let mut text = format!("From {} documents", self.documents);
        if self.whole_corpus {
            text += ", the whole corpus";
        }
        let errors = self.held_out.iter().map(|held_out| held_out.error().abs());
        if let Some(worst) = errors.reduce(f64::max) {
            text += &format!(
                "; {} parts of them were predicted from the rest within {:.1} %",
                self.held_out.len(),
                100.0 * worst
            );
        }
        text + ".\n"
    }
}

impl View for Estimate {
    fn text(&self, _width: usize) -> String {
        format!("{}\n{}", self.breakdown, self.observed.text())
    }
}
