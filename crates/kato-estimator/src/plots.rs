//! Rank–frequency and growth plots of an estimate, as SVG and PNG.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::breakdown::LevelEstimate;
use crate::power_law::PowerLaw;
use crate::{EstimateError, StorageBreakdown};

const SIZE: (u32, u32) = (960, 640);
const FONT: &str = "sans-serif";

/// Colours that can be distinguished with any kind of colour vision (Okabe and Ito), one a level;
/// after seven levels they repeat.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

impl StorageBreakdown {
    /// Writes `rank-frequency` and `growth`, each as SVG and PNG, into a directory, which is
    /// created where missing, and returns the paths.
    ///
    /// What was not observed is not drawn: the original's formula leaves both plots empty.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Plot`] when a file cannot be written.
    ///
    /// ```
    /// use kato_estimator::run_record::{RunLevel, RunRecord};
    /// use kato_estimator::{Calibration, EstimatedHierarchy, StorageEstimator};
    ///
    /// let run = RunRecord::new(EstimatedHierarchy::new([3])?, 100)
    ///     .with_level(RunLevel::new([(1, 2575), (2, 85), (3, 19)].into_iter().collect()));
    /// let estimator = StorageEstimator::builder()
    ///     .with_calibration(Calibration::from_run(&run)?)
    ///     .build()?;
    /// let dir = tempfile::tempdir()?;
    /// let written = estimator.estimate_storage(1_000)?.write_plots(dir.path())?;
    /// assert_eq!(written.len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_plots(&self, dir: impl AsRef<Path>) -> Result<Vec<PathBuf>, EstimateError> {
        let dir = dir.as_ref();
        std::fs::create_dir_all(dir).map_err(failed)?;
        let mut written = Vec::with_capacity(4);
        for (name, svg) in [
            ("rank-frequency", self.rank_frequency_svg()?),
            ("growth", self.growth_svg()?),
        ] {
            let path = dir.join(name).with_extension("svg");
            std::fs::write(&path, svg).map_err(failed)?;
            written.push(path);
        }
        for (name, plot) in [("rank-frequency", Plot::Ranks), ("growth", Plot::Growth)] {
            let path = dir.join(name).with_extension("png");
            plot.draw(self, &BitMapBackend::new(&path, SIZE).into_drawing_area())?;
            written.push(path);
        }
        Ok(written)
    }

    /// Draws the frequencies of the observed patterns over their rank, with the power law fitted to
    /// them, and returns the SVG.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Plot`] when the drawing library fails.
    pub fn rank_frequency_svg(&self) -> Result<String, EstimateError> {
        self.svg(Plot::Ranks)
    }

    /// Draws distinct patterns over learn calls, with the interval as a band, and returns the SVG.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Plot`] when the drawing library fails.
    pub fn growth_svg(&self) -> Result<String, EstimateError> {
        self.svg(Plot::Growth)
    }

    /// Draws a plot as SVG.
    fn svg(&self, plot: Plot) -> Result<String, EstimateError> {
        let mut svg = String::new();
        plot.draw(
            self,
            &SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(),
        )?;
        Ok(svg)
    }
}

#[derive(Clone, Copy)]
enum Plot {
    Ranks,
    Growth,
}

impl Plot {
    /// Draws the plot on an area of any kind.
    fn draw<B: DrawingBackend>(
        self,
        breakdown: &StorageBreakdown,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), EstimateError> {
        prepare_font()?;
        match self {
            Self::Ranks => draw_ranks(breakdown, area),
            Self::Growth => draw_growth(breakdown, area),
        }
    }
}

/// Converts an error of the drawing library, whose types depend on where it draws.
fn failed(error: impl Display) -> EstimateError {
    EstimateError::Plot {
        reason: error.to_string(),
    }
}

/// Registers the font of the drawing library, so that every machine draws the same.
fn prepare_font() -> Result<(), EstimateError> {
    // The library keeps fonts for the whole process, so one registration serves all plots.
    static IS_READY: OnceLock<bool> = OnceLock::new();
    let is_ready = IS_READY
        .get_or_init(|| register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok());
    if *is_ready {
        Ok(())
    } else {
        Err(failed("the font cannot be read"))
    }
}

/// Returns the colour of a level.
fn color(level: &LevelEstimate) -> RGBColor {
    COLORS
        .get(level.level % COLORS.len())
        .copied()
        .unwrap_or(BLACK)
}

/// Returns the end of a logarithmic axis: the power of ten at or above the largest value, at least
/// 10.
fn axis_end(values: impl Iterator<Item = f64>) -> f64 {
    let largest = values.fold(10.0f64, f64::max);
    10f64.powf(largest.log10().ceil())
}

/// Returns the end of a linear axis: a little above the largest value.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(10.0f64, f64::max) * 1.03
}

/// Title of a chart, and labels and ends of both axes.
struct Axes<'t> {
    title: &'t str,
    x: (&'t str, f64),
    y: (&'t str, f64),
}

// Macros and not functions, because the type of a chart depends on that of its axes: logarithmic
// for one plot, linear for the other.
macro_rules! chart {
    ($area:expr, $axes:expr, $x_range:expr, $y_range:expr) => {{
        let axes: &Axes<'_> = $axes;
        $area.fill(&WHITE).map_err(failed)?;
        let mut chart = ChartBuilder::on($area)
            .caption(axes.title, (FONT, 22))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d($x_range, $y_range)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc(axes.x.0)
            .y_desc(axes.y.0)
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| tick(*value))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .draw()
            .map_err(failed)?;
        chart
    }};
}

macro_rules! legend {
    ($chart:expr, $position:expr) => {
        $chart
            .configure_series_labels()
            .position($position)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(190, 190, 190))
            .label_font((FONT, 14))
            .draw()
            .map_err(failed)?
    };
}

