//! `kill -9` of the server, of the trainer, and of both.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use kato_test_needs::ends_within;

use crate::place::{Node, Place};
use crate::random::Random;
use crate::report::stderr;
use crate::server::Server;

const N_BYTES: u64 = 600_000;
const SIGKILL: i32 = 9;
/// Longest life of a program before it is killed.
const LIFE: Duration = Duration::from_millis(400);

/// A server and its trainers, killed at random moments.
struct Attack<'a> {
    place: &'a Place,
    random: Random,
    server: Server,
    n_kills: usize,
    max_kills: usize,
}

impl<'a> Attack<'a> {
    fn new(place: &'a Place, seed: u64, max_kills: usize) -> Self {
        Self {
            place,
            random: Random::from_seed(seed),
            server: place.serve(),
            n_kills: 0,
            max_kills,
        }
    }

    /// Trains a run under attack until it ends by itself.
    fn train(&mut self, run: &str, victims: &[&str]) -> Output {
        let mut resume = false;
        loop {
            let trainer = self.start_trainer(run, resume);
            let output = self.attack(trainer, victims);
            if output.status.signal() != Some(SIGKILL) {
                return output;
            }
            self.n_kills += 1;
            // One that was killed before it had begun begins.
            resume = self.place.is_begun(run);
        }
    }

    fn start_trainer(&mut self, run: &str, resume: bool) -> Child {
        let settings = [
            ["--workers", self.random.pick(&["1", "2", "4"])],
            ["--commit-interval", self.random.pick(&["0", "0.01", "0.1"])],
        ];
        let mut arguments = settings.concat();
        if resume {
            arguments.push("--resume");
        }
        self.place.train_there(run, &arguments).spawn().unwrap()
    }

    /// Kills the server as often as it takes, or the trainer once.
    fn attack(&mut self, mut trainer: Child, victims: &[&str]) -> Output {
        while self.n_kills < self.max_kills {
            if ends_within(&mut trainer, self.random.delay(LIFE)) {
                break;
            }
            let victim = self.random.pick(victims);
            if victim != "trainer" {
                self.n_kills += 1;
                self.server.kill();
                self.server = self.place.serve();
            }
            if victim != "server" {
                trainer.kill().unwrap();
                break;
            }
        }
        trainer.wait_with_output().unwrap()
    }
}

/// Trains runs until there were enough kills, and expects of each what training in one process
/// gives.
fn check(seed: u64, max_kills: usize, victims: &[&str]) {
    let start = Instant::now();
    let place = Place::new(N_BYTES, &[]);
    let expected = place.trained_here();
    assert!(!expected.skipped.is_empty());
    let mut attack = Attack::new(&place, seed, max_kills);
    let mut runs = Vec::new();
    while attack.n_kills < max_kills {
        let run = format!("run{}", runs.len());
        let output = attack.train(&run, victims);
        let code = output.status.code();
        assert_eq!(code, Some(0), "{run}: {}", stderr(&output));
        runs.push((run, output));
    }
    assert_eq!(attack.server.terminate(), Some(0));
    for (run, output) in &runs {
        place.trained_there(run, output).assert_equals(&expected);
    }
    eprintln!(
        "seed {seed}: {max_kills} kills of {} in {} runs, {:.0?} in all",
        victims.join(", "),
        runs.len(),
        start.elapsed(),
    );
}

#[test]
fn a_server_that_is_killed_again_and_again_has_learned_everything_once() {
    check(1, 25, &["server"]);
}

#[test]
fn a_trainer_that_is_killed_again_and_again_has_taught_everything_once() {
    check(2, 25, &["trainer"]);
}

#[test]
fn so_it_is_when_any_of_them_is_killed_and_both_at_once() {
    check(3, 30, &["server", "trainer", "both"]);
}

#[test]
fn a_stock_server_that_is_killed_has_learned_everything_at_least_once() {
    let place = Place::new(60_000, &["--no-extensions"]);
    let expected = place.trained_here();
    let mut attack = Attack::new(&place, 4, 3);
    let mut output = attack.train("run", &["server"]);
    while output.status.code() == Some(1) {
        // Nobody could tell whether something had been learned, so it is for the user to go on.
        let message = stderr(&output);
        assert!(message.contains("it may have acted or not"), "{message}");
        output = attack
            .start_trainer("run", true)
            .wait_with_output()
            .unwrap();
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(attack.server.terminate(), Some(0));

    let learned = place.trained_there("run", &output);
    for (found, expected) in learned.nodes.iter().zip(&expected.nodes) {
        let (found, expected) = (frequencies(found), frequencies(expected));
        assert!(found.keys().eq(expected.keys()), "other patterns");
        for (name, frequency) in &expected {
            assert!(found[name] >= *frequency, "{name}: {}", found[name]);
        }
    }
}

/// How often each pattern was learned, by name.
fn frequencies(node: &Node) -> BTreeMap<&str, u64> {
    let lines = node.export.iter();
    lines
        .map(|line| (line["name"].as_str().unwrap(), &line["frequency"]))
        .map(|(name, frequency)| (name, frequency.as_u64().unwrap()))
        .collect()
}
