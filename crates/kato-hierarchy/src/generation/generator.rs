//! The generator, which yields spans one by one.

use std::collections::VecDeque;

use kato_random::SplitMix64;

use super::beam::{best_sequence, weights};
use super::choice::Choice;
use super::options::{GenerationOptions, Strategy};
use super::search::Search;
use super::span::{GeneratedSpan, GenerationEnd};
use super::walk::Walk;
use crate::chunked_prompt::ChunkedPrompt;
use crate::random::weighted;
use crate::{Hierarchy, HierarchyError, Prompt};

/// An iterator of [`GeneratedSpan`]s that continue a prompt; created by [`Hierarchy::generator`].
///
/// # A step
///
/// 1. Every level looks for the patterns that the text is in the middle of. A level above another
///    asks what it expects next, and what it makes of the patterns that the level below found; a
///    pattern must agree with everything below it.
/// 2. The continuations that [fit](super::Fit) best are kept, of these the ones of the highest
///    level, and the [strategy](Strategy) chooses one.
/// 3. Its future is unravelled to tokens, after what is left of the unfinished patterns below.
/// 4. The text now ends with that pattern. It is complete, so its name goes up, and every level is
///    where it would be had it read the text.
///
/// # The end
///
/// See [`GenerationEnd`]. With [`bridges`](GenerationOptions::bridges), where nothing that was learned goes
/// on, the last tokens (one less than a chunk) are looked for anywhere in the patterns of level 0, and
/// the text continues from there.
#[derive(Debug)]
pub struct Generator<'h> {
    search: Search<'h>,
    options: GenerationOptions,
    prompt_tokens: Vec<String>,
    walk: Walk,
    random: SplitMix64,
    /// The sequence that beam search found, without what was yielded already, and why it ended.
    planned: Option<(VecDeque<Choice>, GenerationEnd)>,
    end: Option<GenerationEnd>,
}

impl<'h> Generator<'h> {
    /// Takes the prompt up and prepares the first step.
    pub(super) fn new(
        hierarchy: &'h Hierarchy,
        prompt: Prompt<'_>,
        options: GenerationOptions,
    ) -> Result<Self, HierarchyError> {
        let chunked = ChunkedPrompt::new(hierarchy, prompt)?;
        let seed = match options.strategy {
            Strategy::TopN { seed, .. } | Strategy::Sample { seed, .. } => seed,
            // Neither of these draws a random number.
            Strategy::Greedy | Strategy::Beam { .. } => 0,
        };
        Ok(Self {
            search: Search::new(hierarchy, &options),
            prompt_tokens: chunked.tokens().cloned().collect(),
            walk: Walk::new(hierarchy, &chunked, options.substitutes)?,
            options,
            random: SplitMix64::from_seed(seed),
            planned: None,
            end: None,
        })
    }

    /// Returns the tokens of the prompt that belong to a chunk or the beginning of one.
    #[must_use]
    pub fn prompt_tokens(&self) -> &[String] {
        &self.prompt_tokens
    }

    /// Returns why there are no more spans; `None` while there may be more.
    #[must_use]
    pub const fn end(&self) -> Option<&GenerationEnd> {
        self.end.as_ref()
    }

    /// Returns the next step, and records why it is the last one, if it is.
    fn next_choice(&mut self) -> Result<Option<Choice>, HierarchyError> {
        if self.end.is_some() {
            return Ok(None);
        }
        // Beam search compares whole sequences, so it is done before the first span.
        if let Strategy::Beam { width } = self.options.strategy {
            return self.next_planned(width);
        }
        let mut choices = match self.walk.choices(&mut self.search, &self.options)? {
            Ok(choices) => choices,
            Err(end) => {
                self.end = Some(end);
                return Ok(None);
            }
        };
        // Never an empty list: a walk without choices returns the reason instead.
        let chosen = match self.options.strategy {
            Strategy::TopN { n, .. } => {
                weighted(&mut self.random, &vec![1.0; n.min(choices.len())])
            }
            Strategy::Sample { temperature, .. } => {
                weighted(&mut self.random, &weights(&choices, temperature))
            }
            Strategy::Greedy | Strategy::Beam { .. } => 0,
        };
        let mut choice = choices.swap_remove(chosen);
        self.end = self
            .walk
            .advance(&mut choice, self.search.hierarchy, &self.options)?;
        Ok(Some(choice))
    }

    /// Returns the next step of the sequence that beam search found.
    fn next_planned(&mut self, width: usize) -> Result<Option<Choice>, HierarchyError> {
        let (choices, end) = match &mut self.planned {
            Some(planned) => planned,
            None => {
                // A copy, because beam search moves every walk that it follows.
                let walk = self.walk.clone();
                let (choices, end) = best_sequence(walk, width, &mut self.search, &self.options)?;
                self.planned.insert((choices.into(), end))
            }
        };
        let choice = choices.pop_front();
        // The reason becomes known with the last span, not after it.
        if choices.is_empty() {
            self.end = Some(end.clone());
        }
        Ok(choice)
    }

    /// Turns a choice into a span, with its provenance.
    fn span(&self, choice: Choice) -> Result<GeneratedSpan, HierarchyError> {
        let hierarchy = self.search.hierarchy;
        let mut parts = choice.parts;
        for part in &mut parts {
            let tokens = choice.tokens.get(part.tokens.clone());
            part.text = hierarchy.decode(tokens.unwrap_or_default());
            // Sources are looked up for what was chosen only, as each is a read of the store.
            part.source = hierarchy.source(part.level, &part.pattern)?;
        }
        let candidate = choice.candidate;
        Ok(GeneratedSpan {
            text: hierarchy.decode(&choice.tokens),
            tokens: choice.tokens,
            level: candidate.level,
            fit: candidate.fit,
            score: candidate.score(),
            n_choices: choice.n_choices,
            is_bridge: choice.is_bridge,
            source: hierarchy.source(candidate.level, &candidate.prediction.name)?,
            prediction: (*candidate.prediction).clone(),
            chain: candidate.chain,
            parts,
        })
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<GeneratedSpan, HierarchyError>;

    fn next(&mut self) -> Option<Self::Item> {
        let choice = self.next_choice().transpose()?;
        let span = choice.and_then(|choice| self.span(choice));
        if span.is_err() {
            // What could not be read is no position to continue from.
            self.end.get_or_insert(GenerationEnd::Unreadable);
        }
        Some(span)
    }
}
