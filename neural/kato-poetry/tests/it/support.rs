//! What the tests share: six of Shakespeare's sonnets, and small runs on them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use kato_neural::checkpoint::{CheckpointKind, latest};
use kato_neural::run::RunSettings;
use kato_poetry::poems::{PoemUnit, TextOptions, read_poems};
use kato_poetry::run::{EpochRecord, PoetryEvent, PoetryOutcome};
use kato_poetry::{Corpus, Poem, Run, Settings};

/// Returns the file of the sonnets.
pub(crate) fn sonnets_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sonnets.txt")
}

/// Returns how the sonnets are cut.
pub(crate) fn sonnets_options() -> TextOptions {
    TextOptions::default()
        .with_unit(PoemUnit::Gap)
        .with_titles()
}

/// Returns the six sonnets.
pub(crate) fn sonnets() -> Vec<Poem> {
    read_poems([sonnets_file()], &sonnets_options()).expect("they are there")
}

/// How a test ends.
pub(crate) type Done = Result<(), Box<dyn Error>>;

/// The files of a checkpoint, and the epochs before it.
pub(crate) type State = (Vec<Vec<u8>>, Vec<EpochRecord>);

/// A model of every part, as small as it can be, on batches of few chunks.
const SMALL: &str = "
[vectors]
dims = 6
[model]
hidden = 7
layers = 2
bottleneck = 4
[training]
epochs = 3
batch = 3
save_steps = 2
schedule = { kind = 'constant', rate = 0.01 }
";

/// Returns the settings of a small model, with more of them in `[training]` or in tables behind it.
pub(crate) fn settings(more: &str) -> Result<Settings, Box<dyn Error>> {
    Ok(Settings::from_toml(&format!("{SMALL}{more}"))?)
}

/// Returns the settings of a small model for one epoch.
pub(crate) fn one_epoch() -> Result<Settings, Box<dyn Error>> {
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    Ok(settings)
}

/// Begins a run of the sonnets.
pub(crate) fn begin(folder: &Path, settings: &Settings) -> Result<Run, Box<dyn Error>> {
    let corpus = Corpus::prepare(sonnets(), &settings.corpus())?;
    Ok(Run::create(folder, settings.clone(), corpus)?)
}

/// Trains until the end, or until so many steps were taken by this call.
pub(crate) fn train(run: &mut Run, max_steps: u64) -> Result<PoetryOutcome, Box<dyn Error>> {
    let mut n_steps = 0;
    let outcome = run.train(&mut |event| {
        n_steps += u64::from(matches!(event, PoetryEvent::Step(_)));
        n_steps < max_steps
    })?;
    Ok(outcome)
}

/// Returns the bytes of the newest weights and moments, and the judgements of all epochs.
pub(crate) fn state(folder: &Path) -> Result<State, Box<dyn Error>> {
    let newest = latest(&folder.join("checkpoints"), CheckpointKind::Step)?
        .place
        .path;
    let files = ["weights.safetensors", "optimizer.safetensors"];
    let bytes = files.iter().map(|name| fs::read(newest.join(name)));
    let bytes = bytes.collect::<Result<_, _>>()?;
    Ok((bytes, Run::read_history(folder)?))
}

/// Leaves out of epochs what depends on time.
pub(crate) fn timeless(records: &[EpochRecord]) -> Vec<String> {
    let lines = records.iter().map(|record| {
        let EpochRecord {
            epoch,
            step,
            train_loss,
            validation,
            is_best,
            ..
        } = record;
        format!("{epoch} {step} {train_loss:?} {validation:?} {is_best}")
    });
    lines.collect()
}
