//! Follows several sequences of spans at once.

use super::choice::Choice;
use super::options::GenerationOptions;
use super::search::Search;
use super::span::GenerationEnd;
use super::walk::Walk;
use crate::HierarchyError;

/// A sequence of spans.
#[derive(Debug, Clone)]
struct Beam {
    walk: Walk,
    choices: Vec<Choice>,
    /// Sum of the logarithms of the choices' shares.
    log_shares: f64,
    end: Option<GenerationEnd>,
}

impl Beam {
    /// Returns the mean per span, so that long answers are not at a disadvantage.
    fn score(&self) -> f64 {
        self.log_shares / self.choices.len().max(1) as f64
    }
}

/// Returns the spans of the best sequence, and why it ended.
pub(super) fn best_sequence(
    walk: Walk,
    width: usize,
    search: &mut Search<'_>,
    options: &GenerationOptions,
) -> Result<(Vec<Choice>, GenerationEnd), HierarchyError> {
    let mut beams = vec![Beam {
        walk,
        choices: Vec::new(),
        log_shares: 0.0,
        end: None,
    }];
    // Terminates: every sequence that continues grows by at least one token, up to the limit.
    while beams.iter().any(|beam| beam.end.is_none()) {
        let mut next = Vec::new();
        for beam in beams {
            next.extend(expand_beam(beam, width, search, options)?);
        }
        // Sequences that have ended compete with those that go on. The sort is stable, so that ties
        // stay in the order in which they were found.
        next.sort_by(|one, other| other.score().total_cmp(&one.score()));
        next.truncate(width);
        beams = next;
    }
    let best = beams.into_iter().next();
    let best = best.map(|beam| (beam.choices, beam.end.unwrap_or(GenerationEnd::NoAnswer)));
    Ok(best.unwrap_or((Vec::new(), GenerationEnd::NoAnswer)))
}

/// Returns a sequence, continued by each of the best choices of its next step.
fn expand_beam(
    mut beam: Beam,
    width: usize,
    search: &mut Search<'_>,
    options: &GenerationOptions,
) -> Result<Vec<Beam>, HierarchyError> {
    if beam.end.is_some() {
        return Ok(vec![beam]);
    }
    let choices = match beam.walk.choices(search, options)? {
        Ok(choices) => choices,
        Err(end) => {
            beam.end = Some(end);
            return Ok(vec![beam]);
        }
    };
    // Shares are over all choices of the step, also over those that are not followed.
    let weights = weights(&choices, 1.0);
    let total: f64 = weights.iter().sum();
    let follow = |(mut choice, weight): (Choice, f64)| {
        let mut longer = beam.clone();
        // Logarithm and exponential are computed in software, so that results are the same on every
        // platform.
        longer.log_shares += libm::log(weight / total);
        longer.end = longer
            .walk
            .advance(&mut choice, search.hierarchy, options)?;
        longer.choices.push(choice);
        Ok(longer)
    };
    choices
        .into_iter()
        .zip(weights)
        .take(width)
        .map(follow)
        .collect()
}

/// Returns exp(score / temperature) of every choice, up to a common factor.
pub(super) fn weights(choices: &[Choice], temperature: f64) -> Vec<f64> {
    let scores = choices.iter().map(|choice| choice.candidate.score());
    // The best score is subtracted, so that the greatest weight is 1 and nothing overflows. The
    // factor cancels out in every share.
    let best = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    scores
        .map(|score| libm::exp((score - best) / temperature))
        .collect()
}
