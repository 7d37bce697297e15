//! Real processes: killed while they write, or without room to write.
//!
//! The tests start this test binary again and let it run one test, which does nothing unless it is
//! told where.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use kato_store::conformance::{LearnCall, Lessons};
use kato_store::embedded::EmbeddedOptions;
use kato_store::{EmbeddedStore, PatternStore, StoreError};
use serde_json::json;

use crate::support::{always_merging, commit, two_levels};

const DIR: &str = "KATO_STORE_TEST_CHILD_DIR";

/// The arguments that make this binary run one test.
fn only(test: &str) -> [String; 3] {
    [
        format!("durability::processes::{test}"),
        "--exact".to_owned(),
        "--nocapture".to_owned(),
    ]
}

/// Commits a lesson after the other, for ever, and says so.
#[test]
fn child_commits_until_it_is_killed() {
    let Some(dir) = env::var_os(DIR) else { return };
    let store = EmbeddedStore::open_with(Path::new(&dir), always_merging()).unwrap();
    let lessons = two_levels(400);
    loop {
        let done = store.checkpoint().as_u64().unwrap();
        commit(&store, &lessons, &[(done % 600) as usize], json!(done + 1));
        println!("\ncommitted {}", done + 1);
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_reported() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0", "node1"], json!(null)).unwrap();
    store.commit(Vec::new(), json!(0)).unwrap();
    drop(store);
    let lessons = two_levels(400);
    for round in 0..4_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(only("child_commits_until_it_is_killed"))
            .env(DIR, &kb)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let mut reported =
            || lines.find_map(|line| line.strip_prefix("committed ")?.parse::<u64>().ok());
        let enough = reported().unwrap() + 3 + 2 * round;
        while reported().unwrap() < enough {}
        assert!(matches!(
            EmbeddedStore::open(&kb),
            Err(StoreError::Locked { .. })
        ));
        child.kill().unwrap();
        child.wait().unwrap();

        let store = EmbeddedStore::open(&kb).unwrap();
        let done = store.checkpoint().as_u64().unwrap();
        assert!(
            done >= enough,
            "{done} commits are there, {enough} were reported"
        );
        let learned = store.totals(0).unwrap().learns + store.totals(1).unwrap().learns;
        assert_eq!(learned, done, "patterns and checkpoint belong together");
        for idx in 0..done.min(400) as usize {
            assert!(
                store.pattern(0, &lessons.name(idx)).unwrap().is_some(),
                "lesson {idx}"
            );
        }
    }
}

/// A pattern whose symbol takes this much.
fn large(bytes: usize, text: &str) -> Lessons {
    Lessons::new(
        1,
        vec![LearnCall::text(0, &[&text.repeat(bytes / text.len())])],
    )
}

/// Runs out of room in every operation that writes, and goes on with what needs less.
#[test]
fn child_has_no_room() {
    let Some(dir) = env::var_os(DIR) else { return };
    let mut options = EmbeddedOptions::default();
    options.max_segments = 2;
    let store = EmbeddedStore::open_with(Path::new(&dir), options).unwrap();
    let segments = || {
        std::fs::read_dir(Path::new(&dir).join("segments"))
            .unwrap()
            .count()
    };
    let n_segments = segments();

    let too_large = store.stage(large(1 << 20, "no room").batch(&[0]));
    assert!(
        matches!(too_large, Err(StoreError::Full { .. })),
        "staging: {too_large:?}"
    );
    assert_eq!(segments(), n_segments, "half a segment stays behind");

    let too_large = store.commit(Vec::new(), json!("x".repeat(1 << 20)));
    assert!(
        too_large.as_ref().is_err_and(StoreError::is_full),
        "the manifest: {too_large:?}"
    );
    assert_eq!(store.checkpoint(), json!("before"));

    commit(
        &store,
        &large(12 << 10, "half full"),
        &[0],
        json!("between"),
    );
    // A third segment makes a merge necessary, and the merged one is too large.
    let staged = store.stage(large(12 << 10, "full").batch(&[0])).unwrap();
    let too_large = store.commit(vec![staged], json!("lost"));
    assert!(
        matches!(too_large, Err(StoreError::Full { .. })),
        "the merge: {too_large:?}"
    );
    assert_eq!(
        (store.checkpoint(), store.count_patterns(0).unwrap()),
        (json!("between"), 2)
    );
    assert_eq!(segments(), 2);
    store.commit(Vec::new(), json!("after")).unwrap();
    println!("\nran to its end");
}

#[cfg(unix)]
#[test]
fn a_writer_without_room_loses_nothing_and_can_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    let first = large(14 << 10, "first");
    commit(&store, &first, &[0], json!("before"));
    drop(store);

    // The unit of `ulimit -f` is 512 bytes in some shells and 1024 in others: no file grows beyond
    // 16 KiB, or 32 KiB...
    let limit = |blocks: u32| {
        let script = format!("ulimit -f {blocks} && trap '' XFSZ && exec \"$@\"");
        let exe = env::current_exe().unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, "sh"])
            .arg(exe)
            .args(only("child_has_no_room"))
            .env(DIR, &kb);
        command.output().unwrap()
    };
    // ...so ask the shell which.
    let probe = dir.path().join("probe");
    let script = format!(
        "ulimit -f 1; trap '' XFSZ; head -c 4096 /dev/zero > {}",
        probe.display()
    );
    let _ = Command::new("sh")
        .args(["-c", &script])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let unit = std::fs::metadata(&probe).unwrap().len() as u32;
    let output = limit((20 << 10) / unit);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("ran to its end"),
        "{text}\n{errors}"
    );

    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(
        (store.checkpoint(), store.count_patterns(0).unwrap()),
        (json!("after"), 2)
    );
    assert!(store.pattern(0, &first.name(0)).unwrap().is_some());
    // With room again, the merge that failed is done.
    store.compact().unwrap();
    assert_eq!(
        (store.n_segments(), store.count_patterns(0).unwrap()),
        (1, 2)
    );
}
