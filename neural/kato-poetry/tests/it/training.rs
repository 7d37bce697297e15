//! Runs: trained, stopped, gone on with, and asked.

use std::error::Error;
use std::fs;
use std::path::Path;

use kato_poetry::run::{EpochRecord, Outcome, RunEnding, TrainingEvent, measure};
use kato_poetry::{Corpus, Run, Settings, Trained};

use crate::support::sonnets;

type Done = Result<(), Box<dyn Error>>;

/// The files of a checkpoint, and the epochs before it.
type State = (Vec<Vec<u8>>, Vec<EpochRecord>);

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

fn settings(more: &str) -> Result<Settings, Box<dyn Error>> {
    Ok(Settings::from_toml(&format!("{SMALL}{more}"))?)
}

fn one_epoch() -> Result<Settings, Box<dyn Error>> {
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    Ok(settings)
}

fn begin(folder: &Path, settings: &Settings) -> Result<Run, Box<dyn Error>> {
    let corpus = Corpus::prepare(sonnets(), &settings.corpus())?;
    Ok(Run::create(folder, settings.clone(), corpus)?)
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

/// Returns the bytes of the newest weights and moments, and the judgements of all epochs.
fn state(folder: &Path) -> Result<State, Box<dyn Error>> {
    let mut newest: Vec<_> = fs::read_dir(folder.join("checkpoints"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    newest.retain(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("step-"))
    });
    newest.sort();
    let newest = newest.last().ok_or("there is a checkpoint")?;
    let mut files: Vec<_> = fs::read_dir(newest)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|ending| ending == "safetensors")
    });
    files.sort();
    assert_eq!(files.len(), 2, "weights and moments");
    let bytes = files.iter().map(fs::read).collect::<Result<_, _>>()?;
    Ok((bytes, Run::read_history(folder)?))
}

/// Leaves out of epochs what depends on time.
fn timeless(records: &[EpochRecord]) -> Vec<String> {
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

#[test]
fn a_run_that_was_stopped_anywhere_goes_on_bit_for_bit() -> Done {
    let folder = tempfile::tempdir()?;
    let settings = settings("")?;
    let whole = folder.path().join("whole");
    let outcome = train(&mut begin(&whole, &settings)?, u64::MAX)?;
    assert_eq!(outcome.ending, RunEnding::Complete);
    assert_eq!((outcome.n_epochs, outcome.n_steps % 3), (3, 0));
    let (bytes, history) = state(&whole)?;
    let n_steps = outcome.n_steps;
    // In the middle of epochs, and on their edges.
    for every in [1, 2, n_steps / 3] {
        let parted = folder.path().join(format!("parted-{every}"));
        let mut outcome = train(&mut begin(&parted, &settings)?, every)?;
        let mut n_parts = 1;
        while outcome.ending == RunEnding::Interrupted {
            outcome = train(&mut Run::open(&parted)?, every)?;
            n_parts += 1;
        }
        assert!(n_parts > 2, "it was stopped");
        let (other_bytes, other_history) = state(&parted)?;
        assert!(
            bytes == other_bytes,
            "stopped every {every} steps: other weights"
        );
        assert_eq!(timeless(&history), timeless(&other_history));
    }
    Ok(())
}

#[test]
fn threads_change_no_bit() -> Done {
    let settings = one_epoch()?;
    let with = |threads: usize| -> Result<_, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let at = folder.path().join("run");
        let result: Result<_, String> = pool.install(|| {
            let work = || -> Result<_, Box<dyn Error>> {
                train(&mut begin(&at, &settings)?, u64::MAX)?;
                let (bytes, history) = state(&at)?;
                Ok((bytes, timeless(&history)))
            };
            work().map_err(|error| error.to_string())
        });
        Ok(result?)
    };
    let one = with(1)?;
    for threads in [2, 3] {
        assert!(one == with(threads)?, "{threads} threads give other bits");
    }
    Ok(())
}

#[test]
fn training_lowers_the_loss_and_beats_what_is_known_without_a_model() -> Done {
    let folder = tempfile::tempdir()?;
    let more = "clip = 5.0\n[loss]\nbottleneck_l2 = 0.0\n[split]\ntrain = 0.5\nvalidation = 0.3\n";
    let mut settings = settings(more)?;
    settings.training.epochs = 12;
    settings.model.dropout = 0.0;
    let at = folder.path().join("run");
    train(&mut begin(&at, &settings)?, u64::MAX)?;
    let history = Run::read_history(&at)?;
    let (first, last) = (
        history.first().ok_or("epochs")?,
        history.last().ok_or("epochs")?,
    );
    assert!(
        last.train_loss < 0.95 * first.train_loss,
        "{} {}",
        first.train_loss,
        last.train_loss
    );
    assert!(history.iter().any(|record| record.is_best));
    assert!(history.iter().all(|record| record.gradient_norm > 0.0));
    Ok(())
}

#[test]
fn a_trained_model_rebuilds_encodes_and_walks() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    train(&mut begin(&at, &one_epoch()?)?, u64::MAX)?;
    let trained = Trained::load(&at)?;
    let poems = Run::poems(&at)?;
    assert_eq!(poems, sonnets());
    assert_eq!(Run::test_poems(&at)?.len(), 1);

    let tokens = trained.reconstruct(&poems[0]);
    let words: Vec<u32> = tokens.iter().map(|token| token.word).collect();
    assert_eq!(
        words,
        trained.vocabulary().encode(&poems[0].text),
        "every token once, in order"
    );
    assert!(
        tokens
            .iter()
            .all(|token| (-1.0..=1.000_001).contains(&token.cosine))
    );

    let codes = trained.encode(&poems);
    assert_eq!(codes.len(), 6 * 4);
    assert!(codes.iter().all(|unit| unit.is_finite()));
    // A poem's code is its own, whatever stands beside it.
    let alone = trained.encode(&poems[2..3]);
    for (a, b) in alone.iter().zip(&codes[8..12]) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    assert_eq!(trained.walk(&poems[0], &poems[1], 3).len(), 3);
    Ok(())
}

#[test]
fn folders_that_do_not_fit_are_named_with_what_to_do() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let settings = one_epoch()?;
    let text = |error: &dyn std::fmt::Display| error.to_string();
    assert!(text(&Run::open(&at).unwrap_err()).contains("holds no run"));
    let run = begin(&at, &settings)?;
    assert!(text(&Run::open(&at).unwrap_err()).contains("by another process"));
    drop(run);
    let error = begin(&at, &settings).unwrap_err();
    assert!(text(&error).contains("`kato-poetry resume`"), "{error}");
    // Nothing is trained yet.
    let error = Trained::load(&at).unwrap_err();
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains("no checkpoint"), "{error}: {cause}");
    Ok(())
}

#[test]
fn what_a_run_takes_is_measured_without_a_trace() -> Done {
    let settings = settings("")?;
    let corpus = Corpus::prepare(sonnets(), &settings.corpus())?;
    let measured = measure(&settings, &corpus)?;
    assert_eq!(
        measured.n_parameters,
        settings.model.n_parameters(corpus.vectors.dims())
    );
    assert_eq!(measured.n_chunks, corpus.train.len());
    assert_eq!(measured.n_steps, 3 * corpus.train.len().div_ceil(3) as u64);
    assert!(measured.step_s > 0.0 && measured.hours > 0.0);
    Ok(())
}
