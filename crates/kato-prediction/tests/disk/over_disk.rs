//! An index on disk answers as one in memory does, for random knowledge, states and settings.
//!
//! ```sh
//! PROPTEST_CASES=10000 cargo test --release -p kato-prediction --test disk over_disk
//! ```

use std::sync::Arc;

use kato_model::{EmotiveMap, Event, KatoGeneration, PatternName};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use kato_prediction::{PatternIndex, PredictionConfig};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{build, events, name, teach, teach_indexed};

/// Symbols that are alike only if equal, and symbols that are alike in all degrees.
const ALPHABETS: [[&str; 10]; 2] = [
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
    [
        "ab", "abc", "abd", "a b", "", "éb", "abcde", "b", "ba", "cde",
    ],
];

/// A symbol that no pattern has.
const UNKNOWN: &str = "abx";

type Lesson = (Vec<Event>, usize);

#[derive(Debug)]
struct Case {
    /// What is stored, commit by commit.
    stored: Vec<Vec<Lesson>>,
    /// Whether each commit is indexed by itself, and not all of them at once.
    in_units: bool,
    /// What is learned above the index.
    learned: Vec<Lesson>,
    /// Whether `finalize-training` comes before that.
    finalize: bool,
    states: Vec<Vec<Event>>,
    config: PredictionConfig,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        // Every case writes some hundred files; more of them with PROPTEST_CASES.
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
    ))]

    #[test]
    fn answers_are_those_of_memory(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let kb = dir.path().join("kb");
        match case.in_units {
            true => teach_indexed(&kb, &case.stored),
            false => teach(&kb, &case.stored),
        }
        let frozen: Vec<_> = build(&kb).nodes().map(Option::unwrap).collect();
        let mut lower = [PatternIndex::new(), PatternIndex::over(Arc::clone(&frozen[0]))];
        let mut upper = [PatternIndex::new(), PatternIndex::over(Arc::clone(&frozen[1]))];
        for part in &case.stored {
            for (events, times) in part.iter().filter(|(events, _)| is_stored(events)) {
                learn(&mut lower[0], events, *times);
            }
            let names: Vec<Event> = part.iter().map(|(events, _)| name(events)).collect();
            for chunk in names.chunks(3).filter(|chunk| chunk.len() > 1) {
                learn(&mut upper[0], chunk, 1);
            }
        }
        for (lower, upper) in lower.iter_mut().zip(&mut upper) {
            learn_above(&case, lower, upper);
        }
        check_all(&case, &lower, &upper);
        // Opened again, where another process might, and learned above as before.
        let frozen: Vec<_> = build(&kb).nodes().map(Option::unwrap).collect();
        lower[1] = PatternIndex::over(Arc::clone(&frozen[0]));
        upper[1] = PatternIndex::over(Arc::clone(&frozen[1]));
        learn_above(&case, &mut lower[1], &mut upper[1]);
        check_all(&case, &lower, &upper);
        for index in &mut lower {
            take_back(&case, index);
        }
        check_all(&case, &lower, &upper);
    }
}

#[test]
fn a_name_that_no_pattern_holds_is_a_symbol_once_it_is_learned() {
    let lessons = ["a b", "a c", "a d", "a e"].map(|text| (events(text), 1));
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    teach(&kb, &[lessons.to_vec()]);
    let mut upper = PatternIndex::over(build(&kb).nodes().nth(1).unwrap().unwrap());
    // The fourth name was taught alone, which is no pattern.
    assert_eq!((upper.n_patterns(), upper.n_symbols()), (1, 3));
    let names = [3, 0].map(|idx: usize| name(&lessons[idx].0));
    learn(&mut upper, &names, 2);
    assert_eq!((upper.n_patterns(), upper.n_symbols()), (2, 4));
}

/// Learns what comes after the index was written.
fn learn_above(case: &Case, lower: &mut PatternIndex, upper: &mut PatternIndex) {
    if case.finalize {
        lower.finalize();
    }
    for (number, (events, times)) in case.learned.iter().enumerate() {
        let learned = learn(lower, events, *times);
        // Emotives, as they would come in a session.
        let emotives = EmotiveMap::from([("joy".to_owned(), number as f64 - 1.5)]);
        assert!(lower.add_affinity(&learned, &emotives));
        assert!(lower.set_emotives(&learned, emotives));
        let names = [name(events), name(&case.learned[0].0)];
        learn(upper, &names, 1);
    }
}

/// Retires some patterns, purges some, and learns one of these anew.
fn take_back(case: &Case, index: &mut PatternIndex) {
    let lessons = case.stored.iter().chain([&case.learned]).flatten();
    let lessons: Vec<&[Event]> = lessons.map(|(events, _)| &**events).collect();
    let names: Vec<PatternName> = lessons
        .iter()
        .map(|it| PatternName::of_events(it))
        .collect();
    index.set_retired(names.iter().copied().step_by(3));
    let n_before = index.n_patterns();
    let purged: Vec<usize> = (1..names.len()).step_by(4).collect();
    let joy = EmotiveMap::from([("joy".to_owned(), -0.5)]);
    let gone = purged
        .iter()
        .filter(|&&idx| index.purge(&names[idx], &joy).is_some());
    let n_gone = gone.count();
    assert_eq!(index.n_patterns(), n_before - n_gone);
    if let Some(&idx) = purged.first().filter(|_| n_gone > 0) {
        assert_eq!(
            (index.frequency(&names[idx]), index.events(&names[idx])),
            (0, None)
        );
        learn(index, lessons[idx], 2);
        assert_eq!(index.frequency(&names[idx]), 2);
    }
}

