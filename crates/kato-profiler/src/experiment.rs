//! Checks whether a stage really bounds a run: slows it down a little and watches.

use std::thread::sleep;
use std::time::{Duration, Instant};

use kato_probe::{Probe, Reading};
use serde::{Deserialize, Serialize};

use crate::error::ProfileError;
use crate::verdict::{Cause, Verdict};

/// An experiment that slows a stage by a known share, off and on in turns, and watches the rate of
/// the pipeline.
///
/// A stage that bounds the pipeline passes its slowness on in full; any other stage has time to
/// spare. The pipeline runs on meanwhile, somewhat slower; afterwards the stage has its full speed
/// again, however the experiment ends.
///
/// Only busy time can be slowed. A stage that waits for a server or a disk most of the time is
/// slowed by less than was asked for; the elasticity is computed with the slowing that was reached.
///
/// ```no_run
/// # use kato_probe::Probe;
/// # use kato_profiler::ProfileError;
/// # use kato_profiler::experiment::ThrottleExperiment;
/// # fn ask(probe: &Probe) -> Result<(), ProfileError> {
/// let found = ThrottleExperiment::new("learn").with_share(0.3).run(probe)?;
/// println!("elasticity {:.2} ({:.2} to {:.2})", found.elasticity, found.lower, found.upper);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an experiment does nothing until it is run"]
pub struct ThrottleExperiment {
    stage: String,
    items_of: Option<String>,
    share: f64,
    window: Duration,
    pairs: usize,
}

/// The result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Elasticity {
    /// The stage that was slowed.
    pub stage: String,
    /// The share by which a piece of its work took longer, 0.3 for 30 %: the share asked for,
    /// times the busy share of its active time.
    pub slowed_by: f64,
    /// The power of the slowing by which the rate fell: 1 if the stage bounds the pipeline, 0 if
    /// it does not matter.
    pub elasticity: f64,
    /// Lower end of its 95 % interval.
    pub lower: f64,
    /// Upper end of its 95 % interval.
    pub upper: f64,
    /// Items a second at full speed.
    pub rate: f64,
    /// The conclusion about the stage.
    pub outcome: ExperimentOutcome,
}

/// The conclusion of an experiment about a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExperimentOutcome {
    /// The stage bounds the pipeline: elasticity of at least 0.5, and the interval above 0.
    Confirmed,
    /// The stage does not bound the pipeline: the interval is below 0.5.
    Refuted,
    /// The interval is too wide to decide; more or longer windows help.
    Unclear,
}

/// A guard that gives the stage its full speed again, however the experiment ends.
struct Throttled<'a> {
    probe: &'a Probe,
    stage: &'a str,
}

impl Throttled<'_> {
    /// Slows the stage, and returns whether it exists.
    fn set(&self, share: f64) -> bool {
        self.probe.throttle(self.stage, share)
    }
}

impl Drop for Throttled<'_> {
    fn drop(&mut self) {
        // The stage existed when the experiment began, and stages are never removed.
        let _ = self.set(0.0);
    }
}

/// The observations of one window.
struct Window {
    rate: f64,
    items: u64,
    /// The share of the slowed stage's active time that is busy: only that can be slowed.
    busy_share: Option<f64>,
}

impl ThrottleExperiment {
    /// Creates an experiment that slows this stage by 30 % in 6 pairs of windows of half a second,
    /// and counts the items of the last stage that counts any.
    pub fn new(stage: impl Into<String>) -> Self {
        Self {
            stage: stage.into(),
            items_of: None,
            share: 0.3,
            window: Duration::from_millis(500),
            pairs: 6,
        }
    }

    /// Creates an experiment on the stage of a verdict.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Experiment`] if the verdict names no stage, or a wait for input, which
    /// cannot be slowed.
    pub fn from_verdict(verdict: &Verdict) -> Result<Self, ProfileError> {
        match (&verdict.stage, verdict.cause) {
            (None, _) => Err(experiment_error(
                "the verdict names no stage; give the pipeline a probe",
            )),
            (Some(_), Cause::Source) => Err(experiment_error(
                "a source that is too slow cannot be slowed here; read its input from memory instead",
            )),
            (Some(stage), _) => Ok(Self::new(stage.clone())),
        }
    }

    /// Sets by how much the stage is slowed: 0.05 to 2; 0.3 makes a busy second 1.3 s.
    pub fn with_share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// Sets how long each window is, 20 ms or more. Its first fifth is not counted, because queues
    /// settle.
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets how many pairs of windows there are, at full speed and slowed: 3 to 1,000.
    pub fn with_pairs(mut self, pairs: usize) -> Self {
        self.pairs = pairs;
        self
    }

    /// Sets the stage whose items are the work of the pipeline.
    pub fn with_items_of(mut self, stage: impl Into<String>) -> Self {
        self.items_of = Some(stage.into());
        self
    }

