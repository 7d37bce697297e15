//! Handlers of monitoring for what KATO has and this server does not: a cache, Redis, connection
//! pools. The answers have the keys that clients read, and say that there is no such thing.

use std::time::SystemTime;

use kato_service::figures::{DataLoss, ServiceHealth};
use serde_json::{Value, json};

use crate::app::App;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::refusal::os_error_suffix;
use crate::reply::{Outcome, Reply};

/// What stands where KATO has a text about a thing that is not here.
const NONE: &str = "none";

const NO_CACHE: &str = "knowledge bases are in memory: there is no cache";
const NO_REDIS: &str = "sessions are kept by the server itself: there is no Redis";

/// Returns the present time as these endpoints write it.
fn now() -> String {
    timestamp::iso_offset(SystemTime::now())
}

/// Handles `GET /cache/stats`.
pub(crate) fn cache_stats(app: &App, _call: &Call) -> Outcome {
    let stats = json!({
        "hit_rate_percent": 0,
        "cache_hits": 0,
        "cache_misses": 0,
        "patterns_in_cache": 0,
        "symbols_in_cache": 0,
        "patterns_cached_total": 0,
        "symbols_cached_total": 0,
        "redis_memory_used_mb": 0.0,
        "uptime_seconds": app.uptime_seconds(),
        "requests_per_second": 0.0,
    });
    Ok(Reply::ok(&json!({
        "cache_performance": stats,
        "cache_health": {
            "status": "disabled",
            "redis_connected": false,
            "cache_stats": stats,
        },
        "timestamp": now(),
    }))
    .into())
}

/// Handles `POST /cache/invalidate`.
pub(crate) fn cache_invalidate(_app: &App, call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "status": "disabled",
        "patterns_invalidated": 0,
        "symbols_invalidated": 0,
        "session_id": query::parameter(&call.query, "session_id"),
        "reason": NO_CACHE,
        "timestamp": now(),
    }))
    .into())
}

/// Handles `GET /distributed-stm/stats`.
pub(crate) fn distributed_stm(app: &App, _call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "status": "disabled",
        "distributed_stm_enabled": false,
        "performance_stats": {
            "events_published": 0,
            "events_consumed": 0,
            "cache_hits": 0,
            "cache_misses": 0,
            "sync_operations": 0,
            "cache_hit_rate": 0.0,
            "stream_length": 0,
            "consumer_groups": 0,
        },
        "processor_info": {
            "sample_processor_id": NONE,
            "total_active_processors": app.service.n_nodes(),
        },
        "expected_improvements": {
            "stm_coordination_overhead_reduction": NONE,
            "distributed_state_consistency": NONE,
            "horizontal_scaling_support": NONE,
        },
        "reason": NO_REDIS,
        "error": null,
        "timestamp": now(),
    }))
    .into())
}

/// Handles `GET /connection-pools`.
pub(crate) fn connection_pools(app: &App, _call: &Call) -> Outcome {
    let failure = match app.service.health() {
        ServiceHealth::Failed(failure) | ServiceHealth::Degraded(failure) => {
            Some(format!("storage failed{}", os_error_suffix(&failure)))
        }
        _ => app.service.losses().first().map(DataLoss::summary),
    };
    let status = if failure.is_none() {
        "healthy"
    } else {
        "degraded"
    };
    // What KATO's databases hold is in this server's storage.
    let storage = json!({
        "healthy": failure.is_none(),
        "last_check": timestamp::seconds(SystemTime::now()),
        "error_count": u8::from(failure.is_some()),
        "last_error": failure,
        "response_time_ms": null,
    });
    let pool = json!({"type": NONE, "status": "disabled"});
    let connections = json!({
        "pool_size_optimized": false,
        "connection_reuse": false,
        "health_monitoring": false,
        "features": [],
    });
    Ok(Reply::ok(&json!({
        "status": status,
        "health": {"redis": storage, "qdrant": storage, "clickhouse": storage},
        "pool_statistics": {"redis": pool, "clickhouse": pool},
        "connection_optimization": {
            "clickhouse": connections,
            "redis": connections,
            "qdrant": {
                "grpc_optimized": false,
                "connection_reuse": false,
                "health_monitoring": false,
                "features": [],
            },
        },
        "performance_improvements": {
            "expected_connection_overhead_reduction": NONE,
            "expected_concurrent_performance_improvement": NONE,
            "expected_memory_efficiency_improvement": NONE,
        },
        "error": Value::Null,
        "timestamp": now(),
    }))
    .into())
}
