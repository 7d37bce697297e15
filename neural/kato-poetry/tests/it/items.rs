//! What a training can be told to do in another way: threads, batches, losses, writing, rates.

use std::error::Error;

use kato_gradient::finder::RangeTestSettings;
use kato_gradient::schedule::{Constant, Schedule};
use kato_poetry::run::{PoetryEvent, RunEnding, find_rate};
use kato_poetry::settings::DecoderKind;
use kato_poetry::{Corpus, Run, Settings, Trained, npy};

use crate::support::{Done, begin, one_epoch, settings, sonnets, state, timeless, train};

#[test]
fn loader_threads_change_no_bit_and_neither_does_when_something_is_written() -> Done {
    let with = |more: &str| -> Result<_, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("run");
        train(&mut begin(&at, &settings(more)?)?, u64::MAX)?;
        assert!(at.join("prepared/embeddings.npy").exists(), "{more}");
        assert!(at.join("prepared/chunks.json").exists(), "{more}");
        let (bytes, history) = state(&at)?;
        Ok((bytes, timeless(&history)))
    };
    let alone = with("workers = 0")?;
    for more in [
        "workers = 1\nprefetch = 1",
        "workers = 3\nprefetch = 2",
        "workers = 7\nprefetch = 5",
        "checkpoints = 'blocking'\nartifacts = 'blocking'",
    ] {
        assert!(alone == with(more)?, "other bits with {more}");
    }
    Ok(())
}

/// Returns the loss of each step of a run.
fn losses_of(settings: &Settings) -> Result<Vec<f64>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut run = begin(&folder.path().join("run"), settings)?;
    let mut losses = Vec::new();
    run.train(&mut |event| {
        if let PoetryEvent::Step(record) = event {
            losses.push(record.loss);
        }
        true
    })?;
    assert_eq!(losses.len() as u64, run.n_steps()?);
    Ok(losses)
}

#[test]
fn steps_of_several_batches_are_those_of_one_where_batches_are_not_normalised() -> Done {
    let losses = |batch: usize, accumulate: usize| -> Result<Vec<f64>, Box<dyn Error>> {
        let mut settings = one_epoch()?;
        settings.model.batch_norm = false;
        settings.training.batch = batch;
        settings.training.accumulate = accumulate;
        losses_of(&settings)
    };
    let wide = losses(6, 1)?;
    assert!(wide.len() > 1, "{wide:?}");
    // The last group of an epoch is ragged in one way or another.
    for (batch, accumulate) in [(3, 2), (2, 3), (1, 6)] {
        let parted = losses(batch, accumulate)?;
        assert_eq!(wide.len(), parted.len());
        for (wide, parted) in wide.iter().zip(&parted) {
            assert!((wide - parted).abs() < 1e-5, "{wide} {parted}");
        }
    }
    Ok(())
}

#[test]
fn every_loss_is_learned_and_words_are_counted() -> Done {
    for kind in ["mse", "sequence-cosine", "token", "hybrid"] {
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("run");
        let more = format!("[loss]\nkind = '{kind}'\ncode_norm = 1e-3\ncode_entropy = 1e-3\n");
        let mut settings = settings(&more)?;
        settings.training.epochs = 4;
        let outcome = train(&mut begin(&at, &settings)?, u64::MAX)?;
        let history = Run::read_history(&at)?;
        assert!(
            history[3].train_loss < history[0].train_loss,
            "{kind}: {history:?}"
        );
        let guesses = matches!(kind, "token" | "hybrid");
        assert_eq!(history[3].validation.token_accuracy.is_some(), guesses);
        let test = outcome.test.ok_or("there are test poems")?;
        let accuracy = test.token_accuracy.ok_or("it is counted at the end")?;
        assert!((0.0..=1.0).contains(&accuracy), "{kind}: {accuracy}");
        // A model with words is read again, and rebuilds.
        let trained = Trained::load(&at)?;
        assert_eq!(trained.model().has_words(), guesses);
        assert!(!trained.reconstruct(&sonnets()[0]).is_empty());
    }
    Ok(())
}

#[test]
fn batches_of_like_length_and_of_a_budget_train_too() -> Done {
    for more in [
        "batching = 'bucketed'",
        "batching = 'token-budget'\nmax_tokens = 120\nmax_chunks = 4",
    ] {
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("run");
        let outcome = train(&mut begin(&at, &settings(more)?)?, u64::MAX)?;
        assert_eq!(outcome.ending, RunEnding::Complete, "{more}");
    }
    Ok(())
}

