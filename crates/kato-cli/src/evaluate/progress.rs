//! What is shown of an evaluation while it goes on.

use indicatif::{HumanBytes, HumanCount, HumanDuration};
use kato_evaluation::progress::{EvaluationPhase, EvaluationProgress};

use crate::meter::Pace;

/// Returns the phase, its rate and the time left, as far as they are known.
pub(crate) fn facts(progress: &EvaluationProgress) -> Vec<String> {
    let pace = Pace {
        done: progress.done,
        elapsed: progress.elapsed,
    };
    let bytes = |rate: f64| format!("{}/s", HumanBytes(rate as u64));
    let questions = |rate: f64| format!("{} questions/s", HumanCount(rate as u64));
    // Progress is in bytes where documents are read and in questions where nodes are asked.
    let rate = pace.per_second();
    let (phase, rate) = match progress.phase {
        EvaluationPhase::Baseline => ("training the n-gram baseline", rate.map(bytes)),
        EvaluationPhase::Coverage => ("looking up held-out chunks", rate.map(bytes)),
        _ => ("predicting", rate.map(questions)),
    };
    let rest = progress
        .total
        .and_then(|total| total.checked_sub(progress.done));
    let left = rest.and_then(|rest| pace.time_for(rest));
    let left = left.map(|left| format!("{} left", HumanDuration(left)));
    let facts = [Some(phase.to_owned()), rate, left];
    facts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_phase_is_told_with_rate_and_time_left() {
        let told = |phase, done, total, seconds| {
            let elapsed = Duration::from_secs(seconds);
            facts(&EvaluationProgress::new(phase, done, total, elapsed)).join(", ")
        };
        assert_eq!(
            told(EvaluationPhase::Predictions, 250, Some(1000), 5),
            "predicting, 50 questions/s, 15 seconds left"
        );
        assert_eq!(
            told(EvaluationPhase::Baseline, 4096, None, 2),
            "training the n-gram baseline, 2.00 KiB/s"
        );
        assert_eq!(
            told(EvaluationPhase::Coverage, 1, Some(10), 0),
            "looking up held-out chunks"
        );
    }
}
