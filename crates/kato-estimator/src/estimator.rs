//! The estimator: from what is known of a corpus to what a run over it will store.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::breakdown::{GrowthPoint, LevelEstimate, StorageBreakdown};
use crate::figure::{Figure, Method};
use crate::growth::vocabulary;
use crate::level_model::{LevelModel, drift};
use crate::sample::GROUPS;
use crate::{
    Calibration, EstimateError, FrequencyCounts, GrowthLaw, Hierarchy, LevelContents, SeedModel,
    StorageEngine, Target,
};

/// Most times the observed corpus that is answered unasked: two decades were tested.
pub const DEFAULT_MAX_EXTRAPOLATION: f64 = 200.0;

/// Points of a growth curve.
const CURVE_POINTS: i32 = 40;

/// Where estimates come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Model {
    /// Observations of the corpus, and the ensemble of growth laws or one law.
    Calibrated(Box<Calibration>, Option<GrowthLaw>),
    /// The original's formula.
    Seed(SeedModel),
}

/// Predicts what a run will store: learn calls, distinct patterns and bytes of every level, with intervals.
///
/// ```
/// use kato_estimator::{Calibration, Hierarchy, SampleBuilder, StorageEstimator, Target};
///
/// let mut sample = SampleBuilder::new(Hierarchy::new([3, 2])?);
/// for document in 0..40u32 {
///     let tokens: Vec<u32> = (0..60).map(|i| (i * i + document) % 11).collect();
///     sample.add(&[tokens], 300);
/// }
/// let calibration = Calibration::from_sample(&sample.finish()?);
/// let estimator = StorageEstimator::builder().calibration(calibration).build()?;
/// let breakdown = estimator.estimate(Target::text_bytes(120_000))?;
/// assert_eq!(breakdown.level_estimates[0].learn_calls.value, 8_000.0);
/// println!("{breakdown}");
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StorageEstimator {
    model: Model,
    engine: StorageEngine,
    confidence: f64,
    max_extrapolation: f64,
    force: bool,
}

/// Builds a [`StorageEstimator`]; made by [`StorageEstimator::builder`].
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct StorageEstimatorBuilder {
    model: Option<Model>,
    law: Option<GrowthLaw>,
    engine: Option<StorageEngine>,
    confidence: Option<f64>,
    max_extrapolation: Option<f64>,
    force: bool,
}

impl StorageEstimatorBuilder {
    /// Estimates from what was observed of the corpus: the default kind of estimate.
    pub fn calibration(self, calibration: Calibration) -> Self {
        self.model(Model::Calibrated(Box::new(calibration), None))
    }

    /// Estimates by the original's formula instead.
    pub fn seed(self, seed: SeedModel) -> Self {
        self.model(Model::Seed(seed))
    }

    /// Estimates by this model.
    pub fn model(mut self, model: Model) -> Self {
        self.model = Some(model);
        self
    }

    /// One growth law instead of the ensemble.
    pub fn law(mut self, law: GrowthLaw) -> Self {
        self.law = Some(law);
        self
    }

    /// The store whose bytes are told. Default: the embedded one.
    pub fn engine(mut self, engine: StorageEngine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Share of cases in which intervals are to hold the truth. Default 0.9.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Most times the observed corpus that is answered. Default [`DEFAULT_MAX_EXTRAPOLATION`].
    pub fn max_extrapolation(mut self, factor: f64) -> Self {
        self.max_extrapolation = Some(factor);
        self
    }

    /// Answers beyond the range as well; intervals then are what the laws say, tested by nothing.
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`EstimateError::NoModel`] without a calibration or a seed; [`EstimateError::Setting`] for a confidence not between 0 and 1 or a
    /// range below 1.
    pub fn build(self) -> Result<StorageEstimator, EstimateError> {
        let model = match (self.model.ok_or(EstimateError::NoModel)?, self.law) {
            (Model::Calibrated(calibration, law), chosen) => {
                Model::Calibrated(calibration, chosen.or(law))
            }
            (seed @ Model::Seed(_), _) => seed,
        };
        let confidence = self.confidence.unwrap_or(0.9);
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(EstimateError::Setting {
                setting: "confidence",
                value: confidence,
                allowed: "a number between 0 and 1",
            });
        }
        let max_extrapolation = self.max_extrapolation.unwrap_or(DEFAULT_MAX_EXTRAPOLATION);
        if max_extrapolation.is_nan() || max_extrapolation < 1.0 {
            return Err(EstimateError::Setting {
                setting: "max_extrapolation",
                value: max_extrapolation,
                allowed: "at least 1",
            });
        }
        Ok(StorageEstimator {
            model,
            engine: self.engine.unwrap_or_else(StorageEngine::embedded),
            confidence,
            max_extrapolation,
            force: self.force,
        })
    }
}

