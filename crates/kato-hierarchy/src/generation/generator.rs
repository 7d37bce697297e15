//! The generator: spans, one by one.

use std::collections::VecDeque;

use super::beam::{best_sequence, weights};
use super::choice::Choice;
use super::options::{GenerationOptions, Strategy};
use super::search::Search;
use super::span::{End, Span};
use super::walk::Walk;
use crate::cut::Cut;
use crate::random::SplitMix64;
use crate::{Hierarchy, HierarchyError, Prompt};

/// Continues a prompt; an iterator of [`Span`]s. Made by [`Hierarchy::generator`].
///
/// # A step
///
/// 1. Every level looks for the patterns that the text is in the middle of. A level above another asks what it expects next,
///    and what it makes of the patterns that the level below found; a pattern must agree with everything below it.
/// 2. The continuations that [fit](super::Fit) best are kept, of these the ones of the highest level, and the
///    [strategy](Strategy) chooses one.
/// 3. Its future is unravelled to tokens, after what is left of the unfinished patterns below.
/// 4. The text now ends with that pattern. It is complete, so its name goes up, and every level is where it would be had it
///    read the text.
///
/// # The end
///
/// See [`End`]. With [`bridges`](GenerationOptions::bridges), where what was learned ends, the last tokens (one less than a
/// chunk) are looked for anywhere in the patterns of level 0, and the text goes on from there.
#[derive(Debug)]
pub struct Generator<'h> {
    search: Search<'h>,
    options: GenerationOptions,
    prompt_tokens: Vec<String>,
    walk: Walk,
    random: SplitMix64,
    /// What beam search found and has not been handed out.
    planned: Option<(VecDeque<Choice>, End)>,
    end: Option<End>,
}

impl<'h> Generator<'h> {
    pub(super) fn new(
        hierarchy: &'h Hierarchy,
        prompt: Prompt<'_>,
        options: GenerationOptions,
    ) -> Result<Self, HierarchyError> {
        let cut = Cut::of(hierarchy, prompt)?;
        let seed = match options.strategy {
            Strategy::TopN { seed, .. } | Strategy::Sample { seed, .. } => seed,
            Strategy::Greedy | Strategy::Beam { .. } => 0,
        };
        Ok(Self {
            search: Search::new(hierarchy, options.rank, options.candidates),
            prompt_tokens: cut.tokens().cloned().collect(),
            walk: Walk::new(hierarchy, &cut, options.substitutes),
            options,
            random: SplitMix64::new(seed),
            planned: None,
            end: None,
        })
    }

    /// The tokens of the prompt that belong to a chunk or the beginning of one.
    #[must_use]
    pub fn prompt_tokens(&self) -> &[String] {
        &self.prompt_tokens
    }

    /// Why there are no more spans; `None` while there may be.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn next_choice(&mut self) -> Option<Choice> {
        if self.end.is_some() {
            return None;
        }
        if let Strategy::Beam { width } = self.options.strategy {
            return self.next_planned(width);
        }
        let mut choices = match self.walk.choices(&mut self.search, &self.options) {
            Ok(choices) => choices,
            Err(end) => {
                self.end = Some(end);
                return None;
            }
        };
        let chosen = match self.options.strategy {
            Strategy::TopN { n, .. } => self.random.weighted(&vec![1.0; n.min(choices.len())]),
            Strategy::Sample { temperature, .. } => {
                self.random.weighted(&weights(&choices, temperature))
            }
            Strategy::Greedy | Strategy::Beam { .. } => 0,
        };
        let mut choice = choices.swap_remove(chosen);
        self.end = self
            .walk
            .take(&mut choice, self.search.hierarchy, &self.options);
        Some(choice)
    }

    fn next_planned(&mut self, width: usize) -> Option<Choice> {
        let (choices, end) = self.planned.get_or_insert_with(|| {
            let walk = self.walk.clone();
            let (choices, end) = best_sequence(walk, width, &mut self.search, &self.options);
            (choices.into(), end)
        });
        let choice = choices.pop_front();
        if choices.is_empty() {
            self.end = Some(end.clone());
        }
        choice
    }

    fn span(&self, choice: Choice) -> Result<Span, HierarchyError> {
        let hierarchy = self.search.hierarchy;
        let mut parts = choice.parts;
        for part in &mut parts {
            part.source = hierarchy.source(part.level, &part.pattern)?;
        }
        let candidate = choice.candidate;
        Ok(Span {
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
    type Item = Result<Span, HierarchyError>;

    fn next(&mut self) -> Option<Self::Item> {
        let choice = self.next_choice()?;
        Some(self.span(choice))
    }
}
