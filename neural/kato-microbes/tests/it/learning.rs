//! Runs: trained, stopped, gone on with, and asked.

use std::error::Error;
use std::fs;
use std::path::Path;

use kato_microbes::batch::{BatchDraw, SampleBatch};
use kato_microbes::distances::align;
use kato_microbes::explain::explain;
use kato_microbes::metadata::{Metadata, TargetKind};
use kato_microbes::run::{EpochRecord, Outcome, RunEnding, TrainingEvent, measure};
use kato_microbes::synth::{SynthOptions, Synthetic, synth};
use kato_microbes::work::Work;
use kato_microbes::{Microbes, Microformer, Run, Settings, Trained};
use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Tree};

type Done = Result<(), Box<dyn Error>>;

/// The files of a checkpoint, and the epochs before it.
type State = (Vec<Vec<u8>>, Vec<String>);

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

fn settings(more: &str) -> Result<Settings, Box<dyn Error>> {
    Ok(Settings::from_toml(&format!("{SMALL}{more}"))?)
}

fn made() -> Result<Synthetic, Box<dyn Error>> {
    let options = SynthOptions::default()
        .with_size(60, 20)
        .with_length(20)
        .with_depth(60);
    Ok(synth(&options)?)
}

fn microbes(settings: &Settings) -> Result<(Synthetic, Microbes), Box<dyn Error>> {
    let made = made()?;
    let microbes = Microbes::prepare(&made.table, &settings.data)?;
    Ok((made, microbes))
}

fn distances(settings: &Settings) -> Result<Work, Box<dyn Error>> {
    let (made, microbes) = microbes(settings)?;
    let tree = Tree::from_newick(&made.newick)?;
    let community = Community::new(&microbes.table, &tree, MatchOptions::default())?;
    let matrix = community.distances(Metric::Unweighted, ComputeOptions::default())?;
    let aligned = align(&matrix, microbes.table.sample_ids());
    Ok(Work::from_distances(microbes, aligned)?)
}

fn target(settings: &Settings, column: &str) -> Result<Work, Box<dyn Error>> {
    let (made, microbes) = microbes(settings)?;
    let metadata = Metadata::from_text(&made.metadata).map_err(|(_, reason)| reason)?;
    let target = metadata.target(column, TargetKind::Auto, microbes.table.sample_ids())?;
    Ok(Work::from_target(microbes, target))
}

/// Trains until the end, or until so many steps were taken by this call.
fn train(run: &mut Run, max_steps: u64) -> Result<Outcome, Box<dyn Error>> {
    let mut n_steps = 0;
    let outcome = run.train(&mut |event| {
        n_steps += u64::from(matches!(event, TrainingEvent::Step(_)));
        n_steps < max_steps
    })?;
    Ok(outcome)
}

