//! A run that was stopped, or killed, and taken up again is the run that never stopped.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kato_gradient::scaler::LossScalerSettings;
use kato_neural::checkpoint::{CheckpointKind, CheckpointWriter, WriterOptions, latest};
use kato_neural::layers::Cell;
use kato_neural::train::{FitEvent, FitOptions, Observer, StepPlace, Trainer, TrainerOptions};
use kato_neural::{AdamOptions, BoxError, Decay, Precision};
use kato_test_needs::ends_within;

use crate::model::{Autoencoder, Rebuild, Table};
use crate::support::{Nobody, device, weights};

/// Ends the run after so many steps.
struct StopAfter(u64);

impl Observer<Rebuild> for StopAfter {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        if matches!(event, FitEvent::Step { .. }) {
            self.0 -= 1;
        }
        self.0 > 0
    }

    fn judge(&mut self, _: &Trainer<Rebuild>, _: u64) -> Result<Option<f64>, BoxError> {
        Ok(None)
    }
}

fn options(precision: Precision) -> TrainerOptions {
    let adam = AdamOptions::default()
        .with_decay(Decay::Decoupled(0.01))
        .with_max_norm(1.0);
    TrainerOptions::new(7)
        .with_adam(adam)
        .with_batch_norm_by_part()
        .with_precision(precision)
}

fn fresh() -> Autoencoder {
    Autoencoder::new(Cell::Lstm, true, 1, &device())
}

fn table() -> Table {
    Table {
        n_batches: 7,
        n_rows: 4,
        device: device(),
    }
}

fn rate(place: &StepPlace) -> f64 {
    1e-2 / (1.0 + place.epochs())
}

/// Three epochs of three steps, the last of each from one batch.
fn fit_options() -> FitOptions {
    FitOptions::new(3).with_accumulated(3).with_save_every(1)
}

/// Trains from the newest checkpoint in `folder`, or from the start.
fn train<O: Observer<Rebuild>>(folder: &Path, precision: Precision, observer: &mut O) -> Vec<f32> {
    let mut trainer = match latest(folder, CheckpointKind::Step) {
        Ok(found) => {
            // Another model's weights at first, so that a weight that is not loaded shows.
            let model = Autoencoder::new(Cell::Lstm, true, 2, &device());
            Trainer::resume(Rebuild, model, options(precision), &found.checkpoint).unwrap()
        }
        Err(kato_neural::Error::NoCheckpoint { .. }) => {
            Trainer::new(Rebuild, fresh(), options(precision)).unwrap()
        }
        Err(error) => panic!("{error}"),
    };
    let writer = CheckpointWriter::new(folder, WriterOptions::default()).unwrap();
    trainer
        .fit(&mut table(), &rate, &fit_options(), Some(&writer), observer)
        .unwrap();
    writer.finish().unwrap();
    weights(trainer.model())
}

fn uninterrupted(precision: Precision) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), precision, &mut Nobody)
}

fn bits(weights: &[f32]) -> Vec<u32> {
    weights.iter().map(|weight| weight.to_bits()).collect()
}

#[test]
fn a_run_stopped_after_any_step_ends_with_the_same_bits() {
    for precision in [Precision::F32, Precision::F16] {
        let expected = bits(&uninterrupted(precision));
        for n_steps in 1..9 {
            let folder = tempfile::tempdir().unwrap();
            train(folder.path(), precision, &mut StopAfter(n_steps));
            let found = train(folder.path(), precision, &mut Nobody);
            assert_eq!(
                bits(&found),
                expected,
                "{precision:?} after {n_steps} steps"
            );
        }
    }
}

