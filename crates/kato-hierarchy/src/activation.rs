//! Takes text up through the levels.

use kato_model::Event;
use kato_prediction::{Prediction, Predictions};

use crate::chunked_prompt::ChunkedPrompt;
use crate::hierarchy::token_event;
use crate::level_state::LevelState;
use crate::{Hierarchy, HierarchyError, Prompt};

/// Most events of an ensemble state; sessions keep as many.
const MAX_EVENTS: usize = 1000;

/// The way in which levels pass events up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActivationMode {
    /// A complete chunk goes up as one event: its own name if the level learned it, else the names
    /// of the most alike. A level starts anew once it holds a full chunk, and sends something up
    /// only then, so every level moves at the pace at which it was trained.
    #[default]
    Names,
    /// The original's way: after every chunk of tokens, all predicted names of a level go up as one
    /// event, and levels above 0 gather them and are never cleared (the latest 1000 stay). Higher
    /// levels then move as fast as level 0, which is not how they were trained.
    Ensembles,
}

/// Options of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivationOptions {
    /// The way in which events go up. Default: names.
    pub mode: ActivationMode,
    /// The number of names of similar patterns that stand for a chunk that its level never
    /// learned, as one event. With 0, or where nothing is similar, the name that the chunk
    /// would have stands for it, which keeps its place and matches nothing. Default 1.
    /// Ensembles ignore it.
    pub substitutes: usize,
}

impl Default for ActivationOptions {
    fn default() -> Self {
        Self {
            mode: ActivationMode::Names,
            substitutes: 1,
        }
    }
}

impl ActivationOptions {
    /// Sets the way in which events go up.
    #[must_use]
    pub const fn with_mode(mut self, mode: ActivationMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets how many similar patterns stand for an unknown chunk.
    #[must_use]
    pub const fn with_substitutes(mut self, substitutes: usize) -> Self {
        self.substitutes = substitutes;
        self
    }
}

/// The states of all levels after a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Activation {
    /// The chunks of tokens, in order; the last may be the beginning of one.
    pub chunks: Vec<Vec<String>>,
    /// The levels, from the bottom up: all of them, also those that nothing reached.
    pub levels: Vec<LevelActivation>,
}

/// The state of one level, and what it predicts from it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelActivation {
    /// The level, from 0.
    pub level: usize,
    /// Its node.
    pub node: String,
    /// The events observed; empty if nothing reached the level.
    pub state: Vec<Event>,
    /// Whether the state is a full chunk that went up, so that the next event starts a new one.
    pub is_complete: bool,
    /// The last chunk of tokens that the state is about; `None` if nothing reached the level.
    pub chunk_idx: Option<usize>,
    /// What the level predicts from the state.
    pub predictions: Predictions,
}

impl LevelActivation {
    /// Returns what the level predicts, the best first; empty where nothing that it learned is like the
    /// state.
    #[must_use]
    pub fn ranked(&self) -> &[Prediction] {
        &self.predictions.predictions
    }

    /// Returns the best prediction; `None` where there is none.
    #[must_use]
    pub fn best(&self) -> Option<&Prediction> {
        self.ranked().first()
    }

    /// Returns what each prediction expects next, those of the best first: events of this level, which
    /// [`Hierarchy::unravel_events`] turns into text. One that is empty is of a pattern at its end.
    pub fn futures(&self) -> impl Iterator<Item = &[Event]> {
        self.ranked().iter().map(|prediction| &*prediction.future)
    }
}

impl Activation {
    /// Returns the best prediction of tokens, which level 0 makes; `None` where there is none.
    ///
    /// That of another level is `levels[1].best()`.
    #[must_use]
    pub fn best(&self) -> Option<&Prediction> {
        self.levels.first().and_then(LevelActivation::best)
    }

    /// Returns the tokens that each prediction of level 0 expects next, those of the best first.
    pub fn futures(&self) -> impl Iterator<Item = &[Event]> {
        self.levels
            .first()
            .into_iter()
            .flat_map(LevelActivation::futures)
    }

    /// Returns whether a level's answer is about the text's last chunk. A level above 0 is about
    /// earlier chunks while those below it collect the next.
    #[must_use]
    pub fn is_current(&self, level: &LevelActivation) -> bool {
        level.chunk_idx.is_some() && level.chunk_idx == self.chunks.len().checked_sub(1)
    }
}

