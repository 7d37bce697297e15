//! `kill -9` at any moment, as often as it takes.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use kato_test_needs::{ends_within, is_thorough};

use crate::knowledge::Knowledge;
use crate::random::Random;
use crate::report::stderr;
use crate::workplace::Workplace;

const SEED: u64 = 20;
const SIGKILL: i32 = 9;

/// Returns the kills in all, and those of one run, after which it is left alone: three runs at least.
fn kills() -> (usize, usize) {
    if is_thorough() { (120, 40) } else { (42, 14) }
}

/// Kills one run again and again, and lets it end in the end; returns the number of kills and of
/// those before a commit.
fn round(
    place: &Workplace,
    kb: &str,
    random: &mut Random,
    most: Duration,
    expected: &Knowledge,
) -> (usize, usize) {
    let (mut n_kills, mut n_before_commit, mut committed) = (0, 0, None);
    loop {
        let settings = [
            ["--workers", random.pick(&["1", "2", "3", "4"])],
            ["--memory", random.pick(&["1KB", "300KB", "64MB"])],
            [
                "--commit-interval",
                random.pick(&["0", "0", "0.002", "0.05"]),
            ],
        ];
        let mut arguments = settings.concat();
        if place.is_begun(kb) {
            arguments.push("--resume");
        }
        let mut child = place.train("corpus.jsonl", kb, &arguments).spawn().unwrap();
        if n_kills < kills().1 {
            ends_within(&mut child, random.delay(most));
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let now = place.committed(kb);
        assert!(
            now >= committed,
            "{committed:?} documents were safe, and now {now:?} are"
        );
        committed = now;
        if output.status.signal() == Some(SIGKILL) {
            n_kills += 1;
            n_before_commit += usize::from(committed.is_none_or(|documents| documents == 0));
            continue;
        }
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        Knowledge::of(&place.path(kb), &output).assert_equals(expected);
        return (n_kills, n_before_commit);
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_ends_like_one_that_is_not() {
    let place = Workplace::new(3_000_000);
    let start = Instant::now();
    let expected = place.undisturbed("corpus.jsonl");
    let whole = start.elapsed();
    assert!(
        expected.samples() > 1_200 && expected.n_patterns() > 50_000,
        "{}",
        expected.counters()
    );
    assert!(expected.skipped().len() > 20);

    let mut random = Random::from_seed(SEED);
    let (mut n_rounds, mut n_kills, mut n_before_commit) = (0, 0, 0);
    while n_kills < kills().0 {
        // Sessions that end early and sessions that come far.
        let most = whole.mul_f64([0.15, 0.3, 0.6][n_rounds % 3]);
        let (kills, before_commit) = round(
            &place,
            &format!("kb{n_rounds}"),
            &mut random,
            most,
            &expected,
        );
        n_rounds += 1;
        n_kills += kills;
        n_before_commit += before_commit;
    }
    eprintln!(
        "seed {SEED}: {n_kills} kills in {n_rounds} runs, {n_before_commit} before anything was committed, {:.0?} in all; \
         undisturbed {whole:.1?} with {} patterns",
        start.elapsed(),
        expected.n_patterns(),
    );
    assert!(n_before_commit > 0);
}
