//! Input that means harm: a typed error or a right answer, in bounded time.

use std::time::{Duration, Instant};

use kato_model::{Event, KatoGeneration, PatternName};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use kato_prediction::matching::{
    character_similarity, fuzzy_matches, lcs_length, matching_blocks, token_similarity,
};
use kato_prediction::{IndexError, PatternIndex, PredictionConfig, Predictions};

/// Far above what anything here takes on a slow machine, far below what a quadratic method would.
const LIMIT: Duration = Duration::from_secs(20);

/// What a test began with. A prediction over an index in memory is the work of the thread that asks.
struct Begin {
    at: Instant,
    worked: Option<Duration>,
}

impl Begin {
    fn now() -> Self {
        Self {
            at: Instant::now(),
            worked: worked(),
        }
    }

    /// The processor time since, which does not depend on what else runs; the time where nobody tells.
    fn elapsed(&self) -> Duration {
        let worked = worked().zip(self.worked);
        worked.map_or_else(
            || self.at.elapsed(),
            |(now, begin)| now.saturating_sub(begin),
        )
    }
}

/// The processor time of this thread, as Linux tells it.
fn worked() -> Option<Duration> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = times.split(' ').next()?;
    nanos.parse().ok().map(Duration::from_nanos)
}

/// Texts that have broken somebody's parser, query or name.
const ODD: [&str; 16] = [
    "",
    " ",
    "'",
    "\"",
    "'\"\\",
    "'); DROP TABLE patterns; --",
    "\0",
    "nul\0x",
    "😀",
    "e\u{301}",
    "\u{fffe}\u{10ffff}",
    "\u{2028}",
    "PTRN|",
    "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9",
    "PTRN|B98534B32C1D7489D4CE1A48724AA65AEECBDBA9",
    "VCTR|b98534b32c1d7489d4ce1a48724aa65aeecbdba9",
];

const NUMBERS: [f64; 8] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -1.0,
    -0.0,
    5e-324,
    1.5,
];

fn events<S: Into<String>>(symbols: impl IntoIterator<Item = S>) -> Vec<Event> {
    symbols
        .into_iter()
        .map(|symbol| Event::new([symbol]))
        .collect()
}

fn index_of(patterns: &[Vec<Event>]) -> PatternIndex {
    let mut index = PatternIndex::new();
    for pattern in patterns {
        index.learn(pattern).unwrap();
    }
    index
}

/// The answer, equal to the full scan's, whether pages are open or sealed.
fn predict(index: &mut PatternIndex, state: &[Event], config: &PredictionConfig) -> Predictions {
    let answer = index.predict(state, config);
    assert_eq!(
        answer,
        index.predict_by_full_scan(state, config),
        "{config:?}"
    );
    index.seal();
    assert_eq!(answer, index.predict(state, config), "{config:?}");
    for prediction in &answer.predictions {
        for metric in RankMetric::ALL {
            let value = prediction.metric(metric).unwrap_or_default();
            assert!(value.is_finite(), "{metric:?} {value} with {config:?}");
        }
    }
    answer
}

#[test]
fn odd_symbols_are_symbols_like_others() {
    let mut index = index_of(&[events(ODD)]);
    assert_eq!(index.n_symbols(), ODD.len());
    for (first, symbol) in ODD.iter().enumerate() {
        assert_eq!(index.symbol_counts(symbol).frequency, 1, "{symbol:?}");
        let state = events(ODD.into_iter().skip(first).take(3));
        for config in configs() {
            let answer = predict(&mut index, &state, &config);
            for prediction in answer.predictions {
                assert_eq!(prediction.sequence, events(ODD));
            }
        }
        let answer = index.predict(&state, &PredictionConfig::default());
        // One symbol alone finds only what begins with it.
        let is_found = state.len() > 1 || first == 0;
        assert_eq!(
            answer.predictions.len(),
            usize::from(is_found),
            "{symbol:?}"
        );
    }
    let json = serde_json::to_string(
        &index
            .predict(&events(ODD), &PredictionConfig::default())
            .predictions,
    );
    assert!(json.unwrap().contains("\\u0000"));
}

#[test]
fn a_pattern_without_symbols_is_refused() {
    let mut index = PatternIndex::new();
    for nothing in [vec![], vec![Event::default()], vec![Event::default(); 1000]] {
        let error = index.learn(&nothing).unwrap_err();
        assert_eq!(error, IndexError::Malformed { symbols: 0 });
        assert!(
            index
                .predict(&nothing, &PredictionConfig::default())
                .predictions
                .is_empty()
        );
    }
    let a = index.intern("a").unwrap();
    let name = PatternName::of_events(&[["a"]]);
    for lengths in [&[][..], &[2], &[0], &[u32::MAX, u32::MAX], &[1, 1]] {
        assert!(index.insert(name, &[a], Some(lengths), 1).is_err());
    }
    assert_eq!((index.n_patterns(), index.n_symbols()), (0, 0));
    assert_eq!(index.finalize(), 0);
}

