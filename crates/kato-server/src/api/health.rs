//! The handler of the health check, which is asked often and answered from memory.

use std::process;
use std::time::SystemTime;

use kato_service::Service;
use kato_service::figures::{DataLoss, ServiceHealth};
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::compat::timestamp;
use crate::meters::NAMES;
use crate::refusal::os_error_suffix;
use crate::reply::{Outcome, Reply};

/// The state of the server, in KATO's words.
pub(super) struct HealthReport {
    pub(super) status: &'static str,
    pub(super) issues: Vec<String>,
    /// Whether everything can be stored.
    stores: bool,
}

/// Returns the state of a service's storage, in KATO's words, from what is in memory alone.
pub(crate) fn storage_status(service: &Service) -> &'static str {
    status_of(&service.health(), &service.losses())
}

fn status_of(health: &ServiceHealth, losses: &[DataLoss]) -> &'static str {
    match health {
        ServiceHealth::Failed(_) => "unhealthy",
        ServiceHealth::Degraded(_) => "degraded",
        // The enum may grow in the service; a state that is not known here is no failure.
        _ if losses.is_empty() => "healthy",
        _ => "degraded",
    }
}

/// Returns the state of the server from what is in memory alone: the check must work when the disk
/// does not.
pub(super) fn health_report(app: &App) -> HealthReport {
    let (health, losses) = (app.service.health(), app.service.losses());
    let counts = app.meters.lock();
    let mut status = status_of(&health, &losses);
    let mut issues = Vec::new();
    let mut issue = |text: &str| issues.push(text.to_owned());
    // The thresholds are KATO's. Load of the machine may come from other programs, so here it is an
    // issue and leaves the status as it is (docs/compatibility.md).
    if counts.machine.cpu_percent > 80.0 {
        issue("High CPU usage");
    }
    if counts.machine.memory_percent > 90.0 {
        issue("High memory usage");
    }
    if counts.rates(app.uptime_seconds()).errors_per_minute > 10.0 {
        issue("High error rate");
        // It never makes the status better than the storage is.
        if status == "healthy" {
            status = "degraded";
        }
    }
    let stores = match &health {
        ServiceHealth::Failed(failure) => {
            let why = os_error_suffix(failure);
            issue(&format!(
                "Storage failed{why}: nothing is changed any more; free space or repair it, then restart the server"
            ));
            false
        }
        // The journal still takes everything: only folding fails.
        ServiceHealth::Degraded(failure) => {
            let why = os_error_suffix(failure);
            issue(&format!(
                "What was learned stays in the journal{why}: the store of a node cannot be read or written; the server's log says which"
            ));
            true
        }
        _ => true,
    };
    // The summary names no files, because anybody may ask for the health.
    for loss in losses {
        issue(&format!(
            "{}; the server's log says more, and so may its file LOSSES",
            loss.summary()
        ));
    }
    HealthReport {
        status,
        issues,
        stores,
    }
}

/// Handles `GET /health`.
pub(crate) fn health(app: &App, _call: &Call) -> Outcome {
    let HealthReport {
        status,
        issues,
        stores,
    } = health_report(app);
    // Not before `health_report` has returned: it takes the same lock, which is not reentrant.
    let sampled_at = app.meters.lock().sampled_at;
    let mut answer = json!({
        "status": status,
        "processor_status": if stores { "healthy" } else { "unhealthy" },
        "service_name": app.service.options().service_name,
        "uptime_seconds": app.uptime_seconds(),
        "issues": issues,
        "metrics_collected": NAMES.len(),
        "last_collection": sampled_at.map_or(0.0, timestamp::seconds),
        "active_sessions": app.service.n_sessions(),
        "timestamp": timestamp::iso_offset(SystemTime::now()),
    });
    if app.options.generation.tells_worker() {
        answer["worker_pid"] = process::id().into();
    }
    Ok(Reply::ok(&answer).into())
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use kato_service::ServiceOptions;

    use super::*;
    use crate::meters::Machine;
    use crate::options::Options;

    #[test]
    fn a_busy_machine_is_an_issue_and_leaves_the_server_healthy() {
        let service = Service::in_memory(ServiceOptions::default());
        let app = App::new(service, Options::default(), Box::new(Bytes::new));
        let busy = Machine {
            cpu_percent: 100.0,
            memory_percent: 99.0,
            ..Machine::default()
        };
        app.meters.sample(busy, &app.service.figures());
        let report = health_report(&app);
        assert_eq!(report.status, "healthy");
        assert_eq!(report.issues, ["High CPU usage", "High memory usage"]);
    }
}
