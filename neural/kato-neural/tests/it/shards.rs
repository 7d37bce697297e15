//! Replicas that divide weights, gradients and the optimiser's state: the same bits, whole checkpoints.

use kato_gradient::Goal;
use kato_gradient::stop::EarlyStopSettings;
use kato_neural::BoxError;
use kato_neural::checkpoint::{
    CheckpointKind, CheckpointWriter, TrainerCheckpoint, WriterOptions, latest,
};
use kato_neural::collective::ThreadGroup;
use kato_neural::layers::Cell;
use kato_neural::train::{Batches, FitEvent, FitOptions, Observer, StepPlace, Task, Trainer};

use crate::model::{Autoencoder, Batch, Rebuild, Table};
use crate::replicas::{
    Distances, Encoder, Sequences, assert_close, distances, encoder, joined, options, sequences,
    three_steps, together,
};
use crate::support::{device, weights};

/// What a training ends with.
struct Fitted {
    /// Of each replica.
    weights: Vec<Vec<f32>>,
    /// Files of the newest checkpoint by name, but for the manifest.
    files: Vec<(String, Vec<u8>)>,
    checkpoint: TrainerCheckpoint,
    /// Removed with it.
    _folder: tempfile::TempDir,
}

/// How it is trained.
#[derive(Clone, Copy)]
struct How {
    n_ranks: usize,
    sharded: bool,
    /// Whether each replica writes its share of a checkpoint.
    by_shares: bool,
    n_epochs: u64,
}

impl How {
    const fn new(n_ranks: usize, sharded: bool) -> Self {
        Self {
            n_ranks,
            sharded,
            by_shares: false,
            n_epochs: 2,
        }
    }
}

/// Trains a model with blocks to be divided, or one without.
trait Learner: Task + Sized {
    fn begin() -> (Self, Self::Model);
    fn batches() -> impl Batches<Batch = Self::Batch>;
}

impl Learner for Rebuild {
    fn begin() -> (Self, Autoencoder) {
        (Self, Autoencoder::new(Cell::Gru, false, 1, &device()))
    }

    fn batches() -> impl Batches<Batch = Batch> {
        Table {
            n_batches: 3,
            n_rows: 4,
            device: device(),
        }
    }
}

impl Learner for Distances {
    fn begin() -> (Self, Encoder) {
        (Self::new(true), encoder())
    }

    fn batches() -> impl Batches<Batch = Sequences> {
        Three
    }
}

/// Three batches an epoch.
struct Three;

impl Batches for Three {
    type Batch = Sequences;

    fn n_batches(&self, _: u64) -> u64 {
        3
    }

    fn batches(
        &mut self,
        epoch: u64,
        from: u64,
    ) -> Box<dyn Iterator<Item = Result<Sequences, BoxError>> + '_> {
        Box::new((from..3).map(move |batch| Ok(sequences(3 * epoch + batch, 5))))
    }
}

/// Judges, and notes what the model gives: it has to be whole then.
struct Judge;

impl<T: Task> Observer<T> for Judge {
    fn on_event(&mut self, _: FitEvent<'_>) -> bool {
        true
    }

    fn judge(&mut self, trainer: &Trainer<T>, epoch: u64) -> Result<Option<f64>, BoxError> {
        assert!(
            weights(trainer.model())
                .iter()
                .all(|weight| weight.is_finite())
        );
        Ok(Some(-(epoch as f64)))
    }
}

