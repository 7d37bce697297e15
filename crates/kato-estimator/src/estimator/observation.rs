//! Estimates from observations of the corpus.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::StorageEstimator;
use super::contents::contents_at;
use super::level_figures::LevelFigures;
use crate::breakdown::{GrowthPoint, LevelEstimate, StorageBreakdown};
use crate::bytes::{BATCH_BYTES, EmbeddedLayout, Learned, LevelContents, Segments};
use crate::figure::{Figure, Method};
use crate::level_model::{LevelModel, Reach, drift};
use crate::sample::Stored;
use crate::{Calibration, StorageEngine, Target};

/// Points of a growth curve.
const CURVE_POINTS: i32 = 40;

/// Degrees of freedom of the deviations that intervals are made of.
const FREEDOM: f64 = 7.0;

/// The observations, with a growth model fitted to each level, and the settings of the estimator.
pub(super) struct Observation<'a> {
    calibration: &'a Calibration,
    models: Vec<LevelModel<'a>>,
    factor: f64,
    engine: StorageEngine,
    confidence: f64,
    /// Half width of intervals, in standard deviations.
    width: f64,
}

impl<'a> Observation<'a> {
    /// Fits a growth model to each observed level, for a corpus of `factor` times what was observed.
    pub(super) fn new(estimator: &'a StorageEstimator, target: &Target, factor: f64) -> Self {
        let calibration = &estimator.calibration;
        // Student's t, as the deviations are themselves estimates. Its parameters are valid; 2 is about
        // its usual value.
        let share = (1.0 + estimator.confidence) / 2.0;
        let t = StudentsT::new(0.0, 1.0, FREEDOM);
        let width = t.map_or(2.0, |t| t.inverse_cdf(share));
        // Documents are what was drawn. Where only their text is known, they are as large as those.
        let known = target
            .samples
            .filter(|&samples| samples > calibration.samples);
        let known = known.map_or(1.0 / factor, |all| calibration.samples as f64 / all as f64);
        let unlike = calibration.levels.first().and_then(|level| level.spread);
        let unlike = unlike.map_or(0.0, |spread| spread.by_text_bytes.unlike(target));
        let reach = Reach::of(
            &calibration.drawn,
            [factor, known],
            unlike,
            1.0 - share,
            width,
        );
        let engine = match (estimator.engine, calibration.token_text_bytes) {
            // More text has longer tokens, too.
            (StorageEngine::Embedded(layout), Some(token_text_bytes)) if factor == 1.0 => {
                StorageEngine::Embedded(EmbeddedLayout {
                    token_text_bytes,
                    ..layout
                })
            }
            (engine, _) => engine,
        };
        let fit = |level| LevelModel::fit(level, &reach, estimator.law);
        Self {
            calibration,
            models: calibration.levels.iter().map(fit).collect(),
            factor,
            engine,
            confidence: estimator.confidence,
            width,
        }
    }

