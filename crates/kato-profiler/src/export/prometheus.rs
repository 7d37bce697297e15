//! Writes totals as Prometheus text, version 0.0.4.

use std::fmt::Write;

use kato_probe::{LatencyHistogram, Reading};

use crate::snapshot::{PressureSnapshot, ResourceSnapshot};
use crate::tracker::Sample;

/// Bounds of the histograms are powers of two nanoseconds, at which buckets of the probe end too:
/// 1.024 µs to 68.7 s.
const BOUNDS: std::ops::RangeInclusive<i32> = 10..=36;

/// A page of lines; the head of a metric comes before its first value.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Writes the head of a metric.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Writes a line.
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    /// Writes a metric without labels, if it is known.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: Option<f64>) {
        self.many(name, kind, help, value.map(|value| (String::new(), value)));
    }

    /// Writes a metric with labels; nothing if there is no value.
    fn many(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, f64)>,
    ) {
        let mut values = values.into_iter().peekable();
        // A head without a value would announce a metric that does not exist.
        if values.peek().is_some() {
            self.head(name, kind, help);
        }
        for (labels, value) in values {
            self.line(format_args!("{name}{labels} {value}"));
        }
    }

    /// Writes histograms that share a name, by the value of a label.
    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        histograms: impl Iterator<Item = (&'a str, &'a LatencyHistogram)>,
    ) {
        let mut histograms = histograms.peekable();
        if histograms.peek().is_some() {
            self.head(name, "histogram", help);
        }
        for (of, histogram) in histograms {
            let of = escaped(of);
            for power in BOUNDS {
                let bound = 2f64.powi(power) * 1e-9;
                // Both are computed from the same powers but in different ways, hence the
                // tolerance. Buckets are cumulative, so each bound counts everything below it.
                let within = histogram
                    .buckets()
                    .take_while(|(upper, _)| *upper <= bound * (1.0 + 1e-9));
                let count: u64 = within.map(|(_, count)| count).sum();
                self.line(format_args!(
                    "{name}_bucket{{{label}=\"{of}\",le=\"{bound}\"}} {count}"
                ));
            }
            let count = histogram.count();
            let sum = histogram.sum_seconds();
            self.line(format_args!(
                "{name}_bucket{{{label}=\"{of}\",le=\"+Inf\"}} {count}"
            ));
            self.line(format_args!("{name}_sum{{{label}=\"{of}\"}} {sum}"));
            self.line(format_args!("{name}_count{{{label}=\"{of}\"}} {count}"));
        }
    }
}

/// Returns everything known at a moment.
pub(crate) fn text(sample: &Sample) -> String {
    let mut page = Page::default();
    machine(&mut page, &sample.snapshot);
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let counted = sample.counted;
    page.one(
        "kato_samples_total",
        "counter",
        "Samples done.",
        count(counted.samples),
    );
    page.one(
        "kato_tokens_total",
        "counter",
        "Tokens done.",
        count(counted.tokens),
    );
    if let Some(reading) = &sample.reading {
        pipeline(&mut page, reading);
    }
    page.0
}

/// Writes the figures of machine and process.
fn machine(page: &mut Page, now: &ResourceSnapshot) {
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let process = &now.process;
    let gauges = [
        (
            "kato_process_resident_memory_bytes",
            "Resident set of the process.",
            count(now.memory.process_rss),
        ),
        (
            "kato_process_tree_resident_memory_bytes",
            "Resident sets of the process and its descendants.",
            count(now.memory.tree_rss),
        ),
        (
            "kato_cgroup_memory_bytes",
            "Memory of the cgroup without droppable page cache.",
            count(now.memory.cgroup_used),
        ),
        (
            "kato_cgroup_memory_limit_bytes",
            "Most that the cgroup may use.",
            count(now.memory.cgroup_limit),
        ),
        (
            "kato_process_allowed_cores",
            "Cores that the process may use.",
            now.cpu.allowed_cores,
        ),
        (
            "kato_process_open_files",
            "Open files, sockets and pipes.",
            count(process.open_files),
        ),
        (
            "kato_process_threads",
            "Threads of the process.",
            count(process.threads),
        ),
    ];
    for (name, help, value) in gauges {
        page.one(name, "gauge", help, value);
    }
    let counters = [
        (
            "kato_process_cpu_seconds_total",
            "Processor time of the process.",
            now.cpu.process_seconds,
        ),
        (
            "kato_cgroup_throttled_seconds_total",
            "Time for which the quota held the cgroup back.",
            now.cpu.throttled_seconds,
        ),
        (
            "kato_process_disk_read_bytes_total",
            "Bytes read from disks.",
            count(now.disk.read_bytes),
        ),
        (
            "kato_process_disk_written_bytes_total",
            "Bytes written to disks.",
            count(now.disk.written_bytes),
        ),
        (
            "kato_process_major_page_faults_total",
            "Page faults that needed a disk.",
            count(process.major_faults),
        ),
    ];
    for (name, help, value) in counters {
        page.one(name, "counter", help, value);
    }
    let scopes = [("machine", now.pressure), ("cgroup", now.cgroup_pressure)];
    page.many(
        "kato_pressure_stalled_seconds_total",
        "counter",
        "Time in which tasks stalled for want of a resource.",
        scopes
            .into_iter()
            .filter_map(|(scope, pressure)| Some((scope, pressure?)))
            .flat_map(|(scope, pressure)| stalls(scope, &pressure)),
    );
}

