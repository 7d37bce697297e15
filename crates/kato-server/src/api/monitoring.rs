//! Handlers of monitoring: KATO's shapes with true figures.

use std::time::SystemTime;

use axum::http::StatusCode;
use kato_protocol::session::Root;
use kato_service::answer::NodeStorage;
use serde_json::{Map, Value, json};

use super::health::{HealthReport, health_report, storage_status};
use crate::app::App;
use crate::call::Call;
use crate::compat::{query, timestamp};
use crate::meters::{self, NAMES, Point};
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// Handles `GET /`.
pub(crate) fn root(app: &App, _call: &Call) -> Outcome {
    Ok(Reply::ok(&Root {
        service: "KATO API".to_owned(),
        version: app.options.generation.release().to_owned(),
        description: "Knowledge Abstraction for Traceable Outcomes with Multi-User Support"
            .to_owned(),
        docs: "/docs".to_owned(),
        health: "/health".to_owned(),
        status: "running".to_owned(),
        uptime_seconds: app.uptime_seconds(),
        architecture: "modular".to_owned(),
        session_support: true,
    })
    .into())
}

/// Handles `GET /status`.
pub(crate) fn status(app: &App, _call: &Call) -> Outcome {
    let n_sessions = app.service.n_sessions();
    let figures = app.service.figures();
    Ok(Reply::ok(&json!({
        "status": storage_status(&app.service),
        "base_processor_id": app.service.options().service_name,
        "uptime_seconds": app.uptime_seconds(),
        "sessions": {
            // Expired sessions are removed, so all that are stored count as active.
            "total_sessions": n_sessions,
            "active_sessions": n_sessions,
            "expired_sessions": figures.sessions_expired,
            "backend": "kato-rs",
            "redis_url": null,
        },
        "processors": processors(app),
        "version": app.options.generation.release(),
    }))
    .into())
}

/// Returns the state of a node's knowledge base, without names of files, if it is, or was, not whole: KATO has
/// no such key, and clients compare.
fn storage(storage: &NodeStorage) -> Option<Value> {
    match storage {
        NodeStorage::Whole {
            commit,
            healed: Some(_),
        } => Some(json!({"state": "healed", "commit": commit})),
        NodeStorage::Damaged { reason } => Some(json!({"state": "damaged", "reason": reason})),
        _ => None,
    }
}

/// Most nodes that an answer lists.
const LISTED_NODES: usize = 1000;

/// Returns the nodes as KATO lists its processors: all of them, or those in memory where there are
/// more than an answer lists.
fn processors(app: &App) -> Value {
    let n_nodes = app.service.n_nodes();
    let nodes = app.service.some_nodes(LISTED_NODES);
    // The clock by which the nodes were stamped, not the machine's, which may have been set
    // meanwhile.
    let now = app.service.options().clock.now();
    let processor = |node: &kato_service::answer::NodeView| {
        let idle = now.duration_since(node.last_accessed).unwrap_or_default();
        let mut described = json!({
            "processor_id": node.processor_id,
            "node_id": node.node_id,
            "created_at": timestamp::iso_offset(node.created_at),
            "last_accessed": timestamp::iso_offset(node.last_accessed),
            // KATO never counts it up.
            "access_count": 1,
            "idle_seconds": idle.as_secs_f64(),
        });
        if let Some(storage) = storage(&node.storage) {
            described["storage"] = storage;
        }
        described
    };
    json!({
        "total_processors": n_nodes,
        "max_processors": app.service.options().max_loaded_nodes,
        "eviction_ttl_seconds": app.service.options().session_ttl,
        "processors": nodes.iter().map(processor).collect::<Vec<_>>(),
    })
}

/// Returns the figures that `/metrics` and `/stats` share.
fn summary(app: &App) -> Map<String, Value> {
    let figures = app.service.figures();
    let counts = app.meters.lock();
    let operations = figures.observations + figures.learns + figures.predictions;
    // Clients read these blocks by name, so databases that this server does not have show zeros.
    let none = json!({"operations": 0.0, "errors": 0.0, "avg_response_time": 0.0});
    let summary = json!({
        "sessions": {
            // KATO writes these counts as floats.
            "total_created": figures.sessions_created as f64,
            "total_deleted": figures.sessions_deleted as f64,
            "active": figures.sessions,
            "operations_total": operations as f64,
        },
        "performance": {
            "total_requests": counts.requests as f64,
            "total_errors": counts.errors as f64,
            "error_rate": counts.error_rate(),
            "average_response_time": counts.mean_seconds(),
        },
        "resources": {
            "cpu_percent": counts.machine.cpu_percent,
            "memory_percent": counts.machine.memory_percent,
            "disk_percent": counts.machine.disk_percent,
        },
        "databases": {
            "clickhouse": none,
            "qdrant": none,
            "redis": none,
        },
    });
    summary.as_object().cloned().unwrap_or_default()
}

