//! How the server is: asked often, answered from memory.

use std::time::SystemTime;

use kato_service::Health;
use serde_json::json;

use crate::app::App;
use crate::call::Call;
use crate::meters::NAMES;
use crate::refusal::because;
use crate::reply::{Outcome, Reply};
use crate::timestamp;

/// How the server is, in KATO's words.
pub(super) struct Condition {
    pub(super) status: &'static str,
    pub(super) issues: Vec<String>,
    /// Can everything be stored?
    stores: bool,
}

/// Looks at what is in memory alone: asking how a server is must work when its disk does not.
pub(super) fn condition(app: &App) -> Condition {
    let health = app.service.health();
    let counts = app.meters.lock();
    let mut status = "healthy";
    let mut issues = Vec::new();
    let mut issue = |text: &str| issues.push(text.to_owned());
    // What others do on the machine is worth a word, and no reason to take this server for ill.
    if counts.machine.cpu_percent > 80.0 {
        issue("High CPU usage");
    }
    if counts.machine.memory_percent > 90.0 {
        issue("High memory usage");
    }
    if counts.rates(app.uptime_seconds()).errors_per_minute > 10.0 {
        status = "degraded";
        issue("High error rate");
    }
    let stores = match &health {
        Health::Failed(failure) => {
            status = "unhealthy";
            let why = because(failure);
            issue(&format!(
                "Storage failed{why}: nothing is changed any more; free space or repair it, then restart the server"
            ));
            false
        }
        Health::Degraded(failure) => {
            status = "degraded";
            let why = because(failure);
            issue(&format!(
                "What was learned stays in the journal{why}: the store of a node cannot be written; the server's log says which"
            ));
            true
        }
        _ => true,
    };
    // Looked up in memory; the log has what may not be told to everybody.
    for loss in app.service.losses() {
        status = if status == "unhealthy" {
            status
        } else {
            "degraded"
        };
        issue(&format!(
            "{}; the server's log and its file LOSSES say more",
            loss.summary()
        ));
    }
    Condition {
        status,
        issues,
        stores,
    }
}

pub(crate) fn health(app: &App, _call: &Call) -> Outcome {
    let Condition {
        status,
        issues,
        stores,
    } = condition(app);
    let sampled_at = app.meters.lock().sampled_at;
    Ok(Reply::ok(&json!({
        "status": status,
        "processor_status": if stores { "healthy" } else { "unhealthy" },
        "service_name": app.service.options().service_name,
        "uptime_seconds": app.uptime_seconds(),
        "issues": issues,
        "metrics_collected": NAMES.len(),
        "last_collection": sampled_at.map_or(0.0, timestamp::seconds),
        "active_sessions": app.service.n_sessions(),
        "timestamp": timestamp::iso_offset(SystemTime::now()),
    }))
    .into())
}

#[cfg(test)]
mod tests {
    use kato_service::{Service, ServiceOptions};

    use super::*;
    use crate::meters::Machine;
    use crate::options::Options;

    #[test]
    fn a_busy_machine_is_an_issue_and_leaves_the_server_healthy() {
        let service = Service::in_memory(ServiceOptions::default());
        let app = App::new(service, Options::default());
        let busy = Machine {
            cpu_percent: 100.0,
            memory_percent: 99.0,
            ..Machine::default()
        };
        app.meters.sample(busy, &app.service.figures());
        let condition = condition(&app);
        assert_eq!(condition.status, "healthy");
        assert_eq!(condition.issues, ["High CPU usage", "High memory usage"]);
    }
}
