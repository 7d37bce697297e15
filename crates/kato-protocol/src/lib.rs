#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * Life of a session: [`CreateSession`], [`SessionInfo`], [`ConfigAnswer`], [`Deleted`].
//! * Work in a session: [`Observation`] and [`ObservationResult`], [`Sequence`] and
//!   [`SequenceResult`], [`LearnResult`], [`Stm`], [`Cleared`].
//! * Predictions: [`PredictionsAnswer`] of any type, or of [`Prediction`] and [`FuturePotential`].
//! * Knowledge of a node: [`PatternAnswer`], [`NodeSymbols`], [`NodeAffinities`].
//! * Refusals: [`ErrorBody`]. Events of the WebSocket: [`ServerEvent`].
//! * Monitoring: [`Root`], [`Health`], [`Status`], [`Metrics`], [`Stats`].
//! * Extensions of kato-rs: [`Extensions`], [`LearnBatchRequest`], [`RunRecord`],
//!   [`IDEMPOTENCY_KEY`].

mod error;
mod event;
mod extension;
mod monitoring;
mod node;
mod observation;
mod percept;
mod prediction;
mod sequence;
mod session;

pub use error::{ErrorBody, SessionError, ValidationDetail};
pub use event::{ServerEvent, SessionCreated, SessionDestroyed, StateSnapshot};
pub use extension::{
    BatchItem, BatchItemResult, EXTENSIONS_PATH, Extensions, IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAYED,
    LearnBatchExtension, LearnBatchRequest, LearnBatchResult, ReplaceRunRecord, RunRecord,
    RunRecordReplaced,
};
pub use monitoring::{
    CacheInvalidated, CacheStats, Concurrency, ConnectionPools, DataPoint, DistributedStm, Health,
    MetricHistory, MetricStatistics, Metrics, PerformanceFigures, ProcessorView, Processors,
    ResourceFigures, SessionFigures, SessionTotals, Stats, Status,
};
pub use node::{
    NodeAffinities, NodeSymbols, PatternAnswer, PatternBody, PatternLookup, SymbolAffinity,
    SymbolStats,
};
pub use observation::{EmotiveMap, LearnResult, Observation, ObservationResult, Stm};
pub use percept::{
    CognitionData, Gene, GenesUpdated, PerceptAnswer, PerceptData, SessionCognition,
};
pub use prediction::{FuturePotential, Prediction, PredictionsAnswer};
pub use sequence::{Sequence, SequenceItem, SequenceItemResult, SequenceResult};
pub use session::{
    Cleared, ConfigAnswer, ConfigUpdated, CreateSession, Deleted, Exists, Extended,
    FinalizedTraining, Root, SessionCount, SessionInfo, StoredEmotives,
};
