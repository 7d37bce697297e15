//! Plots of an estimate, as SVG: frequencies, growth, repeats and bytes.

use std::path::{Path, PathBuf};

use kato_report::{Axis, Chart, Color, Range, Ranges, Shape, figures};

use crate::breakdown::LevelEstimate;
use crate::power_law::PowerLaw;
use crate::run_record::{FinishedRun, RunLevel};
use crate::{EstimateError, Figure, StorageBreakdown};

/// Points of the curve of a law.
const POINTS: i32 = 200;

impl StorageBreakdown {
    /// Writes `rank-frequency.svg`, `growth.svg`, `repeats.svg` and `bytes.svg` into a directory, which
    /// is created where missing, and returns the paths. `truth` is the run that was foretold, where it is
    /// over: growth and repeats show it beside the forecast.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Plot`] when a file cannot be written.
    ///
    /// ```
    /// use kato_estimator::run_record::{RunLevel, FinishedRun};
    /// use kato_estimator::{Calibration, EstimatedHierarchy, StorageEstimator};
    ///
    /// let run = FinishedRun::new(EstimatedHierarchy::new([3])?, 100)
    ///     .with_level(RunLevel::new([(1, 2575), (2, 85), (3, 19)].into_iter().collect()));
    /// let estimator = StorageEstimator::builder()
    ///     .with_calibration(Calibration::from_run(&run)?)
    ///     .build()?;
    /// let dir = tempfile::tempdir()?;
    /// let written = estimator.estimate_storage(1_000)?.write_plots(dir.path(), None)?;
    /// assert_eq!(written.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_plots(
        &self,
        dir: impl AsRef<Path>,
        truth: Option<&FinishedRun>,
    ) -> Result<Vec<PathBuf>, EstimateError> {
        let dir = dir.as_ref();
        let failed = |path: &Path, source: std::io::Error| EstimateError::Plot {
            path: path.to_owned(),
            source,
        };
        std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        let plots = [
            ("rank-frequency.svg", self.rank_frequency_svg()),
            ("growth.svg", self.growth_svg(truth)),
            ("repeats.svg", self.repeats_svg(truth)),
            ("bytes.svg", self.bytes_svg()),
        ];
        let written = plots.into_iter().map(|(name, svg)| {
            let path = dir.join(name);
            std::fs::write(&path, svg).map_err(|error| failed(&path, error))?;
            Ok(path)
        });
        written.collect()
    }

    /// Draws the frequencies of the observed patterns over their rank, with the power law fitted to
    /// them, and returns the SVG.
    #[must_use]
    pub fn rank_frequency_svg(&self) -> String {
        let chart = Chart::new(
            "Observed patterns: frequency by rank",
            Axis::logarithmic("rank of the pattern"),
            Axis::logarithmic("learn calls of the pattern"),
        );
        let levels = self.level_estimates.iter();
        levels
            .filter(|level| level.observed.distinct() > 0)
            .fold(chart, |chart, level| {
                let color = Color::Nth(level.level);
                let chart = chart.with(color, &level.node, Shape::Line(ranks(level)));
                match fitted(level) {
                    Some((law, curve)) => {
                        let name = format!("{}, power law with γ = {:.2}", level.node, law.gamma);
                        chart.with(color, name, Shape::Dashes(curve))
                    }
                    None => chart,
                }
            })
            .draw()
            .to_svg()
    }

    /// Draws distinct patterns over learn calls, with the interval as a band and what was learned as
    /// points, and returns the SVG.
    #[must_use]
    pub fn growth_svg(&self, truth: Option<&FinishedRun>) -> String {
        let title = format!(
            "Distinct patterns by learn calls, {:.0} % intervals",
            self.total_patterns.confidence * 100.0
        );
        let mut chart = Chart::new(
            title,
            Axis::linear("learn calls of the level"),
            Axis::linear("distinct patterns of the level"),
        );
        let (mut most_learns, mut most_patterns) = (10.0f64, 10.0f64);
        let levels = self.level_estimates.iter();
        for level in levels.filter(|level| !level.growth.is_empty()) {
            let color = Color::Nth(level.level);
            let band = level.growth.iter().map(|point| {
                let figure = &point.distinct_patterns;
                (point.learns, figure.low, figure.high)
            });
            let line = level.growth.iter();
            let line = line.map(|point| (point.learns, point.distinct_patterns.value));
            let observed = &level.observed;
            let observed = (observed.observations() as f64, observed.distinct() as f64);
            for point in &level.growth {
                most_learns = most_learns.max(point.learns);
                most_patterns = most_patterns.max(point.distinct_patterns.high);
            }
            let learned = learned(truth, level).map(|level| {
                let counts = &level.frequencies;
                (counts.observations() as f64, counts.distinct() as f64)
            });
            if let Some((learns, patterns)) = learned {
                most_learns = most_learns.max(learns);
                most_patterns = most_patterns.max(patterns);
            }
            let points = [Some(observed), learned].into_iter().flatten();
            chart = chart
                .with(color, "", Shape::Band(band.collect()))
                .with(color, &level.node, Shape::Line(line.collect()))
                .with(color, "", Shape::Points(points.collect()));
        }
        // The upper bound: every learn call makes a new pattern. It ends where the shorter axis
        // does.
        let end = most_learns.min(most_patterns);
        let bound = Shape::Dashes(vec![(0.0, 0.0), (end, end)]);
        let name = match truth {
            Some(_) => "every learn call a new pattern; dots: observed, and learned by the run",
            None => "every learn call a new pattern; dots: observed",
        };
        chart.with(Color::Muted, name, bound).draw().to_svg()
    }

    /// Draws which share of the learn calls of every level repeats, with its interval, and returns the
    /// SVG.
    #[must_use]
    pub fn repeats_svg(&self, truth: Option<&FinishedRun>) -> String {
        let rows = self.level_estimates.iter().map(|level| {
            let learned = learned(truth, level).map(|level| {
                let counts = &level.frequencies;
                let new = counts.distinct() as f64 / counts.observations().max(1) as f64;
                format!(", {} in the run", figures::percent(1.0 - new))
            });
            row(level, &level.dedup_share, &learned.unwrap_or_default())
        });
        ranges(
            "Learn calls that repeat, by level",
            figures::percent,
            rows.collect(),
        )
    }

    /// Draws how many bytes every level takes, with their interval, and returns the SVG.
    #[must_use]
    pub fn bytes_svg(&self) -> String {
        let rows = self.level_estimates.iter().map(|level| {
            let share = level.bytes.value / self.bytes.value.max(1.0);
            let share = format!(", {} of all", figures::percent(share));
            row(level, &level.bytes, &share)
        });
        let title = format!(
            "Where the bytes are: {} in all",
            between(&self.bytes, figures::bytes)
        );
        ranges(&title, figures::bytes, rows.collect())
    }
}

