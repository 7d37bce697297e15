//! Runs: trained, stopped, gone on with, and asked.

use kato_microbes::batch::{BatchDraw, SampleBatch};
use kato_microbes::explain::{branches, explain};
use kato_microbes::run::{RunEnding, measure};
use kato_microbes::{Microformer, Run, RunSettings, TrainedMicrobes};
use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_unifrac::{Table, Tree};
use std::error::Error;

use crate::support::{Done, distances, microbes, settings, state, target, train};

#[test]
fn a_run_that_was_stopped_anywhere_goes_on_bit_for_bit() -> Done {
    let one = settings("")?;
    let mut two = one.clone();
    two.training.replicas = 2;
    two.training.sharded = true;
    let works = [
        distances(&one)?,
        target(&one, "single_class")?,
        distances(&two)?,
    ];
    for (work, settings) in works.into_iter().zip([&one, &one, &two]) {
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
fn how_steps_are_computed_may_change_in_the_middle_of_a_run() -> Done {
    let folder = tempfile::tempdir()?;
    let begun = settings("")?;
    let work = distances(&begun)?;
    let (whole, parted) = (folder.path().join("whole"), folder.path().join("parted"));
    train(
        &mut Run::create(&whole, begun.clone(), work.clone(), None)?,
        u64::MAX,
    )?;
    train(&mut Run::create(&parted, begun.clone(), work, None)?, 3)?;
    let mut other = begun;
    other.model.chunk = 3;
    let training = &mut other.training;
    (training.replicas, training.sharded) = (2, true);
    training.sharded_checkpoints = true;
    training.max_tokens_at_once = Some(100);
    (training.fused, training.recompute) = (false, false);
    (training.workers, training.prefetch, training.save_steps) = (0, 1, 1);
    other.write(&parted.join("settings.toml"))?;
    train(&mut Run::open(&parted)?, u64::MAX)?;
    let (expected, found) = (Run::read_history(&whole)?, Run::read_history(&parted)?);
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected.step, found.step);
        let (expected, found) = (expected.validation.loss, found.validation.loss);
        assert!((expected - found).abs() < 1e-4, "{expected} {found}");
    }
    Ok(())
}

#[test]
fn threads_and_workers_change_no_bit() -> Done {
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    let work = distances(&settings)?;
    let with = |threads: usize, workers: usize| -> Result<_, Box<dyn Error>> {
        let mut settings = settings.clone();
        settings.training.workers = workers;
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
    let expected = with(1, 0)?;
    assert!(with(3, 1)? == expected, "3 threads give other bits");
    assert!(with(1, 3)? == expected, "3 workers give other bits");
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
        TrainedMicrobes::load(&pretrained)
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
    let trained = TrainedMicrobes::load(&tuned)?;
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
fn a_sample_alone_in_its_batch_has_no_pair_and_ends_no_run() -> Done {
    let mut settings = settings("")?;
    settings.training.epochs = 1;
    settings.loss.nucleotides = 0.0;
    let work = distances(&settings)?;
    settings.training.batch = work.parts(&settings.split)?.train.len() - 1;
    for max in [None, Some(50)] {
        settings.training.max_tokens_at_once = max;
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("run");
        let mut run = Run::create(&at, settings.clone(), work.clone(), None)?;
        assert_eq!(train(&mut run, u64::MAX)?.n_steps, 2);
    }
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
    let trained = TrainedMicrobes::load(&at)?;
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

    // A branch with half of the sample's features is worth what the sample without them is.
    let table = &work.microbes.table;
    let held: Vec<(usize, f64)> = table.sample(5).collect();
    let ids = table.feature_ids();
    let name = |&(feature, _): &(usize, f64)| format!("{}:1", ids[feature]);
    let below: Vec<String> = held.iter().take(2).map(name).collect();
    let rest: Vec<String> = held.iter().skip(3).map(name).collect();
    let tree = Tree::from_newick(&format!(
        "(({})pair:1,{});",
        below.join(","),
        rest.join(",")
    ))?;
    let total: f64 = held.iter().map(|entry| entry.1).sum();
    let pair = held[0].1 + held[1].1;
    let found = branches(&trained, &work.microbes, &tree, 5, 4);
    assert_eq!(found.n_unplaced, 1, "the third is no tip");
    let expected = usize::from(pair <= total / 2.0);
    assert_eq!(found.branches.len(), expected, "the root holds nearly all");
    let without: Vec<_> = held[2..]
        .iter()
        .map(|&(at, count)| (at, 0, count))
        .collect();
    let mut alone = work.microbes.clone();
    alone.table = Table::from_entries(ids.to_vec(), vec!["x".to_owned()], without)?;
    let whole = &answers[5].outputs;
    let likeliest = answers[5].class();
    let change = trained.predict(&alone, 1)[0].outputs[likeliest] - whole[likeliest];
    let branch = found.branches.first().ok_or("the pair is rare enough")?;
    assert!((branch.change - change).abs() < 1e-5, "{branch:?} {change}");
    assert_eq!((branch.label.as_str(), branch.features.len()), ("pair", 2));
    assert!((branch.share - pair / total).abs() < 1e-9);
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
        let options = kato_microbes::settings::MicroformerOptions::clone(&settings.model);
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
    assert!(
        measured.cost.step_s > 0.0 && measured.cost.n_parameters > 1000 && measured.n_tokens > 0
    );
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
