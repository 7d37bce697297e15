//! A pattern that the text may be in the middle of, and what would follow.

use std::sync::Arc;

use kato_model::{Event, PatternName};
use kato_prediction::Prediction;
use kato_prediction::config::RankMetric;

use super::span::{Fit, PatternLink};

/// Events of a pattern that are still to come.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Level of the pattern.
    pub(super) level: usize,
    pub(super) pattern: PatternName,
    pub(super) events: Vec<Event>,
}

/// A predicted pattern of one level, joined with those of the levels below that the text is in the
/// middle of.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) level: usize,
    pub(super) prediction: Arc<Prediction>,
    pub(super) fit: Fit,
    /// Sum of the ranking metric over the predictions on the path, and their number.
    metric: (f64, u32),
    /// From level 0 up to this pattern.
    pub(super) chain: Vec<PatternLink>,
    /// What follows, in the order of the text.
    pub(super) pieces: Vec<Piece>,
    /// Whether some of it is this pattern's own future, and not only the end of a pattern below.
    pub(super) has_future: bool,
}

impl Candidate {
    /// Creates a candidate from a prediction whose state ends with the text.
    pub(super) fn new(
        level: usize,
        prediction: Prediction,
        aligned: Aligned,
        rank: RankMetric,
    ) -> Self {
        // One value that is no number would spoil the mean and the order of all candidates.
        let metric = prediction.metric(rank).filter(|value| value.is_finite());
        let mut candidate = Self {
            level,
            fit: aligned.fit,
            metric: (metric.unwrap_or(0.0), 1),
            chain: Vec::new(),
            pieces: Vec::new(),
            has_future: false,
            prediction: Arc::new(prediction),
        };
        candidate.append_own(aligned.next);
        candidate
    }

    /// Joins the candidate, whose state was `open` and then a candidate of the level below, with
    /// that candidate.
    pub(super) fn with_lower(mut self, lower: &Self, open: &[Event]) -> Self {
        // The rest of the pattern below is a future for a state that has context of its own.
        self.has_future |= !open.is_empty() && !lower.pieces.is_empty();
        // A path fits no better than its worst pattern.
        self.fit = self.fit.min(lower.fit);
        self.metric.0 += lower.metric.0;
        self.metric.1 += lower.metric.1;
        self.prepend_lower(&lower.chain, &lower.pieces)
    }

    /// Puts the candidate after what is left of patterns below.
    pub(super) fn prepend_lower(mut self, chain: &[PatternLink], pieces: &[Piece]) -> Self {
        // At the front: the text first ends the patterns below, and then goes on with this one.
        self.chain.splice(0..0, chain.iter().copied());
        self.pieces.splice(0..0, pieces.iter().cloned());
        self
    }

    /// Returns the mean of the ranking metric over the predictions on the path.
    pub(super) fn score(&self) -> f64 {
        self.metric.0 / f64::from(self.metric.1)
    }

    /// Appends the pattern's own link, and its events from `next` on.
    fn append_own(&mut self, next: usize) {
        let pattern = self.prediction.name;
        self.chain.push(PatternLink {
            level: self.level,
            pattern,
        });
        // A position past the pattern's end means that nothing of it is left.
        let future = self.prediction.sequence.get(next..).unwrap_or_default();
        self.has_future = !future.is_empty();
        self.pieces.extend(piece(self.level, pattern, future));
    }
}

/// Returns the piece of these events; none for no events.
pub(super) fn piece(level: usize, pattern: PatternName, events: &[Event]) -> Option<Piece> {
    (!events.is_empty()).then(|| Piece {
        level,
        pattern,
        events: events.to_vec(),
    })
}

/// The position of a pattern relative to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Aligned {
    pub(super) fit: Fit,
    /// Index of the pattern's event that comes after the state.
    pub(super) next: usize,
}

/// Aligns a prediction with the state from which it was made.
///
/// The state begins where a pattern begins, so a pattern that agrees from its first event on is
/// preferred to the alignment that the matching found, which does not consider that.
pub(super) fn align(prediction: &Prediction, state: &[Event]) -> Aligned {
    let sequence = &prediction.sequence;
    if begins_with(sequence, state) {
        return Aligned {
            fit: Fit::Exact,
            next: state.len(),
        };
    }
    // `past` and `present` end with the last event that the matching found; the future comes after
    // it.
    let next = prediction.past.len() + prediction.present.len();
    let last = next.checked_sub(1).and_then(|last| sequence.get(last));
    let fit = match (last, state.last()) {
        (Some(last), Some(end)) if agree(last, end) => Fit::Continues,
        _ => Fit::Loose,
    };
    Aligned { fit, next }
}

/// Returns whether a pattern's first events agree with these.
pub(super) fn begins_with(sequence: &[Event], events: &[Event]) -> bool {
    let mut pairs = sequence.iter().zip(events);
    sequence.len() >= events.len() && pairs.all(|(one, other)| agree(one, other))
}

/// Returns whether two events share a symbol.
fn agree(one: &Event, other: &Event) -> bool {
    let mut symbols = one.symbols().iter();
    symbols.any(|symbol| other.symbols().contains(symbol))
}
