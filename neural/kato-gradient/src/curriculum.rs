//! Phases of a training from the easy to the hard: longer texts, lower rates, less forcing.

use serde::{Deserialize, Serialize};

use crate::GradientError;
use crate::error::{require, require_positive, require_share};

/// One phase of a [`Curriculum`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Phase {
    /// How many epochs it takes.
    pub n_epochs: f64,
    /// How many tokens of each item are used.
    pub max_length: usize,
    /// What the learning rate is multiplied by.
    pub rate_factor: f64,
    /// The share of forced time steps when it begins.
    pub forcing_start: f64,
    /// The share of forced time steps when it ends.
    pub forcing_end: f64,
}

impl Phase {
    /// Creates a phase without a change of the learning rate and with full forcing.
    #[must_use]
    pub const fn new(n_epochs: f64, max_length: usize) -> Self {
        Self {
            n_epochs,
            max_length,
            rate_factor: 1.0,
            forcing_start: 1.0,
            forcing_end: 1.0,
        }
    }

    /// Sets what the learning rate is multiplied by.
    #[must_use]
    pub const fn with_rate_factor(mut self, rate_factor: f64) -> Self {
        self.rate_factor = rate_factor;
        self
    }

    /// Sets the shares of forced time steps at the beginning and at the end.
    #[must_use]
    pub const fn with_forcing(mut self, start: f64, end: f64) -> Self {
        self.forcing_start = start;
        self.forcing_end = end;
        self
    }
}

/// The settings of a [`Curriculum`].
///
/// By default 10 epochs with 20 tokens, 15 with 35 and 25 with 50; rates ×1.0, 0.8 and 0.6;
/// forcing from 0.9 over 0.7 and 0.3 to 0.1, never below 0.05.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CurriculumSettings {
    /// The least share of forced time steps.
    pub forcing_floor: f64,
    /// The phases, in order; the last one's end holds for ever.
    pub phases: Vec<Phase>,
}

impl Default for CurriculumSettings {
    fn default() -> Self {
        Self::new(vec![
            Phase::new(10.0, 20).with_forcing(0.9, 0.7),
            Phase::new(15.0, 35)
                .with_rate_factor(0.8)
                .with_forcing(0.7, 0.3),
            Phase::new(25.0, 50)
                .with_rate_factor(0.6)
                .with_forcing(0.3, 0.1),
        ])
    }
}

impl CurriculumSettings {
    /// Creates settings with these phases and a floor of 0.05.
    #[must_use]
    pub const fn new(phases: Vec<Phase>) -> Self {
        Self {
            // A decoder that is never shown the truth drifts away within a long text.
            forcing_floor: 0.05,
            phases,
        }
    }
}

/// What holds at one moment of a [`Curriculum`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// Which phase it is, counted from 0.
    pub phase: usize,
    /// How many tokens of each item are used.
    pub max_length: usize,
    /// What the learning rate is multiplied by.
    pub rate_factor: f64,
    /// The share of forced time steps.
    pub forcing: f64,
}

/// A curriculum whose settings were checked: a pure function of the epoch.
///
/// ```
/// use kato_gradient::curriculum::{Curriculum, CurriculumSettings};
///
/// let curriculum = Curriculum::new(CurriculumSettings::default())?;
/// let stage = curriculum.at(17.5); // half of the second phase is over
/// assert_eq!((stage.max_length, stage.rate_factor, stage.forcing), (35, 0.8, 0.5));
/// # Ok::<(), kato_gradient::GradientError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CurriculumSettings", into = "CurriculumSettings")]
pub struct Curriculum {
    settings: CurriculumSettings,
}

impl Curriculum {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`GradientError::Setting`] names the first setting that cannot be.
    pub fn new(settings: CurriculumSettings) -> Result<Self, GradientError> {
        require_share("forcing_floor", settings.forcing_floor)?;
        require(
            !settings.phases.is_empty(),
            "phases",
            "empty",
            "at least one phase",
        )?;
        for phase in &settings.phases {
            require_positive("n_epochs", phase.n_epochs)?;
            require(
                phase.max_length > 0,
                "max_length",
                phase.max_length,
                "at least 1",
            )?;
            require_positive("rate_factor", phase.rate_factor)?;
            require_share("forcing_start", phase.forcing_start)?;
            require_share("forcing_end", phase.forcing_end)?;
        }
        Ok(Self { settings })
    }

    /// Returns what holds at an epoch, which need not be whole; below 0 and NaN count as 0.
    #[must_use]
    pub fn at(&self, epoch: f64) -> Stage {
        // `max` gives the other operand for a NaN.
        let epoch = epoch.max(0.0);
        let mut begin = 0.0;
        // There is at least one, as `new` has seen.
        let last = self.settings.phases.len() - 1;
        for (index, phase) in self.settings.phases.iter().enumerate() {
            let end = begin + phase.n_epochs;
            if epoch < end || index == last {
                // At the end of the last phase the share stays 1: what it came to holds for ever.
                let share = ((epoch - begin) / phase.n_epochs).min(1.0);
                return self.stage(index, share);
            }
            begin = end;
        }
        self.stage(last, 1.0)
    }

    /// Returns how many epochs all phases take together.
    #[must_use]
    pub fn n_epochs(&self) -> f64 {
        self.settings
            .phases
            .iter()
            .map(|phase| phase.n_epochs)
            .sum()
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &CurriculumSettings {
        &self.settings
    }

    fn stage(&self, index: usize, share: f64) -> Stage {
        let phase = &self.settings.phases[index];
        // Weights rather than a difference: both ends are met to the bit.
        let forcing = phase.forcing_start * (1.0 - share) + phase.forcing_end * share;
        Stage {
            phase: index,
            max_length: phase.max_length,
            rate_factor: phase.rate_factor,
            forcing: forcing.max(self.settings.forcing_floor),
        }
    }
}

impl TryFrom<CurriculumSettings> for Curriculum {
    type Error = GradientError;

    fn try_from(settings: CurriculumSettings) -> Result<Self, GradientError> {
        Self::new(settings)
    }
}

impl From<Curriculum> for CurriculumSettings {
    fn from(curriculum: Curriculum) -> Self {
        curriculum.settings
    }
}
