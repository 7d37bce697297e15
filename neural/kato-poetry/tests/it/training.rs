//! Runs: trained, stopped, gone on with, and asked.

use std::error::Error;

use kato_neural::checkpoint::{CheckpointKind, checkpoints};
use kato_neural::run::RunSettings;
use kato_poetry::run::{RunEnding, measure};
use kato_poetry::{Corpus, Run, Trained};

use crate::support::{Done, begin, one_epoch, settings, sonnets, state, timeless, train};

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
fn epochs_that_a_run_gets_later_last_as_long_as_it() -> Done {
    let folder = tempfile::tempdir()?;
    let mut settings = settings("")?;
    let (parted, whole) = (folder.path().join("parted"), folder.path().join("whole"));
    train(&mut begin(&parted, &settings)?, u64::MAX)?;
    let mut run = Run::open(&parted)?;
    run.set_epochs(5)?;
    assert_eq!(train(&mut run, 1)?.ending, RunEnding::Interrupted);
    drop(run);
    let outcome = train(&mut Run::open(&parted)?, u64::MAX)?;
    assert_eq!(outcome.ending, RunEnding::Complete);
    assert_eq!(outcome.n_epochs, 5);

    settings.training.epochs = 5;
    train(&mut begin(&whole, &settings)?, u64::MAX)?;
    let ((bytes, history), (other_bytes, other_history)) = (state(&parted)?, state(&whole)?);
    assert!(bytes == other_bytes, "other weights");
    assert_eq!(timeless(&history), timeless(&other_history));

    // None at all, fewer than are done, and more than can be counted.
    let mut run = Run::open(&parted)?;
    for epochs in [0, 4, u64::MAX] {
        let error = run.set_epochs(epochs).unwrap_err().to_string();
        assert!(error.contains("`training.epochs`"), "{error}");
    }
    assert_eq!(run.settings(), &settings);
    Ok(())
}

#[test]
fn settings_that_have_become_impossible_are_named() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let mut settings = one_epoch()?;
    train(&mut begin(&at, &settings)?, u64::MAX)?;
    settings.training.prefetch = 0;
    settings.write(&at.join("settings.toml"))?;
    let errors = [
        Run::open(&at).map(drop).unwrap_err(),
        Trained::load(&at).map(drop).unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(error.contains("`training.prefetch` is 0"), "{error}");
    }
    Ok(())
}

#[test]
fn a_run_that_was_begun_keeps_what_decides_its_course() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let begun = one_epoch()?;
    train(&mut begin(&at, &begun)?, u64::MAX)?;
    // Poems that it was trained on would be held back by now.
    let mut settings = begun.clone();
    settings.split.seed += 1;
    settings.write(&at.join("settings.toml"))?;
    let errors = [
        Run::open(&at).map(drop).unwrap_err(),
        Run::test_poems(&at).map(drop).unwrap_err(),
        Trained::load(&at).map(drop).unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(error.contains("`split.seed` was 42 and is 43"), "{error}");
    }
    let mut settings = begun;
    settings.training.patience = 3;
    settings.training.epochs = 2;
    settings.write(&at.join("settings.toml"))?;
    assert_eq!(train(&mut Run::open(&at)?, u64::MAX)?.n_epochs, 2);
    Ok(())
}

#[test]
fn steps_of_more_batches_than_there_are_take_all_of_them() -> Done {
    let folder = tempfile::tempdir()?;
    let mut settings = one_epoch()?;
    settings.training.batch_norm_by_part = true;
    settings.training.accumulate = 1 << 40;
    let outcome = train(&mut begin(&folder.path().join("run"), &settings)?, u64::MAX)?;
    assert_eq!(outcome.n_steps, 1);
    settings.training.prefetch = usize::MAX;
    let error = settings.check().unwrap_err().to_string();
    assert!(error.contains("`training.prefetch`"), "{error}");
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
    assert_eq!(trained.walk(&poems[0], &poems[1], 3)?.len(), 3);
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
    assert!(text(&error).contains("no checkpoint"), "{error}");
    Ok(())
}

#[test]
fn a_best_model_that_is_damaged_is_named_with_the_way_out() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    train(&mut begin(&at, &one_epoch()?)?, u64::MAX)?;
    let best: Vec<_> = checkpoints(&at.join("checkpoints"))?
        .into_iter()
        .filter(|place| place.kind == CheckpointKind::Best)
        .collect();
    for place in &best {
        std::fs::write(place.path.join("weights.safetensors"), "x")?;
    }
    let error = Trained::load(&at).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("no `best-…`") && text.contains("remove them"),
        "{text}"
    );
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains("weights.safetensors is damaged"), "{cause}");
    for place in &best {
        std::fs::remove_dir_all(&place.path)?;
    }
    assert!(Trained::load(&at)?.step() > 0);
    Ok(())
}

#[test]
fn what_a_run_takes_is_measured_without_a_trace() -> Done {
    let settings = settings("")?;
    let corpus = Corpus::prepare(sonnets(), &settings.corpus())?;
    let measured = measure(&settings, &corpus)?;
    assert_eq!(
        measured.cost.n_parameters,
        settings.model.n_parameters(corpus.vectors.dims())
    );
    assert_eq!(measured.n_chunks, corpus.train.len());
    assert_eq!(
        measured.cost.n_steps,
        3 * corpus.train.len().div_ceil(3) as u64
    );
    assert!(measured.cost.step_s > 0.0 && measured.cost.hours > 0.0);
    Ok(())
}