/// Handles `GET /metrics`.
pub(crate) fn metrics(app: &App, call: &Call) -> Outcome {
    // The semicolon stands before the version of the format, which Prometheus asks for. Clients
    // that merely accept text among other types get JSON.
    let wants_text = call
        .header("accept")
        .is_some_and(|accept| accept.contains("text/plain;"));
    if wants_text && app.options.extensions {
        return prometheus(app, call);
    }
    let mut body = summary(app);
    let rates = app.meters.lock().rates(app.uptime_seconds());
    body.insert(
        "timestamp".to_owned(),
        json!(timestamp::seconds(SystemTime::now())),
    );
    body.insert(
        "rates".to_owned(),
        json!({
            "requests_per_second": rates.requests_per_second,
            "requests_per_minute": rates.requests_per_minute,
            "errors_per_minute": rates.errors_per_minute,
        }),
    );
    body.insert("processor_manager".to_owned(), processors(app));
    // KATO has these keys, always null.
    for absent in ["uptime_seconds", "active_sessions", "error"] {
        body.insert(absent.to_owned(), Value::Null);
    }
    Ok(Reply::ok(&body).into())
}

/// Handles `GET /metrics/prometheus`.
pub(crate) fn prometheus(app: &App, _call: &Call) -> Outcome {
    let figures = app.service.figures();
    let now = meters::Now {
        in_flight: app.in_flight.now(),
        n_event_clients: app.events.n_clients(),
        request_memory: app.request_memory.held(),
        answer_memory: app.answer_memory.held(),
    };
    let health = app.service.health();
    let text = meters::write_prometheus(&app.meters.lock(), &figures, &health, &now);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(Reply::new(StatusCode::OK, Some(kind), text).into())
}

/// Handles `GET /metrics/{metric_name}`.
pub(crate) fn metric(app: &App, call: &Call) -> Outcome {
    let name = call.param();
    let minutes = query::integer(&call.query, "minutes", 10)?;
    let points = recent(app, name, minutes);
    if points.is_empty() {
        let detail = format!("No data available for metric '{name}' in the last {minutes} minutes");
        return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
    }
    // There is at least one point, so minimum and maximum are finite and the mean divides by no
    // zero.
    let values = || points.iter().map(|point| point.value);
    Ok(Reply::ok(&json!({
        "metric_name": name,
        "time_range_minutes": minutes,
        "timestamp": timestamp::seconds(SystemTime::now()),
        "statistics": {
            "count": points.len(),
            "min": values().fold(f64::INFINITY, f64::min),
            "max": values().fold(f64::NEG_INFINITY, f64::max),
            "avg": values().sum::<f64>() / points.len() as f64,
        },
        "data_points": points,
    }))
    .into())
}

/// Returns the points of a series over the last minutes.
fn recent(app: &App, name: &str, minutes: i64) -> Vec<Point> {
    // Minutes, as the parameter is called. KATO takes the number for seconds
    // (docs/compatibility.md).
    let since = timestamp::seconds(SystemTime::now()) - minutes as f64 * 60.0;
    app.meters.lock().series.since(name, since)
}

/// Handles `GET /stats`.
pub(crate) fn stats(app: &App, call: &Call) -> Outcome {
    let minutes = query::integer(&call.query, "minutes", 10)?;
    let HealthReport { status, issues, .. } = health_report(app);
    let now = SystemTime::now();
    // Each lock is released at the end of its statement: `recent` and `summary` take it again.
    let machine = app.meters.lock().machine;
    let errors_per_minute = app
        .meters
        .lock()
        .rates(app.uptime_seconds())
        .errors_per_minute;
    let series = NAMES.map(|name| (name.to_owned(), json!(recent(app, name, minutes))));
    Ok(Reply::ok(&json!({
        "time_range_minutes": minutes,
        "timestamp": timestamp::seconds(now),
        "processor_manager": processors(app),
        "current_status": {
            "status": status,
            "issues": issues,
            "metrics": {
                "cpu_percent": machine.cpu_percent,
                "memory_percent": machine.memory_percent,
                "error_rate_per_min": errors_per_minute,
            },
            "timestamp": timestamp::iso_offset(now),
        },
        "time_series": Map::from_iter(series),
        "summary": summary(app),
        "error": null,
    }))
    .into())
}

/// Handles `GET /concurrency`.
pub(crate) fn concurrency(app: &App, _call: &Call) -> Outcome {
    let limit = app.in_flight.limit();
    // A limit of 0 is legal, and must not divide.
    let percent = |n: usize| n.saturating_mul(100) / limit.max(1);
    let peak = app.in_flight.peak();
    let (status, level, word) = match percent(peak) {
        95.. => ("critical", "critical", "critical"),
        80.. => ("warning", "warning", "high"),
        _ => ("healthy", "info", "healthy"),
    };
    let usage = |n: usize| json!({"concurrent_requests": n, "utilization_percent": percent(n)});
    let message = format!(
        "Concurrency is {word}. Peak {peak}/{limit} ({}%).",
        percent(peak)
    );
    Ok(Reply::ok(&json!({
        "status": status,
        "current": usage(app.in_flight.now()),
        "peak": usage(peak),
        "limits": {
            "per_worker": limit,
            // `limit * 80 / 100` would overflow for a server without a practical limit.
            "warning_threshold": limit / 100 * 80 + limit % 100 * 80 / 100,
            "critical_threshold": limit / 100 * 95 + limit % 100 * 95 / 100,
            "total_capacity": limit,
        },
        "configuration": {"workers": 1, "backlog": app.options.max_connections, "max_requests": "unlimited"},
        "recommendations": [{"level": level, "message": message}],
        "timestamp": timestamp::iso_offset(SystemTime::now()),
    }))
    .into())
}
