//! Types of the monitoring endpoints. Fields that differ between versions, or that matter to the
//! server alone, stay JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

// Every type of this module has a default for every field: monitoring bodies differ most between
// versions, and a client that asks for one figure must not fail because another one is absent.

/// The answer to `GET /health`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Health {
    /// `healthy`, `degraded` or `unhealthy`.
    pub status: String,
    /// The status of the processors, in the same words.
    pub processor_status: String,
    /// Name of the service.
    pub service_name: String,
    /// Seconds since the start.
    pub uptime_seconds: f64,
    /// Number of the process that answers (5.x and later).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub worker_pid: Option<u32>,
    /// Descriptions of what is wrong.
    pub issues: Vec<String>,
    /// Number of metrics that are collected.
    pub metrics_collected: u64,
    /// Time of the last collection, in seconds since 1970.
    pub last_collection: Option<f64>,
    /// Number of sessions that have not ended.
    pub active_sessions: u64,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}

/// The answer to `GET /status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Status {
    /// `healthy`; of a kato-rs server the state of its storage, which may be `degraded` or `unhealthy`.
    pub status: String,
    /// Suffix of processor ids.
    pub base_processor_id: String,
    /// Seconds since the start.
    pub uptime_seconds: f64,
    /// Counts of sessions.
    pub sessions: SessionTotals,
    /// The processors.
    pub processors: Processors,
    /// Version of the API.
    pub version: String,
}

/// Counts of the sessions of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct SessionTotals {
    /// Number of sessions that are stored.
    pub total_sessions: u64,
    /// Number of sessions that have not ended.
    pub active_sessions: u64,
    /// Number of sessions that have expired.
    pub expired_sessions: u64,
    /// Kind of the store that keeps sessions.
    pub backend: String,
    /// Address of that store.
    // Null for a kato-rs server, which keeps sessions itself.
    pub redis_url: Option<String>,
}

/// Processors of a server: one for every node in use, or, of a kato-rs server, that it knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Processors {
    /// Number of processors.
    pub total_processors: u64,
    /// Maximum number of processors in memory.
    pub max_processors: u64,
    /// Seconds without use after which one is removed; of a kato-rs server the default life of a session.
    pub eviction_ttl_seconds: u64,
    /// The processors.
    pub processors: Vec<ProcessorView>,
}

/// One processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct ProcessorView {
    /// Id of the processor: the name of the knowledge base.
    pub processor_id: String,
    /// The node id that the processor was made for.
    // Not the inverse of the processor's id: several node ids may lead to one knowledge base.
    pub node_id: String,
    /// Time of creation; ISO 8601.
    pub created_at: String,
    /// Time of the last use; ISO 8601.
    pub last_accessed: String,
    /// Number of uses.
    // KATO never counts it up: the value is always 1.
    pub access_count: u64,
    /// Seconds since the last use.
    pub idle_seconds: f64,
}

/// The answer to `GET /metrics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Metrics {
    /// Time of the answer, in seconds since 1970.
    pub timestamp: f64,
    /// Figures about sessions.
    pub sessions: SessionFigures,
    /// Figures about requests.
    pub performance: PerformanceFigures,
    /// Load of the machine.
    pub resources: ResourceFigures,
    /// Operations, errors and mean response time of each database.
    // Untyped: the databases are MongoDB, Qdrant and Redis in the 2025-10 generation, ClickHouse,
    // Qdrant and Redis later, with zeros in a kato-rs server.
    pub databases: Map<String, Value>,
    /// Requests and errors per second and per minute.
    pub rates: Map<String, Value>,
    /// The processors.
    pub processor_manager: Processors,
}

/// Figures about sessions, in `GET /metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct SessionFigures {
    /// Number of sessions created since the start.
    // Counts, yet floats: KATO keeps them as metrics and writes `0.0`.
    pub total_created: f64,
    /// Number of sessions deleted since the start.
    pub total_deleted: f64,
    /// Number of sessions that have not ended.
    pub active: f64,
    /// Number of operations of sessions since the start.
    pub operations_total: f64,
}

