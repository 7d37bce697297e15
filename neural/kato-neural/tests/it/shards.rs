//! Replicas that divide the optimiser's state: the same bits, whole checkpoints.

use kato_neural::checkpoint::{
    Checkpoint, CheckpointKind, CheckpointWriter, WriterOptions, latest,
};
use kato_neural::collective::ThreadGroup;
use kato_neural::layers::Cell;
use kato_neural::train::{FitOptions, StepPlace, Trainer};

use crate::model::{Autoencoder, Rebuild, Table};
use crate::replicas::{options, together};
use crate::support::{Nobody, device, weights};

/// What a training ends with.
struct Fitted {
    /// Of each replica.
    weights: Vec<Vec<f32>>,
    /// Weights and optimiser of the newest checkpoint, as bytes.
    files: Vec<Vec<u8>>,
    checkpoint: Checkpoint,
    /// Removed with it.
    _folder: tempfile::TempDir,
}

fn fitted(n_ranks: usize, sharded: bool, n_epochs: u64, from: Option<&Checkpoint>) -> Fitted {
    let folder = tempfile::tempdir().unwrap();
    let weights = together(ThreadGroup::split(n_ranks), |collective| {
        let model = Autoencoder::new(Cell::Gru, false, 1, &device());
        let (options, rank) = (options(None).with_sharded(sharded), collective.rank());
        let trainer = match from {
            Some(checkpoint) => Trainer::resume(Rebuild, model, options, checkpoint),
            None => Trainer::new(Rebuild, model, options),
        };
        let mut trainer = trainer.unwrap().with_collective(collective).unwrap();
        let mut table = Table {
            n_batches: 3,
            n_rows: 4,
            device: device(),
        };
        // One writes for all.
        let writer = (rank == 0)
            .then(|| CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap());
        let options = FitOptions::new(n_epochs).with_save_every(2);
        let rate = |_: &StepPlace| 1e-2;
        let fit = trainer.fit(&mut table, &rate, &options, writer.as_ref(), &mut Nobody);
        fit.unwrap();
        if let Some(writer) = writer {
            writer.finish().unwrap();
        }
        weights(trainer.model())
    });
    let latest = latest(folder.path(), CheckpointKind::Step).unwrap();
    let files = ["weights.safetensors", "optimizer.safetensors"];
    Fitted {
        weights,
        files: files
            .map(|name| std::fs::read(latest.place.path.join(name)).unwrap())
            .to_vec(),
        checkpoint: latest.checkpoint,
        _folder: folder,
    }
}

#[test]
fn replicas_that_divide_the_optimisers_state_have_the_bits_of_those_that_do_not() {
    for n_ranks in [1, 2, 3, 5] {
        let expected = fitted(n_ranks, false, 2, None);
        let found = fitted(n_ranks, true, 2, None);
        assert!(found.weights == expected.weights, "{n_ranks} replicas");
        assert!(
            found.files == expected.files,
            "{n_ranks} replicas: another checkpoint"
        );
    }
}

#[test]
fn any_number_of_replicas_goes_on_from_a_checkpoint_of_divided_state() {
    let whole = fitted(2, false, 2, None);
    let half = fitted(2, true, 1, None);
    // As many as before: the bits of a run that was never stopped.
    assert!(fitted(2, true, 2, Some(&half.checkpoint)).weights == whole.weights);
    for n_ranks in [1, 3] {
        let found = fitted(n_ranks, true, 2, Some(&half.checkpoint)).weights;
        assert!(found.iter().all(|weights| weights == &found[0]));
        let gaps = found[0]
            .iter()
            .zip(&whole.weights[0])
            .map(|(a, b)| (a - b).abs());
        assert!(gaps.fold(0.0, f32::max) < 1e-5, "{n_ranks} replicas");
    }
}
