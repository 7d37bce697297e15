//! Runs one engine through the workload and measures it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::engine::{Kind, Scanned};
use crate::process::{allocated_bytes, cpu_seconds, peak_rss_bytes, written_bytes};
use crate::workload::Workload;

/// What one engine did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    /// Learn calls per second over all commits, without making the stream.
    pub inserts_per_s: f64,
    /// The same over the last quarter of the commits.
    pub last_inserts_per_s: f64,
    /// Processor time of a learn call in microseconds: all threads, making the stream and reorganising included.
    pub insert_cpu_us: f64,
    /// Longest commit, in seconds.
    pub longest_commit_s: f64,
    /// Seconds of reorganising before the look-ups.
    pub compact_s: f64,
    /// Blocks on the disk.
    pub disk_bytes: u64,
    /// What the process caused to be written to the disk.
    pub written_bytes: u64,
    /// Peak resident set, memory-mapped pages included.
    pub peak_rss_bytes: u64,
    /// Median look-up, in microseconds.
    pub look_up_p50_us: f64,
    /// 99th percentile of the look-ups, in microseconds.
    pub look_up_p99_us: f64,
    /// Patterns per second of the scan.
    pub scan_per_s: f64,
    /// What the scan saw.
    pub scanned: Scanned,
}

/// Measures an engine in a directory of its own below `dir`, which is removed afterwards.
pub fn measure(kind: Kind, workload: &Workload, dir: &Path) -> Result<Measurement> {
    let dir = dir.join(format!("kato-compare-{}", std::process::id()));
    std::fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let measured = measure_in(kind, workload, &dir);
    std::fs::remove_dir_all(&dir)?;
    measured
}

fn measure_in(kind: Kind, workload: &Workload, dir: &Path) -> Result<Measurement> {
    let mut engine = kind.open(dir)?;
    let mut commits: Vec<(usize, Duration)> = Vec::new();
    let mut position = 0;
    for batch in workload.batches() {
        let n_records = batch.len();
        position += n_records as u64;
        let start = Instant::now();
        engine.merge(batch, position)?;
        commits.push((n_records, start.elapsed()));
    }
    let start = Instant::now();
    engine.compact()?;
    let compact_s = start.elapsed().as_secs_f64();
    let insert_cpu_us = 1e6 * cpu_seconds()? / workload.n_records as f64;
    let disk_bytes = allocated_bytes(dir)?;

    let mut look_ups = Vec::with_capacity(workload.n_look_ups as usize);
    for name in workload.look_ups() {
        let start = Instant::now();
        let found = engine.frequency(&name)?;
        look_ups.push(start.elapsed());
        ensure!(found.is_some(), "{} lost a pattern", kind.name());
    }
    look_ups.sort_unstable();
    let quantile = |share: f64| {
        let idx = (share * look_ups.len() as f64) as usize;
        look_ups
            .get(idx.min(look_ups.len().saturating_sub(1)))
            .map_or(f64::NAN, |time| 1e6 * time.as_secs_f64())
    };
    let start = Instant::now();
    let scanned = engine.scan()?;
    let scan_per_s = scanned.patterns as f64 / start.elapsed().as_secs_f64();
    ensure!(
        scanned.observations == workload.n_records,
        "{} counted wrong: {scanned:?}",
        kind.name()
    );
    Ok(Measurement {
        inserts_per_s: rate(&commits),
        last_inserts_per_s: rate(&commits[commits.len() - commits.len().div_ceil(4)..]),
        insert_cpu_us,
        longest_commit_s: commits
            .iter()
            .map(|(_, time)| time.as_secs_f64())
            .fold(0.0, f64::max),
        compact_s,
        disk_bytes,
        written_bytes: written_bytes()?,
        peak_rss_bytes: peak_rss_bytes()?,
        look_up_p50_us: quantile(0.5),
        look_up_p99_us: quantile(0.99),
        scan_per_s,
        scanned,
    })
}

fn rate(commits: &[(usize, Duration)]) -> f64 {
    let n_records: usize = commits.iter().map(|(n_records, _)| n_records).sum();
    let time: Duration = commits.iter().map(|(_, time)| *time).sum();
    n_records as f64 / time.as_secs_f64()
}
