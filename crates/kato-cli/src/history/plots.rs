//! Plots of a history as SVG files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kato_planner::history::HistoryRun;
use kato_report::{Axis, Chart, Color, HeatMap, Picture, Shape, bars};

use crate::numbers::counted;

/// Most runs that have a bar.
const MOST_BARS: usize = 16;

/// Writes the plots of runs into a directory, which is made where it is missing, and returns their
/// paths.
///
/// # Errors
///
/// When a file cannot be written.
pub(crate) fn write_plots(runs: &[HistoryRun], dir: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("failed to write plots into {}", dir.display());
    fs::create_dir_all(dir).with_context(failed)?;
    let plots = [
        ("estimated-against-actual.svg", estimates(runs)),
        ("rank-frequency.svg", ranks(runs)),
        ("patterns-a-level.svg", patterns(runs)),
        ("bytes-a-level.svg", bytes(runs)),
        ("rate-by-chunk-size.svg", rates(runs)),
        ("rate-by-chunk-size-and-workers.svg", heat(runs)),
    ];
    let mut written = Vec::new();
    for (name, picture) in plots {
        let path = dir.join(name);
        fs::write(&path, picture.to_svg()).with_context(failed)?;
        written.push(path);
    }
    Ok(written)
}

/// What was foretold over what it took: on the line, both are equal.
fn estimates(runs: &[HistoryRun]) -> Picture {
    let points: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|run| Some((run.outcome.seconds, run.estimate.as_ref()?.seconds?.value)))
        .collect();
    let ends = points
        .iter()
        .flat_map(|point| [point.0, point.1])
        .filter(|v| *v > 0.0);
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let axes = (
        Axis::logarithmic("seconds that it took"),
        Axis::logarithmic("seconds foretold"),
    );
    Chart::new("Estimated against actual", axes.0, axes.1)
        .with(Color::Nth(0), "runs", Shape::Points(points))
        .with(
            Color::Muted,
            "equal",
            Shape::Dashes(vec![(low, low), (high, high)]),
        )
        .draw()
}

/// Frequencies over ranks of the lowest level. Ranks of equal frequencies are one step, from the
/// first to the last of them.
fn ranks(runs: &[HistoryRun]) -> Picture {
    let axes = (
        Axis::logarithmic("rank of the pattern"),
        Axis::logarithmic("learn calls"),
    );
    let chart = Chart::new("Frequency by rank, lowest level", axes.0, axes.1);
    let with = runs
        .iter()
        .filter_map(|run| Some((run, run.outcome.levels.first()?)));
    let with = with.filter(|(_, level)| !level.frequencies.is_empty());
    with.take(6)
        .enumerate()
        .fold(chart, |chart, (at, (run, level))| {
            let mut rank = 0.0;
            let mut steps = Vec::new();
            for (&frequency, &n) in level.frequencies.iter().rev() {
                steps.push((rank + 1.0, frequency as f64));
                rank += n as f64;
                steps.push((rank, frequency as f64));
            }
            chart.with(Color::Nth(at), run.run_id.as_str(), Shape::Line(steps))
        })
        .draw()
}

/// The share of the patterns that each level has.
fn patterns(runs: &[HistoryRun]) -> Picture {
    by_level(
        "Utilisation: share of the patterns a level",
        "share of all patterns",
        runs,
        |run| {
            let all = run.outcome.patterns().filter(|&all| all > 0)? as f64;
            let levels = run.outcome.levels.iter();
            Some(
                levels
                    .map(|level| level.patterns.unwrap_or(0) as f64 / all)
                    .collect(),
            )
        },
    )
}

/// The bytes that each level takes.
fn bytes(runs: &[HistoryRun]) -> Picture {
    by_level("Bytes a level", "MB", runs, |run| {
        let levels = run.outcome.levels.iter();
        let bytes: Option<Vec<f64>> = levels
            .map(|level| Some(level.bytes? as f64 / 1e6))
            .collect();
        // Where the store tells only the whole, that is one part.
        bytes
            .filter(|bytes| !bytes.is_empty())
            .or_else(|| Some(vec![run.outcome.disk_bytes? as f64 / 1e6]))
    })
}

