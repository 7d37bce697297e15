//! Finds the patterns that the text is in the middle of, on every level.

use std::collections::HashSet;

use kato_model::{Event, PatternName};
use kato_prediction::Prediction;
use kato_prediction::config::RankMetric;

use super::candidate::{Candidate, Piece, align, begins_with, piece};
use super::options::{GenerationOptions, Strategy};
use super::span::{Fit, PatternLink};
use crate::hierarchy::name_event;
use crate::level_state::LevelState;
use crate::unravel::Unraveller;
use crate::{Hierarchy, HierarchyError};

/// Most symbols of one event that are tried as the pattern that the text is in the middle of.
const MAX_READINGS: usize = 64;

/// The patterns on a path from level 0 up, and what is left of them.
type Path = (Vec<PatternLink>, Vec<Piece>);

/// A search of one hierarchy.
#[derive(Debug)]
pub(super) struct Search<'h> {
    pub(super) hierarchy: &'h Hierarchy,
    pub(super) unraveller: Unraveller<'h>,
    rank: RankMetric,
    breadth: usize,
    /// Predictions that a level gives, if it has them, whatever its configuration says.
    predictions: usize,
}

impl<'h> Search<'h> {
    /// Creates a search for candidates by the options: no fewer than are drawn from.
    pub(super) fn new(hierarchy: &'h Hierarchy, options: &GenerationOptions) -> Self {
        let drawn = match options.strategy {
            Strategy::TopN { n, .. } => n,
            _ => 0,
        };
        Self {
            hierarchy,
            unraveller: hierarchy.unraveller(),
            rank: options.rank,
            breadth: options.candidates.max(drawn),
            predictions: drawn,
        }
    }

    /// Returns the best candidates of every level, from the bottom up and best first.
    ///
    /// Where a lower level is in the middle of a pattern, a level above is asked in two ways: which
    /// event it expects next from its own state, kept if that agrees with what the levels below
    /// have so far; and what it predicts with each candidate of the level below as its next event.
    /// The first finds the right pattern among any number that begin alike; the second works
    /// without context.
    pub(super) fn candidates(
        &mut self,
        level_state: &LevelState,
    ) -> Result<Vec<Candidate>, HierarchyError> {
        let mut all = Vec::new();
        let mut below: Vec<Candidate> = Vec::new();
        for level in 0..level_state.open.len() {
            let open = &level_state.open[level];
            // A level's own events end with the text only if nothing below them has begun.
            // Otherwise the level is asked for its next event, of which the text has a part.
            let mut found = match (level_state.is_open_below(level), open.is_empty()) {
                (false, true) => Vec::new(),
                (false, false) => self.predicted(level, open, Fit::Loose)?,
                (true, true) => Vec::new(),
                (true, false) => self.expected(level_state, level)?,
            };
            // The candidate is the level's next event by assumption, so it has to match the state's
            // end.
            for candidate in &below {
                let mut state = open.clone();
                state.push(name_event(&candidate.prediction.name));
                let above = self.predicted(level, &state, Fit::Continues)?;
                found.extend(
                    above
                        .into_iter()
                        .map(|above| above.with_lower(candidate, open)),
                );
            }
            // Fit before score: a pattern that agrees from its beginning beats any that resembles.
            // The name makes the order total, so that text does not depend on the order of
            // predictions.
            found.sort_by(|one, other| {
                let order = other.fit.cmp(&one.fit);
                let order = order.then_with(|| other.score().total_cmp(&one.score()));
                order.then_with(|| one.prediction.name.cmp(&other.prediction.name))
            });
            // A pattern can be found in both ways and under several candidates; the first is its
            // best.
            let mut seen = HashSet::new();
            found.retain(|candidate| seen.insert(candidate.prediction.name));
            // Bounds the cost of the level above, which is asked once for each candidate.
            found.truncate(self.breadth);
            all.extend(found.iter().cloned());
            below = found;
        }
        Ok(all)
    }

