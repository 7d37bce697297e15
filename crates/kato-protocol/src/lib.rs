//! What clients and servers of KATO say to each other: requests, answers, errors and events as JSON.
//!
//! Types serialise as KATO 3.10.1 writes them. When read they are tolerant: unknown fields are ignored, and fields that the
//! 2025-10 generation does not send, or sends otherwise, have defaults. Times are ISO 8601 strings, as they come.
//!
//! ```
//! use kato_protocol::ObservationResult;
//!
//! let answer = r#"{"status": "okay", "session_id": "session-1", "processor_id": "node0", "stm_length": 1, "time": 1,
//!                  "unique_id": "obs-1", "auto_learned_pattern": null, "from_the_future": true}"#;
//! let answer: ObservationResult = serde_json::from_str(answer)?;
//! assert_eq!(answer.stm_length, 1);
//! # Ok::<(), serde_json::Error>(())
//! ```

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
