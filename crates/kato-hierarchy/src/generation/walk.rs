//! The position of a generation: what every level is in the middle of, and the last tokens.

use std::collections::HashMap;

use super::choice::Choice;
use super::options::GenerationOptions;
use super::search::Search;
use super::span::{Fit, GenerationEnd};
use crate::chunked_prompt::ChunkedPrompt;
use crate::hierarchy::token_event;
use crate::level_state::LevelState;
use crate::{Hierarchy, HierarchyError};

/// What can come next, best first and never empty, or else why nothing comes.
pub(super) type Choices = Result<Vec<Choice>, GenerationEnd>;

/// One way through the text so far.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    state: State,
    /// How often each state was reached.
    visits: HashMap<State, usize>,
    /// The last tokens generated, as many as a stop text can contain.
    tail: Vec<String>,
    n_tokens: usize,
    has_begun: bool,
}

/// Everything that the next step depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    level_state: LevelState,
    /// The last tokens of prompt and answer: one less than a chunk.
    recent: Vec<String>,
}

impl Walk {
    /// Takes the prompt up.
    pub(super) fn new(
        hierarchy: &Hierarchy,
        chunked: &ChunkedPrompt,
        substitutes: usize,
    ) -> Result<Self, HierarchyError> {
        let mut level_state = LevelState::new(hierarchy.nodes().len());
        for tokens in &chunked.closed {
            level_state.chunk(hierarchy, tokens, substitutes, &mut |_, _| {})?;
        }
        level_state.open[0] = chunked
            .open
            .iter()
            .map(|token| token_event(token))
            .collect();
        let mut recent: Vec<String> = chunked.tokens().cloned().collect();
        // A full chunk would be complete. These tokens are what a bridge looks for.
        keep_last(&mut recent, hierarchy.chunk_size(0) - 1);
        let state = State {
            level_state,
            recent,
        };
        Ok(Self {
            // The prompt's state counts as visited, so that coming back to it is a repetition.
            visits: HashMap::from([(state.clone(), 1)]),
            state,
            tail: Vec::new(),
            n_tokens: 0,
            has_begun: false,
        })
    }

    /// Returns what can come next, best first and never empty, or else why nothing comes.
    pub(super) fn choices(
        &self,
        search: &mut Search<'_>,
        options: &GenerationOptions,
    ) -> Result<Choices, HierarchyError> {
        if self.n_tokens >= options.max_tokens {
            return Ok(Err(GenerationEnd::MaxTokens));
        }
        // After generated text everything has a known alignment, and a loose match would leave it.
        let least = match self.has_begun {
            true => Fit::Continues,
            false => Fit::Loose,
        };
        let end = match self.choices_from(&self.state.level_state, least, search, options)? {
            Ok(choices) => return Ok(Ok(choices)),
            Err(end) => end,
        };
        if !options.bridges {
            return Ok(Err(end));
        }
        // A bridge forgets what the levels were in the middle of and keeps the last tokens only.
        let mut bridge = LevelState::new(self.state.level_state.open.len());
        let recent = self.state.recent.iter();
        bridge.open[0] = recent.map(|token| token_event(token)).collect();
        // Without a bridge the reason is that of the step itself.
        let Ok(mut choices) = self.choices_from(&bridge, Fit::Continues, search, options)? else {
            return Ok(Err(end));
        };
        for choice in &mut choices {
            choice.is_bridge = true;
        }
        Ok(Ok(choices))
    }

