//! Writes totals as Prometheus text.

use kato_probe::reading::{CallReading, NodeReading, QueueReading, StageReading};
use kato_probe::{LatencyHistogram, Reading};
use kato_report::prometheus::Kind::{self, Counter, Gauge};
use kato_report::prometheus::{Exposition, Histogram, Value};

use crate::snapshot::{PressureSnapshot, ResourceSnapshot};
use crate::tracker::Sample;

/// Bounds of the histograms are powers of two nanoseconds, at which buckets of the probe end too:
/// 1.024 µs to 68.7 s.
const BOUNDS: std::ops::RangeInclusive<i32> = 10..=36;

/// A metric: its name, what it is, its help, and how its value is read.
type Metric<T> = (&'static str, Kind, &'static str, fn(&T) -> Option<Value>);

/// The figures of machine and process.
#[rustfmt::skip]
const MACHINE: [Metric<ResourceSnapshot>; 12] = [
    ("kato_process_resident_memory_bytes", Gauge, "Resident set of the process.",
        |now| now.memory.process_rss.map(Value::Count)),
    ("kato_process_tree_resident_memory_bytes", Gauge, "Resident sets of the process and its descendants.",
        |now| now.memory.tree_rss.map(Value::Count)),
    ("kato_cgroup_memory_bytes", Gauge, "Memory of the cgroup without droppable page cache.",
        |now| now.memory.cgroup_used.map(Value::Count)),
    ("kato_cgroup_memory_limit_bytes", Gauge, "Most that the cgroup may use.",
        |now| now.memory.cgroup_limit.map(Value::Count)),
    ("kato_process_allowed_cores", Gauge, "Cores that the process may use.",
        |now| now.cpu.allowed_cores.map(Value::Number)),
    ("kato_process_open_files", Gauge, "Open files, sockets and pipes.",
        |now| now.process.open_files.map(Value::Count)),
    ("kato_process_threads", Gauge, "Threads of the process.",
        |now| now.process.threads.map(Value::Count)),
    ("kato_process_cpu_seconds_total", Counter, "Processor time of the process.",
        |now| now.cpu.process_seconds.map(Value::Number)),
    ("kato_cgroup_throttled_seconds_total", Counter, "Time for which the quota held the cgroup back.",
        |now| now.cpu.throttled_seconds.map(Value::Number)),
    ("kato_process_disk_read_bytes_total", Counter, "Bytes read from disks.",
        |now| now.disk.read_bytes.map(Value::Count)),
    ("kato_process_disk_written_bytes_total", Counter, "Bytes written to disks.",
        |now| now.disk.written_bytes.map(Value::Count)),
    ("kato_process_major_page_faults_total", Counter, "Page faults that needed a disk.",
        |now| now.process.major_faults.map(Value::Count)),
];

/// The states of a stage's threads.
type State = (&'static str, fn(&StageReading) -> f64);
const STATES: [State; 6] = [
    ("busy", |stage| stage.seconds.busy),
    ("starved", |stage| stage.seconds.starved),
    ("blocked_downstream", |stage| {
        stage.seconds.blocked_downstream
    }),
    ("blocked_server", |stage| stage.seconds.blocked_server),
    ("blocked_lock", |stage| stage.seconds.blocked_lock),
    ("blocked_disk", |stage| stage.seconds.blocked_disk),
];

/// Returns everything known at a moment.
pub(crate) fn text(sample: &Sample) -> String {
    let mut metrics = Exposition::default();
    for (name, kind, help, value) in MACHINE {
        metrics.one(name, kind, help, value(&sample.snapshot));
    }
    pressure(&mut metrics, &sample.snapshot);
    let counted = sample.counted;
    let totals = [
        ("kato_samples_total", "Samples done.", counted.samples),
        ("kato_tokens_total", "Tokens done.", counted.tokens),
    ];
    for (name, help, total) in totals {
        metrics.one(name, Counter, help, total);
    }
    if let Some(reading) = &sample.reading {
        pipeline(&mut metrics, reading);
    }
    metrics.into_text()
}

/// Writes the time in which tasks waited.
fn pressure(metrics: &mut Exposition, now: &ResourceSnapshot) {
    let stalls = |scope: &'static str, pressure: Option<PressureSnapshot>| {
        let stalls = pressure.map_or([None; 5], |pressure| {
            [
                ("cpu", "some", pressure.cpu_some),
                ("io", "some", pressure.io_some),
                ("io", "full", pressure.io_full),
                ("memory", "some", pressure.memory_some),
                ("memory", "full", pressure.memory_full),
            ]
            .map(Some)
        });
        stalls.into_iter().flatten().filter_map(move |stall| {
            let (resource, kind, seconds) = stall;
            let labels = [("scope", scope), ("resource", resource), ("kind", kind)];
            Some((labels, seconds?))
        })
    };
    metrics.many(
        "kato_pressure_stalled_seconds_total",
        Counter,
        "Time in which tasks stalled for want of a resource.",
        stalls("machine", now.pressure).chain(stalls("cgroup", now.cgroup_pressure)),
    );
}

