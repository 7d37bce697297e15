//! Runs side by side, as a table, CSV and JSON.

use std::fmt;

use serde::Serialize;

use crate::history::record::HistoryRun;

/// Runs side by side.
///
/// Its `Display` is a table for people with the columns that a terminal holds; [`to_csv`] and the
/// JSON form have all.
///
/// [`to_csv`]: Self::to_csv
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// A row a run, in the order in which they were given.
    pub rows: Vec<ComparisonRow>,
}

/// One run of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparisonRow {
    /// The whole id.
    pub run_id: String,
    /// When the run ended.
    pub recorded: String,
    /// Name of the corpus.
    pub corpus: Option<String>,
    /// Samples.
    pub samples: u64,
    /// Chunk sizes, joined by `-`.
    pub chunk_sizes: String,
    /// uniform, increasing, decreasing or mixed.
    pub chunk_pattern: &'static str,
    /// Smallest chunk size.
    pub chunk_min: Option<u64>,
    /// Largest chunk size.
    pub chunk_max: Option<u64>,
    /// Mean chunk size.
    pub chunk_mean: Option<f64>,
    /// Number of levels.
    pub levels: usize,
    /// Batch size.
    pub batch_size: Option<u64>,
    /// Workers.
    pub workers: Option<u64>,
    /// Seconds; 0 where they are not known.
    pub seconds: f64,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Tokens a second.
    pub tokens_per_second: Option<f64>,
    /// Bytes on the disk.
    pub disk_bytes: Option<u64>,
    /// Patterns of all levels.
    pub patterns: Option<u64>,
    /// Bytes a pattern.
    pub bytes_per_pattern: Option<f64>,
    /// Peak bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Processor time, in per cent.
    pub cpu_percent: Option<f64>,
    /// The machine.
    pub machine: Option<String>,
    /// Seconds that were foretold.
    pub estimated_seconds: Option<f64>,
    /// Bytes that were foretold.
    pub estimated_disk_bytes: Option<f64>,
    /// Whether the corpus was trained to its end.
    pub complete: bool,
    /// Samples that failed.
    pub errors: u64,
    /// Notes.
    pub notes: String,
}

impl Comparison {
    /// Lays runs side by side.
    #[must_use]
    pub fn from_runs(runs: &[HistoryRun]) -> Self {
        Self {
            rows: runs.iter().map(ComparisonRow::of).collect(),
        }
    }

    /// Returns all columns as CSV (RFC 4180) with a line of names; what is unknown is empty.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = CSV_COLUMNS.join(",") + "\r\n";
        for row in &self.rows {
            let cells: Vec<String> = row.cells().iter().map(|cell| quoted(cell)).collect();
            text += &cells.join(",");
            text += "\r\n";
        }
        text
    }
}

const CSV_COLUMNS: [&str; 26] = [
    "run_id",
    "recorded",
    "corpus",
    "samples",
    "chunk_sizes",
    "chunk_pattern",
    "chunk_min",
    "chunk_max",
    "chunk_mean",
    "levels",
    "batch_size",
    "workers",
    "seconds",
    "samples_per_second",
    "tokens_per_second",
    "disk_bytes",
    "patterns",
    "bytes_per_pattern",
    "memory_bytes",
    "cpu_percent",
    "machine",
    "estimated_seconds",
    "estimated_disk_bytes",
    "complete",
    "errors",
    "notes",
];

impl ComparisonRow {
    fn of(run: &HistoryRun) -> Self {
        let (settings, outcome) = (&run.settings, &run.outcome);
        let sizes = &settings.chunk_sizes;
        let per_second =
            |amount: u64| (outcome.seconds > 0.0).then(|| amount as f64 / outcome.seconds);
        let patterns = outcome.patterns();
        let foretold = run.estimate.as_ref();
        Self {
            run_id: run.run_id.clone(),
            recorded: run.recorded.clone(),
            corpus: run.corpus.name.clone(),
            samples: outcome.samples,
            chunk_sizes: joined(sizes),
            chunk_pattern: chunk_pattern(sizes),
            chunk_min: sizes.iter().min().copied(),
            chunk_max: sizes.iter().max().copied(),
            chunk_mean: (!sizes.is_empty())
                .then(|| sizes.iter().map(|&size| size as f64).sum::<f64>() / sizes.len() as f64),
            levels: sizes.len(),
            batch_size: settings.batch_size,
            workers: settings.workers,
            seconds: outcome.seconds,
            samples_per_second: outcome.samples_per_second(),
            tokens_per_second: outcome.tokens.and_then(per_second),
            disk_bytes: outcome.disk_bytes,
            patterns,
            bytes_per_pattern: outcome
                .disk_bytes
                .zip(patterns.filter(|&patterns| patterns > 0))
                .map(|(bytes, patterns)| bytes as f64 / patterns as f64),
            memory_bytes: outcome.memory_bytes,
            cpu_percent: outcome.cpu_percent,
            machine: run
                .machine
                .name
                .clone()
                .or_else(|| run.machine.tier.clone()),
            estimated_seconds: foretold.and_then(|foretold| Some(foretold.seconds?.value)),
            estimated_disk_bytes: foretold.and_then(|foretold| Some(foretold.disk_bytes?.value)),
            complete: outcome.complete,
            errors: outcome.errors,
            notes: run.notes.clone(),
        }
    }