/// Compares the answers to all states, and what is known.
fn check_all(case: &Case, lower: &[PatternIndex; 2], upper: &[PatternIndex; 2]) {
    for state in &case.states {
        check(lower, state, &case.config);
    }
    let lessons = case.stored.iter().chain([&case.learned]).flatten();
    let names: Vec<Event> = lessons.map(|(events, _)| name(events)).take(4).collect();
    for n_names in 1..=names.len() {
        check(upper, &names[..n_names], &case.config);
    }
    check_content(lower);
    check_content(upper);
    assert!(!lower[1].is_damaged() && !upper[1].is_damaged());
}

/// Learns a pattern a number of times.
fn learn(index: &mut PatternIndex, events: &[Event], times: usize) -> PatternName {
    for _ in 1..times {
        index.learn(events).unwrap();
    }
    index.learn(events).unwrap()
}

/// Compares the answers of an index in memory, which are those of its full scan, with those of one
/// on disk.
fn check([memory, disk]: &[PatternIndex; 2], state: &[Event], config: &PredictionConfig) {
    let expected = memory.predict_by_full_scan(state, config);
    assert_eq!(disk.predict(state, config), expected, "search {state:?}");
    let scanned = disk.predict_by_full_scan(state, config);
    assert_eq!(scanned, expected, "full scan {state:?}");
    assert_eq!(memory.predict(state, config), expected, "memory {state:?}");
}

/// Compares what two indexes hold.
fn check_content([memory, disk]: &[PatternIndex; 2]) {
    assert_eq!(disk.n_patterns(), memory.n_patterns());
    assert_eq!(disk.n_symbols(), memory.n_symbols());
    let symbols = |index: &PatternIndex| {
        let mut symbols: Vec<_> = index.symbols().collect();
        symbols.sort_by(|a, b| a.0.cmp(&b.0));
        symbols
    };
    assert_eq!(symbols(disk), symbols(memory));
    for (symbol, counts) in memory.symbols() {
        assert_eq!(disk.symbol_counts(&symbol), counts);
        assert_eq!(disk.affinity(&symbol), memory.affinity(&symbol));
        if let Some(name) = PatternName::from_symbol(&symbol) {
            assert_eq!(disk.events(&name), memory.events(&name));
            assert_eq!(disk.frequency(&name), memory.frequency(&name));
        }
    }
}

fn is_stored(events: &[Event]) -> bool {
    // KATO stores nothing shorter.
    events.iter().map(Event::len).sum::<usize>() >= 2
}

fn cases() -> impl Strategy<Value = Case> {
    (select(ALPHABETS.to_vec()), 2..=10_usize).prop_flat_map(|(alphabet, n_symbols)| {
        let symbols = move || {
            let draw = (0..n_symbols, 0..n_symbols);
            // The lesser of two: early symbols are frequent, as in text.
            draw.prop_map(move |(a, b)| alphabet[a.min(b)])
        };
        // Rarely longer than a machine word has bits.
        let pattern = prop_oneof![
            99 => vec(event(symbols()), 1..7),
            1 => vec(event(symbols()), 40..90),
        ];
        let observed = prop_oneof![14 => symbols().boxed(), 1 => Just(UNKNOWN).boxed()];
        let state = prop_oneof![
            29 => vec(event(observed.clone()), 0..6),
            1 => vec(event(observed), 40..90),
        ];
        let times = prop_oneof![6 => Just(1_usize), 1 => 2..5_usize, 1 => 254..258_usize];
        let lesson = || (pattern.clone(), times.clone());
        (
            vec(vec(lesson(), 0..40), 1..5),
            any::<bool>(),
            vec(lesson(), 0..6),
            prop::bool::weighted(0.2),
            vec(state, 1..6),
            config(),
        )
            .prop_map(
                |(stored, in_units, learned, finalize, states, config)| Case {
                    stored,
                    in_units,
                    learned,
                    finalize,
                    states,
                    config,
                },
            )
    })
}

fn event(symbols: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Event> {
    let rarely_many = prop_oneof![9 => Just(1_usize), 1 => 2..4_usize];
    (vec(symbols, 3), rarely_many).prop_map(|(symbols, n)| Event::new(symbols[..n].iter().copied()))
}

prop_compose! {
    fn config()(
        generation in select(KatoGeneration::ALL.to_vec()),
        recall_threshold in prop_oneof![
            select(vec![0.0, 0.1, 0.2, 0.4, 0.5, 0.8, 1.0]).boxed(),
            (0.0..=1.0).boxed(),
        ],
        max_predictions in prop_oneof![5 => (1..=10_usize).boxed(), 1 => Just(100_usize).boxed()],
        use_token_matching in prop::bool::weighted(0.7),
        single_symbol_token_matching in prop::bool::weighted(0.7),
        fuzzy_token_threshold in option::weighted(0.2, select(vec![0.0, 0.3, 0.5, 0.9, 1.0])),
        rank_sort_algo in select(RankMetric::ALL.to_vec()),
        affinity_emotive in option::weighted(0.3, select(vec!["joy", "fear"])),
        filter_pipeline in prop_oneof![
            3 => Just(Vec::new()).boxed(),
            1 => vec(select(vec![
                Filter::Length, Filter::Jaccard, Filter::Minhash, Filter::Bloom, Filter::Rapidfuzz,
            ]), 1..4).boxed(),
        ],
    ) -> PredictionConfig {
        PredictionConfig {
            generation,
            recall_threshold,
            max_predictions,
            use_token_matching,
            single_symbol_token_matching,
            fuzzy_token_threshold,
            rank_sort_algo,
            affinity_emotive: affinity_emotive.map(ToOwned::to_owned),
            filter_pipeline,
            filters: FilterSettings::default(),
        }
    }
}
