//! All settings of a run, as one TOML file holds them.

mod loss;
mod model;
mod training;

use std::path::Path;

use kato_neural::run::{RunFolder, RunSettings, check_setting};
use serde::{Deserialize, Serialize};

use crate::chunks::ChunkOptions;
use crate::corpus::CorpusOptions;
use crate::error::PoetryError;
use crate::poems::TextOptions;
use crate::run::{LAYOUT, PROGRAM};
use crate::split::SplitOptions;
use crate::vectors::VectorOptions;

pub use loss::{LossKind, LossOptions};
pub use model::{DecoderKind, ModelOptions};
pub use training::{Batching, PoetryTrainingOptions, StepOptions, Writing};

/// The settings of a run: one table of the file each. What the file does not name has its default;
/// a name that there is not is an error.
///
/// ```
/// use kato_poetry::{RunSettings, Settings};
///
/// let text = "[model]\ncell = 'gru'\nhidden = 128\n\n[training.schedule]\nkind = 'constant'\nrate = 1e-3\n";
/// let settings = Settings::from_toml(text)?;
/// assert_eq!(settings.model.hidden, 128);
/// assert_eq!(settings.chunks.window, 50);
/// assert!(Settings::from_toml("[model]\nwidth = 1").is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// How texts are cut into poems.
    pub text: TextOptions,
    /// How poems are cut into chunks.
    pub chunks: ChunkOptions,
    /// How poems are parted.
    pub split: SplitOptions,
    /// Where word vectors come from.
    pub vectors: VectorOptions,
    /// The shape of the model.
    pub model: ModelOptions,
    /// What is made small.
    pub loss: LossOptions,
    /// How it is trained.
    pub training: PoetryTrainingOptions,
}

/// What may be written to in a run that has begun. It decides when the run ends, how much is lost by a kill, and which
/// threads make batches and write files.
const MAY_CHANGE: [&str; 8] = [
    "training.artifacts",
    "training.checkpoints",
    "training.epochs",
    "training.patience",
    "training.prefetch",
    "training.save_steps",
    "training.target_cosine",
    "training.workers",
];

impl RunSettings for Settings {
    fn may_change(&self, name: &str) -> bool {
        // Parts of a batch have its gradient but for rounding, where no batch norm sees each alone.
        let is_apart = !self.model.batch_norm;
        MAY_CHANGE.contains(&name) || (name == "training.max_tokens_at_once" && is_apart)
    }
}

impl Settings {
    /// Reads the settings of the run in a folder, which may have been written to since it began, but for those that
    /// decide its course.
    pub(crate) fn of_run(folder: &Path) -> Result<Self, PoetryError> {
        let settings: Self = RunFolder::settings(folder, PROGRAM, LAYOUT)?;
        settings.check()?;
        Ok(settings)
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range, or not possible with another; the error names it.
    pub fn check(&self) -> Result<(), PoetryError> {
        self.corpus().check()?;
        self.model.check()?;
        self.loss.check()?;
        self.training.check()?;
        let accumulate = self.training.accumulate;
        Ok(check_setting(
            accumulate == 1 || !self.needs_whole_steps(),
            "training.accumulate",
            &accumulate,
            "1, as batch norm would see each batch of a step alone; set `training.batch_norm_by_part = true` to allow that, or \
             `model.batch_norm = false`",
        )?)
    }

    /// Returns whether a step has to be one batch that is not cut: batch norm needs its mean and variance,
    /// which its parts do not know.
    #[must_use]
    pub fn needs_whole_steps(&self) -> bool {
        self.model.batch_norm && !self.training.batch_norm_by_part
    }

    /// Returns what poems are made ready with.
    #[must_use]
    pub fn corpus(&self) -> CorpusOptions {
        CorpusOptions::default()
            .with_chunks(self.chunks.clone())
            .with_split(self.split.clone())
            .with_vectors(self.vectors.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut settings = Settings::default();
        settings.vectors.file = Some("glove.txt".into());
        settings.model.hidden = 7;
        settings.loss.temperature = Some(2.0);
        let text = settings.to_toml();
        assert_eq!(
            text.and_then(|text| Settings::from_toml(&text)),
            Ok(settings.clone())
        );
        // The largest seed that every reader of TOML understands.
        settings.training.seed = i64::MAX as u64;
        let text = settings.to_toml();
        assert_eq!(
            text.and_then(|text| Settings::from_toml(&text)),
            Ok(settings)
        );
        assert_eq!(Settings::from_toml(""), Ok(Settings::default()));
    }

    #[test]
    fn what_may_change_is_a_setting() {
        let settings = Settings::default();
        let table = toml::Table::try_from(&settings).expect("they can be kept");
        for name in MAY_CHANGE {
            let (part, name) = name.split_once('.').expect("it lies in a table");
            assert!(table[part].get(name).is_some(), "{part}.{name}");
        }
        let mut settings = settings;
        assert!(!settings.may_change("training.max_tokens_at_once"));
        settings.model.batch_norm = false;
        assert!(settings.may_change("training.max_tokens_at_once"));
    }

    #[test]
    fn the_example_of_the_guide_is_possible() {
        let text = "[training]
epochs = 40
schedule = { kind = 'warmup-cosine', base_rate = 1e-3, warmup = 2.0, total = 40.0 }
forcing = { kind = 'linear', start = 0.9, end = 0.1, length = 30.0 }
";
        let training = Settings::from_toml(text)
            .expect("it is in docs/poetry.md")
            .training;
        let (begin, end) = (training.at(2.0), training.at(30.0));
        assert_eq!((begin.rate, end.forcing), (1e-3, 0.1));
        assert!(end.rate < 1e-3);
    }

    #[test]
    fn batch_norm_needs_steps_of_one_batch_unless_parts_are_allowed() {
        let mut settings = Settings::default();
        settings.training.accumulate = 2;
        let error = settings.check().expect_err("batch norm is on").to_string();
        assert!(error.contains("training.accumulate"), "{error}");
        settings.training.batch_norm_by_part = true;
        assert!(settings.check().is_ok());
        settings.training.batch_norm_by_part = false;
        settings.model.batch_norm = false;
        assert!(settings.check().is_ok());
    }

    #[test]
    fn the_defaults_are_possible_and_unknown_names_are_not() {
        assert!(Settings::default().check().is_ok());
        let error = Settings::from_toml("[training]\nepochs = 3\nepoch = 4\n").unwrap_err();
        assert!(
            error.contains("line 3") && error.contains("epoch"),
            "{error}"
        );
    }
}
