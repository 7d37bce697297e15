//! Calibrations: what is known of a corpus before it is learned, from a sample or from finished
//! runs.

use serde::{Deserialize, Serialize};

use crate::error::check_schema;
use crate::ratio::{Scaled, Sums, Target};
use crate::recapture::Holders;
use crate::run_record::FinishedRun;
use crate::sample::Stored;
use crate::{CorpusSample, EstimateError, EstimatedHierarchy, FrequencyCounts, StorageEstimator};

/// Version of the stored form.
const SCHEMA: u32 = 3;

/// Standard deviation of a document's learn calls over their mean, for a run, of which only their
/// sum is known. Rows of encyclopedia text have 0.8.
const ASSUMED_DOCUMENT_VARIATION: f64 = 1.0;

/// Share of the repeated patterns of a small run that repeat within a document or its neighbours
/// only, so that more documents do not bring more such repeats.
const LOCAL_REPEATS: f64 = 0.65;
/// Number of learn calls of a run that halves that share: pairs of neighbours grow with the learn
/// calls, all pairs with their square. Both numbers were measured on consecutive rows of WikiText-2.
const LOCAL_CALLS: f64 = 8_000.0;

/// The observations that estimates are made from. It can be stored as JSON and is small, whatever
/// it was made from.
///
/// ```
/// use kato_estimator::run_record::{RunLevel, FinishedRun};
/// use kato_estimator::{Calibration, EstimatedHierarchy, StorageEstimator};
///
/// let run = FinishedRun::new(EstimatedHierarchy::new([3])?, 100)
///     .with_level(RunLevel::new([(1, 2575), (2, 85), (3, 19), (4, 4)].into_iter().collect()));
/// let calibration = Calibration::from_run(&run)?;
/// let restored = Calibration::from_json(&calibration.to_json())?;
/// assert_eq!(restored, calibration);
/// let estimator = StorageEstimator::builder().with_calibration(restored).build()?;
/// let breakdown = estimator.estimate_storage(1_000)?;
/// assert!(breakdown.total_patterns.value > 20_000.0);
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Calibration {
    /// Version of this form, 3.
    pub schema: u32,
    /// Kind of observations that it was made from.
    pub source: CalibrationSource,
    /// The hierarchy that it holds for.
    pub hierarchy: EstimatedHierarchy,
    /// Documents observed.
    pub samples: u64,
    /// Bytes of their text, where known.
    pub text_bytes: Option<u64>,
    /// Predictions of runs that were held out, with the truth; empty where nothing could be held
    /// out.
    pub held_out: Vec<HeldOut>,
    pub(crate) engine: Option<String>,
    pub(crate) tokens: Option<u64>,
    /// Different documents by how often they were drawn; empty for a run.
    pub(crate) drawn: FrequencyCounts,
    /// The segments that a run leaves of what was observed; `None` where that is not known.
    #[serde(default)]
    pub(crate) stored: Option<Stored>,
    pub(crate) vocabulary: Option<FrequencyCounts>,
    /// Mean bytes of the text of a distinct token that was observed; `None` where that is not known.
    #[serde(default)]
    pub(crate) token_text_bytes: Option<f64>,
    pub(crate) levels: Vec<LevelEvidence>,
}

/// The kind of observations that a calibration was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CalibrationSource {
    /// A sample of the corpus.
    Sample,
    /// A finished run.
    Run,
    /// Several finished runs.
    History,
}

/// A prediction of observations that were held out, with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Distinct patterns predicted, over all levels.
    pub predicted: f64,
    /// Distinct patterns observed, over all levels.
    pub actual: f64,
}

impl HeldOut {
    /// Returns the signed relative error of the prediction; 0 where nothing was observed.
    #[must_use]
    pub fn error(&self) -> f64 {
        if self.actual > 0.0 {
            self.predicted / self.actual - 1.0
        } else {
            0.0
        }
    }
}

/// The observations of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LevelEvidence {
    pub(crate) learn_calls: u64,
    pub(crate) frequencies: FrequencyCounts,
    pub(crate) symbols_per_pattern: f64,
    /// Frequencies without repeats within a document.
    pub(crate) once_a_document: FrequencyCounts,
    /// Documents that hold each pattern, and each window; `None` for a run.
    pub(crate) holders: Option<[Holders; 2]>,
    /// Relative standard deviation of the distinct patterns that were observed.
    pub(crate) slice_error: f64,
    /// Share of learn calls that are the first of their pattern in the document.
    pub(crate) first_in_document: f64,
    /// `None` for a run, whose documents are not known.
    pub(crate) spread: Option<Spread>,
    pub(crate) bytes: Option<u64>,
}

/// Sums that show how learn calls vary from document to document, by each measure of size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) by_documents: Sums,
    pub(crate) by_text_bytes: Sums,
    pub(crate) by_tokens: Sums,
}

