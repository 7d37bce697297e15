//! The options of a generation.

use kato_prediction::config::RankMetric;

use crate::HierarchyError;
use crate::error::check_option;

/// Widest beam, and largest number of candidates and of continuations to draw from.
const MAX_BREADTH: usize = 1000;

/// The way in which one of several continuations is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// The best.
    #[default]
    Greedy,
    /// One of the `n` best, each as likely as the others.
    TopN {
        /// Number of continuations to draw from; 1 to 1000. Each level compares and predicts as many at
        /// least.
        n: usize,
        /// Seed of the draws.
        seed: u64,
    },
    /// Any of those that are [compared](GenerationOptions::candidates), with probability exp(score / temperature) / Σ
    /// exp(score / temperature).
    Sample {
        /// Above 0; the lower, the more often the best.
        temperature: f64,
        /// Seed of the draws.
        seed: u64,
    },
    /// The sequence of spans with the greatest mean log share, where a choice's share is exp(score)
    /// / Σ exp(score) over the choices of its step; the `width` best sequences so far are followed.
    /// Spans come when all are found.
    Beam {
        /// Number of sequences that are followed; 1 to 1000.
        width: usize,
    },
}

/// Settings of a generation. Equal settings, prompt and knowledge give equal text, on every
/// platform; where the [metric](Self::rank) is an entropy or tf-idf, which have the system's
/// logarithms, on one platform.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GenerationOptions {
    /// Tokens after which generation ends. Default 100.
    pub max_tokens: usize,
    /// The way in which one of several continuations is chosen. Default: greedy.
    pub strategy: Strategy,
    /// The metric that scores a continuation, as its mean over the predictions on its path.
    /// Default: the potential.
    pub rank: RankMetric,
    /// The only level whose futures are taken; `None`, the default, takes the highest of those that
    /// [fit](crate::generation::Fit) best.
    pub level: Option<usize>,
    /// Number of continuations that each level compares and passes to the level above; 1 to 1000.
    /// Default 10; [`TopN`](Strategy::TopN) of more takes as many.
    pub candidates: usize,
    /// Whether to continue where nothing that was learned goes on, from patterns that hold the last
    /// tokens somewhere. Default `false`.
    pub bridges: bool,
    /// Texts after which generation ends; the text itself is part of the answer. None by default.
    pub stop: Vec<String>,
    /// How often the same state may be reached before generation ends, so that it does not run in
    /// circles; at least 1. The state consists of what every level is in the middle of, and of the
    /// last tokens. Default 1: generation ends when a state comes back.
    pub max_visits: usize,
    /// As [`ActivationOptions::substitutes`](crate::ActivationOptions::substitutes). Default 1.
    pub substitutes: usize,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self {
            max_tokens: 100,
            strategy: Strategy::Greedy,
            rank: RankMetric::Potential,
            level: None,
            candidates: 10,
            bridges: false,
            stop: Vec::new(),
            max_visits: 1,
            substitutes: 1,
        }
    }
}

impl GenerationOptions {
    /// Sets the number of tokens after which generation ends.
    #[must_use]
    pub const fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets the way in which a continuation is chosen.
    #[must_use]
    pub const fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the only level whose futures are taken.
    #[must_use]
    pub const fn with_level(mut self, level: usize) -> Self {
        self.level = Some(level);
        self
    }

    /// Sets how many continuations each level compares.
    #[must_use]
    pub const fn with_candidates(mut self, candidates: usize) -> Self {
        self.candidates = candidates;
        self
    }

    /// Lets generation continue where what was learned ends.
    #[must_use]
    pub const fn with_bridges(mut self) -> Self {
        self.bridges = true;
        self
    }

    /// Adds a text after which generation ends.
    #[must_use]
    pub fn with_stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Sets how often the same state may be reached.
    #[must_use]
    pub const fn with_max_visits(mut self, visits: usize) -> Self {
        self.max_visits = visits;
        self
    }

    /// Checks the options that have a range.
    pub(crate) fn check(&self) -> Result<(), HierarchyError> {
        let is_broad = |n: usize| (1..=MAX_BREADTH).contains(&n);
        check_option(
            "candidates",
            &self.candidates,
            is_broad(self.candidates),
            "1 to 1000",
        )?;
        check_option(
            "max_visits",
            &self.max_visits,
            self.max_visits > 0,
            "at least 1",
        )?;
        // Every text contains the empty one, so it would end a generation at once.
        let is_stop = self.stop.iter().all(|text| !text.is_empty());
        check_option("stop text", &"\"\"", is_stop, "not empty")?;
        match self.strategy {
            Strategy::Greedy => Ok(()),
            Strategy::TopN { n, .. } => check_option("n", &n, is_broad(n), "1 to 1000"),
            Strategy::Sample { temperature, .. } => check_option(
                "temperature",
                &temperature,
                temperature.is_finite() && temperature > 0.0,
                "a finite number above 0",
            ),
            Strategy::Beam { width } => check_option("width", &width, is_broad(width), "1 to 1000"),
        }
    }
}
