//! Many patterns of a skewed alphabet, so that lists are long, pairs have lists of their own and
//! most scores tie.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use kato_model::Event;
use kato_prediction::disk::BuildOptions;
use kato_prediction::{PatternIndex, PredictionConfig};
use kato_random::SplitMix64;
use kato_store::EmbeddedStore;

use crate::support::{build, build_with, copy_of, teach};

#[test]
fn thousands_of_states_are_answered_as_by_the_full_scan() {
    let mut random = SplitMix64::from_seed(17);
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let parts: Vec<Vec<(Vec<Event>, usize)>> = (0..3)
        .map(|_| (0..2_000).map(|_| (pattern(&mut random), 1)).collect())
        .collect();
    teach(&kb, &parts);
    let frozen = build(&kb).nodes().next().unwrap().unwrap();
    let disk = PatternIndex::over(Arc::clone(&frozen));
    // As large ones are, with pairs of what many patterns hold alone.
    let of_many = build_with(&copy_of(&kb), &BuildOptions::default());
    let of_many = PatternIndex::over(of_many.nodes().next().unwrap().unwrap());
    let threads = NonZeroUsize::new(3).unwrap();
    let parallel = PatternIndex::over(frozen).with_threads(threads);
    let mut memory = PatternIndex::new();
    for (events, _) in parts.iter().flatten() {
        memory.learn(events).unwrap();
    }
    memory.seal();
    for n_states in 0..600 {
        let mut state = pattern(&mut random);
        // Some end in the middle, some go on into what comes next.
        state.truncate(1 + random.below(8));
        if n_states % 7 == 0 {
            state.extend(pattern(&mut random));
        }
        let config = PredictionConfig {
            max_predictions: 1 + random.below(40),
            recall_threshold: [0.0, 0.1, 0.1, 0.4][random.below(4)],
            ..PredictionConfig::default()
        };
        let expected = memory.predict_by_full_scan(&state, &config);
        for (of, index) in [
            ("memory", &memory),
            ("disk", &disk),
            ("pairs of many", &of_many),
            ("threads", &parallel),
        ] {
            let answer = index.predict(&state, &config);
            assert!(answer == expected, "{of}: {state:?} {config:?}");
        }
    }
}

#[test]
fn an_index_has_the_same_bytes_with_any_memory_and_any_number_of_threads() {
    let mut random = SplitMix64::from_seed(18);
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    // Enough for several threads to have a part of them.
    let part = (0..20_000).map(|_| (pattern(&mut random), 1)).collect();
    teach(&kb, &[part]);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let built = |sort_bytes: usize, threads: usize| {
        let options = BuildOptions::default()
            .with_sort_bytes(sort_bytes)
            .with_threads(NonZeroUsize::new(threads).unwrap());
        let report = kato_prediction::disk::build(&store, &options).unwrap();
        let files = bytes_of(&kb.join("index").join(report.content.to_string()));
        fs::remove_dir_all(kb.join("index")).unwrap();
        files
    };
    let expected = built(256 << 20, 1);
    assert!(expected.len() > 10);
    for (sort_bytes, threads) in [
        (0, 1),
        (1 << 14, 1),
        (1 << 14, 3),
        (1 << 18, 2),
        (256 << 20, 16),
    ] {
        // Not `assert_eq`, which would print all of them.
        let is_same = built(sort_bytes, threads) == expected;
        assert!(is_same, "{sort_bytes} bytes, {threads} threads");
    }
}

/// Returns the bytes of the files of a directory, by name.
fn bytes_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let files = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    files.collect()
}

/// Returns a pattern of mostly five symbols, early ones by far more often.
fn pattern(random: &mut SplitMix64) -> Vec<Event> {
    let length = match random.below(10) {
        0 => 2 + random.below(3),
        1 => 6 + random.below(30),
        _ => 5,
    };
    let symbol = |random: &mut SplitMix64| {
        // Some are rare, so that there are more than buckets of most classes.
        let bound = match random.below(8) {
            0 => 9_000,
            _ => 1 + random.below(40),
        };
        random.below(bound).to_string()
    };
    (0..length).map(|_| Event::new([symbol(random)])).collect()
}
