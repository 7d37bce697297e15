//! Finding the patterns that the text is in the middle of, on every level.

use std::collections::HashSet;

use kato_model::{Event, PatternName};
use kato_prediction::RankMetric;

use super::candidate::{Candidate, Piece, align, begins_with, piece};
use super::span::{Fit, Link};
use crate::hierarchy::name_event;
use crate::ladder::Ladder;
use crate::{Hierarchy, Unraveller};

/// Most symbols of one event that are tried as the pattern that the text is in the middle of.
const MAX_READINGS: usize = 64;

/// Searches one hierarchy.
#[derive(Debug)]
pub(super) struct Search<'h> {
    pub(super) hierarchy: &'h Hierarchy,
    pub(super) unraveller: Unraveller<'h>,
    rank: RankMetric,
    breadth: usize,
}

impl<'h> Search<'h> {
    pub(super) fn new(hierarchy: &'h Hierarchy, rank: RankMetric, breadth: usize) -> Self {
        Self {
            hierarchy,
            unraveller: hierarchy.unraveller(),
            rank,
            breadth,
        }
    }

    /// The best candidates of every level, from the bottom up and best first.
    ///
    /// Where a lower level is in the middle of a pattern, a level above is asked in two ways: what it expects next from its
    /// own state, kept if that agrees with what the levels below have so far; and what it makes of each candidate of the level
    /// below as its next event. The first finds the right pattern among any number that begin alike; the second works
    /// without context.
    pub(super) fn candidates(&mut self, ladder: &Ladder) -> Vec<Candidate> {
        let mut all = Vec::new();
        let mut below: Vec<Candidate> = Vec::new();
        for level in 0..ladder.open.len() {
            let open = &ladder.open[level];
            let mut found = match (ladder.is_open_below(level), open.is_empty()) {
                (false, true) => Vec::new(),
                (false, false) => self.predicted(level, open, Fit::Loose),
                (true, true) => Vec::new(),
                (true, false) => self.expected(ladder, level),
            };
            for candidate in &below {
                let mut state = open.clone();
                state.push(name_event(&candidate.prediction.name));
                let above = self.predicted(level, &state, Fit::Continues);
                found.extend(above.into_iter().map(|above| above.above(candidate, open)));
            }
            found.sort_by(|one, other| {
                let order = other.fit.cmp(&one.fit);
                let order = order.then_with(|| other.score().total_cmp(&one.score()));
                order.then_with(|| one.prediction.name.cmp(&other.prediction.name))
            });
            let mut seen = HashSet::new();
            found.retain(|candidate| seen.insert(candidate.prediction.name));
            found.truncate(self.breadth);
            all.extend(found.iter().cloned());
            below = found;
        }
        all
    }

    /// What a level predicts from a state, if it fits at least so well.
    fn predicted(&self, level: usize, state: &[Event], least: Fit) -> Vec<Candidate> {
        let predictions = self.hierarchy.predict(level, state).predictions;
        let candidate = |prediction| {
            let aligned = align(&prediction, state);
            (aligned.fit >= least).then(|| Candidate::new(level, prediction, aligned, self.rank))
        };
        predictions.into_iter().filter_map(candidate).collect()
    }

    /// Patterns of a level whose next event agrees with what the levels below are in the middle of.
    fn expected(&mut self, ladder: &Ladder, level: usize) -> Vec<Candidate> {
        let mut found = Vec::new();
        let predictions = self
            .hierarchy
            .predict(level, &ladder.open[level])
            .predictions;
        for prediction in predictions {
            let mut aligned = align(&prediction, &ladder.open[level]);
            let Some(next) = prediction.sequence.get(aligned.next) else {
                continue;
            };
            if aligned.fit < Fit::Continues {
                continue;
            }
            let Some((chain, pieces)) = self.agreeing(ladder, level, next) else {
                continue;
            };
            aligned.next += 1;
            let mut candidate = Candidate::new(level, prediction, aligned, self.rank);
            candidate.has_future = true;
            found.push(candidate.under(&chain, &pieces));
        }
        found
    }

    /// The first symbol of a level's event that agrees with the levels below: the patterns on the path, from level 0 up, and
    /// what is left of them.
    fn agreeing(
        &mut self,
        ladder: &Ladder,
        level: usize,
        event: &Event,
    ) -> Option<(Vec<Link>, Vec<Piece>)> {
        let symbols = event.symbols().iter().take(MAX_READINGS);
        let mut names = symbols.filter_map(|symbol| PatternName::from_symbol(symbol));
        names.find_map(|name| self.agrees(ladder, level, name))
    }

    /// Whether the pattern of this name, below `level`, begins with what the levels below have so far.
    fn agrees(
        &mut self,
        ladder: &Ladder,
        level: usize,
        name: PatternName,
    ) -> Option<(Vec<Link>, Vec<Piece>)> {
        let held = self.unraveller.below(level, &name)?;
        let skipped = &ladder.open[held.level + 1..level];
        let open = &ladder.open[held.level];
        if skipped.iter().any(|events| !events.is_empty()) || !begins_with(&held.events, open) {
            return None;
        }
        let mut next = open.len();
        let (mut chain, mut pieces) = match ladder.is_open_below(held.level) {
            true => {
                let found = self.agreeing(ladder, held.level, held.events.get(next)?)?;
                next += 1;
                found
            }
            false => (Vec::new(), Vec::new()),
        };
        chain.push(Link {
            level: held.level,
            pattern: name,
        });
        let rest = held.events.get(next..).unwrap_or_default();
        pieces.extend(piece(held.level, name, rest));
        Some((chain, pieces))
    }
}
