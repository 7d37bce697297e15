//! Handlers of monitoring for what KATO has and this server does not: a cache, Redis, connection
//! pools. The answers have the keys that clients read, and say that there is no such thing.

use std::time::SystemTime;

use kato_service::figures::ServiceHealth;
use serde_json::{Value, json};

use crate::app::App;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::refusal::os_error_suffix;
use crate::reply::{Outcome, Reply};

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
            "reason": NO_CACHE,
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
pub(crate) fn distributed_stm(_app: &App, _call: &Call) -> Outcome {
    Ok(Reply::ok(&json!({
        "status": "disabled",
        "distributed_stm_enabled": false,
        "performance_stats": null,
        "processor_info": null,
        "expected_improvements": null,
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
        _ => None,
    };
    let status = if failure.is_none() {
        "healthy"
    } else {
        "degraded"
    };
    Ok(Reply::ok(&json!({
        "status": status,
        "health": {"storage": {"healthy": failure.is_none(), "last_error": failure}},
        "pool_statistics": {},
        "connection_optimization": {},
        "performance_improvements": {},
        "error": Value::Null,
        "timestamp": now(),
    }))
    .into())
}