    /// Returns the values of the columns of CSV.
    fn cells(&self) -> [String; 26] {
        [
            self.run_id.clone(),
            self.recorded.clone(),
            self.corpus.clone().unwrap_or_default(),
            self.samples.to_string(),
            self.chunk_sizes.clone(),
            self.chunk_pattern.to_owned(),
            text(self.chunk_min),
            text(self.chunk_max),
            text(self.chunk_mean),
            self.levels.to_string(),
            text(self.batch_size),
            text(self.workers),
            self.seconds.to_string(),
            text(self.samples_per_second),
            text(self.tokens_per_second),
            text(self.disk_bytes),
            text(self.patterns),
            text(self.bytes_per_pattern),
            text(self.memory_bytes),
            text(self.cpu_percent),
            self.machine.clone().unwrap_or_default(),
            text(self.estimated_seconds),
            text(self.estimated_disk_bytes),
            self.complete.to_string(),
            self.errors.to_string(),
            self.notes.clone(),
        ]
    }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Returns chunk sizes joined by `-`.
fn joined(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    sizes.join("-")
}

/// Names how chunk sizes change from the bottom up.
fn chunk_pattern(sizes: &[u64]) -> &'static str {
    let pairs = || sizes.iter().zip(sizes.iter().skip(1));
    if pairs().all(|(a, b)| a == b) {
        "uniform"
    } else if pairs().all(|(a, b)| a <= b) {
        "increasing"
    } else if pairs().all(|(a, b)| a >= b) {
        "decreasing"
    } else {
        "mixed"
    }
}

/// Quotes a cell where CSV needs it.
fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "run",
            "recorded",
            "corpus",
            "documents",
            "chunks",
            "workers",
            "seconds",
            "foretold",
            "documents/s",
            "MB",
            "patterns",
        ];
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let mut lines: Vec<[String; 11]> = vec![header.map(str::to_owned)];
        for row in &self.rows {
            let name = match row.complete {
                true => row.run_id.clone(),
                false => format!("{} (not complete)", row.run_id),
            };
            lines.push([
                name,
                // Seconds are enough for people.
                row.recorded.chars().take(19).collect(),
                row.corpus.clone().unwrap_or_else(|| "-".to_owned()),
                row.samples.to_string(),
                row.chunk_sizes.clone(),
                row.workers
                    .map_or_else(|| "-".to_owned(), |n| n.to_string()),
                number(Some(row.seconds).filter(|&seconds| seconds > 0.0), 1),
                number(row.estimated_seconds, 1),
                number(row.samples_per_second, 1),
                number(row.disk_bytes.map(|bytes| bytes as f64 / 1e6), 2),
                row.patterns
                    .map_or_else(|| "-".to_owned(), |n| n.to_string()),
            ]);
        }
        let mut widths = [0; 11];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in &lines {
            let mut text = String::new();
            for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
                // Words to the left, numbers to the right.
                match column {
                    0..=2 | 4 => text += &format!("{cell:<width$}  "),
                    _ => text += &format!("{cell:>width$}  "),
                }
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_have_a_pattern() {
        for (sizes, expected) in [
            (&[5, 5, 5][..], "uniform"),
            (&[5], "uniform"),
            (&[5, 7, 9], "increasing"),
            (&[8, 6, 6, 3], "decreasing"),
            (&[3, 5, 3], "mixed"),
        ] {
            assert_eq!(chunk_pattern(sizes), expected, "{sizes:?}");
        }
    }

    #[test]
    fn cells_are_quoted_where_csv_needs_it() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\"");
    }
}
