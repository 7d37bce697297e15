//! The report: one Markdown table.

use anyhow::Result;

use crate::engine::Kind;
use crate::measure::Measurement;
use crate::process::load_average;
use crate::workload::Workload;

/// What was measured, and the table's head.
pub fn heading(workload: &Workload) -> Result<String> {
    Ok(format!(
        "{} learn calls, {} % repeats, a durable commit every {}, {} look-ups, seed {}; load average before: {:.2}\n\n\
         | engine | k inserts/s | last quarter | CPU, µs/insert | longest commit, s | compact, s | MB on disk | bytes/pattern | MB written | \
         peak RSS, MB | look-up p50, µs | p99, µs | M scanned/s |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        workload.n_records,
        workload.repeat_percent,
        workload.batch,
        workload.n_look_ups,
        workload.seed,
        load_average()?
    ))
}

/// One engine's row.
pub fn row(kind: Kind, found: &Measurement) -> String {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    format!(
        "| {} | {:.0} | {:.0} | {:.2} | {:.2} | {:.1} | {:.0} | {:.1} | {:.0} | {:.0} | {:.1} | {:.1} | {:.2} |\n",
        kind.name(),
        found.inserts_per_s / 1e3,
        found.last_inserts_per_s / 1e3,
        found.insert_cpu_us,
        found.longest_commit_s,
        found.compact_s,
        mb(found.disk_bytes),
        found.disk_bytes as f64 / found.scanned.patterns.max(1) as f64,
        mb(found.written_bytes),
        mb(found.peak_rss_bytes),
        found.look_up_p50_us,
        found.look_up_p99_us,
        found.scan_per_s / 1e6,
    )
}