    /// Estimates what a corpus of this size will store.
    pub(super) fn estimate(&self, target: Target) -> StorageBreakdown {
        let factor = self.factor;
        let figures = self.figures(&target, factor);
        let at =
            |which: fn(&LevelFigures) -> f64| -> Vec<f64> { figures.iter().map(which).collect() };
        let calls = at(|f| f.calls.value);
        let counted = self.counted(&calls);
        let sets = match counted {
            Some(stored) => vec![Segments::counted(stored.segments.len())],
            None => self.segments(&calls),
        };
        let low = at(|f| f.distinct.low);
        let high = at(|f| f.distinct.high);
        let corrections = self.corrections();
        // Corrected by the measured bytes of a finished run, the ends of the interval as well.
        let sizes = |calls: &[f64], distinct, segments: &Segments| -> Vec<f64> {
            let sizes = match counted {
                Some(stored) => self.sizes_of(stored, calls, distinct),
                None => self.sizes(calls, distinct, segments),
            };
            let sizes = sizes.iter().zip(&corrections);
            sizes.map(|(size, correction)| size * correction).collect()
        };
        let all: Vec<Vec<f64>> = sets.iter().map(|set| sizes(&calls, None, set)).collect();
        let size = mean(&all);
        // The ends combine the ends of both unknowns: distinct patterns and segments. Where documents
        // that repeat each other are neighbours, no pattern is learned in two segments, unless that
        // was counted.
        let low = sizes(&calls, Some(&low), &Segments::one());
        let spread = counted.map_or(0.0, |stored| {
            stored.spread(at(|f| f.distinct.value).iter().sum())
        });
        let total = |sizes: &Vec<f64>| sizes.iter().sum::<f64>();
        let highest = (0..sets.len()).max_by(|&a, &b| total(&all[a]).total_cmp(&total(&all[b])));
        let high = highest.map_or_else(|| size.clone(), |at| sizes(&calls, Some(&high), &sets[at]));
        let n_segments = sets.iter().map(Segments::number).sum::<u64>() / sets.len().max(1) as u64;
        let contents = self.contents(&calls);
        let mut level_estimates = Vec::with_capacity(figures.len());
        for (level, (evidence, figure)) in self.calibration.levels.iter().zip(&figures).enumerate()
        {
            let of = |sizes: &[f64]| sizes.get(level).copied().unwrap_or_default();
            level_estimates.push(LevelEstimate {
                level,
                node: format!("node{level}"),
                chunk_size: self.calibration.hierarchy.chunk_size(level),
                learns: figure.calls,
                distinct_patterns: figure.distinct,
                doubt: figure.doubt,
                dedup_share: figure.dedup,
                bytes: self.bytes(of(&size), of(&low), of(&high), spread),
                contents: contents.get(level).copied().unwrap_or_default(),
                observed: evidence.frequencies.clone(),
                growth: self.curve(
                    &self.models[level],
                    evidence.learn_calls,
                    figure.calls.value,
                ),
            });
        }
        StorageBreakdown::from_levels(
            self.engine.name(),
            target,
            factor,
            level_estimates,
            self.engine.fixed_bytes(self.models.len(), n_segments),
            self.confidence,
        )
        .with_merged(sets.iter().map(|set| set.merged).sum::<f64>() / sets.len().max(1) as f64)
    }

    /// Returns the bytes of a level, with ends that are as much wider as the engine is uncertain, and runs
    /// differ.
    fn bytes(&self, value: f64, low: f64, high: f64, spread: f64) -> Figure {
        let error = 1.0 + self.width * self.engine.relative_error().hypot(spread);
        Figure {
            value,
            // The value is a mean, and either end that of one way to come there.
            low: (low / error).min(value),
            high: (high * error).max(value),
            confidence: self.confidence,
            method: Method::Derived,
        }
    }

    /// Returns learn calls, distinct patterns and repeats of every level for the target.
    fn figures(&self, target: &Target, factor: f64) -> Vec<LevelFigures> {
        let levels = self.calibration.levels.iter().zip(&self.models);
        levels
            .map(|(evidence, model)| {
                let mut calls = evidence.scale(target, factor, self.calibration.samples);
                // Errors that do not depend on each other add up as squares.
                calls.relative_sd = calls.relative_sd.hypot(drift(factor));
                LevelFigures::new(
                    evidence.learn_calls,
                    model,
                    &calls,
                    self.width,
                    self.confidence,
                )
            })
            .collect()
    }

    /// Returns the segments that the store may have after so many learn calls of each level.
    fn segments(&self, calls: &[f64]) -> Vec<Segments> {
        let StorageEngine::Embedded(layout) = self.engine else {
            return vec![Segments::one()];
        };
        let layout = layout.of_batches(self.batches(calls));
        layout.segments(self.learned(calls), |share| {
            self.contents(&scaled(calls, share))
        })
    }

    /// Returns what so many learn calls of each level are.
    fn learned(&self, calls: &[f64]) -> Learned {
        let levels = self.calibration.levels.iter().zip(calls);
        let levels = levels.map(|(level, &calls)| (calls, calls * level.symbols_per_pattern));
        Learned::of(levels, self.text_bytes(calls))
    }

    /// Returns the bytes of the text of so many learn calls of each level; `None` where that is not known.
    fn text_bytes(&self, calls: &[f64]) -> Option<f64> {
        let observed = self.calibration.levels.first()?.learn_calls as f64;
        let bytes = self.calibration.text_bytes? as f64;
        Some(bytes * calls.first()? / observed)
    }

    /// Returns how often a worker takes text for so many learn calls of each level; `None` where it is
    /// not known how much text that is.
    fn batches(&self, calls: &[f64]) -> Option<u64> {
        let bytes = self.text_bytes(calls)?;
        Some((bytes / BATCH_BYTES).ceil() as u64)
    }

    /// Returns the contents of every level after its learn calls.
    fn contents(&self, calls: &[f64]) -> Vec<LevelContents> {
        contents_at(self.calibration, &self.models, calls)
    }