impl StorageEstimator {
    /// Starts building an estimator.
    pub fn builder() -> StorageEstimatorBuilder {
        StorageEstimatorBuilder::default()
    }

    /// What a run over so many documents will store.
    ///
    /// # Errors
    ///
    /// As [`estimate`](Self::estimate).
    pub fn estimate_storage(&self, num_samples: u64) -> Result<StorageBreakdown, EstimateError> {
        self.estimate(Target::samples(num_samples))
    }

    /// What a run over a corpus of this size will store. Give the bytes of its text where they are known: documents differ in length.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Target`] for a size of nothing or in a unit that was not observed; [`EstimateError::TooFar`] beyond the range.
    pub fn estimate(&self, target: Target) -> Result<StorageBreakdown, EstimateError> {
        match &self.model {
            Model::Seed(seed) => self.by_formula(seed, target),
            Model::Calibrated(calibration, law) => self.by_observation(calibration, *law, target),
        }
    }

    fn by_formula(
        &self,
        seed: &SeedModel,
        target: Target,
    ) -> Result<StorageBreakdown, EstimateError> {
        let Some(samples) = target.samples.filter(|&samples| samples > 0) else {
            return Err(EstimateError::Target {
                value: 0.0,
                unit: "samples",
                reason: "the formula asks for a number of documents",
            });
        };
        let bare = |value| Figure::bare(value, self.confidence);
        let levels = seed.levels(samples);
        let level_estimates: Vec<LevelEstimate> = levels
            .iter()
            .enumerate()
            .map(|(level, estimate)| LevelEstimate {
                level,
                node: format!("node{level}"),
                chunk_size: seed.chunk_size(),
                learn_calls: bare(estimate.learn_calls),
                distinct_patterns: bare(estimate.distinct_patterns),
                dedup_share: bare(estimate.dedup_share),
                bytes: bare(estimate.bytes),
                contents: LevelContents {
                    patterns: estimate.distinct_patterns,
                    ..LevelContents::default()
                },
                observed: FrequencyCounts::default(),
                growth: Vec::new(),
            })
            .collect();
        Ok(StorageBreakdown::of_levels(
            "seed-formula",
            target,
            None,
            level_estimates,
            0.0,
            self.confidence,
        ))
    }

