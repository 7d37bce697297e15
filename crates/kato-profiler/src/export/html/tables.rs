//! The tables of the page.

use std::fmt::Write;

use super::charts::{STATES, bar};
use crate::export::chart::escaped;
use crate::export::units;
use crate::summary::{LatencySummary, ProfilingSummary};

/// Writes the stages: what their threads did, and how fully they were used.
pub(super) fn stages(page: &mut String, summary: &ProfilingSummary) {
    // Stages that were declared and never joined have nothing to show.
    let used = summary.stages.iter().filter(|s| s.times.present() > 0.0);
    let mut used = used.peekable();
    if used.peek().is_none() {
        return;
    }
    page.push_str(
        "<h2>Stages</h2><div class=\"card wide\"><table><thead><tr><th>stage</th><th>time by state</th><th>used</th>\
         <th>threads</th><th>items</th><th>items / s</th><th>busy</th><th>waited</th><th>starved</th><th>blocked</th>\
         </tr></thead><tbody>",
    );
    for stage in used {
        let bounds = summary.verdict.stage.as_ref() == Some(&stage.name);
        let times = &stage.times;
        let cells = [
            units::percent(stage.utilisation),
            stage.capacity.to_string(),
            units::count(stage.items as f64),
            units::count(stage.items_per_second),
            units::seconds(times.busy),
            units::seconds(times.active() - times.busy),
            units::seconds(times.starved),
            units::seconds(times.blocked_downstream),
        ];
        let _ = write!(
            page,
            "<tr{}><td>{}{}</td><td>{}</td>",
            if bounds { " class=\"bound\"" } else { "" },
            escaped(&stage.name),
            if bounds { " – bounds the run" } else { "" },
            bar(times)
        );
        row_end(page, &cells);
    }
    page.push_str("</tbody></table><ul class=\"legend\">");
    for (state, class, _) in STATES {
        let _ = write!(page, "<li><i class=\"{class}\"></i>{state}</li>");
    }
    page.push_str("</ul><p class=\"note\">Used: share of its threads’ time in which the stage had work in hand.</p></div>\n");
}

