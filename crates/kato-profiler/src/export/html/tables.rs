//! The tables of the page.

use kato_report::figures::{self, bytes, count, percent, three_digits};
use kato_report::{Cell, Page, PageTable};

use super::charts::{STATES, bar};
use crate::summary::{LatencySummary, ProfilingSummary};

/// The columns of a latency.
const LATENCY: [&str; 6] = ["timed", "mean", "p50", "p90", "p99", "longest"];

/// Writes the stages: what their threads did, and how fully they were used.
pub(super) fn stages(page: &mut Page, summary: &ProfilingSummary) {
    // Stages that were declared and never joined have nothing to show.
    let used = summary.stages.iter().filter(|s| s.times.present() > 0.0);
    let mut used = used.peekable();
    if used.peek().is_none() {
        return;
    }
    let mut table = PageTable::new([
        "stage",
        "time by state",
        "used",
        "threads",
        "items",
        "items / s",
        "busy",
        "waited",
        "starved",
        "blocked",
    ]);
    for stage in used {
        let times = &stage.times;
        let cells = [
            percent(stage.utilisation),
            stage.capacity.to_string(),
            count(stage.items as f64),
            count(stage.items_per_second),
            figures::seconds(times.busy),
            figures::seconds(times.active() - times.busy),
            figures::seconds(times.starved),
            figures::seconds(times.blocked_downstream),
        ];
        let cells = [bar(times)].into_iter().chain(cells.map(Cell::Text));
        match summary.verdict.stage.as_ref() == Some(&stage.name) {
            true => table.marked_row(&format!("{} – bounds the run", stage.name), cells),
            false => table.row(&stage.name, cells),
        }
    }
    page.heading("Stages");
    page.table(&table);
    page.legend(STATES.map(|(state, color, _)| (color, state.to_owned())));
    page.note("Used: share of its threads’ time in which the stage had work in hand.");
}

/// Writes nodes, round trips, queues, and the figures of process and machine.
pub(super) fn rest(page: &mut Page, summary: &ProfilingSummary) {
    if !summary.nodes.is_empty() {
        nodes(page, summary);
    }
    if !summary.calls.is_empty() || summary.network.loopback.is_some() {
        round_trips(page, summary);
    }
    if !summary.queues.is_empty() {
        queues(page, summary);
    }
    page.heading("Process and machine");
    let mut table = PageTable::new(["figure", "value"]);
    // What could not be read has no row.
    for (name, value) in process(summary).into_iter().chain(machine(summary)) {
        if let Some(value) = value {
            table.row(name, [value]);
        }
    }
    page.table(&table);
}

fn nodes(page: &mut Page, summary: &ProfilingSummary) {
    let columns = ["node", "learned", "learned / s"];
    let mut table = PageTable::new(columns.into_iter().chain(LATENCY));
    for node in &summary.nodes {
        let rate = [count(node.learned as f64), count(node.learned_per_second)];
        table.row(&node.name, rate.into_iter().chain(latency(node.latency)));
    }
    page.heading("Nodes");
    page.table(&table);
}

fn round_trips(page: &mut Page, summary: &ProfilingSummary) {
    let columns = ["peer", "failed", "answered / s", "in flight", "answered"];
    let mut table = PageTable::new(columns.into_iter().chain(LATENCY.into_iter().skip(1)));
    for calls in &summary.calls {
        let rate = [
            count(calls.failed as f64),
            count(calls.answered_per_second),
            three_digits(calls.mean_in_flight),
        ];
        table.row(&calls.peer, rate.into_iter().chain(latency(calls.latency)));
    }
    let loopback = summary.network.loopback;
    if loopback.is_some() {
        // Loopback has figures of its latency only.
        let none = ["–"; 3].map(str::to_owned);
        let cells = none.into_iter().chain(latency(loopback));
        table.row("this machine (loopback)", cells);
    }
    page.heading("Round trips");
    page.table(&table);
}

fn queues(page: &mut Page, summary: &ProfilingSummary) {
    let mut table = PageTable::new(["queue", "capacity", "mean length", "longest"]);
    for queue in &summary.queues {
        table.row(
            &queue.name,
            [
                queue.capacity.to_string(),
                three_digits(queue.mean_len),
                queue.peak_len.to_string(),
            ],
        );
    }
    page.heading("Queues");
    page.table(&table);
}

/// A row: what it is, and its value where that could be read.
type Row = (&'static str, Option<String>);

/// Returns memory and processors.
fn process(summary: &ProfilingSummary) -> Vec<Row> {
    let trend = summary.memory.trend;
    // A minus sign instead of a hyphen, and units for the amount.
    let grows = |amount: f64| match amount < 0.0 {
        true => format!("−{}", bytes(-amount)),
        false => bytes(amount),
    };
    let growth = trend.bytes_per_second.zip(trend.lower.zip(trend.upper));
    let growth = growth.map(|(slope, (lower, upper))| {
        format!("{} ({} to {})", grows(slope), grows(lower), grows(upper))
    });
    let memory = summary.memory.share_used.map(|share| percent(share.peak));
    let cpu = &summary.cpu;
    let held_back = cpu.throttled_seconds.map(figures::seconds);
    vec![
        ("memory growth a second (95 % interval)", growth),
        ("memory growth a sample", trend.bytes_per_sample.map(grows)),
        ("memory in use of what it may have, at most", memory),
        ("allowed cores in use, mean", cpu.mean_share.map(percent)),
        ("allowed cores in use, at most", cpu.peak_share.map(percent)),
        ("time taken by the hypervisor", cpu.steal_share.map(percent)),
        ("held back by the quota", held_back),
    ]
}

/// Returns what was waited for, and what the process had open.
fn machine(summary: &ProfilingSummary) -> Vec<Row> {
    let process = &summary.process;
    let whole = |n: Option<u64>| n.map(|n| count(n as f64));
    let pressure = summary.pressure.unwrap_or_default();
    let device = summary.disk.device.as_ref();
    let in_use = device.map(|device| format!("{} ({})", percent(device.busy_share), device.name));
    vec![
        (
            "tasks of the machine waited for a processor",
            pressure.cpu_some.map(percent),
        ),
        (
            "tasks of the machine waited for a disk",
            pressure.io_some.map(percent),
        ),
        (
            "tasks of the machine waited for memory",
            pressure.memory_some.map(percent),
        ),
        ("watched device in use", in_use),
        (
            "flushes of the watched device",
            device.and_then(|device| whole(device.flushes)),
        ),
        (
            "page faults that needed a disk",
            whole(process.major_faults),
        ),
        (
            "context switches, voluntary",
            whole(process.voluntary_switches),
        ),
        (
            "context switches, forced",
            whole(process.involuntary_switches),
        ),
        ("open files, most", whole(process.peak_open_files)),
        ("threads, most", whole(process.peak_threads)),
        ("descendants, most", whole(process.peak_children)),
    ]
}

/// Returns the cells of a latency.
fn latency(latency: Option<LatencySummary>) -> [String; 6] {
    latency.map_or_else(
        || ["–"; 6].map(str::to_owned),
        |latency| {
            [
                count(latency.count as f64),
                figures::seconds(latency.mean),
                figures::seconds(latency.p50),
                figures::seconds(latency.p90),
                figures::seconds(latency.p99),
                figures::seconds(latency.longest),
            ]
        },
    )
}