impl Calibration {
    /// Creates a calibration from a sample of the corpus: the best source before a run.
    #[must_use]
    pub fn from_sample(sample: &CorpusSample) -> Self {
        let levels = sample.levels.iter().map(|level| LevelEvidence {
            learn_calls: level.learns,
            frequencies: level.frequencies.clone(),
            symbols_per_pattern: level.symbols_per_pattern,
            once_a_document: level.holders.numbers.clone(),
            holders: Some([level.holders.clone(), level.windows.clone()]),
            slice_error: level.slice_error,
            first_in_document: level.first_in_document,
            spread: Some(Spread {
                by_documents: level.by_documents,
                by_text_bytes: level.by_text_bytes,
                by_tokens: level.by_tokens,
            }),
            bytes: None,
        });
        Self {
            schema: SCHEMA,
            source: CalibrationSource::Sample,
            hierarchy: sample.hierarchy.clone(),
            samples: sample.documents,
            text_bytes: Some(sample.text_bytes),
            held_out: Vec::new(),
            engine: None,
            tokens: Some(sample.tokens),
            drawn: sample.drawn.clone(),
            stored: sample.stored.clone(),
            vocabulary: Some(sample.vocabulary.clone()),
            token_text_bytes: sample.token_text_bytes,
            levels: levels.collect(),
        }
    }

    /// Creates a calibration from a finished run: its frequencies, and its bytes where they are
    /// known.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Record`] when the levels are not those of the hierarchy or the run learned
    /// nothing.
    pub fn from_run(run: &FinishedRun) -> Result<Self, EstimateError> {
        if run.levels.len() != run.hierarchy.n_levels() {
            return Err(EstimateError::Record {
                level: run.levels.len(),
                problem: "that it is the first missing or surplus one",
            });
        }
        let calls: Vec<u64> = run
            .levels
            .iter()
            .map(|level| level.frequencies.observations())
            .collect();
        if run.samples == 0 || calls.first() == Some(&0) {
            return Err(EstimateError::Record {
                level: 0,
                problem: "that nothing was learned",
            });
        }
        let levels = run.levels.iter().enumerate().map(|(level_idx, level)| {
            // Chunk sizes above level 0 are at least 2, so `clamp` has its ends in order.
            let chunk_size = run.hierarchy.chunk_size(level_idx) as f64;
            let below = level_idx.checked_sub(1).and_then(|below| calls.get(below));
            // No run tells how many symbols its patterns have: at level 0 that is the chunk size, and above the learn
            // calls of the level below for each of its own.
            let symbols_per_pattern = below.map_or(chunk_size, |&below| {
                let calls = level.frequencies.observations().max(1);
                (below as f64 / calls as f64).clamp(2.0, chunk_size)
            });
            let calls = level.frequencies.observations();
            // A run knows no documents. What may be local is the counterpart of a sample's repeats
            // within a document.
            let not_local = without_local_repeats(&level.frequencies);
            LevelEvidence {
                learn_calls: calls,
                first_in_document: if calls == 0 {
                    1.0
                } else {
                    not_local.observations() as f64 / calls as f64
                },
                slice_error: 0.0,
                once_a_document: not_local,
                holders: None,
                frequencies: level.frequencies.clone(),
                symbols_per_pattern,
                spread: None,
                bytes: level.bytes,
            }
        });
        Ok(Self {
            schema: SCHEMA,
            source: CalibrationSource::Run,
            hierarchy: run.hierarchy.clone(),
            samples: run.samples,
            text_bytes: run.text_bytes,
            held_out: Vec::new(),
            engine: run.engine.clone(),
            tokens: None,
            drawn: FrequencyCounts::default(),
            stored: None,
            vocabulary: None,
            token_text_bytes: None,
            levels: levels.collect(),
        })
    }