/// Returns the bytes of the newest weights and moments, and what is no time of all epochs.
fn state(folder: &Path) -> Result<State, Box<dyn Error>> {
    let mut newest: Vec<_> = fs::read_dir(folder.join("checkpoints"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    let is_step = |path: &std::path::PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("step-"))
    };
    newest.retain(is_step);
    newest.sort();
    let newest = newest.last().ok_or("there is a checkpoint")?;
    let bytes = ["weights.safetensors", "optimizer.safetensors"]
        .map(|name| fs::read(newest.join(name)))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let timeless = |record: &EpochRecord| {
        let EpochRecord {
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

#[test]
fn a_run_that_was_stopped_anywhere_goes_on_bit_for_bit() -> Done {
    let settings = settings("")?;
    for work in [distances(&settings)?, target(&settings, "single_class")?] {
        let folder = tempfile::tempdir()?;
        let whole = folder.path().join("whole");
        let mut run = Run::create(&whole, settings.clone(), work.clone(), None)?;
        let outcome = train(&mut run, u64::MAX)?;
        assert_eq!(outcome.ending, RunEnding::Complete);
        assert_eq!(outcome.n_steps, run.n_steps()?);
        let expected = state(&whole)?;
        // In the middle of epochs, and on their edges.
        for every in [3, outcome.n_steps / 2] {
            let parted = folder.path().join(format!("parted-{every}"));
            let mut run = Run::create(&parted, settings.clone(), work.clone(), None)?;
            let mut outcome = train(&mut run, every)?;
            drop(run);
            let mut n_parts = 1;
            while outcome.ending == RunEnding::Interrupted {
                outcome = train(&mut Run::open(&parted)?, every)?;
                n_parts += 1;
            }
            assert!(n_parts > 1, "it was stopped");
            assert!(
                expected == state(&parted)?,
                "stopped every {every} steps: other weights"
            );
        }
    }
    Ok(())
}

#[test]
fn threads_change_no_bit() -> Done {
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    let work = distances(&settings)?;
    let with = |threads: usize| -> Result<_, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("run");
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let result: Result<_, String> = pool.install(|| {
            let run = || -> Result<_, Box<dyn Error>> {
                train(
                    &mut Run::create(&at, settings.clone(), work.clone(), None)?,
                    u64::MAX,
                )?;
                state(&at)
            };
            run().map_err(|error| error.to_string())
        });
        Ok(result?)
    };
    assert!(with(1)? == with(3)?, "3 threads give other bits");
    Ok(())
}

#[test]
fn training_lowers_the_loss_and_a_pretrained_part_can_stay_as_it_is() -> Done {
    let folder = tempfile::tempdir()?;
    let mut settings = settings("")?;
    settings.training.epochs = 6;
    let pretrained = folder.path().join("pretrained");
    let work = distances(&settings)?;
    let outcome = train(
        &mut Run::create(&pretrained, settings.clone(), work, None)?,
        u64::MAX,
    )?;
    let history = Run::read_history(&pretrained)?;
    assert!(
        history[5].train_loss < 0.97 * history[0].train_loss,
        "{history:?}"
    );
    assert!(
        !outcome.pairs.is_empty() && outcome.test[0].name == "r2",
        "{:?}",
        outcome.test
    );
    assert!(
        Trained::load(&pretrained)
            .unwrap_err()
            .to_string()
            .contains("`run`")
    );

    settings.training.freeze = true;
    settings.training.epochs = 2;
    // The shape of the pre-trained model is taken, whatever the settings say.
    settings.model.width = 16;
    settings.split.calibration = 0.3;
    let tuned = folder.path().join("tuned");
    let work = target(&settings, "single")?;
    let alone = Run::create(
        &folder.path().join("x"),
        settings.clone(),
        work.clone(),
        None,
    );
    assert!(alone.unwrap_err().to_string().contains("training.freeze"));
    let run = Run::create(&tuned, settings, work.clone(), Some(&pretrained))?;
    assert_eq!(run.settings().model.width, 8);
    // Nothing was learned from samples that intervals or figures come from; both runs have the same.
    let before = Run::open(&pretrained)?;
    let held = [&run.parts().calibration[..], &run.parts().test].concat();
    assert!(!before.parts().calibration.is_empty() && held.len() > 15);
    for sample in held {
        let parts = before.parts();
        assert!(!parts.train.contains(&sample) && !parts.validation.contains(&sample));
    }
    drop(before);
    let parts = run.parts().clone();
    drop(run);
    let mut run = Run::open(&tuned)?;
    assert_eq!(run.parts(), &parts);
    let outcome = train(&mut run, u64::MAX)?;
    let conformal = outcome.conformal.ok_or("18 samples are held back for it")?;
    assert!(conformal.width > 0.0 && conformal.coverage.is_some());
    let trained = Trained::load(&tuned)?;
    let encoder = |model: &Microformer| -> Vec<f32> {
        let batch = SampleBatch::new(
            &work.microbes,
            &[0, 1],
            &trained.settings().model,
            BatchDraw::new(1, 0.0),
        );
        let encoded = model
            .encoder()
            .forward(&batch, &Device::flex(), &Pass::evaluation());
        encoded
            .rows
            .into_data()
            .try_into_vec()
            .expect("single precision")
    };
    let max_bp = trained.settings().data.tokens.max_bp;
    let fresh = Microformer::new(&trained.settings().model, max_bp, None, 0, &Device::flex());
    let frozen =
        kato_neural::checkpoint::read_weights(fresh, &tuned.join("pretrained.safetensors"))?;
    assert_eq!(
        encoder(trained.model()),
        encoder(&frozen),
        "nothing of it was changed"
    );
    Ok(())
}

#[test]
fn a_trained_model_predicts_and_explains() -> Done {
    let folder = tempfile::tempdir()?;
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    settings.split.calibration = 0.3;
    let at = folder.path().join("run");
    let work = target(&settings, "single_class")?;
    train(
        &mut Run::create(&at, settings, work.clone(), None)?,
        u64::MAX,
    )?;
    let trained = Trained::load(&at)?;
    assert_eq!(
        (trained.column(), trained.classes().len()),
        ("single_class", 2)
    );
    let answers = trained.predict(&work.microbes, 1);
    assert_eq!(answers.len(), 60);
    for answer in &answers {
        assert!((answer.outputs.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    // A sample's prediction is its own, whatever stands beside it.
    let alone = trained.predict_samples(&work.microbes, &[41], 1);
    assert!((alone[0].outputs[0] - answers[41].outputs[0]).abs() < 1e-5);
    let passes = trained.predict(&work.microbes, 3);
    assert_eq!(
        passes,
        trained.predict(&work.microbes, 3),
        "draws have a seed"
    );

    let found = explain(&trained, &work.microbes, 5, 4);
    assert!(
        found.parts.len() == 4 && (0.5..=1.0).contains(&found.value),
        "{found:?}"
    );
    assert!(
        found
            .parts
            .iter()
            .all(|part| part.attention > 0.0 && part.share > 0.0)
    );
    assert!(found.parts[0].change.abs() >= found.parts[3].change.abs());
    Ok(())
}

#[test]
fn each_distinct_sequence_is_there_once_and_padding_changes_nothing() -> Done {
    let settings = settings("")?;
    let (_, microbes) = microbes(&settings)?;
    let draw = BatchDraw::new(3, 0.3);
    let batch = SampleBatch::new(&microbes, &[0, 1, 2, 3], &settings.model, draw);
    assert!(batch.n_sequences() <= 20 && batch.n_sequences() < batch.lengths.iter().sum());
    assert!(batch.n_hidden() > 0 && batch.chunks.iter().all(|chunk| chunk.lengths.len() <= 7));
    let model = Microformer::new(&settings.model, 20, None, 5, &Device::flex());
    let pooled = |samples: &[usize], chunk: usize| -> Vec<f32> {
        let options = kato_microbes::settings::ModelOptions::clone(&settings.model);
        let mut options = options;
        options.chunk = chunk;
        let batch = SampleBatch::new(&microbes, samples, &options, BatchDraw::new(3, 0.0));
        let encoded = model
            .encoder()
            .forward(&batch, &Device::flex(), &Pass::evaluation());
        let rows = model.encoder().pool(encoded.rows, &batch);
        rows.into_data().try_into_vec().expect("single precision")
    };
    let together = pooled(&[4, 9, 7], 7);
    for (found, expected) in pooled(&[9], 100).iter().zip(&together[8..16]) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    Ok(())
}

#[test]
fn what_a_run_takes_is_measured_without_a_trace_and_impossible_ones_are_named() -> Done {
    let settings = settings("")?;
    let work = distances(&settings)?;
    let measured = measure(&settings, &work)?;
    assert_eq!(measured.n_samples, work.parts(&settings.split)?.train.len());
    assert!(measured.step_s > 0.0 && measured.n_parameters > 1000 && measured.n_tokens > 0);
    let mut other = settings.clone();
    other.training.best = kato_microbes::settings::BestBy::F1;
    assert!(
        measure(&other, &work)
            .unwrap_err()
            .to_string()
            .contains("while pre-training")
    );
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let text = |error: &dyn std::fmt::Display| error.to_string();
    assert!(text(&Run::open(&at).unwrap_err()).contains("holds no run"));
    let run = Run::create(&at, settings.clone(), work.clone(), None)?;
    assert!(text(&Run::open(&at).unwrap_err()).contains("by another process"));
    drop(run);
    let error = Run::create(&at, settings, work, None).unwrap_err();
    assert!(text(&error).contains("kato-microbes resume"), "{error}");
    Ok(())
}
