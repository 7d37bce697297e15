//! The table of all measurements: backends and numbers of workers side by side.

use std::num::NonZeroUsize;

use anyhow::{Result, ensure};
use kato_report::figures::median;
use kato_scheduler::TrainingReport;
use kato_scheduler::report::LevelReport;
use serde::Serialize;

use super::{Bench, MeasuredBackend};
use crate::inspect::View;
use crate::numbers::counted;

/// The measurements of all backends and numbers of workers.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// Cores of this machine that the process may use.
    cores: usize,
    /// Documents of each measurement.
    documents: u64,
    distribution: &'static str,
    rows: Vec<Row>,
}

/// One backend with one number of workers.
#[derive(Debug, Serialize)]
struct Row {
    backend: String,
    workers: usize,
    /// That of the middle repetition; of two the higher.
    documents_per_sec: f64,
    slowest: f64,
    fastest: f64,
    /// Rate by that of the first number of workers.
    speed_up: f64,
    /// Speed-up by workers, both against the first row of the backend.
    efficiency: f64,
}

impl Table {
    /// Measures everything `repeat` times, in turn.
    ///
    /// # Errors
    ///
    /// Those of [`Bench::measure`], and when two measurements learned something else.
    pub(crate) fn measure(
        bench: &Bench,
        backends: &[MeasuredBackend],
        workers: &[NonZeroUsize],
        repeat: NonZeroUsize,
    ) -> Result<Self> {
        let mut rates = vec![vec![Vec::new(); workers.len()]; backends.len()];
        let mut first: Option<TrainingReport> = None;
        // Repetitions are the outermost loop, so that a slow moment of the machine meets all
        // backends and numbers of workers alike.
        for _ in 0..repeat.get() {
            for (backend, rates) in backends.iter().zip(&mut rates) {
                for (workers, rates) in workers.iter().zip(rates) {
                    let report = bench.measure(backend, *workers)?;
                    rates.push(report.documents_per_sec);
                    // What is learned depends on the documents alone: a backend or a number of
                    // workers that differs from the first is wrong, however fast.
                    let first = first.get_or_insert_with(|| report.clone());
                    ensure!(
                        is_same(first, &report),
                        "{backend} with {} learned {}, and before it was {}",
                        counted(workers.get(), "worker"),
                        in_words(&report),
                        in_words(first)
                    );
                }
            }
        }
        let mut rows = Vec::new();
        for (backend, rates) in backends.iter().zip(rates) {
            let mut base: Option<(f64, f64)> = None;
            for (workers, mut rates) in workers.iter().zip(rates) {
                rates.sort_by(f64::total_cmp);
                // There is at least one repetition.
                let median = median(rates.iter().copied()).unwrap_or_default();
                let n = workers.get() as f64;
                let (base_rate, base_workers) = *base.get_or_insert((median, n));
                // A first rate of 0 must not end in a division by zero.
                let speed_up = median / base_rate.max(f64::MIN_POSITIVE);
                rows.push(Row {
                    backend: backend.to_string(),
                    workers: workers.get(),
                    documents_per_sec: median,
                    slowest: rates.first().copied().unwrap_or_default(),
                    fastest: rates.last().copied().unwrap_or_default(),
                    speed_up,
                    // 1 if twice the workers learn twice as fast, whatever the first number of
                    // workers is.
                    efficiency: speed_up / (n / base_workers),
                });
            }
        }
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            documents: first.map_or(0, |report| report.documents_processed),
            distribution: bench.distribution.name(),
            rows,
        })
    }
}

/// Returns whether two measurements learned the same, as far as the backends report it.
fn is_same(a: &TrainingReport, b: &TrainingReport) -> bool {
    let is_same_level = |(a, b): (&LevelReport, &LevelReport)| {
        // Not every backend can count its distinct patterns.
        let patterns = a.unique_patterns.zip(b.unique_patterns);
        a.learns == b.learns && patterns.is_none_or(|(a, b)| a == b)
    };
    a.documents_processed == b.documents_processed
        && a.levels.iter().zip(&b.levels).all(is_same_level)
}

/// Describes what a measurement learned.
fn in_words(report: &TrainingReport) -> String {
    let level = |level: &LevelReport| {
        let patterns = level.unique_patterns;
        let patterns =
            patterns.map_or_else(String::new, |n| format!(" of {}", counted(n, "pattern")));
        format!("{}{patterns}", counted(level.learns, "learn call"))
    };
    let levels: Vec<String> = report.levels.iter().map(level).collect();
    let documents = counted(report.documents_processed, "document");
    format!("{documents} ({})", levels.join(", "))
}

impl View for Table {
    fn text(&self, _width: usize) -> String {
        let Self {
            cores,
            documents,
            distribution,
            rows,
        } = self;
        let mut text = format!(
            "{}, {distribution}, {}\n",
            counted(*documents, "document"),
            counted(*cores, "core")
        );
        let width = rows
            .iter()
            .map(|row| row.backend.len())
            .max()
            .unwrap_or(0)
            .max(7);
        text += &format!(
            "{:<width$}  workers  documents/s  (slowest to fastest)  speed-up  efficiency\n",
            "backend"
        );
        for row in rows {
            let spread = format!("({:.0} to {:.0})", row.slowest, row.fastest);
            text += &format!(
                "{:<width$}  {:>7}  {:>9.0}  {spread:>20}  {:>8.2}  {:>8.0} %\n",
                row.backend,
                row.workers,
                row.documents_per_sec,
                row.speed_up,
                100.0 * row.efficiency
            );
        }
        text
    }
}
