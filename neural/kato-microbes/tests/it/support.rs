//! What several subjects need: small runs.

use std::error::Error;
use std::fs;
use std::path::Path;

use kato_microbes::distances::align;
use kato_microbes::metadata::{SampleMetadata, TargetKind};
use kato_microbes::run::{MicrobesEpoch, MicrobesEvent, MicrobesOutcome};
use kato_microbes::synth::{SynthOptions, Synthetic, synth};
use kato_microbes::work::Work;
use kato_microbes::{Microbes, MicrobesSettings, Run};
use kato_neural::checkpoint::{CheckpointKind, latest};
use kato_neural::run::RunSettings;
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Tree};

pub(crate) type Done = Result<(), Box<dyn Error>>;

/// The files of a checkpoint, and the epochs before it.
pub(crate) type State = (Vec<Vec<u8>>, Vec<String>);

/// A model of every part, as small as it can be, on batches of few samples.
const SMALL: &str = "
[data]
depth = 60
tokens = { max_bp = 20 }
[model]
width = 8
heads = 2
nucleotide_layers = 1
sample_layers = 1
max_sequences = 12
chunk = 7
[loss]
masked = 0.3
[training]
epochs = 2
batch = 4
save_steps = 2
schedule = { kind = 'constant', rate = 0.003 }
";

pub(crate) fn settings(more: &str) -> Result<MicrobesSettings, Box<dyn Error>> {
    Ok(MicrobesSettings::from_toml(&format!("{SMALL}{more}"))?)
}

pub(crate) fn made() -> Result<Synthetic, Box<dyn Error>> {
    let options = SynthOptions::default()
        .with_size(60, 20)
        .with_length(20)
        .with_depth(60);
    Ok(synth(&options)?)
}

pub(crate) fn microbes(
    settings: &MicrobesSettings,
) -> Result<(Synthetic, Microbes), Box<dyn Error>> {
    let made = made()?;
    let microbes = Microbes::prepare(&made.table, &settings.data)?;
    Ok((made, microbes))
}

pub(crate) fn distances(settings: &MicrobesSettings) -> Result<Work, Box<dyn Error>> {
    let (made, microbes) = microbes(settings)?;
    let tree = Tree::from_newick(&made.newick)?;
    let community = Community::new(&microbes.table, &tree, MatchOptions::default())?;
    let matrix = community.distances(Metric::Unweighted, ComputeOptions::default())?;
    let aligned = align(&matrix, microbes.table.sample_ids());
    Ok(Work::from_distances(microbes, aligned)?)
}

pub(crate) fn target(settings: &MicrobesSettings, column: &str) -> Result<Work, Box<dyn Error>> {
    let (made, microbes) = microbes(settings)?;
    let metadata = SampleMetadata::from_text(&made.metadata).map_err(|(_, reason)| reason)?;
    let target = metadata.target(column, TargetKind::Auto, microbes.table.sample_ids())?;
    Ok(Work::from_target(microbes, target))
}

/// Trains until the end, or until so many steps were taken by this call.
pub(crate) fn train(run: &mut Run, max_steps: u64) -> Result<MicrobesOutcome, Box<dyn Error>> {
    let mut n_steps = 0;
    let outcome = run.train(&mut |event| {
        n_steps += u64::from(matches!(event, MicrobesEvent::Step(_)));
        n_steps < max_steps
    })?;
    Ok(outcome)
}

/// Returns the bytes of the newest weights and moments, and what is no time of all epochs.
pub(crate) fn state(folder: &Path) -> Result<State, Box<dyn Error>> {
    let newest = latest(&folder.join("checkpoints"), CheckpointKind::Step)?
        .place
        .path;
    let files = ["weights.safetensors", "optimizer.safetensors"];
    let bytes = files.iter().map(|name| fs::read(newest.join(name)));
    let bytes = bytes.collect::<Result<_, _>>()?;
    let timeless = |record: &MicrobesEpoch| {
        let MicrobesEpoch {
            epoch,
            step,
            train_loss,
            validation,
            is_best,
            ..
        } = record;
        format!("{epoch} {step} {train_loss:?} {validation:?} {is_best}")
    };
    Ok((
        bytes,
        Run::read_history(folder)?.iter().map(timeless).collect(),
    ))
}