/// Returns what a run learned of a level.
fn learned<'a>(truth: Option<&'a FinishedRun>, level: &LevelEstimate) -> Option<&'a RunLevel> {
    truth?.levels.get(level.level)
}

/// Describes a figure with its interval.
fn between(figure: &Figure, format: fn(f64) -> String) -> String {
    let [value, low, high] = [figure.value, figure.low, figure.high].map(format);
    format!("{value} ({low} to {high})")
}

/// Returns the row of a level, with what stands behind its name.
fn row(level: &LevelEstimate, figure: &Figure, besides: &str) -> Range {
    Range {
        name: format!("{}{besides}", level.node),
        ends: (figure.low, figure.value, figure.high),
        color: Color::Nth(level.level),
        meaning: String::new(),
    }
}

/// Draws rows over an axis from 0.
fn ranges(title: &str, format: fn(f64) -> String, rows: Vec<Range>) -> String {
    let ranges = Ranges {
        title: title.to_owned(),
        axis: Axis::linear("").with_format(format),
        rows,
        limit: None,
    };
    ranges.draw().to_svg()
}

/// Returns the corners of a staircase: all patterns of one frequency share a step. Points for every
/// pattern would be millions on a horizontal line.
fn ranks(level: &LevelEstimate) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    let mut before = 1.0;
    let mut n_above = 0;
    for (frequency, n) in level.observed.iter().rev() {
        n_above += n;
        let last = n_above as f64;
        corners.extend([(before, frequency as f64), (last, frequency as f64)]);
        before = last;
    }
    corners
}

/// Returns the law fitted to a level, and its curve; none without repeats, as its exponent is then
/// the end of its range and says nothing.
fn fitted(level: &LevelEstimate) -> Option<(PowerLaw, Vec<(f64, f64)>)> {
    let law = PowerLaw::fit(&level.observed, 1).ok()?;
    if level.observed.repeated() == 0 {
        return None;
    }
    let (most, _) = level.observed.iter().next_back()?;
    // To the power of ten at which the axis ends.
    let end = 10f64.powf((most as f64).max(10.0).log10().ceil());
    let curve = (0..=POINTS)
        .map(|step| end.powf(f64::from(step) / f64::from(POINTS)).round() as u64)
        .map(|frequency| {
            (
                law.survival(frequency) * law.n_patterns as f64,
                frequency as f64,
            )
        })
        // A rank below 1 lies left of the axis.
        .filter(|&(rank, _)| rank >= 1.0);
    let curve = curve.collect();
    Some((law, curve))
}
