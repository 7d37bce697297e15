//! The steps of a cluster, each interrupted until it comes through.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::interrupted::{interrupt, n_moments};
use crate::place::Place;
use crate::random::Random;
use crate::report::stderr;

/// A step in the place, with its plan in a directory.
fn step(place: &Place, line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = place.command("cluster", &words);
    command
        .args(["--store", "plan", "--scratch", "scratch"])
        .stdout(Stdio::piped());
    command
}

#[test]
fn what_is_interrupted_at_any_moment_ends_in_what_one_machine_learns() {
    let mut random = Random::from_seed(39);
    let mut n_signals = 0;
    while n_signals < n_moments() {
        let place = Place::new();
        place.trained("corpus.jsonl", &["--kb", "alone"]);
        std::fs::create_dir(place.path("scratch")).unwrap();
        let plan = "plan corpus.jsonl --tokenizer tokenizer.json --levels 3,2 --id-field id --tasks 2 --ranges 2";
        for line in [
            plan,
            "learn --task 0",
            "learn --task 1",
            "merge --all",
            "seal --all",
            "publish --kb published",
        ] {
            let mut most = Duration::from_millis(150);
            loop {
                let after = random.delay(most);
                let interrupted = interrupt(step(&place, line), after, &mut random);
                if interrupted.was_over {
                    let output = interrupted.output;
                    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
                    break;
                }
                n_signals += 1;
                // A step that is interrupted too early every time never comes through.
                most = most.mul_f64(1.5);
            }
        }
        let left = std::fs::read_dir(place.path("scratch")).unwrap().count();
        assert_eq!(left, 0, "working files are left");
        assert!(place.exported("published") == place.exported("alone"));
    }
}
