//! The contents of levels after so many learn calls, by their growth laws.

use crate::Calibration;
use crate::bytes::LevelContents;
use crate::growth::vocabulary;
use crate::level_model::LevelModel;

/// Returns the contents of every level after so many learn calls, bottom up.
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
            // Above level 0 the symbols are the patterns below. Level 0 has a vocabulary, which
            // grows by a law of its own.
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
                // There are never more distinct symbols than symbols. Patterns below may be used by
                // none here, and both numbers are estimates.
                distinct_symbols: distinct_symbols.min(symbols),
            }
        })
        .collect()
}

/// Returns the number of distinct GPT-2 tokens among so many tokens of English text, for a run
/// whose vocabulary is not known: a parabola through WikiText-2's growth (`docs/costs.md`),
/// constant beyond its top.
fn english_vocabulary(tokens: f64) -> f64 {
    let (c0, c1, c2) = (-3.259_8, 1.741_55, -0.056_797);
    // The parabola turns down beyond -c1 / 2 c2, and a vocabulary does not shrink.
    let x = tokens.max(1.0).ln().min(-c1 / (2.0 * c2));
    (c0 + c1 * x + c2 * x * x).exp().min(tokens)
}
