//! What came of a run.

use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::run::{EpochHistory, RunEnding, RunFolder, read_json, write_json};
use serde::{Deserialize, Serialize};

use super::{EpochRecord, Run};
use crate::error::PoetryError;
use crate::metrics::{Judgement, baseline_cosine};
use crate::trained::Trained;
use crate::training::{judge, nearest_accuracy};

/// What came of a run so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PoetryOutcome {
    /// Why the training ended.
    pub ending: RunEnding,
    /// Steps of all processes that trained it.
    pub n_steps: u64,
    /// Epochs that were judged.
    pub n_epochs: u64,
    /// The best epoch, by validation loss.
    pub best: Option<EpochRecord>,
    /// What the best epoch's model makes of the test chunks; `None` while the run was interrupted, or
    /// where there are none.
    pub test: Option<Judgement>,
    /// Mean cosine on the validation chunks of the one vector that is best for the training chunks:
    /// what is reached without any model.
    pub baseline_cosine: f64,
}

impl Run {
    /// Reads what came of the run in a folder.
    ///
    /// # Errors
    ///
    /// When it was never trained to an end or an interruption, or the file is damaged.
    pub fn read_outcome(folder: &Path) -> Result<PoetryOutcome, PoetryError> {
        super::check_mark(folder)?;
        Ok(read_json(&folder.join(RunFolder::OUTCOME))?)
    }

    /// Reads the epochs of the run in a folder.
    ///
    /// # Errors
    ///
    /// When there is no run, or the file is damaged.
    pub fn read_history(folder: &Path) -> Result<Vec<EpochRecord>, PoetryError> {
        super::check_mark(folder)?;
        Ok(EpochHistory::read(&folder.join(RunFolder::HISTORY))?)
    }

    /// Judges the best model once more, on the test chunks, and writes down what came of the run.
    pub(super) fn outcome(
        &self,
        ending: RunEnding,
        n_steps: u64,
    ) -> Result<PoetryOutcome, PoetryError> {
        let history = Self::read_history(self.folder.path())?;
        let corpus = &self.corpus;
        let is_over = ending != RunEnding::Interrupted;
        let test = if is_over && !corpus.test.is_empty() {
            let trained = Trained::load(self.folder.path())?;
            let (loss, device) = (&self.settings.loss, Device::flex());
            let (model, test, words) = (trained.model(), &corpus.test, &corpus.vectors);
            let mut judgement = judge(model, test, words, loss, &device);
            // Counted once, at the end: it takes longer than all of the judgement.
            judgement.token_accuracy = judgement
                .token_accuracy
                .or_else(|| nearest_accuracy(model, test, words, &device));
            Some(judgement)
        } else {
            None
        };
        let outcome = PoetryOutcome {
            ending,
            n_steps,
            n_epochs: history.len() as u64,
            best: history.iter().rev().find(|record| record.is_best).copied(),
            test,
            baseline_cosine: baseline_cosine(&corpus.train, &corpus.validation, &corpus.vectors),
        };
        write_json(&self.folder.file(RunFolder::OUTCOME), &outcome)?;
        Ok(outcome)
    }
}
