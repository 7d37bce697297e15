//! Checkpoints: what is on the disk, what becomes of damage, how the writer queues.

use std::fs;
use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::{
    CheckpointKind, CheckpointWriter, TrainerCheckpoint, WriterOptions, checkpoints, latest,
    read_weights, write_checkpoint, write_weights,
};
use kato_neural::layers::Cell;
use kato_neural::train::{Trainer, TrainerOptions};
use kato_neural::{Adam, Error};

use crate::model::{Autoencoder, Batch, Rebuild};
use crate::support::{device, weights};

fn trained(n_steps: usize) -> Trainer<Rebuild> {
    let model = Autoencoder::new(Cell::Lstm, true, 1, &device());
    let mut trainer = Trainer::new(Rebuild, model, TrainerOptions::new(7)).unwrap();
    for _ in 0..n_steps {
        trainer
            .step(1e-2, &[Batch::new(5, 0, 4, &device())])
            .unwrap();
    }
    trainer
}

#[test]
fn files_have_the_names_and_shapes_of_torch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_weights(trained(0).model(), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, shape) in [
        ("encoder.weight_ih_l0", &[24, 4][..]),
        ("encoder.weight_hh_l1", &[24, 6]),
        ("encoder.bias_ih_l0", &[24]),
        ("bottleneck.linear.weight", &[3, 6]),
        ("bottleneck.norm.running_var", &[3]),
        ("projection.memory.weight", &[12, 3]),
        ("decoder.output.weight", &[4, 6]),
        ("decoder.start", &[4]),
    ] {
        assert_eq!(file.tensor(name).unwrap().shape(), shape, "{name}");
    }
    // Beside those: 2 nets of 8 tensors, 3 of the decoder, 4 + 4 of linear layers, 6 of the middle.
    assert_eq!(file.len(), 16 + 3 + 4 + 6);
}

#[cfg(unix)]
#[test]
fn a_checkpoint_and_its_files_have_the_rights_of_any_new_ones() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let any = folder.path().join("any");
    fs::create_dir(&any).unwrap();
    fs::write(any.join("file"), "").unwrap();
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    let place = write_checkpoint(folder.path(), &trained(1).snapshot()).unwrap();
    assert_eq!(rights(&place.path), rights(&any));
    for file in fs::read_dir(&place.path).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(rights(&file), rights(&any.join("file")), "{file:?}");
    }
}

#[test]
fn weights_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let trainer = trained(3);
    write_weights(trainer.model(), &path).unwrap();
    for device in [Device::flex(), device()] {
        let other = Autoencoder::new(Cell::Lstm, true, 2, &device);
        assert_ne!(weights(&other), weights(trainer.model()));
        assert_eq!(
            weights(&read_weights(other, &path).unwrap()),
            weights(trainer.model())
        );
    }
    let other = Autoencoder::new(Cell::Gru, true, 2, &device());
    let error = read_weights(other, &path).unwrap_err();
    assert!(
        matches!(&error, Error::Mismatch { reason } if reason.contains("weight_ih_l0")),
        "{error}"
    );
}

#[test]
fn a_snapshot_is_of_its_moment() {
    let mut trainer = trained(2);
    let (snapshot, expected) = (trainer.snapshot(), weights(trainer.model()));
    for _ in 0..3 {
        trainer
            .step(1e-2, &[Batch::new(5, 0, 4, &device())])
            .unwrap();
    }
    assert_ne!(weights(trainer.model()), expected);
    let folder = tempfile::tempdir().unwrap();
    let place = write_checkpoint(folder.path(), &snapshot).unwrap();
    let checkpoint = TrainerCheckpoint::open(&place.path).unwrap();
    let model = checkpoint
        .load_model(Autoencoder::new(Cell::Lstm, true, 2, &device()))
        .unwrap();
    assert_eq!(weights(&model), expected);
    assert_eq!((checkpoint.progress().step, place.step), (2, 2));
    let adam: Adam = checkpoint.load_adam(&device()).unwrap();
    assert_eq!(adam.n_steps(), 2);
}

#[test]
fn notes_come_back_and_a_second_writing_of_a_step_is_beside_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let notes = serde_json::json!({ "hidden_size": 6, "text": "sonnets" });
    let snapshot = trained(1).snapshot().with_notes(notes.clone());
    let first = write_checkpoint(folder.path(), &snapshot).unwrap();
    let second = write_checkpoint(folder.path(), &snapshot).unwrap();
    assert_ne!(first.path, second.path);
    let found = latest(folder.path(), CheckpointKind::Step).unwrap();
    assert_eq!(found.place, second);
    assert_eq!(found.checkpoint.notes(), &notes);
}

