//! Writes down what another program needs to take the same pre-training as a run.

use std::fs;
use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::write_weights;
use kato_neural::run::{RunError, RunFolder, check_setting, write_whole};
use kato_neural::train::BatchSource;
use serde_json::{Value, json};

use super::{LAYOUT, PROGRAM, Run, fresh_model};
use crate::batch::SequenceChunk;
use crate::error::MicrobesError;
use crate::training::{BatchTruth, LearningBatch, SampleBatches};

/// Samples of a batch that is judged; each is encoded for itself, so that it decides nothing.
const N_JUDGED: usize = 8;

impl Run {
    /// Writes the course of a pre-training into a folder, which is made: all that another program needs to compute
    /// the same losses, but for the masks of dropout.
    ///
    /// | file | holds |
    /// |---|---|
    /// | `weights.safetensors` | the first weights, with PyTorch's names and shapes |
    /// | `steps.jsonl` | a batch a line, with its `epoch` and `rate` |
    /// | `validation.jsonl` | the samples that are judged, some a line |
    /// | `distances.json` | their true distances, a number a pair, the upper triangle row behind row |
    ///
    /// The run may be in training meanwhile.
    ///
    /// # Errors
    ///
    /// When there is no run, it learns no distances or several batches a step, a file is damaged or cannot be
    /// written.
    pub fn write_course(run: &Path, folder: &Path) -> Result<(), MicrobesError> {
        let run = Self::read(RunFolder::open_beside(run, PROGRAM, LAYOUT)?)?;
        let training = &run.settings.training;
        check_setting(
            training.accumulate == 1,
            "training.accumulate",
            &training.accumulate,
            "1: the course of a run is a batch a step",
        )?;
        let places = &run.parts.validation;
        let truth = run.objective().truth(&run.work, places);
        let Some(truth) = distances(&truth) else {
            let expected =
                "the folder of a `pretrain`: only the course of such a run is written down";
            let found = "a run that predicts a column";
            return Err(RunError::setting("RUN", &found, expected).into());
        };
        fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
        let model = fresh_model(&run.settings, run.work.n_outputs(), &Device::flex());
        write_weights(&model, &folder.join("weights.safetensors"))?;
        let batches = run.batches()?;
        let schedule = training.schedule(run.n_steps()?)?;
        // Each line as it comes: all batches of a run are far more than memory holds.
        write_whole(&folder.join("steps.jsonl"), |out| {
            let mut step = 0_u32;
            for epoch in 0..training.epochs {
                for (index, items) in batches.plan(epoch).iter().enumerate() {
                    let mut line = line(&batches.batch(epoch, index as u64, items));
                    line["epoch"] = epoch.into();
                    line["rate"] = schedule.rate(f64::from(step)).into();
                    writeln!(out, "{line}")?;
                    step += 1;
                }
            }
            Ok(())
        })?;
        // Those of a run that learns all of them from these samples; nothing is hidden but what is guessed.
        let judged = SampleBatches::new(&run.work, places, &run.settings, run.objective())?;
        let items: Vec<usize> = (0..places.len()).collect();
        write_whole(&folder.join("validation.jsonl"), |out| {
            let mut chunks = items.chunks(N_JUDGED);
            chunks.try_for_each(|items| writeln!(out, "{}", line(&judged.batch(0, 0, items))))
        })?;
        write_whole(&folder.join("distances.json"), |out| {
            writeln!(out, "{}", json!(truth))
        })?;
        Ok(())
    }
}

fn distances(truth: &BatchTruth) -> Option<&[f32]> {
    match truth {
        BatchTruth::Distances(distances) => Some(distances),
        _ => None,
    }
}

/// A batch as JSON.
fn line(batch: &LearningBatch) -> Value {
    let chunk = |chunk: &SequenceChunk| {
        json!({
            "tokens": chunk.tokens, "lengths": chunk.lengths, "n_steps": chunk.n_steps,
            "hidden": chunk.hidden, "letters": chunk.letters,
        })
    };
    let samples = &batch.samples;
    let chunks: Vec<Value> = samples.chunks.iter().map(chunk).collect();
    let guesses: Vec<Value> = samples.guesses.iter().map(chunk).collect();
    json!({
        "chunks": chunks, "guesses": guesses, "lengths": samples.lengths, "n_rows": samples.n_rows,
        "places": samples.places, "abundances": samples.abundances, "distances": distances(&batch.truth),
    })
}
