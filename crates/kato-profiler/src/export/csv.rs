//! Writes the timeline as CSV.

use crate::point::{Level, TimelinePoint};
use crate::summary::ProfilingSummary;

/// A column: its name, and its value at a point.
type Column = (&'static str, fn(&TimelinePoint) -> Option<f64>);

/// The columns before cores and stages, in order; docs/profiling.md lists them for readers.
const COLUMNS: [Column; 24] = [
    ("start_seconds", |p| Some(p.start_seconds)),
    ("seconds", |p| Some(p.seconds)),
    ("process_rss_mean_bytes", |p| mean(p.process_rss)),
    ("process_rss_min_bytes", |p| p.process_rss.map(|l| l.min)),
    ("process_rss_max_bytes", |p| p.process_rss.map(|l| l.max)),
    ("tree_rss_mean_bytes", |p| mean(p.tree_rss)),
    ("tree_rss_max_bytes", |p| p.tree_rss.map(|l| l.max)),
    ("system_memory_mean_bytes", |p| mean(p.system_memory)),
    ("cgroup_memory_mean_bytes", |p| mean(p.cgroup_memory)),
    ("cpu_cores_mean", |p| mean(p.cpu_cores)),
    ("cpu_cores_max", |p| p.cpu_cores.map(|l| l.max)),
    ("throttled_seconds", |p| p.throttled_seconds),
    ("disk_read_bytes", |p| float(p.disk_read_bytes)),
    ("disk_written_bytes", |p| float(p.disk_written_bytes)),
    ("device_read_bytes", |p| float(p.device_read_bytes)),
    ("device_written_bytes", |p| float(p.device_written_bytes)),
    ("network_received_bytes", |p| {
        float(p.network_received_bytes)
    }),
    ("network_sent_bytes", |p| float(p.network_sent_bytes)),
    ("cpu_stall_seconds", |p| p.cpu_stall_seconds),
    ("io_stall_seconds", |p| p.io_stall_seconds),
    ("memory_stall_seconds", |p| p.memory_stall_seconds),
    ("major_faults", |p| float(p.major_faults)),
    ("samples", |p| float(p.samples)),
    ("tokens", |p| float(p.tokens)),
];

/// Returns the mean of a level.
fn mean(level: Option<Level>) -> Option<f64> {
    level.map(|level| level.mean)
}

/// Returns a count as a number of the table.
fn float(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

/// Returns a header and a line for each point. What is not known is empty.
pub(crate) fn text(summary: &ProfilingSummary) -> String {
    let points = summary.timeline.points();
    // The number of cores can change during a run; lines with fewer have empty cells.
    let n_cores = points.iter().map(|p| p.core_busy.len()).max().unwrap_or(0);
    let mut header: Vec<String> = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect();
    header.extend((0..n_cores).map(|core| format!("core{core}_busy")));
    for stage in &summary.stages {
        for column in [
            "items",
            "busy_seconds",
            "starved_seconds",
            "blocked_downstream_seconds",
            "blocked_server_seconds",
            "blocked_lock_seconds",
            "blocked_disk_seconds",
        ] {
            // Names of stages come from the pipeline and may contain anything.
            header.push(quoted(&format!("{}.{column}", stage.name)));
        }
    }
    let mut text = header.join(",");
    text.push('\n');
    for point in points {
        let mut values: Vec<Option<f64>> = COLUMNS.iter().map(|(_, of)| of(point)).collect();
        values.extend((0..n_cores).map(|core| point.core_busy.get(core).copied()));
        // By index, as the header: points from before a stage existed have none, which is zero.
        for at in 0..summary.stages.len() {
            let stage = point.stages.get(at).copied().unwrap_or_default();
            let times = stage.times;
            values.extend([
                Some(stage.items as f64),
                Some(times.busy),
                Some(times.starved),
                Some(times.blocked_downstream),
                Some(times.blocked_server),
                Some(times.blocked_lock),
                Some(times.blocked_disk),
            ]);
        }
        let line: Vec<String> = values.into_iter().map(cell).collect();
        text.push_str(&line.join(","));
        text.push('\n');
    }
    text
}

/// Returns a cell. Six digits after the point are enough for microseconds and for whole bytes.
fn cell(value: Option<f64>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    let text = format!("{value:.6}");
    // There is always a point, so zeros of whole numbers are not cut.
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Quotes a name if it needs it (RFC 4180).
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_empty_or_a_plain_number() {
        assert_eq!(cell(None), "");
        assert_eq!(cell(Some(0.0)), "0");
        assert_eq!(cell(Some(100.0)), "100");
        assert_eq!(cell(Some(0.25)), "0.25");
        assert_eq!(cell(Some(1e12)), "1000000000000");
    }

    #[test]
    fn a_name_with_a_comma_is_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("learn.items"), "learn.items");
    }
}