/// Returns a number as text that is short enough for an axis: 500, 20 k, 1.5 M.
fn tick(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        ..1e3 => (value, ""),
        1e3..1e6 => (value / 1e3, " k"),
        1e6..1e9 => (value / 1e6, " M"),
        _ => (value / 1e9, " G"),
    };
    format!("{}{unit}", (scaled * 100.0).round() / 100.0)
}

/// Draws frequencies over ranks, both logarithmic.
fn draw_ranks<B: DrawingBackend>(
    breakdown: &StorageBreakdown,
    area: &DrawingArea<B, Shift>,
) -> Result<(), EstimateError> {
    let levels = || {
        breakdown
            .level_estimates
            .iter()
            .filter(|level| level.observed.distinct() > 0)
    };
    let axes = Axes {
        title: "Observed patterns: frequency by rank, and the power law fitted to it",
        x: (
            "rank of the pattern",
            axis_end(levels().map(|level| level.observed.distinct() as f64)),
        ),
        y: (
            "learn calls of the pattern",
            axis_end(
                levels()
                    .filter_map(|level| level.observed.iter().next_back())
                    .map(|(frequency, _)| frequency as f64),
            ),
        ),
    };
    let mut chart = chart!(
        area,
        &axes,
        (1.0..axes.x.1).log_scale(),
        (1.0..axes.y.1).log_scale()
    );
    for level in levels() {
        let color = color(level);
        // The corners of a staircase: all patterns of one frequency share a step. Points for every
        // pattern would be millions on a horizontal line.
        let mut corners: Vec<(f64, f64)> = Vec::new();
        let mut rank = 1u64;
        for (frequency, n) in level.observed.iter().rev() {
            let last = rank + n - 1;
            let before = corners.last().map_or(rank as f64, |&(at, _)| at);
            corners.extend([(before, frequency as f64), (last as f64, frequency as f64)]);
            rank = last + 1;
        }
        chart
            .draw_series(LineSeries::new(corners, color.stroke_width(2)))
            .map_err(failed)?
            .label(level.node.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        let Ok(law) = PowerLaw::fit(&level.observed, 1) else {
            continue;
        };
        // Without repeats the exponent is the end of its range and says nothing.
        if level.observed.repeated() == 0 {
            continue;
        }
        let fitted = (0..=200)
            .map(|step| axes.y.1.powf(f64::from(step) / 200.0).round() as u64)
            .map(|frequency| {
                (
                    law.survival(frequency) * law.n_patterns as f64,
                    frequency as f64,
                )
            })
            // A rank below 1 lies left of the logarithmic axis.
            .filter(|&(rank, _)| rank >= 1.0);
        let dash = color.mix(0.6).stroke_width(1);
        chart
            .draw_series(DashedLineSeries::new(fitted, 6, 4, dash))
            .map_err(failed)?
            .label(format!(
                "{}, power law with γ = {:.2}",
                level.node, law.gamma
            ))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 7, y)], dash));
    }
    legend!(chart, SeriesLabelPosition::UpperRight);
    area.present().map_err(failed)
}

/// Draws distinct patterns over learn calls, both linear.
fn draw_growth<B: DrawingBackend>(
    breakdown: &StorageBreakdown,
    area: &DrawingArea<B, Shift>,
) -> Result<(), EstimateError> {
    let levels = || {
        breakdown
            .level_estimates
            .iter()
            .filter(|level| !level.growth.is_empty())
    };
    let points = || levels().flat_map(|level| &level.growth);
    let title = format!(
        "Distinct patterns over learn calls, with intervals for {:.0} %",
        breakdown.total_patterns.confidence * 100.0
    );
    let axes = Axes {
        title: &title,
        x: (
            "learn calls of the level",
            largest(points().map(|point| point.learns)),
        ),
        y: (
            "distinct patterns of the level",
            largest(points().map(|point| {
                point
                    .distinct_patterns
                    .high
                    .unwrap_or(point.distinct_patterns.value)
            })),
        ),
    };
    let mut chart = chart!(area, &axes, 0.0..axes.x.1, 0.0..axes.y.1);
    for level in levels() {
        let color = color(level);
        let low = level
            .growth
            .iter()
            .filter_map(|point| Some((point.learns, point.distinct_patterns.low?)));
        let high = level
            .growth
            .iter()
            .filter_map(|point| Some((point.learns, point.distinct_patterns.high?)));
        // Forth along the lower ends and back along the upper ones, as an outline.
        let band: Vec<(f64, f64)> = low.chain(high.rev()).collect();
        chart
            .draw_series([Polygon::new(band, color.mix(0.2).filled())])
            .map_err(failed)?;
        let line = level
            .growth
            .iter()
            .map(|point| (point.learns, point.distinct_patterns.value));
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)))
            .map_err(failed)?
            .label(level.node.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        let observed = (
            level.observed.observations() as f64,
            level.observed.distinct() as f64,
        );
        chart
            .draw_series([Circle::new(observed, 4, color.filled())])
            .map_err(failed)?;
    }
    // The upper bound: every learn call makes a new pattern. It ends where the shorter axis does.
    let diagonal = [(0.0, 0.0), (axes.x.1.min(axes.y.1), axes.x.1.min(axes.y.1))];
    let grey = RGBColor(120, 120, 120);
    chart
        .draw_series(DashedLineSeries::new(diagonal, 6, 4, grey.stroke_width(1)))
        .map_err(failed)?
        .label("every learn call a new pattern; dots: observed")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 7, y)], grey.stroke_width(1)));
    legend!(chart, SeriesLabelPosition::UpperLeft);
    area.present().map_err(failed)
}