fn by_level(
    title: &str,
    label: &str,
    runs: &[HistoryRun],
    values: impl Fn(&HistoryRun) -> Option<Vec<f64>>,
) -> Picture {
    let shown: Vec<(String, Vec<f64>)> = runs
        .iter()
        .filter_map(|run| Some((run.run_id.clone(), values(run)?)))
        .take(MOST_BARS)
        .collect();
    let levels = shown
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    let names: Vec<String> = (0..levels).map(|level| format!("node{level}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    bars(title, &Axis::linear(label), &names, &shown)
}

/// Samples a second over the smallest chunk size, a series for each number of workers.
fn rates(runs: &[HistoryRun]) -> Picture {
    let mut series: BTreeMap<Option<u64>, Vec<(f64, f64)>> = BTreeMap::new();
    for run in runs {
        let smallest = run.settings.chunk_sizes.iter().min();
        if let Some((&size, rate)) = smallest.zip(run.outcome.samples_per_second()) {
            series
                .entry(run.settings.workers)
                .or_default()
                .push((size as f64, rate));
        }
    }
    let axes = (
        Axis::linear("smallest chunk size"),
        Axis::linear("documents a second"),
    );
    let chart = Chart::new("Rate against chunk size", axes.0, axes.1);
    let series = series.into_iter().enumerate();
    series
        .fold(chart, |chart, (at, (workers, points))| {
            let name = workers.map_or_else(
                || "workers not known".to_owned(),
                |workers| counted(workers, "worker"),
            );
            chart.with(Color::Nth(at), name, Shape::Points(points))
        })
        .draw()
}

/// Mean documents a second for each smallest chunk size and number of workers.
fn heat(runs: &[HistoryRun]) -> Picture {
    let cells: Vec<(u64, u64, f64)> = runs
        .iter()
        .filter_map(|run| {
            let size = *run.settings.chunk_sizes.iter().min()?;
            Some((
                size,
                run.settings.workers?,
                run.outcome.samples_per_second()?,
            ))
        })
        .collect();
    let sizes: BTreeSet<u64> = cells.iter().map(|cell| cell.0).collect();
    let workers: BTreeSet<u64> = cells.iter().map(|cell| cell.1).collect();
    let mean = |size: u64, workers: u64| {
        let rates = cells
            .iter()
            .filter(|cell| (cell.0, cell.1) == (size, workers));
        let rates: Vec<f64> = rates.map(|cell| cell.2).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let values: Vec<Vec<Option<f64>>> = workers
        .iter()
        .map(|&workers| sizes.iter().map(|&size| mean(size, workers)).collect())
        .collect();
    let names =
        |numbers: &BTreeSet<u64>| -> Vec<String> { numbers.iter().map(u64::to_string).collect() };
    HeatMap {
        title: "Samples a second".to_owned(),
        columns: ("smallest chunk size".to_owned(), names(&sizes)),
        rows: ("workers".to_owned(), names(&workers)),
        values,
        ..HeatMap::default()
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use kato_planner::history::record::{NewRun, Outcome, RunSettings};
    use kato_planner::history::{RunFilter, TrainingHistory};

    use super::*;

    #[test]
    fn workers_that_are_not_known_are_no_number() {
        let mut history = TrainingHistory::in_memory().unwrap();
        for workers in [None, Some(2)] {
            let settings = RunSettings {
                workers,
                ..RunSettings::new([5, 7])
            };
            let outcome = Outcome {
                samples: 100,
                ..Outcome::new(10.0)
            };
            history.record(&NewRun::new(settings, outcome)).unwrap();
        }
        let drawn = rates(&history.runs(&RunFilter::default()).unwrap()).to_svg();
        assert!(drawn.contains("workers not known"), "{drawn}");
        assert!(drawn.contains("2 workers") && !drawn.contains("0 workers"));
    }
}
