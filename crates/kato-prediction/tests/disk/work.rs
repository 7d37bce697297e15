//! What a search does is counted, and as little as it was: answers alone do not tell a search that skips
//! from one that reads all.

use std::sync::Arc;

use kato_model::Event;
use kato_model::KatoGeneration::{V3_10, V6};
use kato_prediction::{PatternIndex, PredictionConfig, SearchWork};
use kato_random::SplitMix64;

use crate::support::{build, teach};

/// Patterns of 2 to 12 symbols of a skewed alphabet, and some of any length.
fn pattern(random: &mut SplitMix64) -> Vec<Event> {
    let length = match random.below(20) {
        0 => 13 + random.below(60),
        _ => 2 + random.below(11),
    };
    let mut symbol = || random.below(30).min(random.below(30));
    (0..length)
        .map(|_| Event::new([symbol().to_string()]))
        .collect()
}

/// Returns the sum of the work for many states.
fn work(index: &PatternIndex, states: &[Vec<Event>], config: &PredictionConfig) -> [u64; 3] {
    let mut sum = SearchWork::default();
    for state in states {
        let (_, work) = index.predict_with_work(state, config);
        // What is scored was read, and no pattern is scored twice.
        assert!(work.n_scored <= work.n_read && work.n_scored <= index.n_patterns() as u64);
        sum += work;
    }
    [sum.n_listed, sum.n_read, sum.n_scored]
}

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "an index that is not for tests lists fewer pairs"
)]
fn a_search_reads_no_more_than_it_did() {
    let mut random = SplitMix64::from_seed(20);
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let part: Vec<(Vec<Event>, usize)> = (0..20_000).map(|_| (pattern(&mut random), 1)).collect();
    teach(&kb, std::slice::from_ref(&part));
    let disk = PatternIndex::over(Arc::clone(&build(&kb).nodes().next().unwrap().unwrap()));
    let mut memory = PatternIndex::new();
    for (events, _) in &part {
        memory.learn(events).unwrap();
    }
    memory.seal();
    let states: Vec<Vec<Event>> = (0..40)
        .map(|number| {
            let mut state = pattern(&mut random);
            state.truncate(2 + number % 9);
            state
        })
        .collect();
    // Listed, read and scored by generation, whose rules leave unlike numbers of patterns in play; a change
    // that lowers them writes the lower ones here. On the disk lists of many patterns that are
    // short have signatures, by which a part of what they list is passed over.
    let expected = [
        (V3_10, 0.0, [0, 16_235, 16_235], [163_181, 130_470, 8_446]),
        (V3_10, 0.1, [0, 16_187, 16_187], [160_533, 127_776, 8_390]),
        (V3_10, 0.5, [0, 14_402, 14_402], [252_921, 130_048, 8_834]),
        (V6, 0.0, [0, 18_053, 18_053], [171_067, 136_416, 9_084]),
        (V6, 0.1, [0, 18_005, 18_005], [168_591, 133_894, 9_041]),
        (V6, 0.5, [0, 14_414, 14_414], [249_568, 130_146, 8_310]),
    ];
    let found = expected.map(|(generation, recall_threshold, _, _)| {
        let config = PredictionConfig {
            generation,
            recall_threshold,
            max_predictions: 5,
            ..PredictionConfig::default()
        };
        let [in_memory, on_disk] = [&memory, &disk].map(|index| work(index, &states, &config));
        (generation, recall_threshold, in_memory, on_disk)
    });
    assert_eq!(found, expected);
}