/// Changes one byte, or cuts a file, or removes it.
fn damage(path: &Path, how: usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 2;
    match how {
        0 => bytes[at] ^= 0x10,
        1 => bytes.truncate(at),
        2 => bytes.push(b' '),
        _ => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_found_and_the_checkpoint_before_is_taken() {
    for name in [
        "weights.safetensors",
        "optimizer.safetensors",
        "manifest.json",
    ] {
        for how in 0..4 {
            let folder = tempfile::tempdir().unwrap();
            let mut trainer = trained(1);
            let older = write_checkpoint(folder.path(), &trainer.snapshot()).unwrap();
            trainer
                .step(1e-2, &[Batch::new(5, 0, 4, &device())])
                .unwrap();
            let newer = write_checkpoint(folder.path(), &trainer.snapshot()).unwrap();
            damage(&newer.path.join(name), how);
            assert!(
                TrainerCheckpoint::open(&newer.path).is_err(),
                "{name} {how}"
            );
            let found = latest(folder.path(), CheckpointKind::Step).unwrap();
            assert_eq!(found.place, older, "{name} {how}");
            assert_eq!(found.passed_over.len(), 1);
        }
    }
}

#[test]
fn a_series_of_which_nothing_is_whole_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = trained(1).snapshot();
    for (snapshot, way_out) in [
        (snapshot.clone(), "train the run again"),
        (snapshot.as_best(), "remove them"),
    ] {
        let place = write_checkpoint(folder.path(), &snapshot).unwrap();
        damage(&place.path.join("weights.safetensors"), 3);
        let error = latest(folder.path(), place.kind).unwrap_err();
        assert!(error.to_string().contains(way_out), "{error}");
        // The cause is a file that is away, which is what a caller can do something about.
        assert!(
            matches!(&error, Error::NoneWhole { source, .. } if source.class() == error.class())
        );
    }
}

#[test]
fn a_later_version_is_refused_and_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let place = write_checkpoint(folder.path(), &trained(1).snapshot()).unwrap();
    let path = place.path.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let body = text
        .split_once("\"body\":")
        .unwrap()
        .1
        .strip_suffix('}')
        .unwrap();
    let body = body.replacen("\"schema\":1", "\"schema\":99", 1);
    let hash = blake3::hash(body.as_bytes()).to_hex();
    fs::write(&path, format!("{{\"blake3\":\"{hash}\",\"body\":{body}}}")).unwrap();
    let error = latest(folder.path(), CheckpointKind::Step).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Version {
                found: 99,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn what_a_crash_leaves_half_written_is_not_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".unfinished-abc")).unwrap();
    fs::create_dir(folder.path().join("step-x-0")).unwrap();
    assert!(checkpoints(folder.path()).unwrap().is_empty());
    let error = latest(folder.path(), CheckpointKind::Step).unwrap_err();
    assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
    assert!(
        checkpoints(&folder.path().join("nowhere"))
            .unwrap()
            .is_empty()
    );
    let left = folder.path().join(".unfinished-abc");
    fs::write(left.join("weights.safetensors"), "half").unwrap();
    let writer = CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap();
    writer.finish().unwrap();
    assert!(!left.exists(), "it takes no room from here on");
}

#[test]
fn a_writer_writes_the_newest_and_counts_what_gave_way() {
    let folder = tempfile::tempdir().unwrap();
    let writer = CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap();
    let mut trainer = trained(0);
    for step in 0..40 {
        trainer
            .step(1e-2, &[Batch::new(5, 0, 4, &device())])
            .unwrap();
        let snapshot = trainer.snapshot();
        writer
            .save(if step == 20 {
                snapshot.clone().as_best()
            } else {
                snapshot
            })
            .unwrap();
    }
    let statistics = writer.finish().unwrap();
    assert_eq!(statistics.n_written + statistics.n_replaced, 40);
    assert_eq!(statistics.n_failed, 0);
    let found = checkpoints(folder.path()).unwrap();
    let steps: Vec<u64> = found
        .iter()
        .filter(|place| place.kind == CheckpointKind::Step)
        .map(|place| place.step)
        .collect();
    assert_eq!(steps.last(), Some(&40));
    assert!((1..=3).contains(&steps.len()), "{steps:?}");
    assert_eq!(
        found
            .iter()
            .filter(|place| place.kind == CheckpointKind::Best)
            .count(),
        1
    );
}

#[test]
fn dropping_a_writer_writes_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let writer = CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap();
    writer.save(trained(1).snapshot()).unwrap();
    drop(writer);
    assert_eq!(
        latest(folder.path(), CheckpointKind::Step)
            .unwrap()
            .checkpoint
            .progress()
            .step,
        1
    );
}

#[test]
fn an_error_of_the_disk_reaches_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("checkpoints");
    let writer = CheckpointWriter::new(&place, WriterOptions::default()).unwrap();
    // A file where the folder was: nothing can be written below it.
    fs::remove_dir(&place).unwrap();
    fs::write(&place, "").unwrap();
    writer.save(trained(1).snapshot()).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.to_string().contains("checkpoints"), "{error}");
    // Told once; what comes after is written as soon as it can be.
    fs::remove_file(&place).unwrap();
    writer.save(trained(2).snapshot()).unwrap();
    let statistics = writer.finish().unwrap();
    assert_eq!((statistics.n_failed, statistics.n_written), (1, 1));
}
