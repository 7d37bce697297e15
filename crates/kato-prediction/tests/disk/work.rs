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
fn a_search_reads_no_more_than_it_did() {
    let mut random = SplitMix64::from_seed(20);
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let part: Vec<(Vec<Event>, usize)> = (0..4_000).map(|_| (pattern(&mut random), 1)).collect();
    teach(&kb, std::slice::from_ref(&part));
    let disk = PatternIndex::over(Arc::clone(&build(&kb).nodes().next().unwrap().unwrap()));
    let mut memory = PatternIndex::new();
    for (events, _) in &part {
        memory.learn(events).unwrap();
    }
    memory.seal();
    let states: Vec<Vec<Event>> = (0..150)
        .map(|number| {
            let mut state = pattern(&mut random);
            state.truncate(2 + number % 9);
            state
        })
        .collect();
    // Listed, read and scored by generation, whose rules leave unlike numbers of patterns in play; a change
    // that lowers them writes the lower ones here. On the disk short lists have no
    // signatures, and what they list is read.
    let expected = [
        (V3_10, 0.0, [0, 53_689, 53_689], [925_950, 925_950, 40_061]),
        (V3_10, 0.1, [0, 53_621, 53_621], [907_104, 907_104, 39_807]),
        (V3_10, 0.5, [0, 26_048, 26_048], [705_155, 705_155, 20_456]),
        (V6, 0.0, [0, 55_692, 55_692], [925_669, 925_669, 40_434]),
        (V6, 0.1, [0, 55_401, 55_401], [904_731, 904_731, 40_173]),
        (V6, 0.5, [0, 26_159, 26_159], [706_150, 706_150, 20_599]),
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
