//! Estimates of what a run will store, from a sample of the corpus or from finished runs.

mod choices;
mod corpus;
mod record;
mod sample;

use indicatif::HumanBytes;
use kato_estimator::breakdown::Doubt;
use kato_estimator::calibration::HeldOut;
use kato_estimator::repeats::Repeats;
use kato_estimator::{Calibration, CorpusSample, StorageBreakdown};
use kato_planner::{Correction, ForecastValue, Interval};
use kato_report::figures::bytes;
use serde::Serialize;

use crate::forecast::corrected;
use crate::history::RunFacts;
use crate::inspect::View;
use crate::numbers::counted;

pub(crate) use choices::{Engine, Law, unused};
pub(crate) use corpus::{LookedAt, Wish, look_at};
pub(crate) use record::{from_runs, run_record};

/// An estimate of what a run will store, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// What the run is known by, by which `kato train` tells whether the estimate is its own; `None` where
    /// it is from finished runs.
    pub(crate) made_for: Option<RunFacts>,
    /// The documents that were looked at.
    pub(crate) observed: Observed,
    /// What the bytes of the whole were corrected by; `None` where they were not.
    pub(crate) correction: Option<Correction>,
    /// Bytes of the index that the run leaves beside its store; `None` where it leaves none.
    pub(crate) index_bytes: Option<ForecastValue>,
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
    /// Repeats among these documents; `None` where only a run is known.
    pub(crate) repeats: Option<Repeats>,
    /// Predictions of runs from the others, with their errors.
    pub(crate) held_out: Vec<HeldOut>,
}

/// Upper over lower end from which on an interval is told to be wide.
const WIDE: f64 = 1.5;

/// Share of the text from which on repeats are told.
const TOLD_SHARE: f64 = 0.01;

impl Observed {
    /// Returns what an estimate from finished runs rests on.
    #[must_use]
    pub(crate) fn of_runs(calibration: &Calibration) -> Self {
        Self {
            documents: calibration.samples,
            text_bytes: calibration.text_bytes,
            whole_corpus: false,
            repeats: None,
            held_out: calibration.held_out.clone(),
        }
    }

    /// Returns what an estimate from a sample rests on.
    #[must_use]
    pub(crate) fn of_sample(sample: &CorpusSample, whole_corpus: bool) -> Self {
        Self {
            documents: sample.documents,
            text_bytes: Some(sample.text_bytes),
            whole_corpus,
            repeats: Some(sample.repeats.clone()),
            held_out: Vec::new(),
        }
    }

    /// Describes in sentences what was looked at, for people.
    fn text(&self) -> String {
        let documents = counted(self.documents, "document");
        let mut text = match self.whole_corpus {
            true => format!("Counted: the whole corpus, {documents}"),
            false => format!("From {documents}"),
        };
        let errors = self.held_out.iter().map(|held_out| held_out.error().abs());
        if let Some(worst) = errors.reduce(f64::max) {
            text += &format!(
                "; {} predicted from the others within {:.1} %",
                counted(self.held_out.len(), "run"),
                100.0 * worst
            );
        }
        text += ".\n";
        if let Some(repeats) = &self.repeats {
            text += &told(repeats);
        }
        text
    }
}

/// Describes why an interval is wide, and what would narrow it; nothing where it is not, or nothing tells why.
fn doubt(breakdown: &StorageBreakdown, whole_corpus: bool) -> String {
    let total = &breakdown.total_patterns;
    if total.high < WIDE * total.low {
        return String::new();
    }
    // The lowest level has most of the patterns, and those above follow it.
    let lowest = breakdown.level_estimates.first();
    let reason = match lowest.and_then(|level| level.doubt) {
        Some(Doubt::Documents) => "documents differ much from each other",
        Some(Doubt::Repeats) => "too few repeat to say how many of the others do",
        Some(_) => "patterns may grow faster or slower beyond what was observed",
        None => return String::new(),
    };
    let remedy = match whole_corpus {
        true => "All of the corpus was read: give more text of its kind",
        false => "Read more of it with --for TIME or --max-documents N",
    };
    format!("The interval is wide: {reason}. {remedy}, or estimate from a longer run.\n")
}

/// Describes repeats in a sentence; nothing where there are hardly any.
fn told(repeats: &Repeats) -> String {
    let kinds = [
        (&repeats.documents, "documents"),
        (&repeats.paragraphs, "paragraphs"),
        (&repeats.lines, "lines"),
    ];
    let told = kinds
        .into_iter()
        .filter(|(units, _)| units.share() >= TOLD_SHARE)
        .map(|(units, kind)| format!("{:.0} % in {kind}", 100.0 * units.share()));
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return String::new();
    }
    let saved = match repeats.documents.share() >= TOLD_SHARE {
        true => format!(
            "; without repeated documents it is {} less text",
            HumanBytes(repeats.documents.repeated_bytes)
        ),
        false => String::new(),
    };
    format!(
        "Share of the text that stands there already: {}{saved}. `kato datasets stats --repeats` lists them.\n",
        told.join(", ")
    )
}

impl View for Estimate {
    fn text(&self, _width: usize) -> String {
        let doubt = doubt(&self.breakdown, self.observed.whole_corpus);
        let corrected = self
            .correction
            .as_ref()
            .map(|correction| format!("The size of all is corrected{}.\n", corrected(correction)));
        let corrected = corrected.unwrap_or_default();
        let index = self.index_bytes.map(|index| {
            let Interval { value, low, high } = index.into();
            let [value, low, high] = [value, low, high].map(bytes);
            format!("Index beside it: {value} ({low}–{high}).\n")
        });
        let index = index.unwrap_or_default();
        format!(
            "{}\n{index}{corrected}{}{doubt}",
            self.breakdown,
            self.observed.text()
        )
    }
}