    /// Creates a calibration from the largest finished run of a hierarchy. The runs of that
    /// hierarchy are predicted from each other to show the error.
    ///
    /// # Errors
    ///
    /// [`EstimateError::NoSuchRun`] when no run has the hierarchy; as [`from_run`](Self::from_run)
    /// for the runs that have it.
    pub fn from_history(
        runs: &[FinishedRun],
        hierarchy: &EstimatedHierarchy,
    ) -> Result<Self, EstimateError> {
        let same: Vec<&FinishedRun> = runs
            .iter()
            .filter(|run| run.hierarchy == *hierarchy)
            .collect();
        let largest = same
            .iter()
            .max_by_key(|run| run.samples)
            .ok_or(EstimateError::NoSuchRun)?;
        let mut calibration = Self::from_run(largest)?;
        calibration.source = CalibrationSource::History;
        for (held_idx, held) in same.iter().enumerate() {
            let others = same
                .iter()
                .enumerate()
                .filter(|(idx, _)| *idx != held_idx)
                .map(|(_, run)| *run);
            // As a calibration is used: from the largest run that is not larger than what it
            // predicts, else from the smallest.
            let (smaller, larger): (Vec<_>, Vec<_>) =
                others.partition(|run| run.samples <= held.samples);
            let smaller = smaller.into_iter().max_by_key(|run| run.samples);
            let Some(known) = smaller.or(larger.into_iter().min_by_key(|run| run.samples)) else {
                continue;
            };
            let estimator = StorageEstimator::builder()
                .with_calibration(Self::from_run(known)?)
                // The error is of interest however far the runs are apart.
                .with_force(true)
                .build()?;
            let breakdown = estimator.estimate_storage(held.samples)?;
            calibration.held_out.push(HeldOut {
                predicted: breakdown.total_patterns.value,
                actual: held.total_patterns() as f64,
            });
        }
        Ok(calibration)
    }

    /// Returns the stored form, as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Json`] when it is something else, or of another version.
    pub fn from_json(json: &str) -> Result<Self, EstimateError> {
        check_schema(json, SCHEMA)?;
        let calibration: Self = serde_json::from_str(json)?;
        // Levels are paired with those of the hierarchy everywhere, so their numbers must agree.
        let (levels, expected) = (calibration.levels.len(), calibration.hierarchy.n_levels());
        if levels != expected {
            let reason = format!("it has {levels} levels, and its hierarchy {expected}");
            return Err(EstimateError::Json { reason });
        }
        Ok(calibration)
    }

    /// Returns the size of the target as a multiple of the observed corpus.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Target`] for a size of 0 or in a unit that was not observed.
    pub(crate) fn factor(&self, target: &Target) -> Result<f64, EstimateError> {
        // Text before tokens before documents: documents differ in length more than text differs in
        // tokens.
        let (value, unit, observed) = match *target {
            Target {
                text_bytes: Some(value),
                ..
            } => (value, "bytes of text", self.text_bytes),
            Target {
                tokens: Some(value),
                ..
            } => (value, "tokens", self.tokens),
            Target {
                samples: Some(value),
                ..
            } => (value, "documents", Some(self.samples)),
            Target { .. } => (0, "documents", None),
        };
        match observed {
            Some(observed) if observed > 0 && value > 0 => Ok(value as f64 / observed as f64),
            _ => Err(EstimateError::Target {
                value: value as f64,
                unit,
                reason: "give at least 1, in a unit that the sample or the run tells: documents always work",
            }),
        }
    }
}

impl LevelEvidence {
    /// Returns the learn calls of the target with their error; `factor` and `samples` are used for
    /// a run alone.
    pub(crate) fn scale(&self, target: &Target, factor: f64, samples: u64) -> Scaled {
        let Some(spread) = &self.spread else {
            // The observed part has no error, hence only what lies beyond it counts.
            let unknown = (1.0 - 1.0 / factor.max(1.0)).max(0.0);
            return Scaled {
                value: self.learn_calls as f64 * factor,
                relative_sd: ASSUMED_DOCUMENT_VARIATION * (unknown / samples.max(1) as f64).sqrt(),
            };
        };
        match *target {
            Target {
                samples: Some(documents),
                text_bytes: Some(bytes),
                ..
            } => spread
                .by_text_bytes
                .regression(documents as f64, bytes as f64),
            Target {
                text_bytes: Some(bytes),
                ..
            } => spread.by_text_bytes.ratio(bytes as f64),
            Target {
                tokens: Some(tokens),
                ..
            } => spread.by_tokens.ratio(tokens as f64),
            Target { samples, .. } => spread.by_documents.ratio(samples.unwrap_or(0) as f64),
        }
    }
}

/// Returns the frequencies without twice the local repeats, whose patterns count once. All
/// frequencies and these err to either side, and the estimate is the middle.
fn without_local_repeats(frequencies: &FrequencyCounts) -> FrequencyCounts {
    let share = LOCAL_REPEATS / (1.0 + frequencies.observations() as f64 / LOCAL_CALLS);
    let removed = (2.0 * share).min(1.0);
    let parts = frequencies.iter().flat_map(|(frequency, n)| {
        let local = if frequency > 1 {
            // At most `n`, as `removed` is at most 1, so the subtraction below cannot underflow.
            (n as f64 * removed).round() as u64
        } else {
            0
        };
        [(1, local), (frequency, n - local)]
    });
    parts.collect()
}

/// Returns the calibration as JSON.
fn json(calibration: &Calibration) -> String {
    // Writing to a string fails for keys that are no text and for types that refuse. Here keys are
    // names or integers, which become text, and all types are derived.
    serde_json::to_string(calibration).expect("a calibration is plain data")
}
