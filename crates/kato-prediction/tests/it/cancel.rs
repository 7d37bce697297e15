//! Predictions that are ended before they are done.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use kato_model::Event;
use kato_prediction::config::{Filter, FilterSettings};
use kato_prediction::{Cancel, Cancelled, PatternIndex, PredictionConfig};

/// Far above what it takes to notice on a slow and busy machine, far below what these predictions
/// take.
const SOON: Duration = Duration::from_secs(30);

/// Questions for the flag until a prediction is in its midst.
const N_ASKED: usize = 3;

/// Numbers without a pattern, the same for a seed.
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some(self.0)
    }
}

/// A million symbols of two kinds.
fn long(seed: u64) -> Vec<Event> {
    let mut numbers = Numbers(seed + 1);
    let mut event = || {
        let n_first = numbers.next().unwrap() as usize % 1024;
        Event::new((0..1024).map(|idx| if idx < n_first { "a" } else { "b" }))
    };
    (0..1024).map(|_| event()).collect()
}

fn ended(index: &PatternIndex, state: &[Event], config: &PredictionConfig) {
    let (tell, asked) = mpsc::sync_channel(0);
    let cancel = Cancel::when(move || {
        tell.try_send(()).ok();
        false
    });
    thread::scope(|scope| {
        let predicting = scope.spawn(|| index.predict_unless(state, config, &cancel));
        // It has begun, and goes on.
        for _ in 0..N_ASKED {
            asked.recv().unwrap();
        }
        assert!(!predicting.is_finished(), "{config:?}");
        cancel.cancel();
        let since = Instant::now();
        assert_eq!(predicting.join().unwrap(), Err(Cancelled), "{config:?}");
        let took = since.elapsed();
        assert!(took < SOON, "{took:?} with {config:?}");
    });
}

#[test]
fn a_prediction_on_patterns_of_a_million_symbols_ends_soon_when_it_is_cancelled() {
    let mut index = PatternIndex::new();
    for seed in 0..10 {
        index.learn(&long(seed)).unwrap();
    }
    let state = long(100);
    let tokens = PredictionConfig::default();
    let characters = PredictionConfig {
        use_token_matching: false,
        ..tokens.clone()
    };
    let hashed = PredictionConfig {
        filter_pipeline: vec![Filter::Minhash, Filter::Rapidfuzz],
        filters: FilterSettings {
            minhash_num_hashes: 1024,
            ..FilterSettings::default()
        },
        ..characters.clone()
    };
    for config in [tokens, characters, hashed] {
        ended(&index, &state, &config);
    }
    index.seal();
    ended(&index, &state, &PredictionConfig::default());
}

#[test]
fn a_prediction_on_symbols_of_a_million_characters_ends_soon_when_it_is_cancelled() {
    let symbol = |seed: u64| {
        let characters = Numbers(seed + 1).take(1 << 20);
        let characters = characters.map(|number| if number % 2 == 0 { 'x' } else { 'y' });
        Event::new([characters.collect::<String>()])
    };
    let mut index = PatternIndex::new();
    for seed in 0..20 {
        let pattern = [Event::new(["first"]), symbol(seed)];
        index.learn(&pattern).unwrap();
    }
    let state = [Event::new(["first"]), symbol(100)];
    let fuzzy = PredictionConfig {
        fuzzy_token_threshold: Some(0.5),
        ..PredictionConfig::default()
    };
    ended(&index, &state, &fuzzy);
}

#[test]
fn a_switch_that_is_off_changes_nothing_and_one_that_is_on_leaves_nothing() {
    let event = |symbol: &str| Event::new([symbol]);
    let mut index = PatternIndex::new();
    for pattern in ["abcd", "abce", "xbcy", "aacd"] {
        let pattern: Vec<Event> = pattern
            .split("")
            .filter(|s| !s.is_empty())
            .map(event)
            .collect();
        index.learn(&pattern).unwrap();
    }
    for state in [&["a", "b"][..], &["a"], &["b", "c", "d"], &["z"]] {
        let state: Vec<Event> = state.iter().map(|symbol| event(symbol)).collect();
        let config = PredictionConfig::default();
        let cancel = Cancel::new();
        assert_eq!(
            index.predict_unless(&state, &config, &cancel).unwrap(),
            index.predict(&state, &config)
        );
        cancel.cancel();
        assert_eq!(
            index.predict_unless(&state, &config, &cancel),
            Err(Cancelled)
        );
    }
    Cancel::never().cancel();
    assert!(!Cancel::never().is_cancelled());
}
