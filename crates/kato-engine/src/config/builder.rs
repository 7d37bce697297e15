//! The builder of configurations, which checks every value.

use kato_prediction::config::{Filter, FilterSettings, RankMetric};

use super::{ConfigError, FILTERS, SessionConfig, StmMode};

/// A builder of a [`SessionConfig`], created by [`SessionConfig::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct SessionConfigBuilder {
    config: SessionConfig,
}

impl SessionConfigBuilder {
    /// Sets the number of events at which the short-term memory is learned automatically; 0 never.
    pub const fn with_max_pattern_length(mut self, events: u64) -> Self {
        self.config.max_pattern_length = events;
        self
    }

    /// Sets the treatment of the short-term memory after an auto-learn.
    pub const fn with_stm_mode(mut self, mode: StmMode) -> Self {
        self.config.stm_mode = mode;
        self
    }

    /// Sets the least similarity of a prediction, in `0..=1`.
    pub const fn with_recall_threshold(mut self, similarity: f64) -> Self {
        self.config.recall_threshold = similarity;
        self
    }

    /// Sets the most predictions of an answer, in `1..=10000`.
    pub const fn with_max_predictions(mut self, predictions: u64) -> Self {
        self.config.max_predictions = predictions;
        self
    }

    /// Sets whether strings are sorted; has an effect only where the engine's options let it.
    pub const fn with_sort_symbols(mut self, sort: bool) -> Self {
        self.config.sort_symbols = sort;
        self
    }

    /// Sets the metric that predictions are ranked by; has an effect only where the engine's
    /// options let it.
    pub const fn with_rank_sort_algo(mut self, metric: RankMetric) -> Self {
        self.config.rank_sort_algo = metric;
        self
    }

    /// Sets similarity to be that of characters instead of symbols; for states of one symbol only
    /// where the engine's options let it.
    pub const fn with_character_matching(mut self) -> Self {
        self.config.use_token_matching = false;
        self
    }

    /// Sets the least similarity by characters at which different symbols match, in `0..=1`.
    pub const fn with_fuzzy_token_threshold(mut self, similarity: f64) -> Self {
        self.config.fuzzy_token_threshold = Some(similarity);
        self
    }

    /// Sets the emotive whose affinities weigh the symbols.
    pub fn with_affinity_emotive(mut self, emotive: impl Into<String>) -> Self {
        self.config.affinity_emotive = Some(emotive.into());
        self
    }

    /// Sets the stages that narrow the candidates, in order, and their settings.
    pub fn with_filters(mut self, stages: &[Filter], settings: FilterSettings) -> Self {
        let name = |stage: &Filter| {
            FILTERS
                .iter()
                .find(|(_, known)| known == stage)
                .map(|(name, _)| (*name).to_owned())
        };
        let config = &mut self.config;
        config.filter_pipeline = stages.iter().filter_map(name).collect();
        config.length_min_ratio = settings.length_min_ratio;
        config.length_max_ratio = settings.length_max_ratio;
        config.jaccard_threshold = settings.jaccard_threshold;
        config.jaccard_min_overlap = settings.jaccard_min_overlap as u64;
        config.minhash_threshold = settings.minhash_threshold;
        config.minhash_bands = settings.minhash_bands as u64;
        config.minhash_rows = settings.minhash_rows as u64;
        config.minhash_num_hashes = settings.minhash_num_hashes as u64;
        self
    }

    /// Builds the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every value that is out of range.
    pub fn build(self) -> Result<SessionConfig, ConfigError> {
        self.config.check()?;
        Ok(self.config)
    }
}
