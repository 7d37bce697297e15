//! The pilots of a plan, and what they say of the run.

use anyhow::{Context, Result};
use indicatif::HumanBytes;
use kato_planner::Interval;
use kato_planner::scaling::{Scaling, ScalingAnalyzer};
use kato_random::SplitMix64;
use kato_scheduler::StopSignal;
use serde::Serialize;
use serde_json::Value;

use crate::meter::Meter;
use crate::pilot::{PilotCorpus, PilotStore};

/// Parts of the pilot corpus that pilots train: eighths of it.
const EIGHTHS: [u64; 5] = [1, 2, 4, 6, 8];

/// How pilots are made.
#[derive(Debug, Clone)]
pub(crate) struct Pilots {
    /// How often each size is trained.
    pub(crate) repeats: usize,
    /// Decides their order.
    pub(crate) seed: u64,
    /// Flags of `kato train`.
    pub(crate) flags: Vec<String>,
    /// Where the run's knowledge goes.
    pub(crate) store: PilotStore,
}

/// What one pilot has measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Measured {
    /// Bytes of text.
    pub(crate) text_bytes: u64,
    /// Documents.
    pub(crate) documents: u64,
    /// Seconds, as `kato train` tells them.
    pub(crate) seconds: f64,
    /// Those of them in which what was written last went to the disk and nothing was learned; a
    /// larger run writes nearly everything while it learns.
    pub(crate) flush_seconds: f64,
    /// Seconds of one core that learning and writing took, over all workers.
    pub(crate) core_seconds: f64,
    /// Those of them in which what was learned was sorted and written.
    pub(crate) stage_seconds: f64,
    /// Seconds that reading and decoding took.
    pub(crate) reader_seconds: f64,
    /// Share of the workers' time that was waiting for documents.
    pub(crate) starved_share: f64,
    /// Bytes on the disk.
    pub(crate) disk_bytes: Option<u64>,
    /// Distinct patterns of all levels.
    pub(crate) patterns: Option<u64>,
    /// Peak bytes of memory of learning.
    pub(crate) memory_bytes: Option<u64>,
    /// Peak bytes of memory until the index was written.
    pub(crate) index_memory_bytes: Option<u64>,
    /// Bytes of the index; `None` where none was written.
    pub(crate) index_bytes: Option<u64>,
    /// Seconds in which it was written, after those of the run.
    pub(crate) index_seconds: Option<f64>,
    /// Bytes of the head's counts, and the seconds in which they were written; `None` where they were not
    /// asked for.
    pub(crate) head_bytes: Option<u64>,
    pub(crate) head_seconds: Option<f64>,
    /// The same of the occurrences.
    pub(crate) occurrences_bytes: Option<u64>,
    pub(crate) occurrences_seconds: Option<f64>,
    /// Workers.
    pub(crate) workers: u64,
    /// Tokens.
    pub(crate) tokens: u64,
    /// Upserts into a MongoDB, as they are estimated for so much text.
    pub(crate) upserts: Option<f64>,
}

impl Measured {
    /// Reads the report of a pilot.
    fn of(report: &Value, text_bytes: u64, store: &PilotStore) -> Result<Self> {
        let number = |value: &Value| value.as_f64();
        let stages = &report["stage_seconds"];
        let seconds = number(&report["total_time_seconds"]).context("a pilot told no time")?;
        let of = |name: &str| number(&stages[name]).unwrap_or(0.0);
        let patterns = report["levels"].as_array().map(|levels| {
            let of_level = levels.iter().map(|level| level["unique_patterns"].as_u64());
            of_level.sum::<Option<u64>>()
        });
        Ok(Self {
            text_bytes,
            documents: report["samples_processed"].as_u64().unwrap_or(0),
            seconds,
            flush_seconds: match store {
                PilotStore::Embedded => of("commit").min(seconds),
                // A commit is what a server is sent, all of it.
                PilotStore::Mongodb { .. } => 0.0,
            },
            core_seconds: of("learn") + of("stage"),
            stage_seconds: of("stage"),
            reader_seconds: of("load"),
            starved_share: number(&report["starved_share"]).unwrap_or(0.0),
            disk_bytes: report["disk_bytes"].as_u64(),
            patterns: patterns.flatten(),
            memory_bytes: report["learning_peak_memory_bytes"].as_u64(),
            index_memory_bytes: report["index"]["peak_memory_bytes"].as_u64(),
            index_bytes: report["index"]["bytes"].as_u64(),
            index_seconds: number(&report["index"]["seconds"]),
            head_bytes: report["head"]["bytes"].as_u64(),
            head_seconds: number(&report["head"]["seconds"]),
            occurrences_bytes: report["occurrences"]["bytes"].as_u64(),
            occurrences_seconds: number(&report["occurrences"]["seconds"]),
            workers: report["num_workers"].as_u64().unwrap_or(1).max(1),
            tokens: report["tokens"].as_u64().unwrap_or(0),
            upserts: None,
        })
    }