/// Writes the figures of the pipeline.
fn pipeline(metrics: &mut Exposition, reading: &Reading) {
    stages(metrics, &reading.stages);
    queues(metrics, &reading.queues);
    nodes(metrics, &reading.nodes);
    calls(metrics, &reading.calls);
}

fn stages(metrics: &mut Exposition, stages: &[StageReading]) {
    fn of(stage: &StageReading) -> (&str, &str) {
        ("stage", &stage.name)
    }
    metrics.many(
        "kato_stage_seconds_total",
        Counter,
        "Time of the threads of a stage by state.",
        stages.iter().flat_map(|stage| {
            STATES.map(|(state, seconds)| ([of(stage), ("state", state)], seconds(stage)))
        }),
    );
    metrics.many(
        "kato_stage_items_total",
        Counter,
        "Items that a stage did.",
        stages.iter().map(|stage| ([of(stage)], stage.items)),
    );
    metrics.many(
        "kato_stage_threads",
        Gauge,
        "Threads that work for a stage.",
        stages
            .iter()
            .map(|stage| ([of(stage)], stage.threads.len())),
    );
}

fn queues(metrics: &mut Exposition, queues: &[QueueReading]) {
    fn of(queue: &QueueReading) -> [(&str, &str); 1] {
        [("queue", &queue.name)]
    }
    metrics.many(
        "kato_queue_items",
        Gauge,
        "Items in a queue.",
        queues.iter().map(|queue| (of(queue), queue.len)),
    );
    metrics.many(
        "kato_queue_capacity",
        Gauge,
        "Items that a queue can hold.",
        queues.iter().map(|queue| (of(queue), queue.capacity)),
    );
}

fn nodes(metrics: &mut Exposition, nodes: &[NodeReading]) {
    metrics.many(
        "kato_node_learned_total",
        Counter,
        "Learn calls of a node.",
        nodes
            .iter()
            .map(|node| ([("node", &*node.name)], node.learns)),
    );
    histograms(
        metrics,
        "kato_node_learn_seconds",
        "How long a learn call takes, of those that are timed.",
        nodes
            .iter()
            .map(|node| (("node", &*node.name), &node.latency)),
    );
}

fn calls(metrics: &mut Exposition, calls: &[CallReading]) {
    fn of(calls: &CallReading) -> (&str, &str) {
        ("peer", &calls.peer)
    }
    metrics.many(
        "kato_calls_in_flight",
        Gauge,
        "Calls to a peer on their way.",
        calls.iter().map(|calls| ([of(calls)], calls.in_flight)),
    );
    metrics.many(
        "kato_calls_failed_total",
        Counter,
        "Calls to a peer without an answer.",
        calls.iter().map(|calls| ([of(calls)], calls.failed)),
    );
    histograms(
        metrics,
        "kato_call_seconds",
        "Round trips to a peer.",
        calls.iter().map(|calls| (of(calls), &calls.latency)),
    );
}

/// Writes histograms that share a name.
fn histograms<'a>(
    metrics: &mut Exposition,
    name: &str,
    help: &str,
    histograms: impl Iterator<Item = ((&'a str, &'a str), &'a LatencyHistogram)>,
) {
    for (at, (label, latency)) in histograms.enumerate() {
        if at == 0 {
            metrics.head(name, Kind::Histogram, help);
        }
        let within = |bound: f64| {
            // Both are computed from the same powers but in different ways, hence the tolerance.
            // Buckets are cumulative, so each bound counts everything below it.
            let buckets = latency.buckets();
            let within = buckets.take_while(|(upper, _)| *upper <= bound * (1.0 + 1e-9));
            within.map(|(_, count)| count).sum()
        };
        let bounds = BOUNDS.map(|power| 2f64.powi(power) * 1e-9);
        let histogram = Histogram {
            buckets: bounds.map(|bound| (bound, within(bound))).collect(),
            sum: latency.sum_seconds(),
            count: latency.count(),
        };
        metrics.histogram(name, &[label], &histogram);
    }
}