#[test]
fn empty_events_of_states_and_patterns_count_for_nothing_but_their_place() {
    let gap = Event::default();
    let pattern = vec![
        gap.clone(),
        Event::new(["a"]),
        gap.clone(),
        Event::new(["b"]),
        gap.clone(),
    ];
    let mut index = index_of(&[pattern.clone(), events(["a", "b"])]);
    let state = vec![
        gap.clone(),
        Event::new(["a"]),
        gap.clone(),
        Event::new(["b"]),
        gap,
    ];
    for config in configs() {
        for prediction in predict(&mut index, &state, &config).predictions {
            assert_eq!(prediction.extras.len(), state.len());
            let parts = [prediction.past, prediction.present, prediction.future];
            assert_eq!(parts.concat(), prediction.sequence);
        }
    }
    let answer = index.predict(&state, &PredictionConfig::default());
    assert_eq!(answer.predictions.len(), 2);
}

/// Settings that no session may have, each beside defaults, and all filters at once.
fn configs() -> Vec<PredictionConfig> {
    let default = PredictionConfig::default;
    let all = vec![
        Filter::Rapidfuzz,
        Filter::Bloom,
        Filter::Length,
        Filter::Jaccard,
        Filter::Minhash,
        Filter::Rapidfuzz,
    ];
    let mut configs = vec![default()];
    for number in NUMBERS {
        for use_token_matching in [true, false] {
            configs.push(PredictionConfig {
                recall_threshold: number,
                use_token_matching,
                single_symbol_token_matching: use_token_matching,
                ..default()
            });
        }
        configs.push(PredictionConfig {
            fuzzy_token_threshold: Some(number),
            ..default()
        });
        for filter in &all {
            configs.push(PredictionConfig {
                filter_pipeline: vec![Filter::Length, *filter],
                filters: FilterSettings {
                    length_min_ratio: number,
                    length_max_ratio: number,
                    jaccard_threshold: number,
                    minhash_threshold: number,
                    ..FilterSettings::default()
                },
                ..default()
            });
        }
    }
    for size in [0, 1, usize::MAX] {
        configs.push(PredictionConfig {
            max_predictions: size,
            ..default()
        });
        configs.push(PredictionConfig {
            filter_pipeline: all.clone(),
            filters: FilterSettings {
                jaccard_min_overlap: size,
                minhash_bands: size,
                minhash_rows: size,
                minhash_num_hashes: size,
                ..FilterSettings::default()
            },
            ..default()
        });
    }
    configs
}

#[test]
fn settings_of_any_value_do_no_harm() {
    let patterns = [
        events(["a", "b", "c"]),
        events(["a", "c"]),
        events(["b", "b", "b", "d"]),
        vec![Event::new(["a", "b"]), Event::new(["c"])],
        events(["x", "y"]),
    ];
    let mut index = index_of(&patterns);
    index.finalize();
    for state in [
        events(["a"]),
        events(["a", "b"]),
        events(["b", "q", "c", "b", "a"]),
        events(["q", "q"]),
    ] {
        for config in configs() {
            for rank_sort_algo in [RankMetric::Potential, RankMetric::WeightedSnr] {
                let config = PredictionConfig {
                    rank_sort_algo,
                    ..config.clone()
                };
                let answer = predict(&mut index, &state, &config);
                assert!(answer.predictions.len() <= config.max_predictions);
                if config.recall_threshold.is_nan() && state.len() > 1 {
                    assert!(
                        answer.predictions.is_empty(),
                        "nothing reaches what is not a number"
                    );
                }
            }
        }
    }
}

#[test]
fn a_long_pipeline_costs_what_its_different_stages_cost() {
    let begin = Begin::now();
    let patterns: Vec<_> = (0..500)
        .map(|n| events([format!("a{n}"), "b".into(), "c".into()]))
        .collect();
    let mut index = index_of(&patterns);
    let config = PredictionConfig {
        filter_pipeline: [Filter::Minhash, Filter::Rapidfuzz].repeat(500_000),
        filters: FilterSettings {
            minhash_threshold: 0.1,
            minhash_rows: 1,
            minhash_num_hashes: usize::MAX,
            ..FilterSettings::default()
        },
        ..PredictionConfig::default()
    };
    assert_eq!(
        predict(&mut index, &events(["b", "c"]), &config)
            .predictions
            .len(),
        100
    );
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
}

