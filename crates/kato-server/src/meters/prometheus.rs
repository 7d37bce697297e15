//! Writing of all figures in Prometheus's text format.

use std::fmt::{self, Write};

use kato_service::figures::{Figures, Health};

use super::{BUCKETS, Counts};

/// The figures of this moment, which no counter keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) in_flight: usize,
    pub(crate) n_event_clients: usize,
    pub(crate) request_memory: usize,
    pub(crate) answer_memory: usize,
}

/// Writes all figures.
pub(crate) fn write(counts: &Counts, figures: &Figures, health: &Health, now: &Now) -> String {
    let mut text = String::new();
    write_all(&mut text, counts, figures, health, now).expect("writing into a string cannot fail");
    text
}

/// Writes all figures into a text.
fn write_all(
    out: &mut String,
    counts: &Counts,
    figures: &Figures,
    health: &Health,
    now: &Now,
) -> fmt::Result {
    let is = |yes| f64::from(u8::from(yes));
    let counters = [
        (
            "sessions_created",
            "Sessions created.",
            figures.sessions_created,
        ),
        (
            "sessions_deleted",
            "Sessions deleted by request.",
            figures.sessions_deleted,
        ),
        (
            "sessions_expired",
            "Sessions removed because their time was over.",
            figures.sessions_expired,
        ),
        (
            "sessions_evicted",
            "Sessions removed to make room for others.",
            figures.sessions_evicted,
        ),
        (
            "observations",
            "Observations taken in.",
            figures.observations,
        ),
        (
            "learns",
            "Patterns learned, new and repeated.",
            figures.learns,
        ),
        ("predictions", "Predictions computed.", figures.predictions),
        (
            "replays",
            "Requests answered from their idempotency key.",
            figures.replays,
        ),
        (
            "folds",
            "Folds of learns into the store of a node.",
            figures.folds,
        ),
        (
            "journal_records",
            "Records written to the journal.",
            figures.journal_records,
        ),
        (
            "journal_bytes",
            "Bytes written to the journal.",
            figures.journal_bytes,
        ),
        (
            "journal_syncs",
            "Flushes of the journal to the disk.",
            figures.journal_syncs,
        ),
        (
            "journal_cut_off_bytes",
            "Bytes at the end of the journal that were cut off at the start, as they were no whole write.",
            figures.journal_bytes_cut_off,
        ),
        (
            "indexes_written",
            "Indexes of nodes written.",
            figures.indexes_written,
        ),
        (
            "index_faults",
            "Indexes that could not be used or written.",
            figures.index_faults,
        ),
    ];
    for (name, help, value) in counters {
        writeln!(
            out,
            "# HELP kato_{name}_total {help}\n# TYPE kato_{name}_total counter"
        )?;
        writeln!(out, "kato_{name}_total {value}")?;
    }
    let gauges = [
        ("sessions", "Sessions there are.", figures.sessions as f64),
        ("nodes", "Nodes known.", figures.nodes as f64),
        (
            "nodes_loaded",
            "Nodes in memory.",
            figures.nodes_loaded as f64,
        ),
        (
            "knowledge_memory_bytes",
            "Memory that the knowledge of the nodes in memory takes, about.",
            figures.knowledge_bytes as f64,
        ),
        (
            "uncommitted_learns",
            "Learns in the journal alone.",
            figures.uncommitted_learns as f64,
        ),
        (
            "journal_sync_seconds_mean",
            "Mean time of a flush.",
            figures.journal_sync_mean.as_secs_f64(),
        ),
        (
            "disk_bytes",
            "Bytes on the disk.",
            figures.disk_bytes as f64,
        ),
        (
            "storage_failed",
            "1 if nothing can be written any more.",
            is(matches!(health, Health::Failed(_))),
        ),
        (
            "storage_degraded",
            "1 if what was learned cannot be moved from the journal into the stores.",
            is(matches!(health, Health::Degraded(_))),
        ),
        (
            "losses",
            "Losses that were found and are not mended.",
            figures.losses as f64,
        ),
        (
            "requests_in_flight",
            "Requests being answered.",
            now.in_flight as f64,
        ),
        (
            "event_clients",
            "Clients of the event stream.",
            now.n_event_clients as f64,
        ),
        (
            "request_memory_bytes",
            "Memory that the bodies of requests hold.",
            now.request_memory as f64,
        ),
        (
            "answer_memory_bytes",
            "Bytes of answers that clients have not read, and of what they are made of, small ones not counted.",
            now.answer_memory as f64,
        ),
        (
            "machine_cpu_percent",
            "Load of the machine's processors.",
            counts.machine.cpu_percent,
        ),
        (
            "machine_memory_bytes",
            "Memory of the machine in use.",
            counts.machine.memory_bytes as f64,
        ),
        (
            "machine_disk_percent",
            "Use of the machine's fullest disk.",
            counts.machine.disk_percent,
        ),
    ];
    for (name, help, value) in gauges {
        writeln!(
            out,
            "# HELP kato_{name} {help}\n# TYPE kato_{name} gauge\nkato_{name} {value}"
        )?;
    }
    write_routes(out, counts)
}

/// Writes the counters of all routes.
fn write_routes(out: &mut String, counts: &Counts) -> fmt::Result {
    let mut routes: Vec<_> = counts.routes.iter().collect();
    // Hash maps have no order; equal figures must give equal text.
    routes.sort_by_key(|(key, _)| **key);
    writeln!(
        out,
        "# HELP kato_http_requests_total Requests answered.\n# TYPE kato_http_requests_total counter"
    )?;
    for ((method, route), found) in &routes {
        let mut statuses: Vec<_> = found.statuses.iter().collect();
        statuses.sort();
        for (status, count) in statuses {
            writeln!(
                out,
                "kato_http_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            )?;
        }
    }
    let name = "kato_http_request_duration_seconds";
    writeln!(
        out,
        "# HELP {name} Time from a request's head to its answer.\n# TYPE {name} histogram"
    )?;
    for ((method, route), found) in &routes {
        // Methods and templates are constants of this crate, so nothing in them needs to be
        // escaped.
        let labels = format!("method=\"{method}\",route=\"{route}\"");
        let mut below = 0;
        // Cumulative, as the format demands. The last bucket has no bound and comes with `+Inf`.
        for (count, bound) in found.buckets.iter().zip(BUCKETS) {
            below += count;
            writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}")?;
        }
        let all: u64 = found.buckets.iter().sum();
        writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {all}")?;
        writeln!(
            out,
            "{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {all}",
            found.seconds
        )?;
    }
    Ok(())
}