    fn by_observation(
        &self,
        calibration: &Calibration,
        law: Option<GrowthLaw>,
        target: Target,
    ) -> Result<StorageBreakdown, EstimateError> {
        let factor = calibration.factor(&target)?;
        if factor > self.max_extrapolation && !self.force {
            return Err(EstimateError::TooFar {
                ratio: factor,
                limit: self.max_extrapolation,
            });
        }
        let models: Vec<LevelModel<'_>> = calibration
            .levels
            .iter()
            .map(|level| LevelModel::fit(level, law))
            .collect();
        let width = self.interval_width();
        let mut figures = Vec::with_capacity(models.len());
        for (evidence, model) in calibration.levels.iter().zip(&models) {
            let mut calls = evidence.scale(&target, factor, calibration.samples);
            calls.relative_sd = calls.relative_sd.hypot(drift(factor));
            figures.push(LevelFigures::of(
                evidence.learn_calls,
                model,
                calls.value,
                calls.relative_sd,
                width,
                self.confidence,
            ));
        }
        let at =
            |which: fn(&LevelFigures) -> f64| -> Vec<f64> { figures.iter().map(which).collect() };
        let calls = at(|f| f.calls.value);
        let segments = match self.engine {
            StorageEngine::Embedded(layout) => {
                layout.n_segments(|n| contents_of_one(calibration, &models, &calls, n))
            }
            StorageEngine::MongoDb(_) | StorageEngine::StockKato(_) => 1,
        };
        let contents = contents_at(calibration, &models, &calls);
        let size = self.sizes(calibration, &models, &calls, None, segments);
        let low = self.sizes(
            calibration,
            &models,
            &calls,
            Some(&at(|f| f.distinct.low.unwrap_or(f.distinct.value))),
            segments,
        );
        let high = self.sizes(
            calibration,
            &models,
            &calls,
            Some(&at(|f| f.distinct.high.unwrap_or(f.distinct.value))),
            segments,
        );
        let error = 1.0 + width * self.engine.relative_error();
        let mut level_estimates = Vec::with_capacity(models.len());
        for (level, (evidence, figure)) in calibration.levels.iter().zip(&figures).enumerate() {
            let of = |sizes: &[f64]| sizes.get(level).copied().unwrap_or_default();
            let (bytes, bytes_low, bytes_high) = (of(&size), of(&low), of(&high));
            level_estimates.push(LevelEstimate {
                level,
                node: format!("node{level}"),
                chunk_size: calibration.hierarchy.chunk_size(level),
                learn_calls: figure.calls,
                distinct_patterns: figure.distinct,
                dedup_share: figure.dedup,
                bytes: Figure {
                    value: bytes,
                    low: Some((bytes_low / error).min(bytes)),
                    high: Some((bytes_high * error).max(bytes)),
                    confidence: self.confidence,
                    method: Method::Derived,
                },
                contents: contents.get(level).copied().unwrap_or_default(),
                observed: evidence.frequencies.clone(),
                growth: self.curve(
                    evidence.learn_calls,
                    &models[level],
                    figure.calls.value,
                    width,
                ),
            });
        }
        let fixed = self.engine.fixed_bytes(models.len(), segments);
        Ok(StorageBreakdown::of_levels(
            self.engine.name(),
            target,
            Some(factor),
            level_estimates,
            fixed,
            self.confidence,
        ))
    }

    /// Half width of an interval in standard deviations: Student's t, as the errors come from eight groups of documents.
    fn interval_width(&self) -> f64 {
        let share = (1.0 + self.confidence) / 2.0;
        StudentsT::new(0.0, 1.0, (GROUPS - 1) as f64).map_or(2.0, |t| t.inverse_cdf(share))
    }

