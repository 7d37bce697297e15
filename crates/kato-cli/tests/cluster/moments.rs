//! Processes that die at chosen moments of a task, a merge or a seal.

use std::process::Stdio;

use crate::place::Place;

/// Before anything is uploaded, between the upload and the commit, and after the commit.
const MOMENTS: [&str; 3] = ["computed", "uploaded", "committed"];

const TASKS: u32 = 2;
const RANGES: u32 = 2;
const LEVELS: u32 = 2;

/// Lets a piece of work die at every moment, one after the other: only the last has committed it.
fn dies_at_every_moment(place: &Place, line: &str, done: &str) {
    let before = place.answer("cluster status")[done].as_u64();
    for moment in MOMENTS {
        let mut command = place.command(line);
        let status = command
            .env("KATO_CLUSTER_ABORT_AT", moment)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), None, "{line} did not reach {moment}");
        let is_committed = moment == "committed";
        assert_eq!(
            place.answer("cluster status")[done].as_u64(),
            before.map(|before| before + u64::from(is_committed)),
            "{line}, {moment}"
        );
    }
    assert!(place.succeeds(line).contains("before"), "{line}");
}

/// Lets every piece of work die at every moment, and compares what comes out with one machine's.
fn what_dies_at_any_moment_ends_in_what_one_machine_learns(place: &Place) {
    place.succeeds("train corpus --kb alone --levels 4,3 --workers 1 --quiet");
    place.succeeds(&format!(
        "cluster plan corpus --levels 4,3 --tasks {TASKS} --ranges {RANGES}"
    ));
    for task in 0..TASKS {
        dies_at_every_moment(
            place,
            &format!("cluster learn --task {task} --workers 1"),
            "tasks_done",
        );
    }
    for piece in 0..LEVELS * RANGES {
        dies_at_every_moment(
            place,
            &format!("cluster merge --piece {piece}"),
            "merges_done",
        );
    }
    for range in 0..RANGES {
        let line = format!("cluster seal --range {range}");
        dies_at_every_moment(place, &line, "ranges_sealed");
    }
    // Every attempt that died between upload and commit has left its files, and no other has.
    let garbage = place.answer("cluster gc");
    let left = TASKS * LEVELS + RANGES * LEVELS + RANGES;
    assert_eq!(garbage["objects"], left, "{garbage}");
    place.succeeds("cluster publish --kb together");
    place.assert_equal_exports("alone", "together");
    assert_eq!(place.answer("cluster gc")["objects"], 0);
}

#[test]
fn over_a_directory() {
    let place = Place::new();
    let address = format!("file://{}", place.path("plan").display());
    what_dies_at_any_moment_ends_in_what_one_machine_learns(&Place::over(&address, Vec::new()));
}

#[test]
#[cfg(feature = "cluster-remote")]
fn over_an_s3_server() {
    if !kato_s3_server::is_installed() {
        return;
    }
    let server = kato_s3_server::S3Server::start();
    server.create_bucket("bucket");
    let place = Place::over("s3://bucket/below/plan", server.environment());
    what_dies_at_any_moment_ends_in_what_one_machine_learns(&place);
}
