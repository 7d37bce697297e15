//! Figures of a level: learn calls, distinct patterns and repeats, each with its interval.

use crate::breakdown::Doubt;
use crate::figure::{Figure, Method};
use crate::level_model::LevelModel;
use crate::ratio::Scaled;

/// Learn calls, distinct patterns and repeats of a level.
pub(super) struct LevelFigures {
    pub(super) calls: Figure,
    pub(super) distinct: Figure,
    pub(super) dedup: Figure,
    pub(super) doubt: Option<Doubt>,
}

impl LevelFigures {
    /// Computes the figures after `scaled` learn calls, of which `observed` were observed.
    /// Intervals are `width` standard deviations wide on either side.
    pub(super) fn new(
        observed: u64,
        model: &LevelModel<'_>,
        scaled: &Scaled,
        width: f64,
        confidence: f64,
    ) -> Self {
        let (calls, calls_sd) = (scaled.value, scaled.relative_sd);
        let is_counted = calls_sd == 0.0 && (calls - observed as f64).abs() < 0.5;
        let [calls_method, method] = match is_counted {
            true if model.is_of_share() => [Method::Counted, Method::Ratio],
            true => [Method::Counted; 2],
            false => [Method::Ratio, Method::Growth],
        };
        let calls_figure =
            Figure::with_spread(calls, [width * calls_sd; 2], confidence, calls_method);
        let distinct = model.estimate(calls);
        // The exponent with which patterns grow with learn calls, by a difference of 2 %: it says
        // how much of the error of the learn calls reaches the patterns.
        let more = model.distinct(calls * 1.02);
        let elasticity = if distinct.value > 0.0 {
            ((more / distinct.value).ln() / 1.02f64.ln()).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let alone = distinct.relative_sd.map(|sd| width * sd);
        let spread = alone.map(|alone| alone.hypot(width * elasticity * calls_sd));
        // A corpus larger than what was observed contains it.
        let least = if calls > observed as f64 && !is_counted {
            model.distinct(observed as f64)
        } else {
            0.0
        };
        let figure = Figure::with_spread(distinct.value, spread, confidence, method);
        // A learn call makes at most one pattern.
        let figure = figure.within(least.min(distinct.value), calls_figure.high);
        let repeats = |distinct: f64| {
            if calls > 0.0 {
                (1.0 - distinct / calls).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let dedup = Figure {
            value: repeats(distinct.value),
            // More patterns are fewer repeats: the ends change places.
            low: repeats(distinct.value * alone[1].exp()),
            high: repeats(distinct.value * (-alone[0]).exp()),
            confidence,
            method: Method::Derived,
        };
        Self {
            calls: calls_figure,
            distinct: figure,
            dedup,
            doubt: distinct.doubt,
        }
    }
}
