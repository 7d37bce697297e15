//! Many patterns of a skewed alphabet, so that lists are long, pairs have lists of their own and
//! most scores tie.

use std::num::NonZeroUsize;
use std::sync::Arc;

use kato_model::Event;
use kato_prediction::{PatternIndex, PredictionConfig};
use kato_random::SplitMix64;

use crate::support::{build, teach};

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
        for (of, index) in [("memory", &memory), ("disk", &disk), ("threads", &parallel)] {
            let answer = index.predict(&state, &config);
            assert!(answer == expected, "{of}: {state:?} {config:?}");
        }
    }
}

/// Returns a pattern of mostly five symbols, early ones by far more often.
fn pattern(random: &mut SplitMix64) -> Vec<Event> {
    let length = match random.below(10) {
        0 => 2 + random.below(3),
        1 => 6 + random.below(30),
        _ => 5,
    };
    let symbol = |random: &mut SplitMix64| {
        let bound = 1 + random.below(40);
        random.below(bound).to_string()
    };
    (0..length).map(|_| Event::new([symbol(random)])).collect()
}
