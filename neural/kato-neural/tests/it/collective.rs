//! Replicas that are processes of their own, gone, missing, strangers, or of another run.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kato_neural::Error;
use kato_neural::collective::{Collective, CollectiveError, TcpGroup, TcpOptions, ThreadGroup};
use kato_neural::layers::Cell;
use kato_neural::train::Trainer;

use crate::model::{Autoencoder, Batch, Rebuild};
use crate::replicas::{distances, free_address, joined, options, together};
use crate::support::device;

#[test]
fn a_replica_that_is_gone_is_told_to_the_others() {
    fn step(collective: Arc<dyn Collective>) -> Option<Error> {
        let rank = collective.rank();
        let model = Autoencoder::new(Cell::Gru, false, 1, &device());
        let trainer = Trainer::new(Rebuild, model, options(None)).unwrap();
        let mut trainer = trainer.with_collective(collective).unwrap();
        // One ends before its step.
        let batch = Batch::new(5, 0, 6, &device());
        (rank != 1).then(|| trainer.step(1e-2, &[batch]).unwrap_err())
    }
    let threads = together(ThreadGroup::split(3), step);
    let processes = together(joined(3), step);
    for error in threads.into_iter().chain(processes).flatten() {
        assert!(
            matches!(error, Error::Collective { step: 0, .. }),
            "{error}"
        );
    }
}

#[test]
fn one_that_is_gone_is_told_while_another_is_silent() {
    let address = free_address();
    let group = |rank| {
        let options = TcpOptions::new(address, rank, 3, 9);
        TcpGroup::join(options.with_exchange_timeout(Duration::from_secs(60))).unwrap()
    };
    let (first, silent, gone) = thread::scope(|scope| {
        let others = [1, 2].map(|rank| scope.spawn(move || group(rank)));
        let first = group(0);
        let [silent, gone] = others.map(|joining| joining.join().unwrap());
        (first, silent, gone)
    });
    drop(gone);
    let error = first.gather(b"mine").unwrap_err();
    assert!(
        matches!(error, CollectiveError::Connection { .. }),
        "{error}"
    );
    drop(silent);
}

#[test]
fn replicas_that_do_not_fit_together_are_refused() {
    let errors = together(ThreadGroup::split(2), |collective| {
        let seed = 1 + collective.rank() as u64;
        let model = Autoencoder::new(Cell::Gru, false, seed, &device());
        let trainer = Trainer::new(Rebuild, model, options(None)).unwrap();
        trainer.with_collective(collective).unwrap_err().to_string()
    });
    assert_eq!(errors.len(), 2);
    let errors = together(ThreadGroup::split(2), |collective| {
        let n_rows = 6 + collective.rank();
        let model = Autoencoder::new(Cell::Gru, false, 1, &device());
        let trainer = Trainer::new(Rebuild, model, options(None)).unwrap();
        let mut trainer = trainer.with_collective(collective).unwrap();
        trainer.step(1e-2, &[Batch::new(5, 0, n_rows, &device())])
    });
    for error in errors {
        let mismatch = matches!(
            error,
            Err(Error::Collective {
                source: CollectiveError::Mismatch { .. },
                ..
            })
        );
        assert!(mismatch);
    }
}

#[test]
fn a_group_that_does_not_come_together_says_who_is_missing() {
    let timeout = Duration::from_millis(150);
    let options = TcpOptions::new(free_address(), 0, 3, 9).with_timeout(timeout);
    let error = TcpGroup::join(options).unwrap_err();
    let missing = matches!(error, CollectiveError::Missing { n_missing: 2, .. });
    assert!(missing, "{error}");
    // Processes of another run are not let in.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let is_refused = AtomicBool::new(false);
    thread::scope(|scope| {
        // The first one waits until the other has its answer, however late that comes.
        let first = scope.spawn(|| {
            let mut can_come = || !is_refused.load(Ordering::Relaxed);
            TcpGroup::lead(&listener, TcpOptions::new(address, 0, 2, 9), &mut can_come)
        });
        let other = TcpGroup::join(TcpOptions::new(address, 1, 2, 8));
        is_refused.store(true, Ordering::Relaxed);
        let other = other.unwrap_err();
        let first = first.join().unwrap().unwrap_err();
        assert!(
            matches!(first, CollectiveError::Missing { n_missing: 1, .. }),
            "{first}"
        );
        assert!(matches!(other, CollectiveError::Mismatch { .. }), "{other}");
    });
}

/// What a replica ends with, as bytes.
fn bytes((weights, told): (Vec<f32>, Vec<f64>)) -> Vec<u8> {
    let weights = weights.iter().flat_map(|value| value.to_le_bytes());
    let told = told.iter().flat_map(|value| value.to_le_bytes());
    weights.chain(told).collect()
}

#[test]
#[ignore = "a process of the test below"]
fn child_process() {
    // Without an address somebody asked for all ignored tests.
    let Ok(address) = std::env::var("KATO_NEURAL_TEST_ADDRESS") else {
        return;
    };
    let rank = std::env::var("KATO_NEURAL_TEST_RANK").unwrap();
    let options = TcpOptions::new(address.parse().unwrap(), rank.parse().unwrap(), 2, 9);
    let group = TcpGroup::join(options.with_timeout(Duration::from_secs(120))).unwrap();
    let found = distances(true, Some(9), Some(Arc::new(group)));
    let folder = std::env::var_os("KATO_NEURAL_TEST_FOLDER").unwrap();
    std::fs::write(Path::new(&folder).join(rank), bytes(found)).unwrap();
}

#[test]
fn two_processes_give_the_bits_of_two_threads() {
    let (folder, address) = (tempfile::tempdir().unwrap(), free_address());
    let processes = ["0", "1"].map(|rank| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "collective::child_process", "--ignored"])
            .env("KATO_NEURAL_TEST_ADDRESS", address.to_string())
            .env("KATO_NEURAL_TEST_RANK", rank)
            .env("KATO_NEURAL_TEST_FOLDER", folder.path())
            // One of them with more threads: it changes nothing.
            .env("RAYON_NUM_THREADS", if rank == "0" { "1" } else { "3" })
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    });
    let threads = together(ThreadGroup::split(2), |collective| {
        bytes(distances(true, Some(9), Some(collective)))
    });
    for (rank, mut process) in processes.into_iter().enumerate() {
        assert!(process.wait().unwrap().success(), "rank {rank}");
        let found = std::fs::read(folder.path().join(rank.to_string())).unwrap();
        assert!(found == threads[rank], "rank {rank} has other bits");
    }
}