    /// Performs the experiment, which takes 2 · pairs · window, on this thread.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Experiment`] if the settings are out of range, the probe is off or does not
    /// know the stage, or fewer than 5 items come in a window.
    pub fn run(&self, probe: &Probe) -> Result<Elasticity, ProfileError> {
        self.check()?;
        let throttled = Throttled {
            probe,
            stage: &self.stage,
        };
        // Also ends the slowing that another experiment may have left.
        if !throttled.set(0.0) {
            return Err(experiment_error(format!(
                "there is no stage \"{}\", or the probe is off",
                self.stage
            )));
        }
        let mut ratios = Vec::with_capacity(self.pairs);
        let (mut slowed, mut rate) = (0.0, 0.0);
        for pair in 0..self.pairs {
            // Every other pair is taken the other way round, so that a drift of the rate cancels
            // out.
            let order = if pair % 2 == 0 {
                [false, true]
            } else {
                [true, false]
            };
            let mut windows = [None, None];
            for is_slow in order {
                throttled.set(if is_slow { self.share } else { 0.0 });
                windows[usize::from(is_slow)] = Some(self.watch(probe)?);
            }
            let [Some(full), Some(slow)] = windows else {
                continue;
            };
            // A single item more or less would change the rate by a fifth or more.
            if full.items < 5 || slow.items < 5 {
                return Err(experiment_error(format!(
                    "only {} items came in a window of {:?}; choose longer windows",
                    full.items.min(slow.items),
                    self.window
                )));
            }
            // The logarithm makes twice as fast and half as fast the same distance.
            ratios.push((full.rate / slow.rate).ln());
            slowed += self.share * full.busy_share.unwrap_or(1.0);
            rate += full.rate;
        }
        // The pipeline has its speed again before anything is computed.
        drop(throttled);
        let n = ratios.len() as f64;
        // A stage that is hardly busy can hardly be slowed; the division below needs more than
        // zero.
        let slowed_by = (slowed / n).max(0.01);
        let (mean, reach) = mean_and_reach(&ratios);
        // The rate falls as (1 + slowing) to the power of the elasticity.
        let scale = slowed_by.ln_1p();
        let (elasticity, lower, upper) =
            (mean / scale, (mean - reach) / scale, (mean + reach) / scale);
        Ok(Elasticity {
            stage: self.stage.clone(),
            slowed_by,
            elasticity,
            lower,
            upper,
            rate: rate / n,
            outcome: match () {
                () if lower > 0.0 && elasticity >= 0.5 => ExperimentOutcome::Confirmed,
                () if upper < 0.5 => ExperimentOutcome::Refuted,
                () => ExperimentOutcome::Unclear,
            },
        })
    }

    /// Checks the settings.
    fn check(&self) -> Result<(), ProfileError> {
        if !(0.05..=2.0).contains(&self.share) {
            return Err(experiment_error("slow the stage by a share of 0.05 to 2"));
        }
        if self.window < Duration::from_millis(20) {
            return Err(experiment_error("choose windows of 20 ms or more"));
        }
        if !(3..=1000).contains(&self.pairs) {
            return Err(experiment_error("choose 3 to 1,000 pairs of windows"));
        }
        Ok(())
    }

    /// Watches the pipeline for one window.
    fn watch(&self, probe: &Probe) -> Result<Window, ProfileError> {
        let off = || experiment_error("the probe is off");
        // The queues still hold what came at the speed of the window before.
        sleep(self.window / 5);
        let (start, before) = (Instant::now(), probe.read().ok_or_else(off)?);
        // The time is measured, as a sleep can be longer than asked for.
        sleep(self.window - self.window / 5);
        let (seconds, now) = (start.elapsed().as_secs_f64(), probe.read().ok_or_else(off)?);
        let items = self.items(&now).saturating_sub(self.items(&before));
        let stage = |reading: &Reading| {
            let mut stages = reading.stages.iter();
            stages.find(|stage| stage.name == self.stage).cloned()
        };
        let busy_share = stage(&now).zip(stage(&before)).and_then(|(now, before)| {
            let times = crate::timeline::StageTimes::from(now.seconds.since(&before.seconds));
            (times.active() > 0.0).then(|| times.busy / times.active())
        });
        Ok(Window {
            rate: items as f64 / seconds,
            items,
            busy_share,
        })
    }

    /// Returns the items of the stage to count, or of the last one that has any.
    fn items(&self, reading: &Reading) -> u64 {
        let stages = reading.stages.iter();
        match &self.items_of {
            Some(name) => stages.filter(|s| s.name == *name).map(|s| s.items).sum(),
            None => stages
                .map(|s| s.items)
                .rfind(|items| *items > 0)
                .unwrap_or(0),
        }
    }
}

/// Returns the error that refuses an experiment.
fn experiment_error(reason: impl Into<String>) -> ProfileError {
    ProfileError::Experiment {
        reason: reason.into(),
    }
}

/// Returns the mean, and how far its 95 % interval reaches by Student's t.
fn mean_and_reach(values: &[f64]) -> (f64, f64) {
    /// The 97.5 % quantile for 1, 2, … degrees of freedom.
    const T: [f64; 10] = [
        12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = T.get(values.len().saturating_sub(2)).copied();
    // From 11 degrees of freedom on, within 1 % of the table.
    let t = t.unwrap_or_else(|| 1.96 + 2.4 / (n - 1.0) + 3.0 / (n - 1.0).powi(2));
    (mean, t * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_student_s() {
        let (mean, reach) = mean_and_reach(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mean, 2.5);
        assert!((reach - 3.182 * (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-9);
        let many: Vec<f64> = (0..21).map(f64::from).collect();
        let (_, reach) = mean_and_reach(&many);
        let exact = 2.086 * (38.5f64 / 21.0).sqrt();
        assert!((reach / exact - 1.0).abs() < 0.01);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let probe = Probe::on(["learn"]);
        let experiment = ThrottleExperiment::new("learn");
        for wrong in [
            experiment.clone().with_share(0.0),
            experiment.clone().with_share(f64::NAN),
            experiment.clone().with_window(Duration::ZERO),
            experiment.clone().with_pairs(2),
            ThrottleExperiment::new("nothing"),
        ] {
            let error = wrong.run(&probe).unwrap_err();
            assert!(matches!(error, ProfileError::Experiment { .. }), "{error}");
        }
        let error = experiment.run(&Probe::off()).unwrap_err();
        assert!(error.to_string().contains("the probe is off"));
    }
}
