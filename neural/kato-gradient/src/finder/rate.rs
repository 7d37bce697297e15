//! The range test of learning rates.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_positive};
use crate::metric::ExponentialMean;

/// The settings of [`test_rates`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RangeTestSettings {
    /// The first rate (default 1e-7).
    pub min_rate: f64,
    /// The last rate (default 10).
    pub max_rate: f64,
    /// How many steps there are from one to the other (default 100).
    pub n_steps: u32,
    /// The weight of the past in the smoothed loss (default 0.9).
    pub smoothing: f64,
    /// How many times the least smoothed loss ends the test (default 4).
    pub divergence: f64,
    /// How many steps at the beginning no slope is taken over (default 5), as their loss is hardly
    /// smoothed yet.
    pub n_ignored: u32,
}

impl Default for RangeTestSettings {
    fn default() -> Self {
        Self {
            min_rate: 1e-7,
            max_rate: 10.0,
            n_steps: 100,
            smoothing: 0.9,
            divergence: 4.0,
            n_ignored: 5,
        }
    }
}

impl RangeTestSettings {
    /// Sets the first and the last rate.
    #[must_use]
    pub const fn with_rates(mut self, min_rate: f64, max_rate: f64) -> Self {
        self.min_rate = min_rate;
        self.max_rate = max_rate;
        self
    }

    /// Sets how many steps there are.
    #[must_use]
    pub const fn with_n_steps(mut self, n_steps: u32) -> Self {
        self.n_steps = n_steps;
        self
    }

    /// Sets the weight of the past in the smoothed loss.
    #[must_use]
    pub const fn with_smoothing(mut self, smoothing: f64) -> Self {
        self.smoothing = smoothing;
        self
    }

    fn check(&self) -> Result<(), GradientError> {
        require_positive("min_rate", self.min_rate)?;
        let holds = self.max_rate.is_finite() && self.max_rate > self.min_rate;
        require(
            holds,
            "max_rate",
            self.max_rate,
            "a finite number above min_rate",
        )?;
        require(self.n_steps >= 2, "n_steps", self.n_steps, "at least 2")?;
        let holds = (0.0..1.0).contains(&self.smoothing);
        let wanted = "a number from 0 and below 1";
        require(holds, "smoothing", self.smoothing, wanted)?;
        // Only a factor above 1 lets the loss rise at all.
        let holds = self.divergence > 1.0;
        require(holds, "divergence", self.divergence, "a number above 1")
    }

    /// Returns the rate of a step: from the first to the last in equal factors.
    fn rate(&self, step: u32) -> f64 {
        // Over the logarithm: each factor of ten is looked at with the same care.
        let share = f64::from(step) / f64::from(self.n_steps - 1);
        self.min_rate * libm::pow(self.max_rate / self.min_rate, share)
    }
}

/// One step of a range test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RangePoint {
    /// The rate of the step.
    pub rate: f64,
    /// The loss that came of it.
    pub loss: f64,
    /// The exponential mean of the losses up to it.
    pub smoothed: f64,
}

/// How a range test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RangeEnd {
    /// All rates were tried.
    AllTried,
    /// The smoothed loss rose above its bound, or a loss was not finite.
    Diverged,
}

/// What [`test_rates`] has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RangeTest {
    /// The steps, but for one whose loss was not finite.
    pub points: Vec<RangePoint>,
    /// How it ended.
    pub end: RangeEnd,
    /// The rate at which the smoothed loss falls most for each factor of the rate; none where it
    /// never falls, or where too few steps are left.
    pub steepest: Option<f64>,
    /// A tenth of the rate with the least smoothed loss, which is often a safe maximum; none where
    /// there is no step.
    pub tenth_of_lowest: Option<f64>,
}

/// Trains with rates that grow from step to step, and tells where the loss falls and diverges.
///
/// `step` makes one training step at a rate, on a model of which nothing is kept afterwards, and
/// returns its loss. The slope is that of the smoothed loss over `ln(rate)`, by central
/// differences. Source: Smith, "Cyclical learning rates for training neural networks", WACV 2017,
/// section 3.3.
///
/// # Errors
///
/// - [`GradientError::Setting`] names the first setting that cannot be.
/// - [`GradientError::Trial`] when a step fails.
///
/// ```
/// use std::convert::Infallible;
/// use kato_gradient::finder::{RangeEnd, RangeTestSettings, test_rates};
///
/// // One weight that falls towards 0 on the parabola w²: diverges above a rate of 1.
/// let mut weight = 1.0_f64;
/// let step = |rate: f64| {
///     let loss = weight * weight;
///     weight -= rate * 2.0 * weight;
///     Ok::<_, Infallible>(loss)
/// };
/// let test = test_rates(RangeTestSettings::default().with_rates(1e-4, 10.0), step)?;
/// assert_eq!(test.end, RangeEnd::Diverged);
/// assert!(test.steepest.is_some_and(|rate| (0.01..1.0).contains(&rate)));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
pub fn test_rates<E>(
    settings: RangeTestSettings,
    mut step: impl FnMut(f64) -> Result<f64, E>,
) -> Result<RangeTest, GradientError>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    settings.check()?;
    let mut mean = ExponentialMean::new(settings.smoothing)?;
    let mut points: Vec<RangePoint> = Vec::new();
    let mut end = RangeEnd::AllTried;
    let mut least = f64::INFINITY;
    for index in 0..settings.n_steps {
        let rate = settings.rate(index);
        let loss = step(rate).map_err(|source| GradientError::Trial {
            at: format!("learning rate {rate:e}"),
            source: source.into(),
        })?;
        mean.add(loss);
        let Some(smoothed) = mean.value().filter(|_| loss.is_finite()) else {
            end = RangeEnd::Diverged;
            break;
        };
        points.push(RangePoint {
            rate,
            loss,
            smoothed,
        });
        // Before the comparison: a first step is never above itself.
        least = least.min(smoothed);
        // The size of the least: a loss may be negative, and then rises towards 0.
        if smoothed - least > (settings.divergence - 1.0) * least.abs() {
            end = RangeEnd::Diverged;
            break;
        }
    }
    Ok(RangeTest {
        steepest: steepest(&points, settings.n_ignored as usize),
        tenth_of_lowest: lowest(&points).map(|point| point.rate / 10.0),
        points,
        end,
    })
}

/// Returns the rate around which the smoothed loss falls most.
fn steepest(points: &[RangePoint], n_ignored: usize) -> Option<f64> {
    // Central, so that the slope belongs to the point in the middle.
    let slope = |three: &[RangePoint]| {
        let run = libm::log(three[2].rate / three[0].rate);
        (three[2].smoothed - three[0].smoothed) / run
    };
    // Only up to the lowest point: what falls behind it falls out of a divergence.
    let until = points
        .iter()
        .position(|point| Some(point) == lowest(points))?
        + 1;
    let known = &points[..until];
    let slopes = known
        .windows(3)
        .skip(n_ignored)
        .map(|three| (slope(three), three[1].rate));
    let (fall, rate) = slopes.min_by(|a, b| a.0.total_cmp(&b.0))?;
    // A mean of equal losses moves in its last digits, which suggests nothing.
    let last_digits = 1e-12 * known[0].smoothed.abs();
    (fall < -last_digits).then_some(rate)
}

/// Returns the point with the least smoothed loss, the first of equal ones.
fn lowest(points: &[RangePoint]) -> Option<&RangePoint> {
    points
        .iter()
        .min_by(|a, b| a.smoothed.total_cmp(&b.smoothed))
}
