//! Which of the models so far is the best.

use serde::{Deserialize, Serialize};

use crate::{Goal, GradientError, exact_float};

/// Chooses the best model by one named metric, and by a second where the first is equal.
///
/// ```
/// use kato_gradient::best::BestModel;
///
/// let mut best = BestModel::new("r2", kato_gradient::Goal::Max)
///     .with_tie_break("val_loss", kato_gradient::Goal::Min);
/// assert!(best.observe(100, &[("val_loss", 0.5), ("r2", 0.8)])?);
/// assert!(best.observe(200, &[("val_loss", 0.4), ("r2", 0.8)])?);
/// assert!(!best.observe(300, &[("val_loss", 0.1), ("r2", 0.7)])?);
/// assert_eq!(best.step(), Some(200));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestModel {
    metric: String,
    goal: Goal,
    tie_break: Option<(String, Goal)>,
    best: Option<BestValues>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BestValues {
    step: u64,
    #[serde(with = "exact_float")]
    first: f64,
    #[serde(with = "exact_float::option", default)]
    second: Option<f64>,
}

impl BestModel {
    /// Creates a choice by this metric.
    #[must_use]
    pub fn new(metric: impl Into<String>, goal: Goal) -> Self {
        Self {
            metric: metric.into(),
            goal,
            tie_break: None,
            best: None,
        }
    }

    /// Sets the metric that decides where the first is equal to the bit.
    #[must_use]
    pub fn with_tie_break(mut self, metric: impl Into<String>, goal: Goal) -> Self {
        self.tie_break = Some((metric.into(), goal));
        self
    }

    /// Takes the metrics of the model after `step`, and returns whether it is the best so far.
    ///
    /// Of models that are equal in both metrics, the first is the best; one whose first metric is
    /// NaN never is.
    ///
    /// # Errors
    ///
    /// [`GradientError::UnknownMetric`] when a metric that decides was not measured.
    pub fn observe(&mut self, step: u64, metrics: &[(&str, f64)]) -> Result<bool, GradientError> {
        // Both are looked for before anything changes: a refused observation leaves no trace.
        let first = find(&self.metric, metrics)?;
        let second = match &self.tie_break {
            Some((name, _)) => Some(find(name, metrics)?),
            None => None,
        };
        let better = match &self.best {
            // A NaN that came first would be kept: nothing compares with it.
            None => !first.is_nan(),
            // Equal to the bit, as accuracies of small sets often are.
            Some(best) if first == best.first => match (&self.tie_break, second, best.second) {
                (Some((_, goal)), Some(new), Some(old)) => goal.is_better(new, old, 0.0),
                _ => false,
            },
            Some(best) => self.goal.is_better(first, best.first, 0.0),
        };
        if better {
            self.best = Some(BestValues {
                step,
                first,
                second,
            });
        }
        Ok(better)
    }

    /// Returns the step of the best model; none before the first.
    #[must_use]
    pub fn step(&self) -> Option<u64> {
        self.best.map(|best| best.step)
    }

    /// Returns the first metric of the best model; none before the first.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.best.map(|best| best.first)
    }
}

fn find(name: &str, metrics: &[(&str, f64)]) -> Result<f64, GradientError> {
    let found = metrics.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        // The names help more than their number: most often one is only spelt differently.
        let known: Vec<&str> = metrics.iter().map(|(known, _)| *known).collect();
        GradientError::UnknownMetric {
            name: name.to_owned(),
            known: known.join(", "),
        }
    })
}
