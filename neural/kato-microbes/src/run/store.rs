//! The samples and the truth of a run, as files of its folder.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::write_weights;
use kato_neural::run::{RunError, RunFolder, check_setting, read_json, write_json, write_whole};
use kato_unifrac::{DistanceMatrix, Table};
use serde::{Deserialize, Serialize};

use crate::community::{CommunityReport, Microbes};
use crate::error::MicrobesError;
use crate::metadata::{TargetValues, n_categories};
use crate::settings::MicrobesSettings;
use crate::tokens::{MASK, Sequences, TokenOptions};
use crate::trained::load_model;
use crate::work::{Truth, Work};

const TABLE: &str = "table.biom";
const FASTA: &str = "sequences.fasta";
const DISTANCES: &str = "distances.h5";
const TASK: &str = "task.json";

/// What is said of the samples beside table, sequences and distances.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskFile {
    report: CommunityReport,
    samples: Vec<usize>,
    /// What a pre-training has seen; runs of earlier versions do not say so.
    #[serde(default)]
    seen: Vec<usize>,
    pub(crate) target: Option<TargetFile>,
    /// Of all samples of the table.
    #[serde(default)]
    categories: Vec<i64>,
}

/// A target as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TargetFile {
    pub(crate) column: String,
    /// Empty for numbers.
    pub(crate) classes: Vec<String>,
    numbers: Vec<f64>,
    of: Vec<usize>,
}

/// Writes what a run learns from into a folder, which is made.
pub(super) fn write(work: &Work, folder: &Path) -> Result<(), MicrobesError> {
    fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
    work.microbes.table.write(folder.join(TABLE))?;
    let sequences = &work.microbes.sequences;
    write_whole(&folder.join(FASTA), |out| {
        (0..sequences.len())
            .try_for_each(|at| writeln!(out, ">{at}\n{}", letters(sequences.row(at))))
    })?;
    let target = match &work.truth {
        Truth::Distances(matrix) => {
            matrix.write(folder.join(DISTANCES))?;
            None
        }
        Truth::Target { column, values } => {
            let mut file = TargetFile {
                column: column.clone(),
                classes: Vec::new(),
                numbers: Vec::new(),
                of: Vec::new(),
            };
            match values {
                TargetValues::Numbers(numbers) => file.numbers.clone_from(numbers),
                TargetValues::Classes { names, of } => {
                    file.classes.clone_from(names);
                    file.of.clone_from(of);
                }
            }
            Some(file)
        }
    };
    let task = TaskFile {
        report: work.microbes.report.clone(),
        samples: work.samples.clone(),
        seen: work.seen.clone(),
        target,
        categories: work.microbes.categories.clone(),
    };
    Ok(write_json(&folder.join(TASK), &task)?)
}

/// Reads what a run learns from.
pub(super) fn read(folder: &Path, settings: &MicrobesSettings) -> Result<Work, MicrobesError> {
    let table = Table::read(folder.join(TABLE))?;
    let names: Vec<String> = (0..table.n_features()).map(|at| at.to_string()).collect();
    // They were cut before they were written.
    let tokens: &TokenOptions = &settings.data.tokens;
    let (sequences, _) = Sequences::from_fasta(&names, &folder.join(FASTA), tokens)?;
    let path = folder.join(TASK);
    let task: TaskFile = read_json(&path)?;
    let damaged = |reason: &str| RunError::Damaged {
        path: path.clone(),
        reason: reason.to_owned(),
    };
    if task
        .samples
        .iter()
        .any(|&sample| sample >= table.n_samples())
    {
        return Err(damaged("it names a sample that the table does not have").into());
    }
    if !task.seen.is_sorted() || task.seen.iter().any(|&place| place >= task.samples.len()) {
        return Err(damaged("it says of samples that it does not have that they were seen").into());
    }
    let columns = &settings.model.categorical;
    let known = 0..n_categories(columns) as i64;
    let is_whole = task.categories.len() == table.n_samples() * columns.len();
    let fit = is_whole && task.categories.iter().all(|number| known.contains(number));
    // A model may be told nothing.
    if !(fit || task.categories.is_empty()) {
        return Err(damaged("it has not a known category of each sample").into());
    }
    let truth = match task.target {
        None => Truth::Distances(DistanceMatrix::read(folder.join(DISTANCES))?),
        Some(target) => {
            let values = if target.classes.is_empty() {
                TargetValues::Numbers(target.numbers)
            } else {
                TargetValues::Classes {
                    names: target.classes,
                    of: target.of,
                }
            };
            if values.len() != task.samples.len() {
                return Err(damaged("it has not a value for each sample").into());
            }
            Truth::Target {
                column: target.column,
                values,
            }
        }
    };
    Ok(Work {
        microbes: Microbes {
            table,
            sequences,
            report: task.report,
            categories: task.categories,
        },
        samples: task.samples,
        truth,
        seen: task.seen,
    })
}

/// Reads what the run in a folder predicts; `None` while pre-training.
pub(crate) fn target_of(run: &Path) -> Result<Option<TargetFile>, MicrobesError> {
    let task: TaskFile = read_json(&run.join(RunFolder::PREPARED).join(TASK))?;
    Ok(task.target)
}

/// Takes the shape of a pre-trained run's model, which its weights fit alone.
pub(super) fn with_shape_of(
    settings: MicrobesSettings,
    run: &Path,
) -> Result<MicrobesSettings, MicrobesError> {
    let theirs = MicrobesSettings::of_run(run)?;
    check_setting(
        target_of(run)?.is_none(),
        "pretrained",
        &run.display(),
        "a run of `kato-microbes pretrain`",
    )?;
    let mut settings = settings;
    let (model, theirs_model) = (&mut settings.model, theirs.model);
    model.width = theirs_model.width;
    model.heads = theirs_model.heads;
    model.nucleotide_layers = theirs_model.nucleotide_layers;
    model.sample_layers = theirs_model.sample_layers;
    model.max_sequences = theirs_model.max_sequences;
    model.abundance = theirs_model.abundance;
    settings.data.tokens = theirs.data.tokens;
    Ok(settings)
}

/// Marks the samples that a pre-trained run has learned from or chosen its best epoch by.
pub(super) fn with_seen_by(work: Work, run: &Path) -> Result<Work, MicrobesError> {
    let settings = MicrobesSettings::of_run(run)?;
    let theirs = read(&run.join(RunFolder::PREPARED), &settings)?;
    let parts = theirs.parts(&settings.split)?;
    Ok(work.with_seen_by(&theirs, &parts))
}

/// Writes the weights of a pre-trained run's best model to a file.
pub(super) fn copy_encoder(run: &Path, to: &Path) -> Result<(), MicrobesError> {
    let settings = MicrobesSettings::of_run(run)?;
    let (model, _) = load_model(run, &settings, None, &Device::flex())?;
    Ok(write_weights(&model, to)?)
}

/// Returns tokens as letters, from which the same tokens are read.
fn letters(tokens: &[u8]) -> String {
    let mut text = String::with_capacity(tokens.len());
    for &token in &tokens[1..] {
        let letter = if token == MASK {
            'N'
        } else {
            char::from(b"ACGT"[usize::from(token) - 1])
        };
        // Writing into a text does not fail.
        let _ = text.write_char(letter);
    }
    text
}