    /// Returns the choices of the best fit, and of these the ones of the highest level that can say
    /// anything.
    fn choices_from(
        &self,
        level_state: &LevelState,
        least: Fit,
        search: &mut Search<'_>,
        options: &GenerationOptions,
    ) -> Result<Choices, HierarchyError> {
        let candidates = search.candidates(level_state)?;
        // A pattern that agrees from its beginning on and has nothing left is complete. The highest
        // level that has begun something decides, as lower patterns end within its own.
        let top_open = level_state
            .open
            .iter()
            .rposition(|events| !events.is_empty());
        let has_ended = match top_open {
            Some(top_open) => candidates.iter().any(|candidate| {
                candidate.fit == Fit::Exact
                    && candidate.level >= top_open
                    && candidate.pieces.is_empty()
            }),
            // Everything that was begun is complete.
            None => !self.state.recent.is_empty(),
        };
        // Where the learned text ends, what merely resembles it is no continuation: a bridge has to
        // be asked for.
        let least = if has_ended { Fit::Exact } else { least };
        let mut end = if has_ended {
            GenerationEnd::Learned
        } else {
            GenerationEnd::NoAnswer
        };
        // Fit outside, level inside: a high level that fits less well must not win.
        for fit in [Fit::Exact, Fit::Continues, Fit::Loose] {
            for level in (0..level_state.open.len()).rev() {
                if fit < least || options.level.is_some_and(|only| only != level) {
                    continue;
                }
                let mut choices = Vec::new();
                let is_here = |candidate: &&super::candidate::Candidate| {
                    candidate.fit == fit && candidate.level == level && candidate.has_future
                };
                for candidate in candidates.iter().filter(is_here) {
                    // The step's first check leaves at least one token.
                    let limit = options.max_tokens - self.n_tokens;
                    match Choice::new(candidate.clone(), search, limit)? {
                        Ok(choice) => choices.push(choice),
                        Err(Some(unknown)) => end = unknown,
                        Err(None) => {}
                    }
                }
                if !choices.is_empty() {
                    let n_choices = choices.len();
                    choices
                        .iter_mut()
                        .for_each(|choice| choice.n_choices = n_choices);
                    return Ok(Ok(choices));
                }
            }
        }
        Ok(Err(end))
    }

    /// Moves along a choice, which a stop text may cut; returns why generation ends there, if it
    /// does.
    pub(super) fn advance(
        &mut self,
        choice: &mut Choice,
        hierarchy: &Hierarchy,
        options: &GenerationOptions,
    ) -> Result<Option<GenerationEnd>, HierarchyError> {
        self.has_begun = true;
        // First, because a stop text shortens the choice that everything below takes in.
        let stopped = self.apply_stop_text(choice, hierarchy, options);
        self.n_tokens += choice.tokens.len();
        self.state.recent.extend(choice.tokens.iter().cloned());
        keep_last(&mut self.state.recent, hierarchy.chunk_size(0) - 1);
        // After a bridge the alignment is that of the pattern that was found.
        if choice.is_bridge {
            self.state.level_state = LevelState::new(hierarchy.nodes().len());
        }
        let candidate = &choice.candidate;
        let name = &candidate.prediction.name;
        let level_state = &mut self.state.level_state;
        level_state.advance_with_pattern(hierarchy, candidate.level, name, options.substitutes)?;
        let visits = self.visits.entry(self.state.clone()).or_insert(0);
        *visits += 1;
        let repeats = (*visits > options.max_visits).then_some(GenerationEnd::Repetition);
        let is_full = self.n_tokens >= options.max_tokens;
        // A stop text and the limit were asked for, so they are named before the other reasons.
        Ok(stopped
            .or_else(|| is_full.then_some(GenerationEnd::MaxTokens))
            .or_else(|| choice.end.clone())
            .or(repeats))
    }

    /// Cuts a choice after the first stop text; returns that end.
    fn apply_stop_text(
        &mut self,
        choice: &mut Choice,
        hierarchy: &Hierarchy,
        options: &GenerationOptions,
    ) -> Option<GenerationEnd> {
        // A stop text may begin in the tokens of an earlier step, hence the tail.
        let longest = options.stop.iter().map(String::len).max()?;
        for token_idx in 0..choice.tokens.len() {
            self.tail.push(choice.tokens[token_idx].clone());
            // A token has at least one byte, so no more of them can hold a stop text.
            keep_last(&mut self.tail, longest);
            let text = hierarchy.decode(&self.tail);
            if let Some(stop) = options.stop.iter().find(|stop| text.contains(*stop)) {
                choice.truncate(token_idx + 1);
                return Some(GenerationEnd::StopText(stop.clone()));
            }
        }
        None
    }
}

/// Removes all but the last `n` tokens.
fn keep_last(tokens: &mut Vec<String>, n: usize) {
    let surplus = tokens.len().saturating_sub(n);
    tokens.drain(..surplus);
}
