//! Commands that train pilots in processes of their own.

use std::process::Command;
use std::time::Duration;

use crate::interrupted::{interrupt, n_moments};
use crate::random::Random;
use crate::workplace::Workplace;

/// A command with a directory for temporary files of its own.
fn command(place: &Workplace, name: &str, arguments: &[&str]) -> Command {
    let mut command = crate::program::kato(name);
    command
        .arg("corpus.jsonl")
        .args(arguments)
        .args(["--tokenizer", "tokenizer.json", "--levels", "4,3"])
        .args(["--quiet", "--json"])
        .current_dir(place.path(""))
        .env("TMPDIR", place.path("tmp"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

#[test]
fn plans_and_trials_that_are_interrupted_leave_nothing_behind() {
    let place = Workplace::new(6_000_000);
    std::fs::create_dir(place.path("tmp")).unwrap();
    let mut random = Random::from_seed(39);
    let plan = ["--text-size", "20MB", "--within", "24h", "--pilot", "2MB"];
    let tune = [
        "--axis",
        "workers=1,2",
        "--budget",
        "4MB",
        "--questions",
        "200",
    ];
    for _ in 0..n_moments() {
        for (name, arguments) in [("plan", &plan[..]), ("tune", &tune[..])] {
            let after = random.delay(Duration::from_secs(4));
            let interrupted = interrupt(command(&place, name, arguments), after, &mut random);
            if interrupted.output.status.code().is_some() {
                let left = std::fs::read_dir(place.path("tmp")).unwrap().count();
                assert_eq!(left, 0, "{name} leaves files after {after:?}");
            }
        }
    }
}