fn fitted<T: Learner>(how: How, from: Option<&TrainerCheckpoint>) -> Fitted {
    // Names of folders need not be text.
    #[cfg(unix)]
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    #[cfg(not(unix))]
    let name = "run";
    let folder = tempfile::Builder::new().prefix(name).tempdir().unwrap();
    let weights = together(ThreadGroup::split(how.n_ranks), |collective| {
        let (task, model) = T::begin();
        let (options, rank) = (options(None).with_sharded(how.sharded), collective.rank());
        let trainer = match from {
            Some(checkpoint) => Trainer::resume(task, model, options, checkpoint),
            None => Trainer::new(task, model, options),
        };
        let mut trainer = trainer.unwrap().with_collective(collective).unwrap();
        // One writes for all.
        let writer = (rank == 0)
            .then(|| CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap());
        let options = FitOptions::new(how.n_epochs)
            .with_save_every(2)
            .with_early_stop(EarlyStopSettings::new(Goal::Min))
            .with_sharded_checkpoints(how.by_shares);
        let rate = |_: &StepPlace| 1e-2;
        let mut batches = T::batches();
        let fit = trainer.fit(&mut batches, &rate, &options, writer.as_ref(), &mut Judge);
        fit.unwrap();
        if let Some(writer) = writer {
            writer.finish().unwrap();
        }
        weights(trainer.model())
    });
    let latest = latest(folder.path(), CheckpointKind::Step).unwrap();
    let files = std::fs::read_dir(&latest.place.path).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = files
        .filter(|path| path.extension().is_some_and(|kind| kind == "safetensors"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    Fitted {
        weights,
        files,
        checkpoint: latest.checkpoint,
        _folder: folder,
    }
}

fn assert_that_dividing_changes_no_bit<T: Learner>() {
    for n_ranks in [1, 2, 3, 5] {
        let expected = fitted::<T>(How::new(n_ranks, false), None);
        let found = fitted::<T>(How::new(n_ranks, true), None);
        assert!(found.weights == expected.weights, "{n_ranks} replicas");
        assert!(
            found.files == expected.files,
            "{n_ranks} replicas: another checkpoint"
        );
    }
}

#[test]
fn replicas_that_divide_the_state_have_the_bits_of_those_that_do_not() {
    assert_that_dividing_changes_no_bit::<Rebuild>();
    assert_that_dividing_changes_no_bit::<Distances>();
}

fn assert_that_any_number_goes_on<T: Learner>() {
    let whole = fitted::<T>(How::new(2, false), None);
    for by_shares in [false, true] {
        let two = How {
            by_shares,
            ..How::new(2, true)
        };
        let half = How { n_epochs: 1, ..two };
        let half = fitted::<T>(half, None);
        assert_eq!(half.files.len(), if by_shares { 4 } else { 2 });
        // As many as before: the bits of a run that was never stopped.
        assert!(fitted::<T>(two, Some(&half.checkpoint)).weights == whole.weights);
        let one = How::new(1, false);
        let three = How { n_ranks: 3, ..two };
        for how in [one, three] {
            let found = fitted::<T>(how, Some(&half.checkpoint)).weights;
            assert!(found.iter().all(|weights| weights == &found[0]));
            let gaps = found[0]
                .iter()
                .zip(&whole.weights[0])
                .map(|(a, b)| (a - b).abs());
            assert!(gaps.fold(0.0, f32::max) < 1e-5, "{} replicas", how.n_ranks);
        }
    }
}

#[test]
fn any_number_of_replicas_goes_on_from_a_checkpoint_whole_or_in_shares() {
    assert_that_any_number_goes_on::<Rebuild>();
    assert_that_any_number_goes_on::<Distances>();
}

#[test]
fn a_share_that_is_damaged_or_missing_is_found() {
    let how = How {
        by_shares: true,
        ..How::new(2, true)
    };
    let fitted = fitted::<Distances>(how, None);
    let path = fitted.checkpoint.folder().join("optimizer-1.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = TrainerCheckpoint::open(fitted.checkpoint.folder()).unwrap_err();
    assert!(error.to_string().contains("optimizer-1"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert!(TrainerCheckpoint::open(fitted.checkpoint.folder()).is_err());
}

#[test]
fn divided_blocks_have_the_bits_of_whole_ones() {
    for n_ranks in [1, 2, 3, 5] {
        for gathers in [true, false] {
            // Without the trainer's help a loss is over the pairs of one replica's rows alone.
            if !gathers && n_ranks > 1 {
                continue;
            }
            for fused in [true, false] {
                let task = Distances { gathers, fused };
                let run = |sharded: bool| {
                    together(ThreadGroup::split(n_ranks), |collective| {
                        let options = options(None).with_sharded(sharded);
                        three_steps(task, options, Some(collective))
                    })
                };
                let (divided, whole) = (run(true), run(false));
                assert!(
                    divided == whole,
                    "{n_ranks} replicas, gathers: {gathers}, fused: {fused}"
                );
            }
        }
    }
}

#[test]
fn replicas_that_compute_different_numbers_of_blocks_divide_them_all_the_same() {
    let expected = distances(false, None, None);
    // Parts of few tokens: some replicas have many, and with seven some have none.
    for (n_ranks, max) in [(1, 9), (2, 9), (3, 1), (7, 20)] {
        let run = |collective| {
            let options = options(Some(max)).with_sharded(true);
            three_steps(Distances::new(true), options, Some(collective))
        };
        let all = together(ThreadGroup::split(n_ranks), run);
        for found in &all {
            assert_close(found, &expected);
            assert!(found == &all[0], "{n_ranks} replicas differ");
        }
        let again = together(joined(n_ranks), run);
        assert!(again == all, "{n_ranks} replicas over connections");
    }
}