/// Returns the stalls of one scope, with their labels.
fn stalls(scope: &str, pressure: &PressureSnapshot) -> Vec<(String, f64)> {
    [
        ("cpu", "some", pressure.cpu_some),
        ("io", "some", pressure.io_some),
        ("io", "full", pressure.io_full),
        ("memory", "some", pressure.memory_some),
        ("memory", "full", pressure.memory_full),
    ]
    .into_iter()
    .filter_map(|(resource, kind, seconds)| {
        let labels = format!("{{scope=\"{scope}\",resource=\"{resource}\",kind=\"{kind}\"}}");
        Some((labels, seconds?))
    })
    .collect()
}

/// Writes the figures of the pipeline.
fn pipeline(page: &mut Page, reading: &Reading) {
    let label = |name: &str, value: &str| format!("{{{name}=\"{}\"}}", escaped(value));
    let stages = &reading.stages;
    page.many(
        "kato_stage_seconds_total",
        "counter",
        "Time of the threads of a stage by state.",
        stages.iter().flat_map(|stage| {
            let times = stage.seconds;
            [
                ("busy", times.busy),
                ("starved", times.starved),
                ("blocked_downstream", times.blocked_downstream),
                ("blocked_server", times.blocked_server),
                ("blocked_lock", times.blocked_lock),
                ("blocked_disk", times.blocked_disk),
            ]
            .map(|(state, seconds)| {
                let stage = escaped(&stage.name);
                (format!("{{stage=\"{stage}\",state=\"{state}\"}}"), seconds)
            })
        }),
    );
    page.many(
        "kato_stage_items_total",
        "counter",
        "Items that a stage did.",
        stages
            .iter()
            .map(|stage| (label("stage", &stage.name), stage.items as f64)),
    );
    page.many(
        "kato_stage_threads",
        "gauge",
        "Threads that work for a stage.",
        stages
            .iter()
            .map(|stage| (label("stage", &stage.name), stage.threads.len() as f64)),
    );
    let queues = &reading.queues;
    page.many(
        "kato_queue_items",
        "gauge",
        "Items in a queue.",
        queues
            .iter()
            .map(|queue| (label("queue", &queue.name), queue.len as f64)),
    );
    page.many(
        "kato_queue_capacity",
        "gauge",
        "Items that a queue can hold.",
        queues
            .iter()
            .map(|queue| (label("queue", &queue.name), queue.capacity as f64)),
    );
    let nodes = &reading.nodes;
    page.many(
        "kato_node_learned_total",
        "counter",
        "Learn calls of a node.",
        nodes
            .iter()
            .map(|node| (label("node", &node.name), node.learns as f64)),
    );
    page.histograms(
        "kato_node_learn_seconds",
        "How long a learn call takes, of those that are timed.",
        "node",
        nodes.iter().map(|node| (node.name.as_str(), &node.latency)),
    );
    let calls = &reading.calls;
    page.many(
        "kato_calls_in_flight",
        "gauge",
        "Calls to a peer on their way.",
        calls
            .iter()
            .map(|calls| (label("peer", &calls.peer), calls.in_flight as f64)),
    );
    page.many(
        "kato_calls_failed_total",
        "counter",
        "Calls to a peer without an answer.",
        calls
            .iter()
            .map(|calls| (label("peer", &calls.peer), calls.failed as f64)),
    );
    page.histograms(
        "kato_call_seconds",
        "Round trips to a peer.",
        "peer",
        calls
            .iter()
            .map(|calls| (calls.peer.as_str(), &calls.latency)),
    );
}

/// Escapes a label's value.
fn escaped(value: &str) -> String {
    // Backslashes first, or those of the other escapes would be doubled.
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
