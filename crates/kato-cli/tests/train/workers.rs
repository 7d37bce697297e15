//! Workers and distributions change nothing that is learned.

use std::thread::available_parallelism;

use crate::place::{N_SAMPLES, Place};

#[test]
fn auto_is_one_worker_a_core() {
    let place = Place::new();
    let report = place.trained("corpus.jsonl", &["--workers", "auto"]);
    let cores = available_parallelism().unwrap().get();
    // A worker needs 4 MiB of the 256 MiB of memory.
    assert_eq!(report["num_workers"], cores.min(64));
}

#[test]
fn every_distribution_exports_the_same() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--workers", "1"]);
    let expected = place.exported("kato-kb");
    for distribution in ["work-stealing", "round-robin", "contiguous"] {
        for workers in ["1", "2", "5"] {
            let kb = format!("{distribution}-{workers}");
            let arguments = [
                "--kb",
                &kb,
                "--workers",
                workers,
                "--distribution",
                distribution,
                "--commit-interval",
                "0",
            ];
            let report = place.trained("corpus.jsonl", &arguments);
            assert_eq!(report["distribution"], distribution);
            assert_eq!(report["num_workers"].to_string(), workers);
            assert_eq!(report["samples_processed"], N_SAMPLES);
            assert_eq!(place.exported(&kb), expected, "{kb}");
        }
    }
}