#[test]
fn a_frequency_of_zero_and_one_beyond_all_sums() {
    let mut index = PatternIndex::new();
    for (last, frequency) in [("c", 0), ("d", u64::MAX), ("e", u64::MAX), ("f", 1)] {
        let pattern = events(["a", "b", last]);
        let symbols = ["a", "b", last].map(|symbol| index.intern(symbol).unwrap());
        let name = PatternName::of_events(&pattern);
        assert!(index.insert(name, &symbols, None, frequency).unwrap());
        assert!(!index.insert(name, &symbols, None, frequency).unwrap());
        assert_eq!(index.frequency(&name), frequency.saturating_mul(2));
    }
    for state in [events(["a"]), events(["a", "b"]), events(["b", "c"])] {
        for config in configs() {
            predict(&mut index, &state, &config);
        }
    }
}

#[test]
fn megabyte_symbols_are_matched() {
    let begin = Begin::now();
    let long = |letter: &str| letter.repeat(1 << 20);
    let mut index = index_of(&[
        events([long("x"), long("y"), "z".to_owned()]),
        events(["x", "y"]),
    ]);
    let state = events([long("x"), long("y")]);
    let answer = predict(&mut index, &state, &PredictionConfig::default());
    assert_eq!(answer.predictions[0].future, events(["z"]));
    // One text in the other, and texts that differ in their last letter.
    assert_eq!(
        character_similarity(&long("x"), &(long("x") + "y")),
        2.0 * (1 << 20) as f64 / ((2 << 20) + 1) as f64
    );
    let found = fuzzy_matches(&[&(long("x") + "y"), "x"], &[&(long("x") + "z")], 0.9);
    assert_eq!(found[0].map(|found| found.pattern_idx), Some(0));
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
}

/// Sequences of 100,000 symbols: of one, of two in turn, of some at random, of all different.
fn long_sequences() -> [Vec<Event>; 4] {
    const N: u32 = 100_000;
    let mut random = 1_u32;
    let mut draw = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random >> 28
    };
    [
        events(vec!["a"; N as usize]),
        events((0..N).map(|n| ["a", "b"][n as usize % 2])),
        events((0..N).map(|_| format!("r{}", draw()))),
        events((0..N).map(|n| format!("s{n}"))),
    ]
}

#[test]
fn states_and_patterns_of_100000_symbols_take_bounded_time() {
    let begin = Begin::now();
    let sequences = long_sequences();
    let mut index = index_of(&sequences);
    index.learn(&events(["a", "b", "c"])).unwrap();
    for (idx, sequence) in sequences.iter().enumerate() {
        // All but the end, so that there is a future, and a symbol that does not fit.
        let mut state = sequence[..99_000].to_vec();
        state[50_000] = Event::new(["other"]);
        let answer = index.predict(&state, &PredictionConfig::default());
        let best = answer
            .predictions
            .iter()
            .find(|p| p.sequence == *sequence)
            .unwrap();
        assert!(
            best.similarity > 0.98,
            "sequence {idx}: {}",
            best.similarity
        );
        assert!(
            begin.elapsed() < LIMIT,
            "sequence {idx}: {:?}",
            begin.elapsed()
        );
    }
}

#[test]
fn a_state_of_100000_symbols_among_many_short_patterns_takes_bounded_time() {
    let begin = Begin::now();
    let pattern = |n| events([format!("s{n}"), "a".to_owned(), format!("s{}", n + 1)]);
    let patterns: Vec<_> = (0..200).map(pattern).collect();
    let mut index = index_of(&patterns);
    // An answer names every symbol of the state that a prediction lacks, so a few predictions are
    // many texts.
    for (recall_threshold, n_predictions) in [(0.1, 0), (0.0, 3)] {
        let config = PredictionConfig {
            // Later ones find nothing by a threshold of 0.
            generation: KatoGeneration::V3_10,
            recall_threshold,
            max_predictions: 3,
            ..PredictionConfig::default()
        };
        for state in long_sequences() {
            let answer = predict(&mut index, &state, &config);
            assert_eq!(answer.predictions.len(), n_predictions);
            assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
        }
    }
}

#[test]
fn long_sequences_are_compared_in_bounded_time() {
    let begin = Begin::now();
    let sequences = long_sequences();
    for a in &sequences {
        for b in &sequences {
            let blocks = matching_blocks(a, b);
            let matched: usize = blocks.iter().map(|block| block.len).sum();
            let lcs = lcs_length(a, b);
            assert!(matched <= lcs && token_similarity(lcs, a.len() + b.len()) <= 1.0);
        }
    }
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
}