    /// Returns the size that the time grows with: upserts where they are known, else bytes of text.
    pub(crate) fn size(&self) -> f64 {
        self.upserts.unwrap_or(self.text_bytes as f64)
    }

    /// Returns the seconds that grow with the text, however large the run.
    ///
    /// Workers of a pilot wait at its end for the one that has the largest document, and at its beginning for the
    /// first one: of a few documents that is much, and of many it is no more.
    pub(crate) fn growing_seconds(&self) -> f64 {
        let working = self.seconds - self.flush_seconds - self.waiting_seconds();
        working.max(self.core_seconds / self.workers.max(1) as f64)
    }

    /// Returns the seconds in which a worker waited for documents, in the mean.
    pub(crate) fn waiting_seconds(&self) -> f64 {
        self.seconds * self.starved_share
    }
}

/// Trains the pilots: every size once in a random order, then all again, so that a slow moment of
/// the machine meets all sizes. A first one, of the largest size, is not counted: it brings
/// programs and files into the memory.
///
/// # Errors
///
/// When one fails, and when it was interrupted.
pub(crate) fn measure(
    corpus: &PilotCorpus,
    pilots: &Pilots,
    stop: &StopSignal,
    meter: &mut Meter,
) -> Result<Vec<Measured>> {
    let total = corpus.total_bytes();
    let mut sizes: Vec<usize> = EIGHTHS
        .iter()
        .map(|&n| corpus.documents_for(total * n / 8))
        .collect();
    sizes.dedup();
    let mut order = vec![corpus.n_documents()];
    let mut random = SplitMix64::from_seed(pilots.seed);
    for _ in 0..pilots.repeats {
        let mut round = sizes.clone();
        for end in (1..round.len()).rev() {
            round.swap(end, random.below(end + 1));
        }
        order.extend(round);
    }
    let mut measured = Vec::with_capacity(order.len());
    for (idx, &documents) in order.iter().enumerate() {
        let place = corpus.place(&pilots.store)?;
        let report = corpus.train(&place, documents, &pilots.flags, stop)?;
        place.remove()?;
        let text_bytes = corpus.bytes_of(documents);
        if idx > 0 {
            measured.push(Measured::of(&report, text_bytes, &pilots.store)?);
        }
        meter.update(idx as u64 + 1, Some(order.len() as u64), || {
            vec![format!(
                "pilot {} of {}, {}",
                idx + 1,
                order.len(),
                HumanBytes(text_bytes)
            )]
        });
    }
    Ok(measured)
}

/// Fits a quantity of the pilots over their size; `None` where they do not tell it.
pub(crate) fn fitted(
    analyzer: &ScalingAnalyzer,
    measured: &[Measured],
    of: impl Fn(&Measured) -> Option<f64>,
) -> Option<Scaling> {
    let points = measured.iter().filter_map(|pilot| {
        let value = of(pilot).filter(|&value| value > 0.0)?;
        Some((pilot.size(), value))
    });
    analyzer.fit(points).ok()
}

/// Returns a prediction as an interval.
pub(crate) fn interval(prediction: kato_planner::scaling::Prediction) -> Interval {
    Interval::new(prediction.value, prediction.low, prediction.high)
}
