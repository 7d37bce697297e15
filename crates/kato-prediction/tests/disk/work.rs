//! What a search does is counted, and as little as it was: answers alone do not tell a search that skips
//! from one that reads all.

use std::path::Path;

use kato_model::Event;
use kato_model::KatoGeneration::{V3_10, V6};
use kato_prediction::disk::BuildOptions;
use kato_prediction::{PatternIndex, PredictionConfig, SearchWork};
use kato_random::SplitMix64;

use crate::support::{build_with, copy_of, teach};

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
    // So many that pairs are listed however many patterns it takes, and lists are walked in parts.
    let part: Vec<(Vec<Event>, usize)> = (0..60_000).map(|_| (pattern(&mut random), 1)).collect();
    teach(&kb, std::slice::from_ref(&part));
    let over = |kb: &Path, options: &BuildOptions| {
        PatternIndex::over(build_with(kb, options).nodes().next().unwrap().unwrap())
    };
    let options = BuildOptions::default();
    let of_few = over(&copy_of(&kb), &options.clone().with_least_pair_list(128));
    let disk = over(&kb, &options);
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
    // that lowers them writes the lower ones here. In memory, on the disk, and there with the pairs of what few
    // patterns hold. Lists of many patterns that are short have signatures there, by which a part of what they list
    // is passed over.
    let expected = [
        (
            V3_10,
            0.0,
            [
                [0, 25_507, 25_507],
                [635_490, 195_215, 13_904],
                [285_121, 209_825, 13_910],
            ],
        ),
        (
            V3_10,
            0.1,
            [
                [0, 25_503, 25_503],
                [628_572, 187_437, 13_921],
                [277_372, 202_076, 13_928],
            ],
        ),
        (
            V3_10,
            0.5,
            [
                [0, 29_284, 29_284],
                [894_193, 183_716, 14_426],
                [464_381, 195_631, 14_427],
            ],
        ),
        (
            V6,
            0.0,
            [
                [0, 26_998, 26_998],
                [651_352, 204_047, 15_538],
                [295_697, 220_403, 15_557],
            ],
        ),
        (
            V6,
            0.1,
            [
                [0, 26_993, 26_993],
                [645_349, 196_565, 15_561],
                [288_306, 213_012, 15_580],
            ],
        ),
        (
            V6,
            0.5,
            [
                [0, 29_436, 29_436],
                [907_496, 185_869, 14_591],
                [472_229, 197_820, 14_620],
            ],
        ),
    ];
    let found = expected.map(|(generation, recall_threshold, _)| {
        let config = PredictionConfig {
            generation,
            recall_threshold,
            max_predictions: 5,
            ..PredictionConfig::default()
        };
        let found = [&memory, &disk, &of_few].map(|index| work(index, &states, &config));
        (generation, recall_threshold, found)
    });
    assert_eq!(found, expected);
}