/// Writes nodes, round trips and queues.
pub(super) fn rest(page: &mut String, summary: &ProfilingSummary) {
    if !summary.nodes.is_empty() {
        head(
            page,
            "Nodes",
            &[
                "node",
                "learned",
                "learned / s",
                "timed",
                "mean",
                "p50",
                "p90",
                "p99",
                "longest",
            ],
        );
        for node in &summary.nodes {
            first(page, &node.name);
            let mut cells = vec![
                units::count(node.learned as f64),
                units::count(node.learned_per_second),
            ];
            cells.extend(latency(node.latency));
            row_end(page, &cells);
        }
        page.push_str("</tbody></table></div>\n");
    }
    let loopback = summary.network.loopback;
    if !summary.calls.is_empty() || loopback.is_some() {
        head(
            page,
            "Round trips",
            &[
                "peer",
                "failed",
                "answered / s",
                "in flight",
                "answered",
                "mean",
                "p50",
                "p90",
                "p99",
                "longest",
            ],
        );
        for calls in &summary.calls {
            first(page, &calls.peer);
            let mut cells = vec![
                units::count(calls.failed as f64),
                units::count(calls.answered_per_second),
                units::three_digits(calls.mean_in_flight),
            ];
            cells.extend(latency(calls.latency));
            row_end(page, &cells);
        }
        if loopback.is_some() {
            first(page, "this machine (loopback)");
            // Loopback has figures of its latency only.
            let mut cells = vec!["–".to_owned(); 3];
            cells.extend(latency(loopback));
            row_end(page, &cells);
        }
        page.push_str("</tbody></table></div>\n");
    }
    if !summary.queues.is_empty() {
        head(
            page,
            "Queues",
            &["queue", "capacity", "mean length", "longest"],
        );
        for queue in &summary.queues {
            first(page, &queue.name);
            row_end(
                page,
                &[
                    queue.capacity.to_string(),
                    units::three_digits(queue.mean_len),
                    queue.peak_len.to_string(),
                ],
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
    process(page, summary);
}

/// Writes the figures of process and machine.
fn process(page: &mut String, summary: &ProfilingSummary) {
    let process = &summary.process;
    let count = |count: Option<u64>| count.map(|count| units::count(count as f64));
    let share = |share: Option<f64>| share.map(units::percent);
    let trend = summary.memory.trend;
    // A minus sign instead of a hyphen, and units for the amount.
    let grows = |bytes: f64| match bytes < 0.0 {
        true => format!("−{}", units::bytes(-bytes)),
        false => units::bytes(bytes),
    };
    let growth = trend.bytes_per_second.zip(trend.lower.zip(trend.upper));
    let pressure = summary.pressure.unwrap_or_default();
    let rows = [
        (
            "memory growth a second (95 % interval)",
            growth.map(|(slope, (lower, upper))| {
                format!("{} ({} to {})", grows(slope), grows(lower), grows(upper))
            }),
        ),
        ("memory growth a sample", trend.bytes_per_sample.map(grows)),
        (
            "memory in use of what it may have, at most",
            summary.memory.share_used.map(|s| units::percent(s.peak)),
        ),
        ("allowed cores in use, mean", share(summary.cpu.mean_share)),
        (
            "allowed cores in use, at most",
            share(summary.cpu.peak_share),
        ),
        (
            "time taken by the hypervisor",
            share(summary.cpu.steal_share),
        ),
        (
            "held back by the quota",
            summary.cpu.throttled_seconds.map(units::seconds),
        ),
        (
            "tasks of the machine waited for a processor",
            share(pressure.cpu_some),
        ),
        (
            "tasks of the machine waited for a disk",
            share(pressure.io_some),
        ),
        (
            "tasks of the machine waited for memory",
            share(pressure.memory_some),
        ),
        (
            "watched device in use",
            summary
                .disk
                .device
                .as_ref()
                .map(|d| format!("{} ({})", units::percent(d.busy_share), d.name)),
        ),
        (
            "flushes of the watched device",
            summary.disk.device.as_ref().and_then(|d| count(d.flushes)),
        ),
        (
            "page faults that needed a disk",
            count(process.major_faults),
        ),
        (
            "context switches, voluntary",
            count(process.voluntary_switches),
        ),
        (
            "context switches, forced",
            count(process.involuntary_switches),
        ),
        ("open files, most", count(process.peak_open_files)),
        ("threads, most", count(process.peak_threads)),
        ("descendants, most", count(process.peak_children)),
    ];
    page.push_str("<div class=\"narrow\">");
    head(page, "Process and machine", &["figure", "value"]);
    // What could not be read has no row.
    for (name, value) in rows {
        if let Some(value) = value {
            first(page, name);
            row_end(page, &[value]);
        }
    }
    page.push_str("</tbody></table></div></div>\n");
}

/// Returns the cells of a latency.
fn latency(latency: Option<LatencySummary>) -> Vec<String> {
    let Some(latency) = latency else {
        return vec!["–".to_owned(); 6];
    };
    let mut cells = vec![units::count(latency.count as f64)];
    cells.extend(
        [
            latency.mean,
            latency.p50,
            latency.p90,
            latency.p99,
            latency.longest,
        ]
        .map(units::seconds),
    );
    cells
}

/// Begins a table with its headings.
fn head(page: &mut String, title: &str, columns: &[&str]) {
    let _ = write!(
        page,
        "<h2>{title}</h2><div class=\"card wide\"><table><thead><tr>"
    );
    for column in columns {
        let _ = write!(page, "<th>{column}</th>");
    }
    page.push_str("</tr></thead><tbody>");
}

/// Begins a row with its first cell.
fn first(page: &mut String, name: &str) {
    let _ = write!(page, "<tr><td>{}</td>", escaped(name));
}

/// Appends the other cells of a row and ends it.
fn row_end(page: &mut String, cells: &[String]) {
    for cell in cells {
        let _ = write!(page, "<td>{}</td>", escaped(cell));
    }
    page.push_str("</tr>");
}
