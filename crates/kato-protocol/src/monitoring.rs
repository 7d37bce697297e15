//! What a server says of its own state. Fields that differ between versions or mean little to others stay JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `GET /health`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// `healthy`, `degraded` or `unhealthy`.
    pub status: String,
    /// The same of the processors.
    pub processor_status: String,
    /// Name of the service.
    pub service_name: String,
    /// Seconds since the start.
    pub uptime_seconds: f64,
    /// What is wrong.
    pub issues: Vec<String>,
    /// Metrics that are collected.
    pub metrics_collected: u64,
    /// When they were collected last: seconds since 1970.
    pub last_collection: Option<f64>,
    /// Sessions that have not ended.
    pub active_sessions: u64,
    /// When this was written; ISO 8601.
    pub timestamp: String,
}

/// `GET /status`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `healthy`.
    pub status: String,
    /// Suffix of processor ids.
    pub base_processor_id: String,
    /// Seconds since the start.
    pub uptime_seconds: f64,
    /// Sessions.
    pub sessions: SessionTotals,
    /// Processors.
    pub processors: Processors,
    /// Version of the API.
    pub version: String,
}

/// Sessions of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTotals {
    /// All that are stored.
    pub total_sessions: u64,
    /// Those that have not ended.
    pub active_sessions: u64,
    /// Those that have.
    pub expired_sessions: u64,
    /// Where they are kept.
    pub backend: String,
    /// Address of that place.
    pub redis_url: Option<String>,
}

/// Processors of a server: one for every node in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// Processors in memory.
    pub total_processors: u64,
    /// As many as there can be.
    pub max_processors: u64,
    /// Seconds without use after which one is removed.
    pub eviction_ttl_seconds: u64,
    /// Each of them.
    pub processors: Vec<ProcessorView>,
}

/// One processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessorView {
    /// Its id: the name of the knowledge base.
    pub processor_id: String,
    /// The node id that it was made for.
    pub node_id: String,
    /// When; ISO 8601.
    pub created_at: String,
    /// When it was used last; ISO 8601.
    pub last_accessed: String,
    /// Uses.
    pub access_count: u64,
    /// Seconds since the last use.
    pub idle_seconds: f64,
}

/// `GET /metrics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Sessions.
    pub sessions: SessionFigures,
    /// Requests.
    pub performance: PerformanceFigures,
    /// The machine.
    pub resources: ResourceFigures,
    /// Each database's operations, errors and mean response time.
    pub databases: Map<String, Value>,
    /// Requests and errors by time.
    pub rates: Map<String, Value>,
    /// Processors.
    pub processor_manager: Processors,
}

/// Sessions, in `GET /metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFigures {
    /// Made since the start.
    pub total_created: f64,
    /// Deleted since the start.
    pub total_deleted: f64,
    /// Alive.
    pub active: f64,
    /// Operations since the start.
    pub operations_total: f64,
}

/// Requests, in `GET /metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerformanceFigures {
    /// Requests since the start.
    pub total_requests: f64,
    /// Failed ones.
    pub total_errors: f64,
    /// Their share.
    pub error_rate: f64,
    /// Mean seconds of an answer.
    pub average_response_time: f64,
}

/// The machine, in `GET /metrics`; percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceFigures {
    /// Processor.
    pub cpu_percent: f64,
    /// Memory.
    pub memory_percent: f64,
    /// Disk.
    pub disk_percent: f64,
}

/// One metric over time (`GET /metrics/{name}`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricHistory {
    /// Its name.
    pub metric_name: String,
    /// Minutes that were asked for.
    pub time_range_minutes: i64,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Over all points.
    pub statistics: MetricStatistics,
    /// Oldest first.
    pub data_points: Vec<DataPoint>,
}

/// Of the points of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricStatistics {
    /// Points.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Mean.
    pub avg: f64,
}

/// A metric at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataPoint {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// The value.
    pub value: f64,
    /// What it belongs to: method and path of requests.
    pub labels: Map<String, Value>,
}

/// `GET /stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Minutes that were asked for.
    pub time_range_minutes: i64,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Processors.
    pub processor_manager: Processors,
    /// Status, issues and metrics now.
    pub current_status: Map<String, Value>,
    /// Points of every metric.
    pub time_series: Map<String, Value>,
    /// Sessions, performance, resources and databases.
    pub summary: Map<String, Value>,
    /// Why something is missing.
    pub error: Option<String>,
}

/// `GET /concurrency`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Concurrency {
    /// `healthy`, …
    pub status: String,
    /// Requests now.
    pub current: Map<String, Value>,
    /// The most at one time.
    pub peak: Map<String, Value>,
    /// Limits.
    pub limits: Map<String, Value>,
    /// Workers, backlog, requests of a worker's life.
    pub configuration: Map<String, Value>,
    /// Advice.
    pub recommendations: Vec<Value>,
    /// ISO 8601.
    pub timestamp: String,
}

/// `GET /cache/stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheStats {
    /// Hits, misses and sizes; absent without a cache.
    pub cache_performance: Option<Map<String, Value>>,
    /// How the cache is; absent without one.
    pub cache_health: Option<Map<String, Value>>,
    /// ISO 8601.
    pub timestamp: String,
}

/// `POST /cache/invalidate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheInvalidated {
    /// `success` or `disabled`.
    pub status: String,
    /// Patterns that were removed.
    pub patterns_invalidated: u64,
    /// Symbols that were removed.
    pub symbols_invalidated: u64,
    /// The session that was named.
    pub session_id: Option<String>,
    /// Why nothing was done.
    pub reason: Option<String>,
    /// ISO 8601.
    pub timestamp: String,
}

/// `GET /distributed-stm/stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DistributedStm {
    /// `active`, `disabled`, …
    pub status: String,
    /// Is it on?
    pub distributed_stm_enabled: Option<bool>,
    /// Its figures.
    pub performance_stats: Option<Map<String, Value>>,
    /// Why it is off.
    pub reason: Option<String>,
    /// ISO 8601.
    pub timestamp: String,
}

/// `GET /connection-pools`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionPools {
    /// `healthy`, `degraded`, …
    pub status: String,
    /// Each database's health.
    pub health: Map<String, Value>,
    /// Each pool's figures.
    pub pool_statistics: Map<String, Value>,
    /// Why something is missing.
    pub error: Option<String>,
    /// ISO 8601.
    pub timestamp: String,
}
