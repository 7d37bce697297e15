//! A trained hierarchy: the engine, the tokenizer and the settings that belong together.

use std::sync::{Arc, OnceLock};

use kato_engine::{Engine, Node, SessionConfig};
use kato_learner::{HierarchicalConceptLearner, LearnerConfig};
use kato_model::{Event, PatternName};
use kato_prediction::Predictions;
use kato_tokenizer::Tokenizer;

use crate::HierarchyError;

/// A learned hierarchy, which is asked, and [learns](Self::learn) where its store may be written.
///
/// Cheap to clone and to share between threads: all handles are of one engine. What any of them learns,
/// and what sessions teach the engine's nodes, every handle sees at once.
///
/// # Cost
///
/// Taking text up costs a look-up for each complete chunk that is known and a prediction for each
/// that is not; a step of generation costs at most one prediction on level 0 and `candidates + 1`
/// on every other level, and as many again where it looks for a bridge; with beam search, for each
/// sequence that is followed. A chunk that a step completes and its level does not know costs one more.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    engine: Engine,
    nodes: Vec<Node>,
    configs: Vec<SessionConfig>,
    tokenizer: Arc<dyn Tokenizer>,
    settings: LearnerConfig,
    /// Made when something is first learned, as it takes some megabytes.
    pub(crate) learner: Arc<OnceLock<HierarchicalConceptLearner>>,
}

impl Hierarchy {
    /// Joins an engine's nodes with the tokenizer and the settings with which they were trained.
    ///
    /// Every level predicts with KATO's defaults, except that the recall threshold is not above
    /// 2 / (chunk size + 1); [`with_config`](Self::with_config) changes that.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::Nodes`] when the settings are of other nodes.
    pub fn new(
        engine: Engine,
        tokenizer: impl Tokenizer + 'static,
        settings: LearnerConfig,
    ) -> Result<Self, HierarchyError> {
        let nodes: Vec<Node> = engine.nodes().collect();
        let names: Vec<&str> = nodes.iter().map(Node::name).collect();
        let expected: Vec<&str> = settings.nodes.iter().map(|node| &*node.name).collect();
        // Order counts: levels are addressed by position everywhere, and names lead to the level
        // below.
        if names != expected || names.is_empty() {
            let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
            return Err(HierarchyError::Nodes {
                engine: owned(names),
                settings: owned(expected),
            });
        }
        let config = |chunk_size: usize| {
            let mut config = SessionConfig::default();
            // KATO's similarity of a state of one symbol and a pattern of n that contains it: 2 · 1
            // / (1 + n).
            let reached = 2.0 / (chunk_size as f64 + 1.0);
            config.recall_threshold = config.recall_threshold.min(reached);
            config
        };
        let configs = settings
            .nodes
            .iter()
            .map(|node| config(node.chunk_size))
            .collect();
        Ok(Self {
            engine,
            nodes,
            configs,
            tokenizer: Arc::new(tokenizer),
            settings,
            learner: Arc::default(),
        })
    }

    /// Returns the hierarchy with another configuration of one level's predictions.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::UnknownLevel`].
    pub fn with_config(
        mut self,
        level: usize,
        config: SessionConfig,
    ) -> Result<Self, HierarchyError> {
        self.check_level(level)?;
        self.configs[level] = config;
        Ok(self)
    }

    /// Returns the engine.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the levels' nodes, from the bottom up; never empty.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns how a level predicts; `None` for a level that does not exist.
    #[must_use]
    pub fn config(&self, level: usize) -> Option<&SessionConfig> {
        self.configs.get(level)
    }

    /// Returns the tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &dyn Tokenizer {
        self.tokenizer.as_ref()
    }

    /// Returns a handle of the tokenizer.
    pub(crate) fn shared_tokenizer(&self) -> Arc<dyn Tokenizer> {
        Arc::clone(&self.tokenizer)
    }

    /// Returns the settings of training.
    #[must_use]
    pub const fn settings(&self) -> &LearnerConfig {
        &self.settings
    }

    /// Refuses a level that does not exist.
    pub(crate) fn check_level(&self, level: usize) -> Result<(), HierarchyError> {
        let n_levels = self.nodes.len();
        if level < n_levels {
            return Ok(());
        }
        Err(HierarchyError::UnknownLevel { level, n_levels })
    }

    /// Returns the number of events of a full chunk. One symbol is no pattern, so it is at least
    /// two.
    pub(crate) fn chunk_size(&self, level: usize) -> usize {
        self.settings.nodes[level].chunk_size.max(2)
    }

    /// Returns what a level predicts from a state, with its configuration.
    pub(crate) fn predict(
        &self,
        level: usize,
        state: &[Event],
    ) -> Result<Predictions, HierarchyError> {
        Ok(self.nodes[level].predict(state, &self.configs[level])?)
    }

    /// Returns whether a level has learned a pattern.
    pub(crate) fn knows(&self, level: usize, name: &PatternName) -> Result<bool, HierarchyError> {
        Ok(self.nodes[level].frequency(name)? > 0)
    }

    /// Returns the text of token strings.
    pub(crate) fn decode<T: AsRef<str>>(&self, tokens: &[T]) -> String {
        let tokens: Vec<&str> = tokens.iter().map(AsRef::as_ref).collect();
        self.tokenizer.decode_tokens(&tokens)
    }
}

/// Returns the event of one token.
pub(crate) fn token_event(token: &str) -> Event {
    Event::in_given_order(vec![token.to_owned()])
}

/// Returns the event that a pattern is to the level above.
pub(crate) fn name_event(name: &PatternName) -> Event {
    Event::in_given_order(vec![name.prefixed().to_string()])
}