impl Hierarchy {
    /// Takes text up and returns every level's state after it, with what the level predicts from
    /// that state.
    ///
    /// ```
    /// use kato_engine::Engine;
    /// use kato_hierarchy::{ActivationOptions, Hierarchy};
    /// use kato_learner::{HierarchicalNode, LearnerConfig};
    /// use kato_tokenizer::gpt2;
    ///
    /// let settings = LearnerConfig::new(vec![HierarchicalNode::new("node0", 3)]);
    /// let hierarchy = Hierarchy::new(Engine::in_memory(&["node0"]), gpt2(), settings)?;
    /// let activation = hierarchy.activate("The cat sat on the mat. It", &ActivationOptions::default())?;
    /// assert_eq!(activation.chunks[0], ["The", "Ġcat", "Ġsat"]);
    /// assert_eq!(activation.best(), None);
    /// # Ok::<(), kato_hierarchy::HierarchyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Tokenize`], [`HierarchyError::UnknownToken`], and [`HierarchyError::Engine`] when a
    /// node cannot be read.
    pub fn activate<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        options: &ActivationOptions,
    ) -> Result<Activation, HierarchyError> {
        let chunked = ChunkedPrompt::new(self, prompt.into())?;
        let levels = match options.mode {
            ActivationMode::Names => {
                let mut levels = self.take_up_names(&chunked, options.substitutes)?;
                for level in &mut levels {
                    level.predictions = self.predict(level.level, &level.state)?;
                }
                levels
            }
            ActivationMode::Ensembles => self.activate_ensembles(&chunked)?,
        };
        let mut chunks = chunked.closed;
        chunks.extend((!chunked.open.is_empty()).then_some(chunked.open));
        Ok(Activation { chunks, levels })
    }

    /// Takes text up by names and returns one level's state after it: that of an
    /// [activation](Self::activate), without the predictions of any level.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::UnknownLevel`], and as [`activate`](Self::activate).
    pub fn state<'a>(
        &self,
        prompt: impl Into<Prompt<'a>>,
        level: usize,
        substitutes: usize,
    ) -> Result<Vec<Event>, HierarchyError> {
        self.check_level(level)?;
        let chunked = ChunkedPrompt::new(self, prompt.into())?;
        let mut levels = self.take_up_names(&chunked, substitutes)?;
        // The other levels are dropped, so their order does not matter.
        Ok(levels.swap_remove(level).state)
    }

    /// Returns the levels before anything has reached them.
    fn empty_levels(&self) -> Vec<LevelActivation> {
        let level = |(level, node): (usize, &kato_engine::Node)| LevelActivation {
            level,
            node: node.name().to_owned(),
            state: Vec::new(),
            is_complete: false,
            chunk_idx: None,
            predictions: Predictions::default(),
        };
        self.nodes().iter().enumerate().map(level).collect()
    }

    /// Takes chunks up as names, and predicts nothing from the states.
    fn take_up_names(
        &self,
        chunked: &ChunkedPrompt,
        substitutes: usize,
    ) -> Result<Vec<LevelActivation>, HierarchyError> {
        let mut level_state = LevelState::new(self.nodes().len());
        let mut levels = self.empty_levels();
        for (chunk_idx, tokens) in chunked.closed.iter().enumerate() {
            level_state.chunk(self, tokens, substitutes, &mut |level, events| {
                // The level state starts the level again, so the complete events are kept here: a
                // level that got nothing since predicts from them.
                levels[level].state = events.to_vec();
                levels[level].is_complete = true;
                levels[level].chunk_idx = Some(chunk_idx);
                // The name goes up at once, so the level above is about this chunk as well.
                if let Some(above) = levels.get_mut(level + 1) {
                    above.chunk_idx = Some(chunk_idx);
                }
            })?;
        }
        if !chunked.open.is_empty() {
            level_state.open[0] = chunked
                .open
                .iter()
                .map(|token| token_event(token))
                .collect();
            levels[0].chunk_idx = Some(chunked.closed.len());
        }
        // Events of a pattern that has begun are newer than the complete one before it.
        for (level, open) in levels.iter_mut().zip(level_state.open) {
            if !open.is_empty() {
                level.state = open;
                level.is_complete = false;
            }
        }
        Ok(levels)
    }

    /// Takes chunks up as ensembles of predicted names.
    fn activate_ensembles(
        &self,
        chunked: &ChunkedPrompt,
    ) -> Result<Vec<LevelActivation>, HierarchyError> {
        let mut levels = self.empty_levels();
        let open = (!chunked.open.is_empty()).then_some(&chunked.open);
        let chunks = chunked.closed.iter().chain(open);
        for (chunk_idx, tokens) in chunks.enumerate() {
            // Only level 0 starts again with each chunk. The levels above gather, as in the
            // original.
            levels[0].state = tokens.iter().map(|token| token_event(token)).collect();
            for level_idx in 0..levels.len() {
                let level = &mut levels[level_idx];
                if level.state.is_empty() {
                    break;
                }
                level.chunk_idx = Some(chunk_idx);
                level.predictions = self.predict(level_idx, &level.state)?;
                let names = level.predictions.predictions.iter();
                let ensemble = Event::new(names.map(|one| one.name.prefixed().to_string()));
                let Some(above) = levels.get_mut(level_idx + 1) else {
                    break;
                };
                // Nothing was predicted, so the levels above stay as the chunk before left them.
                if ensemble.is_empty() {
                    break;
                }
                above.state.push(ensemble);
                // The oldest events go first, as in a session.
                let surplus = above.state.len().saturating_sub(MAX_EVENTS);
                above.state.drain(..surplus);
            }
        }
        Ok(levels)
    }
}
