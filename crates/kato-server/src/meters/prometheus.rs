//! Writing of all figures in Prometheus's text format.

use kato_report::prometheus::Kind::{self, Counter, Gauge};
use kato_report::prometheus::{Exposition, Histogram, Value};
use kato_service::figures::{Figures, ServiceHealth};

use super::{BUCKETS, Counts, RouteCounts};

/// The figures of this moment, which no counter keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) in_flight: usize,
    pub(crate) n_event_clients: usize,
    pub(crate) request_memory: usize,
    pub(crate) answer_memory: usize,
}

/// All that is known.
struct Known<'a> {
    counts: &'a Counts,
    figures: &'a Figures,
    health: &'a ServiceHealth,
    now: &'a Now,
}

/// A metric: its name, what it is, its help, and its value.
type Metric = (&'static str, Kind, &'static str, fn(&Known<'_>) -> Value);

/// The metrics without labels.
#[rustfmt::skip]
const METRICS: [Metric; 32] = [
    ("kato_sessions_created_total", Counter, "Sessions created.",
        |known| known.figures.sessions_created.into()),
    ("kato_sessions_deleted_total", Counter, "Sessions deleted by request.",
        |known| known.figures.sessions_deleted.into()),
    ("kato_sessions_expired_total", Counter, "Sessions removed because their time was over.",
        |known| known.figures.sessions_expired.into()),
    ("kato_sessions_evicted_total", Counter, "Sessions removed to make room for others.",
        |known| known.figures.sessions_evicted.into()),
    ("kato_observations_total", Counter, "Observations taken in.",
        |known| known.figures.observations.into()),
    ("kato_learns_total", Counter, "Patterns learned, new and repeated.",
        |known| known.figures.learns.into()),
    ("kato_predictions_total", Counter, "Predictions computed, not those that were ended or failed.",
        |known| known.figures.predictions.into()),
    ("kato_replays_total", Counter, "Requests answered from their idempotency key.",
        |known| known.figures.replays.into()),
    ("kato_folds_total", Counter, "Folds of learns into the store of a node.",
        |known| known.figures.folds.into()),
    ("kato_journal_records_total", Counter, "Records written to the journal.",
        |known| known.figures.journal_records.into()),
    ("kato_journal_bytes_total", Counter, "Bytes of keys and values written to the journal.",
        |known| known.figures.journal_bytes.into()),
    ("kato_journal_syncs_total", Counter, "Flushes of the journal to the disk.",
        |known| known.figures.journal_syncs.into()),
    ("kato_journal_cut_off_bytes_total", Counter,
        "Bytes at the end of the journal that were cut off at the start, as they were no whole write.",
        |known| known.figures.journal_bytes_cut_off.into()),
    ("kato_indexes_written_total", Counter, "Indexes of nodes written.",
        |known| known.figures.indexes_written.into()),
    ("kato_index_faults_total", Counter, "Indexes that could not be used or written.",
        |known| known.figures.index_faults.into()),
    ("kato_sessions", Gauge, "Sessions there are.",
        |known| known.figures.sessions.into()),
    ("kato_nodes", Gauge, "Nodes known.",
        |known| known.figures.nodes.into()),
    ("kato_nodes_loaded", Gauge, "Nodes in memory.",
        |known| known.figures.nodes_loaded.into()),
    ("kato_knowledge_memory_bytes", Gauge, "Memory that the knowledge of the nodes in memory takes, about.",
        |known| known.figures.knowledge_bytes.into()),
    ("kato_uncommitted_learns", Gauge, "Learns in the journal alone, of nodes used since the start.",
        |known| known.figures.uncommitted_learns.into()),
    ("kato_journal_sync_seconds_mean", Gauge, "Mean time of a flush.",
        |known| known.figures.journal_sync_mean.as_secs_f64().into()),
    ("kato_disk_bytes", Gauge, "Bytes on the disk of the journal and of the stores of the nodes in memory.",
        |known| known.figures.disk_bytes.into()),
    ("kato_storage_failed", Gauge, "1 if nothing can be written any more.",
        |known| matches!(known.health, ServiceHealth::Failed(_)).into()),
    ("kato_storage_degraded", Gauge, "1 if what was learned cannot be moved from the journal into the stores.",
        |known| matches!(known.health, ServiceHealth::Degraded(_)).into()),
    ("kato_losses", Gauge, "Losses that were found and are not mended, knowledge bases that cannot be read among them.",
        |known| known.figures.losses.into()),
    ("kato_requests_in_flight", Gauge, "Requests being answered.",
        |known| known.now.in_flight.into()),
    ("kato_event_clients", Gauge, "Clients of the event stream.",
        |known| known.now.n_event_clients.into()),
    ("kato_request_memory_bytes", Gauge, "Memory that the bodies of requests hold.",
        |known| known.now.request_memory.into()),
    ("kato_answer_memory_bytes", Gauge,
        "Bytes of answers that clients have not read, and of what they are made of, small ones not counted.",
        |known| known.now.answer_memory.into()),
    ("kato_machine_cpu_percent", Gauge, "Load of the machine's processors.",
        |known| known.counts.machine.cpu_percent.into()),
    ("kato_machine_memory_bytes", Gauge, "Memory of the machine in use.",
        |known| known.counts.machine.memory_bytes.into()),
    ("kato_machine_disk_percent", Gauge, "Use of the machine's fullest disk.",
        |known| known.counts.machine.disk_percent.into()),
];

/// Writes all figures.
pub(crate) fn write(
    counts: &Counts,
    figures: &Figures,
    health: &ServiceHealth,
    now: &Now,
) -> String {
    let known = Known {
        counts,
        figures,
        health,
        now,
    };
    let mut metrics = Exposition::default();
    for (name, kind, help, value) in METRICS {
        metrics.one(name, kind, help, Some(value(&known)));
    }
    routes(&mut metrics, counts);
    metrics.into_text()
}

/// Writes the counters of all routes; their heads come also before the first request.
fn routes(metrics: &mut Exposition, counts: &Counts) {
    let mut routes: Vec<_> = counts.routes.iter().collect();
    // Hash maps have no order; equal figures must give equal text.
    routes.sort_by_key(|(key, _)| **key);
    let labels = |method, route| [("method", method), ("route", route)];
    let name = "kato_http_requests_total";
    metrics.head(name, Counter, "Requests answered.");
    for &(&(method, route), found) in &routes {
        let mut statuses: Vec<_> = found.statuses.iter().collect();
        statuses.sort();
        for (status, count) in statuses {
            let [method, route] = labels(method, route);
            metrics.sample(
                name,
                &[method, route, ("status", &status.to_string())],
                *count,
            );
        }
    }
    let name = "kato_http_request_duration_seconds";
    let help = "Time from a request's head to its answer.";
    metrics.head(name, Kind::Histogram, help);
    for &(&(method, route), found) in &routes {
        metrics.histogram(name, &labels(method, route), &latency(found));
    }
}

/// Returns the times of a route, cumulative, as the format demands. The last bucket has no bound.
fn latency(found: &RouteCounts) -> Histogram {
    let mut below = 0;
    let bounds = found.buckets.iter().zip(BUCKETS);
    let buckets = bounds.map(|(count, bound)| {
        below += count;
        (bound, below)
    });
    Histogram {
        buckets: buckets.collect(),
        sum: found.seconds,
        count: found.buckets.iter().sum(),
    }
}
