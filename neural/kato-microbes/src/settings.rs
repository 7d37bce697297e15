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

impl RunSettings for MicrobesSettings {}

impl MicrobesSettings {
    /// Reads the settings of the run in a folder.
    ///
    /// # Errors
    ///
    /// When there is no run, or its settings cannot be read or are impossible by now: they may have been written
    /// to since it began.
    pub fn of_run(folder: &Path) -> Result<Self, MicrobesError> {
        RunFolder::check(folder, PROGRAM, LAYOUT)?;
        let settings = Self::read(&folder.join(RunFolder::SETTINGS))?;
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