/// Figures about requests, in `GET /metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct PerformanceFigures {
    /// Number of requests since the start.
    pub total_requests: f64,
    /// Number of requests that failed.
    pub total_errors: f64,
    /// Share of the requests that failed.
    pub error_rate: f64,
    /// Mean time of an answer, in seconds.
    pub average_response_time: f64,
}

/// Load of the machine, in `GET /metrics`; in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct ResourceFigures {
    /// Load of the processors.
    pub cpu_percent: f64,
    /// Share of the memory in use.
    pub memory_percent: f64,
    /// Share of the disk in use.
    pub disk_percent: f64,
}

/// One metric over time (`GET /metrics/{name}`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct MetricHistory {
    /// Name of the metric.
    pub metric_name: String,
    /// Minutes that were asked for.
    // Signed: a server echoes the parameter of the query, which may be negative.
    pub time_range_minutes: i64,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Statistics over all points.
    pub statistics: MetricStatistics,
    /// The points, oldest first.
    pub data_points: Vec<DataPoint>,
}

/// Statistics over the points of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct MetricStatistics {
    /// Number of points.
    pub count: u64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean value.
    pub avg: f64,
}

/// The value of a metric at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct DataPoint {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The value.
    pub value: f64,
    /// Labels of the value, such as method and path of a request.
    pub labels: Map<String, Value>,
}

/// The answer to `GET /stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Minutes that were asked for.
    pub time_range_minutes: i64,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Processors.
    pub processor_manager: Processors,
    /// The present status, issues and metrics.
    pub current_status: Map<String, Value>,
    /// Points of every metric.
    pub time_series: Map<String, Value>,
    /// Figures about sessions, performance, resources and databases.
    pub summary: Map<String, Value>,
    /// The reason why something is missing.
    pub error: Option<String>,
}

/// The answer to `GET /concurrency`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Concurrency {
    /// `healthy`, …
    pub status: String,
    /// Requests in flight.
    pub current: Map<String, Value>,
    /// Maximum of requests in flight at one time.
    pub peak: Map<String, Value>,
    /// Limits of requests in flight.
    pub limits: Map<String, Value>,
    /// Number of workers, backlog, and requests that a worker serves before it is replaced.
    // Values are numbers or texts: `max_requests` is `"unlimited"` where there is no bound.
    pub configuration: Map<String, Value>,
    /// Advice.
    pub recommendations: Vec<Value>,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}

/// The answer to `GET /cache/stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Hits, misses and sizes; absent without a cache.
    pub cache_performance: Option<Map<String, Value>>,
    /// Health of the cache; absent without one.
    pub cache_health: Option<Map<String, Value>>,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}

/// The answer to `POST /cache/invalidate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct CacheInvalidated {
    /// `success` or `disabled`.
    pub status: String,
    /// Number of patterns that were removed from the cache.
    pub patterns_invalidated: u64,
    /// Number of symbols that were removed from the cache.
    pub symbols_invalidated: u64,
    /// The session that was named.
    pub session_id: Option<String>,
    /// The reason why nothing was done.
    pub reason: Option<String>,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}

/// The answer to `GET /distributed-stm/stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct DistributedStm {
    /// `active`, `disabled`, …
    pub status: String,
    /// Whether it is switched on.
    pub distributed_stm_enabled: Option<bool>,
    /// Figures about its use.
    pub performance_stats: Option<Map<String, Value>>,
    /// The reason why it is off.
    pub reason: Option<String>,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}

/// The answer to `GET /connection-pools`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct ConnectionPools {
    /// `healthy`, `degraded`, …
    pub status: String,
    /// Health of each database.
    pub health: Map<String, Value>,
    /// Figures about each pool.
    pub pool_statistics: Map<String, Value>,
    /// The reason why something is missing.
    pub error: Option<String>,
    /// Time of the answer; ISO 8601.
    pub timestamp: String,
}