    /// Returns what a level predicts from a state.
    fn predictions(
        &self,
        level: usize,
        state: &[Event],
    ) -> Result<Vec<Prediction>, HierarchyError> {
        let most = self.predictions as u64;
        let config = self.hierarchy.config(level);
        let narrow = config.filter(|config| config.max_predictions < most);
        let Some(mut wide) = narrow.cloned() else {
            return Ok(self.hierarchy.predict(level, state)?.predictions);
        };
        wide.max_predictions = most;
        let node = &self.hierarchy.nodes()[level];
        Ok(node.predict(state, &wide)?.predictions)
    }

    /// Returns what a level predicts from a state, if it fits at least this well.
    fn predicted(
        &self,
        level: usize,
        state: &[Event],
        least: Fit,
    ) -> Result<Vec<Candidate>, HierarchyError> {
        let predictions = self.predictions(level, state)?;
        let candidate = |prediction| {
            let aligned = align(&prediction, state);
            (aligned.fit >= least).then(|| Candidate::new(level, prediction, aligned, self.rank))
        };
        Ok(predictions.into_iter().filter_map(candidate).collect())
    }

    /// Returns the patterns of a level whose next event agrees with what the levels below are in
    /// the middle of.
    fn expected(
        &mut self,
        level_state: &LevelState,
        level: usize,
    ) -> Result<Vec<Candidate>, HierarchyError> {
        let mut found = Vec::new();
        let predictions = self.predictions(level, &level_state.open[level])?;
        for prediction in predictions {
            let mut aligned = align(&prediction, &level_state.open[level]);
            let Some(next) = prediction.sequence.get(aligned.next) else {
                continue;
            };
            // A loose pattern does not match the end of the state, so its next event is not the
            // text's next.
            if aligned.fit < Fit::Continues {
                continue;
            }
            let Some((chain, pieces)) = self.find_agreeing(level_state, level, next)? else {
                continue;
            };
            // The next event has begun below: what is left of it comes from the pieces, and the
            // pattern's own future starts after it.
            aligned.next += 1;
            let mut candidate = Candidate::new(level, prediction, aligned, self.rank);
            // What is left of the patterns below is this pattern's future too, even without more
            // events.
            candidate.has_future = true;
            found.push(candidate.prepend_lower(&chain, &pieces));
        }
        Ok(found)
    }

    /// Returns the first symbol of a level's event that agrees with the levels below, as the
    /// patterns on the path, from level 0 up, and what is left of them.
    fn find_agreeing(
        &mut self,
        level_state: &LevelState,
        level: usize,
        event: &Event,
    ) -> Result<Option<Path>, HierarchyError> {
        // Ensembles can have very many symbols, and each costs a look-up and a comparison.
        let symbols = event.symbols().iter().take(MAX_READINGS);
        for name in symbols.filter_map(|symbol| PatternName::from_symbol(symbol)) {
            let found = self.match_lower_levels(level_state, level, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Matches the pattern of this name, below `level`, with what the levels below have so far;
    /// `None` unless it begins with that.
    fn match_lower_levels(
        &mut self,
        level_state: &LevelState,
        level: usize,
        name: PatternName,
    ) -> Result<Option<Path>, HierarchyError> {
        // The name may have been promoted past levels, which then must not have begun anything.
        let Some(resolved) = self.unraveller.resolve_below(level, &name)? else {
            return Ok(None);
        };
        let skipped = &level_state.open[resolved.level + 1..level];
        let open = &level_state.open[resolved.level];
        if skipped.iter().any(|events| !events.is_empty()) || !begins_with(&resolved.events, open) {
            return Ok(None);
        }
        let mut next = open.len();
        // If the text is in the middle of one of its events, that event has to agree in turn. The
        // depth is bounded, as each pattern is on a lower level than the one before.
        let (mut chain, mut pieces) = match level_state.is_open_below(resolved.level) {
            true => {
                let found = match resolved.events.get(next) {
                    Some(event) => self.find_agreeing(level_state, resolved.level, event)?,
                    None => None,
                };
                let Some(found) = found else {
                    return Ok(None);
                };
                next += 1;
                found
            }
            false => (Vec::new(), Vec::new()),
        };
        chain.push(PatternLink {
            level: resolved.level,
            pattern: name,
        });
        let rest = resolved.events.get(next..).unwrap_or_default();
        pieces.extend(piece(resolved.level, name, rest));
        Ok(Some((chain, pieces)))
    }
}
