//! All settings of a run, as one TOML file holds them.

mod loss;
mod model;
mod training;

use std::path::Path;

use kato_neural::run::{RunFolder, RunSettings, check_setting};
use serde::{Deserialize, Serialize};

use crate::community::CommunityOptions;
use crate::error::MicrobesError;
use crate::run::{LAYOUT, PROGRAM};

pub use loss::{Masking, MicrobesLossOptions, TargetLoss};
pub use model::{Fusion, HeadKind, MicroformerOptions, Selection};
pub use training::{AttentionKind, BestBy, MicrobesTrainingOptions, SampleSplitOptions};

/// The settings of a run: one table of the file each. What the file does not name has its default;
/// a name that there is not is an error.
///
/// ```
/// use kato_microbes::{MicrobesSettings, RunSettings};
///
/// let text = "[model]\nwidth = 32\n\n[training.schedule]\nkind = 'constant'\nrate = 1e-3\n";
/// let settings = MicrobesSettings::from_toml(text)?;
/// assert_eq!(settings.model.width, 32);
/// assert_eq!(settings.data.depth, 5000);
/// assert!(MicrobesSettings::from_toml("[model]\nsize = 1").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MicrobesSettings {
    /// How the table is made ready.
    pub data: CommunityOptions,
    /// How samples are parted.
    pub split: SampleSplitOptions,
    /// The shape of the model.
    pub model: MicroformerOptions,
    /// What is made small.
    pub loss: MicrobesLossOptions,
    /// How it is trained.
    pub training: MicrobesTrainingOptions,
}

/// What may be written to in a run that has begun. It decides when the run ends, how much is lost by a kill, and which
/// threads, processes and memory take its steps, which stay the same but for rounding.
const MAY_CHANGE: [&str; 14] = [
    "model.chunk",
    "training.attention",
    "training.fused",
    "training.max_tokens_at_once",
    "training.patience",
    "training.prefetch",
    "training.processes",
    "training.recompute",
    "training.replicas",
    "training.save_steps",
    "training.sharded",
    "training.sharded_checkpoints",
    "training.silence_s",
    "training.workers",
];

impl RunSettings for MicrobesSettings {
    fn may_change(&self, name: &str) -> bool {
        // Without a schedule, the rate of each step is a share of the way to the last epoch.
        let has_schedule = self.training.schedule.is_some();
        MAY_CHANGE.contains(&name) || (name == "training.epochs" && has_schedule)
    }
}

impl MicrobesSettings {
    /// Reads the settings of the run in a folder.
    ///
    /// # Errors
    ///
    /// When there is no run, or its settings cannot be read: they may have been written to since it began, and are
    /// impossible by now, or others than those that decide its course.
    pub fn of_run(folder: &Path) -> Result<Self, MicrobesError> {
        let settings: Self = RunFolder::settings(folder, PROGRAM, LAYOUT)?;
        settings.check()?;
        Ok(settings)
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range; the error names it.
    pub fn check(&self) -> Result<(), MicrobesError> {
        self.data.tokens.check()?;
        self.split.check()?;
        self.model.check()?;
        self.loss.check()?;
        // It would only have to give back what it was told.
        check_setting(
            self.loss.counts <= 0.0 || !self.model.abundance,
            "loss.counts",
            &self.loss.counts,
            "0, or set `model.abundance=false`",
        )?;
        self.training.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_change_is_a_setting() {
        let mut settings = MicrobesSettings::default();
        settings.training.max_tokens_at_once = Some(1);
        let text = settings.to_toml().expect("they can be kept");
        for name in MAY_CHANGE {
            let (table, name) = name.split_once('.').expect("it lies in a table");
            let (_, rest) = text
                .split_once(&format!("[{table}]"))
                .expect("there is one");
            assert!(rest.contains(&format!("\n{name} = ")), "{table}.{name}");
        }
    }

    #[test]
    fn more_epochs_need_a_schedule_of_their_own() {
        let mut settings = MicrobesSettings::default();
        assert!(!settings.may_change("training.epochs"));
        settings.training.schedule = Some(kato_gradient::schedule::Constant::new(0.1).into());
        assert!(settings.may_change("training.epochs"));
    }
}