#[test]
fn overflows_of_half_precision_are_skipped_and_counted_across_a_resume() {
    // So large that the first steps overflow, and that the resume is amid them.
    let scaler = LossScalerSettings::default().with_initial_scale(1e9);
    let options = options(Precision::F16).with_scaler(scaler);
    let run = |folder: &Path, n_steps: u64| {
        let mut trainer = match latest(folder, CheckpointKind::Step) {
            Ok(found) => {
                Trainer::resume(Rebuild, fresh(), options.clone(), &found.checkpoint).unwrap()
            }
            Err(_) => Trainer::new(Rebuild, fresh(), options.clone()).unwrap(),
        };
        let writer = CheckpointWriter::new(folder, WriterOptions::default()).unwrap();
        let fit_options = FitOptions::new(4).with_save_every(1);
        let observer = &mut StopAfter(n_steps);
        trainer
            .fit(&mut table(), &rate, &fit_options, Some(&writer), observer)
            .unwrap();
        writer.finish().unwrap();
        (bits(&weights(trainer.model())), trainer.n_skipped())
    };
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let whole = run(folders[0].path(), 28);
    let (begun, _) = (
        run(folders[1].path(), 5),
        assert!(whole.1 > 5 && whole.1 < 28),
    );
    assert_eq!(begun.1, 5, "all of the first steps");
    assert!(
        run(folders[1].path(), 28) == whole,
        "another run after the resume"
    );
}

#[test]
fn a_finished_run_is_not_trained_further() {
    let folder = tempfile::tempdir().unwrap();
    let first = train(folder.path(), Precision::F32, &mut Nobody);
    assert_eq!(
        bits(&train(folder.path(), Precision::F32, &mut Nobody)),
        bits(&first)
    );
}

/// Runs this test binary's `child` in a folder with a number of threads.
fn child(folder: &Path, n_threads: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "resume::child_process", "--ignored"])
        .env("KATO_NEURAL_TEST_FOLDER", folder)
        .env("RAYON_NUM_THREADS", n_threads.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
#[ignore = "the other process of the tests below"]
fn child_process() {
    // Without a folder somebody asked for all ignored tests.
    let Some(folder) = std::env::var_os("KATO_NEURAL_TEST_FOLDER") else {
        return;
    };
    let folder = Path::new(&folder);
    let weights = train(folder, Precision::F32, &mut Nobody);
    let bytes: Vec<u8> = weights
        .iter()
        .flat_map(|weight| weight.to_le_bytes())
        .collect();
    std::fs::write(folder.join("unfinished-result"), bytes).unwrap();
    std::fs::rename(folder.join("unfinished-result"), folder.join("result")).unwrap();
}

fn result(folder: &Path) -> Vec<f32> {
    let bytes = std::fs::read(folder.join("result")).unwrap();
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| f32::from_le_bytes(bytes))
        .collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let expected = bits(&uninterrupted(Precision::F32));
    for n_threads in [1, 2, 3, 7] {
        let folder = tempfile::tempdir().unwrap();
        assert!(child(folder.path(), n_threads).status().unwrap().success());
        assert_eq!(
            bits(&result(folder.path())),
            expected,
            "{n_threads} threads"
        );
    }
}

#[test]
fn a_run_killed_at_any_moment_ends_with_the_same_bits() {
    let expected = bits(&uninterrupted(Precision::F32));
    let n_kills = std::env::var("KATO_NEURAL_KILLS").map_or(12, |n| n.parse().unwrap());
    let mut draws = kato_neural::Draws::new(11, 0, 0).row(0);
    let (mut folder, mut n_threads) = (tempfile::tempdir().unwrap(), 1);
    for kill in 0..n_kills {
        let mut process = child(folder.path(), n_threads).spawn().unwrap();
        ends_within(&mut process, Duration::from_millis(draws.next_u64() % 150));
        process.kill().unwrap();
        process.wait().unwrap();
        n_threads = 1 + n_threads % 3;
        if folder.path().join("result").exists() {
            assert_eq!(bits(&result(folder.path())), expected, "kill {kill}");
            folder = tempfile::tempdir().unwrap();
        }
    }
    assert!(child(folder.path(), n_threads).status().unwrap().success());
    assert_eq!(bits(&result(folder.path())), expected);
}