#[test]
fn a_course_holds_what_is_drawn() -> Done {
    let folder = tempfile::tempdir()?;
    let (at, course) = (folder.path().join("run"), folder.path().join("course"));
    let run = begin(&at, &settings("")?)?;
    // Also while it is in training.
    Run::write_course(&at, &course, 2)?;
    let n_chunks = run.corpus().train.len();
    let (_, order) = npy::read::<u32>(&course.join("order.npy"))?;
    let (_, sizes) = npy::read::<u32>(&course.join("sizes.npy"))?;
    let (shape, coins) = npy::read::<u8>(&course.join("coins.npy"))?;
    let (_, rates) = npy::read::<f32>(&course.join("rates.npy"))?;
    assert_eq!(order.len(), 3 * n_chunks, "every epoch has every chunk");
    assert_eq!(sizes.iter().sum::<u32>() as usize, order.len());
    assert_eq!(shape, [run.n_steps()? as usize, 50]);
    let n_true = coins.iter().filter(|coin| **coin == 1).count();
    assert!((0.4..0.6).contains(&(n_true as f64 / coins.len() as f64)));
    let (_, losses) = npy::read::<f32>(&course.join("losses.npy"))?;
    let mut told = Vec::new();
    let mut run = run;
    run.train(&mut |event| {
        if let PoetryEvent::Step(record) = event {
            told.push(record.loss as f32);
        }
        told.len() < 2
    })?;
    assert_eq!(losses, told, "the steps are those of the run");
    assert!(rates.iter().all(|rate| *rate == 0.01));
    assert!(course.join("weights.safetensors").exists());
    Ok(())
}

#[test]
fn rates_are_tried_from_harmless_to_harmful() -> Done {
    let settings = settings("")?;
    let corpus = Corpus::prepare(sonnets(), &settings.corpus())?;
    let test = RangeTestSettings::default().with_rates(1e-5, 1e3);
    let found = find_rate(&settings, &corpus, test)?;
    let steepest = found.steepest.ok_or("the loss falls somewhere")?;
    assert!((1e-5..10.0).contains(&steepest), "{steepest}");
    // The answer is one that really trains.
    let mut settings = settings;
    let safe = steepest.min(found.tenth_of_lowest.ok_or("there are steps")?);
    settings.training.schedule = Schedule::new(Constant::new(safe))?;
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    train(&mut begin(&at, &settings)?, u64::MAX)?;
    let history = Run::read_history(&at)?;
    assert!(history[2].train_loss < history[0].train_loss, "{history:?}");
    Ok(())
}

#[test]
fn a_decoder_that_attends_rebuilds_but_does_not_walk() -> Done {
    let folder = tempfile::tempdir()?;
    let at = folder.path().join("run");
    let mut settings = settings("")?;
    settings.model.decoder = DecoderKind::Attention;
    (settings.model.hidden, settings.model.heads) = (8, 2);
    let outcome = train(&mut begin(&at, &settings)?, u64::MAX)?;
    assert!(outcome.test.is_some_and(|test| test.cosine.is_finite()));
    let poems = sonnets();
    let trained = Trained::load(&at)?;
    assert!(!trained.reconstruct(&poems[0]).is_empty());
    assert_eq!(trained.encode(&poems).len(), 6 * 4);
    let error = trained.walk(&poems[0], &poems[1], 3).unwrap_err();
    assert!(error.to_string().contains("`model.decoder"), "{error}");
    Ok(())
}

#[test]
fn a_batch_that_is_cut_has_the_losses_of_the_whole() -> Done {
    let losses = |at_once: Option<usize>| -> Result<Vec<f64>, Box<dyn Error>> {
        let mut settings = one_epoch()?;
        settings.model.batch_norm = false;
        settings.training.batch = 6;
        settings.training.max_tokens_at_once = at_once;
        losses_of(&settings)
    };
    let whole = losses(None)?;
    let cut = losses(Some(120))?;
    assert!(
        whole.len() == cut.len() && whole != cut,
        "sums have another order"
    );
    for (whole, cut) in whole.iter().zip(&cut) {
        assert!((whole - cut).abs() < 1e-5, "{whole} {cut}");
    }
    Ok(())
}
