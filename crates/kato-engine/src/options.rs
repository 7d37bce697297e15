//! The options of an engine: the generation of KATO, its oddities or their sound variants, and limits
//! against hostile input.

use std::num::{NonZeroU64, NonZeroUsize};

use kato_model::{AttributeLimits, KatoGeneration};
use kato_prediction::config::{DEFAULT_GENERATION, RankMetric};

/// The patterns that the emotives and metadata of observations are attached to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeScope {
    /// As in KATO 3.10.1: they gather in the session until it is cleared, every manual learn
    /// attaches all of them, and an auto-learn attaches none.
    #[default]
    Session,
    /// Every learn, manual or automatic, attaches what was observed since the learn before.
    Pattern,
}

/// The options of all nodes of an engine.
///
/// The defaults are those of KATO, which has no [limits](Self::limits).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The generation of KATO whose answers are given. No session changes it. Default:
    /// [`DEFAULT_GENERATION`].
    pub generation: KatoGeneration,
    /// Whether strings of an observation are sorted (KATO's environment variable `SORT_SYMBOLS`).
    /// Default `true`.
    pub sort_symbols: bool,
    /// Whether a session's own `sort_symbols` counts instead, which KATO ignores. Default `false`.
    pub session_sort_symbols: bool,
    /// The metric that predictions are ranked by (KATO's environment variable `RANK_SORT_ALGO`).
    /// Default: the potential.
    pub rank_sort_algo: RankMetric,
    /// Whether a session's own `rank_sort_algo` counts instead, which KATO
    /// ignores. Default `false`.
    pub session_rank_sort_algo: bool,
    /// Whether similarity to a state of one symbol is that of symbols and not of characters
    /// (KATO's environment variable `USE_TOKEN_MATCHING`). Default `true`.
    pub use_token_matching: bool,
    /// Whether a session's own `use_token_matching` counts there too, which KATO ignores. Default
    /// `false`; for states of several symbols it always counts.
    pub session_use_token_matching: bool,
    /// The patterns that emotives and metadata are attached to. Default: KATO's.
    pub attribute_scope: AttributeScope,
    /// Whether a vector is refused that is not as long as those of its session and node. KATO
    /// takes it, gives it its own name alone, and forgets it with the next learn. Default
    /// `false`.
    pub one_vector_length: bool,
    /// Attributes kept for each pattern by nodes in memory; `persistence` is KATO's environment
    /// variable `PERSISTENCE`. Nodes of a store follow the store, and no session's `persistence`
    /// counts, as in KATO: one node has one window.
    pub attribute_limits: AttributeLimits,
    /// Commit on its own before a learn, once this many learns of the engine are not durable;
    /// `None`, the default, leaves it to [`Engine::commit`](crate::Engine::commit). Those of one
    /// sequence, and those that are [taught together](crate::Engine::teach_together), have one commit
    /// before them. Nodes in memory never commit.
    pub commit_after: Option<NonZeroU64>,
    /// The limits beyond which input is refused.
    pub limits: Limits,
    /// Threads that predictions of a node may take over an index on the disk, see
    /// [`open_indexed`](crate::Engine::open_indexed): one that is alone has all of them, several share them.
    /// Answers do not depend on it. Default 1.
    pub prediction_threads: NonZeroUsize,
    /// Bytes of memory at most that the patterns and symbols may take that opening loads, those of all
    /// nodes together; more is [refused](crate::EngineError::LoadMemoryFull). Over [an
    /// index](crate::Engine::open_indexed) that is what came after it; where damage is found in one,
    /// what is loaded instead. Emotives, vectors and metadata are not counted. Default: no limit.
    pub max_load_bytes: Option<usize>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            generation: DEFAULT_GENERATION,
            sort_symbols: true,
            session_sort_symbols: false,
            rank_sort_algo: RankMetric::Potential,
            session_rank_sort_algo: false,
            use_token_matching: true,
            session_use_token_matching: false,
            attribute_scope: AttributeScope::Session,
            one_vector_length: false,
            attribute_limits: AttributeLimits::default(),
            commit_after: None,
            limits: Limits::default(),
            prediction_threads: NonZeroUsize::MIN,
            max_load_bytes: None,
        }
    }
}

/// The limits of input; more is [refused](crate::EngineError::TooLarge) and changes nothing.
///
/// KATO has no such limits. The defaults are far beyond real use; they bound time and memory when
/// input is hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one symbol. Default 16 MiB.
    pub symbol_bytes: usize,
    /// Strings of one observation. Default 1,000,000.
    pub observation_strings: usize,
    /// Elements of all vectors of one observation together. Default 4,194,304.
    pub vector_elements: usize,
    /// Emotives of one observation, and keys of its metadata. Default 10,000 each.
    pub attributes: usize,
    /// Bytes of keys and values, as text, of the metadata of one observation or
    /// lesson. Default 64 KiB.
    pub metadata_bytes: usize,
    /// Observations of one sequence. Default 1,000,000.
    pub sequence_observations: usize,
    /// Bytes of all symbols of a short-term memory, together with all that a sequence
    /// adds. Default 256 MiB.
    pub stm_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            symbol_bytes: 16 << 20,
            observation_strings: 1_000_000,
            vector_elements: 4 << 20,
            attributes: 10_000,
            metadata_bytes: 64 << 10,
            sequence_observations: 1_000_000,
            stm_bytes: 256 << 20,
        }
    }
}