    /// Returns the bytes of every level for its learn calls, with other numbers of distinct
    /// patterns where they are given.
    fn sizes(&self, calls: &[f64], distinct: Option<&[f64]>, segments: &Segments) -> Vec<f64> {
        let mut all = vec![0.0; calls.len()];
        // A pattern is stored in every segment that has learned it.
        for &(share, count) in segments.groups.iter().chain(&segments.behind) {
            let mut contents = self.contents(&scaled(calls, share));
            for (at, (contents, model)) in contents.iter_mut().zip(&self.models).enumerate() {
                if let Some(distinct) = distinct {
                    let factor = distinct[at] / model.distinct(calls[at]).max(1e-9);
                    contents.patterns *= factor;
                    contents.symbols *= factor;
                }
            }
            let bytes = self.engine.level_bytes(&contents);
            for (all, bytes) in all.iter_mut().zip(bytes) {
                *all += bytes * count as f64;
            }
        }
        all
    }

    /// Returns the segments of the run, where it was counted which of them holds which pattern.
    fn counted(&self, calls: &[f64]) -> Option<&Stored> {
        let StorageEngine::Embedded(layout) = self.engine else {
            return None;
        };
        let stored = self.calibration.stored.as_ref();
        let stored = stored.filter(|_| self.factor == 1.0)?;
        let tokens = self.learned(calls).tokens;
        let is_of_run = layout.is_of_one_commit(stored.workers, stored.worker_memory, tokens);
        is_of_run.then_some(stored)
    }

    /// Returns the bytes of every level in segments that were counted, with other numbers of distinct patterns
    /// where they are given.
    fn sizes_of(&self, stored: &Stored, calls: &[f64], distinct: Option<&[f64]>) -> Vec<f64> {
        let mut all = vec![0.0; calls.len()];
        for segment in &stored.segments {
            let bytes = self.engine.level_bytes(segment);
            for (all, bytes) in all.iter_mut().zip(bytes) {
                *all += bytes;
            }
        }
        if let Some(distinct) = distinct {
            let models = self.models.iter().zip(calls).zip(distinct);
            for (all, ((model, &calls), distinct)) in all.iter_mut().zip(models) {
                *all *= distinct / model.distinct(calls).max(1e-9);
            }
        }
        all
    }

    /// Returns the measured bytes of each level of a finished run over the predicted ones; 1 where
    /// they were not measured.
    fn corrections(&self) -> Vec<f64> {
        let levels = &self.calibration.levels;
        let engine = self.calibration.engine.as_deref();
        // Bytes of one engine say nothing about the model of another.
        let is_of_another = engine.is_some_and(|engine| engine != self.engine.name());
        if is_of_another || levels.iter().all(|level| level.bytes.is_none()) {
            return vec![1.0; levels.len()];
        }
        let observed: Vec<f64> = levels.iter().map(|l| l.learn_calls as f64).collect();
        let sets = self.segments(&observed);
        let sizes = sets.iter().map(|set| self.sizes(&observed, None, set));
        let predicted = mean(&sizes.collect::<Vec<_>>());
        let levels = levels.iter().zip(predicted);
        levels
            .map(|(level, predicted)| match level.bytes {
                Some(bytes) if bytes > 0 && predicted > 0.0 => bytes as f64 / predicted,
                _ => 1.0,
            })
            .collect()
    }

    /// Returns the growth of a level from its first learn call to its last.
    fn curve(&self, model: &LevelModel<'_>, observed: u64, calls: f64) -> Vec<GrowthPoint> {
        if calls < 1.0 || observed == 0 {
            return Vec::new();
        }
        let points = (0..=CURVE_POINTS).map(|step| {
            let at = calls.powf(f64::from(step) / f64::from(CURVE_POINTS));
            let distinct = model.estimate(at);
            let figure = Figure::with_spread(
                distinct.value,
                distinct.relative_sd.map(|sd| self.width * sd),
                self.confidence,
                Method::Growth,
            );
            GrowthPoint {
                learns: at,
                distinct_patterns: figure.within(0.0, at),
            }
        });
        points.collect()
    }
}

/// Returns a share of the learn calls of every level.
fn scaled(calls: &[f64], share: f64) -> Vec<f64> {
    calls.iter().map(|calls| calls * share).collect()
}

/// Returns the mean of sizes, level by level.
fn mean(sizes: &[Vec<f64>]) -> Vec<f64> {
    let levels = sizes.first().map_or(0, Vec::len);
    let mean = |level: usize| {
        let sum: f64 = sizes.iter().map(|sizes| sizes[level]).sum();
        sum / sizes.len() as f64
    };
    (0..levels).map(mean).collect()
}