    /// Bytes of every level for its learn calls; with other numbers of distinct patterns where they are given.
    fn sizes(
        &self,
        calibration: &Calibration,
        models: &[LevelModel<'_>],
        calls: &[f64],
        distinct: Option<&[f64]>,
        segments: u64,
    ) -> Vec<f64> {
        let mut contents = contents_of_one(calibration, models, calls, segments);
        let segments = segments as f64;
        if let Some(distinct) = distinct {
            for ((contents, model), (&calls, &distinct)) in contents
                .iter_mut()
                .zip(models)
                .zip(calls.iter().zip(distinct))
            {
                let share = distinct / model.distinct(calls).max(1e-9);
                contents.patterns *= share;
                contents.symbols *= share;
            }
        }
        let observed: Vec<f64> = calibration
            .levels
            .iter()
            .map(|level| level.learn_calls as f64)
            .collect();
        let at_observed = self
            .engine
            .level_bytes(&contents_at(calibration, models, &observed));
        let is_measured_here = calibration
            .engine
            .as_deref()
            .is_none_or(|engine| engine == self.engine.name());
        let bytes = self.engine.level_bytes(&contents);
        let levels = bytes.iter().enumerate().map(|(level, &bytes)| {
            let measured = calibration
                .levels
                .get(level)
                .and_then(|level| level.bytes)
                .filter(|_| is_measured_here);
            let predicted = at_observed.get(level).copied().unwrap_or(0.0);
            let correction = match measured {
                Some(measured) if measured > 0 && predicted > 0.0 => measured as f64 / predicted,
                _ => 1.0,
            };
            bytes * correction * segments
        });
        levels.collect()
    }

    fn curve(
        &self,
        observed: u64,
        model: &LevelModel<'_>,
        calls: f64,
        width: f64,
    ) -> Vec<GrowthPoint> {
        if calls < 1.0 || observed == 0 {
            return Vec::new();
        }
        let points = (0..=CURVE_POINTS).map(|step| {
            let at = calls.powf(f64::from(step) / f64::from(CURVE_POINTS));
            let distinct = model.estimate(at);
            let figure = Figure::with_spread(
                distinct.value,
                width * distinct.relative_sd,
                self.confidence,
                Method::Growth,
            );
            GrowthPoint {
                learn_calls: at,
                distinct_patterns: figure.within(0.0, at),
            }
        });
        points.collect()
    }
}

/// What one of so many equal segments holds of so many learn calls.
fn contents_of_one(
    calibration: &Calibration,
    models: &[LevelModel<'_>],
    calls: &[f64],
    segments: u64,
) -> Vec<LevelContents> {
    let share: Vec<f64> = calls
        .iter()
        .map(|calls| calls / segments.max(1) as f64)
        .collect();
    contents_at(calibration, models, &share)
}

/// What every level holds after so many learn calls.
fn contents_at(
    calibration: &Calibration,
    models: &[LevelModel<'_>],
    calls: &[f64],
) -> Vec<LevelContents> {
    let mut below: Option<f64> = None;
    let levels = calibration.levels.iter().zip(models).zip(calls);
    levels
        .map(|((evidence, model), &calls)| {
            let patterns = model.distinct(calls);
            let symbols = patterns * evidence.symbols_per_pattern;
            let distinct_symbols = below.unwrap_or_else(|| {
                let tokens = calls * evidence.symbols_per_pattern;
                match &calibration.vocabulary {
                    Some(counts) => vocabulary(counts, tokens, f64::INFINITY),
                    None => english_vocabulary(tokens),
                }
            });
            below = Some(patterns);
            LevelContents {
                patterns,
                repeated: model.repeated(calls),
                symbols,
                distinct_symbols: distinct_symbols.min(symbols),
            }
        })
        .collect()
}

/// Distinct GPT-2 tokens among so many tokens of English text, where nothing else is known: a parabola through WikiText-2's growth
/// (`docs/estimation.md`), constant beyond its top.
fn english_vocabulary(tokens: f64) -> f64 {
    let (c0, c1, c2) = (-3.259_8, 1.741_55, -0.056_797);
    let x = tokens.max(1.0).ln().min(-c1 / (2.0 * c2));
    (c0 + c1 * x + c2 * x * x).exp().min(tokens)
}

/// Learn calls, distinct patterns and repeats of a level.
struct LevelFigures {
    calls: Figure,
    distinct: Figure,
    dedup: Figure,
}

impl LevelFigures {
    fn of(
        observed: u64,
        model: &LevelModel<'_>,
        calls: f64,
        calls_sd: f64,
        width: f64,
        confidence: f64,
    ) -> Self {
        let calls_figure = Figure::with_spread(calls, width * calls_sd, confidence, Method::Ratio);
        let distinct = model.estimate(calls);
        // How much more patterns there are for more learn calls: between 0 and 1, both as logarithms.
        let more = model.distinct(calls * 1.02);
        let elasticity = if distinct.value > 0.0 {
            ((more / distinct.value).ln() / 1.02f64.ln()).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let spread = width * distinct.relative_sd.hypot(elasticity * calls_sd);
        let least = if calls >= observed as f64 {
            model.distinct(observed as f64)
        } else {
            0.0
        };
        let figure = Figure::with_spread(distinct.value, spread, confidence, Method::Growth);
        let figure = figure.within(
            least.min(distinct.value),
            calls_figure.high.unwrap_or(calls),
        );
        let alone = width * distinct.relative_sd;
        let repeats = |distinct: f64| {
            if calls > 0.0 {
                (1.0 - distinct / calls).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let dedup = Figure {
            value: repeats(distinct.value),
            low: Some(repeats(distinct.value * alone.exp())),
            high: Some(repeats(distinct.value * (-alone).exp())),
            confidence,
            method: Method::Derived,
        };
        Self {
            calls: calls_figure,
            distinct: figure,
            dedup,
        }
    }
}

impl StorageEstimator {
    /// The hierarchy that estimates are for; `None` for the original's formula.
    #[must_use]
    pub fn hierarchy(&self) -> Option<&Hierarchy> {
        match &self.model {
            Model::Calibrated(calibration, _) => Some(&calibration.hierarchy),
            Model::Seed(_) => None,
        }
    }
}
