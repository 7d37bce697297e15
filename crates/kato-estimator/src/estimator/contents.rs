//! What levels hold after so many learn calls, by their growth laws.

use crate::growth::vocabulary;
use crate::level_model::LevelModel;
use crate::{Calibration, LevelContents};

/// What every level holds after so many learn calls.
pub(super) fn contents_at(
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
