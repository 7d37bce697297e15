//! The time of a run from what other runs took, by the learn calls of a document.

use crate::scaling::regression::Regression;
use serde::Serialize;

use crate::error::above_zero;
use crate::{Interval, PlanError};

/// A run that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RecordedRun {
    /// Samples that were learned.
    pub samples: f64,
    /// Learn calls of all levels.
    pub learns: f64,
    /// Batch size; 1 where there is none.
    pub batch_size: f64,
    /// Seconds.
    pub seconds: f64,
}

impl RecordedRun {
    /// Creates a record of a run without batches.
    #[must_use]
    pub fn new(samples: f64, learns: f64, seconds: f64) -> Self {
        Self {
            samples,
            learns,
            batch_size: 1.0,
            seconds,
        }
    }

    /// Sets the batch size.
    #[must_use]
    pub fn with_batch_size(mut self, batch_size: f64) -> Self {
        self.batch_size = batch_size;
        self
    }
}

/// A model of the time of runs on one machine and into one kind of store, over settings that were
/// recorded and others.
///
/// Formula: seconds = samples · a · c^b · (batch)^(d + e · ln c), c being the learn calls of a
/// sample. Time is proportional to the number of samples, which is what makes it safe to ask for
/// many times as many; what a sample takes depends on its learn calls and, where runs with
/// different batches were recorded, on how well it fills them. Coefficients that the runs cannot
/// tell are left out. Fitted to logarithms by least squares.
///
/// ```
/// use kato_planner::{LearnCallModel, RecordedRun};
///
/// let runs = [
///     (100.0, 4_000.0, 50.0),
///     (100.0, 2_000.0, 30.0),
///     (100.0, 1_300.0, 22.0),
///     (1000.0, 21_000.0, 310.0),
/// ];
/// let runs = runs.map(|(samples, learns, seconds)| RecordedRun::new(samples, learns, seconds));
/// let model = LearnCallModel::fit(&runs)?;
/// let seconds = model.predict(10_000.0, 210_000.0, 1.0)?;
/// assert!(seconds.covers(3_100.0), "{seconds:?}");
/// # Ok::<(), kato_planner::PlanError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LearnCallModel {
    regression: Regression,
    columns: Columns,
    n_runs: usize,
}

/// The quantities that the runs can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Columns {
    calls: bool,
    batch: bool,
    both: bool,
}

impl Columns {
    /// Returns the row of a run.
    fn row(self, samples: f64, learns: f64, batch_size: f64) -> Vec<f64> {
        let calls = (learns / samples).ln();
        let batch = batch_size.ln();
        let mut row = vec![1.0];
        row.extend(self.calls.then_some(calls));
        row.extend(self.batch.then_some(batch));
        row.extend(self.both.then_some(batch * calls));
        row
    }
}

impl LearnCallModel {
    /// Fits the model to recorded runs.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLittle`] with fewer than three runs, [`PlanError::Value`] for numbers that
    /// are not above 0.
    pub fn fit(runs: &[RecordedRun]) -> Result<Self, PlanError> {
        for run in runs {
            above_zero("the documents of a run", run.samples)?;
            above_zero("the learn calls of a run", run.learns)?;
            above_zero("the batch size of a run", run.batch_size)?;
            above_zero("the seconds of a run", run.seconds)?;
        }
        let values: Vec<f64> = runs
            .iter()
            .map(|run| (run.seconds / run.samples).ln())
            .collect();
        // The richest model that leaves two runs to tell its error by.
        let models = [
            (true, true, true),
            (true, true, false),
            (true, false, false),
            (false, false, false),
        ];
        for (calls, batch, both) in models {
            let columns = Columns { calls, batch, both };
            let rows: Vec<Vec<f64>> = runs
                .iter()
                .map(|run| columns.row(run.samples, run.learns, run.batch_size))
                .collect();
            let n_columns = rows.first().map_or(0, Vec::len);
            if runs.len() < n_columns + 2 {
                continue;
            }
            if let Ok(regression) = Regression::fit(&rows, &values) {
                return Ok(Self {
                    regression,
                    columns,
                    n_runs: runs.len(),
                });
            }
        }
        Err(PlanError::TooLittle {
            reason: format!(
                "three recorded runs are needed, and the number of them is {}",
                runs.len()
            ),
        })
    }

    /// Returns the seconds of a run, with the interval that is to hold them in 90 of 100 cases.
    ///
    /// # Errors
    ///
    /// [`PlanError::Value`] for numbers that are not above 0.
    pub fn predict(
        &self,
        samples: f64,
        learns: f64,
        batch_size: f64,
    ) -> Result<Interval, PlanError> {
        above_zero("documents", samples)?;
        above_zero("learns", learns)?;
        above_zero("batch_size", batch_size)?;
        let row = self.columns.row(samples, learns, batch_size);
        let (low, high) = self.regression.interval(&row, 0.9);
        let seconds = |logarithm: f64| samples * logarithm.exp();
        Ok(Interval::new(
            seconds(self.regression.predict(&row)),
            seconds(low),
            seconds(high),
        ))
    }

    /// Returns the number of runs that the model was fitted to.
    #[must_use]
    pub fn n_runs(&self) -> usize {
        self.n_runs
    }

    /// Predicts each run from the others, and returns the errors: predicted / taken − 1, in the
    /// order of the runs. Runs that the others cannot tell are left out.
    #[must_use]
    pub fn leave_one_out(runs: &[RecordedRun]) -> Vec<f64> {
        let errors = runs.iter().enumerate().filter_map(|(left_out, run)| {
            let others: Vec<RecordedRun> = runs
                .iter()
                .enumerate()
                .filter(|&(idx, _)| idx != left_out)
                .map(|(_, run)| *run)
                .collect();
            let model = Self::fit(&others).ok()?;
            let predicted = model
                .predict(run.samples, run.learns, run.batch_size)
                .ok()?;
            Some(predicted.value / run.seconds - 1.0)
        });
        errors.collect()
    }
}
