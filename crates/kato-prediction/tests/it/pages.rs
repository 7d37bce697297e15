//! Many patterns: however they came into pages, and whatever became of these, the index answers as
//! a full scan does.
//!
//! Every test keeps two indexes that know the same: one learned in order, one loaded in another
//! order. The expected answer is the full scan's, compared by `==`, of all fields, to the last bit.

use kato_model::{EmotiveMap, Event, PatternName};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use kato_prediction::{PatternIndex, PredictionConfig, SymbolId};
use kato_random::SplitMix64;

/// Patterns after which learning seals an open page.
const OPEN: usize = 4096;

/// Random numbers by a seed.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// A rank below `n`, skewed as words of text are: its logarithm is uniform.
    fn zipf(&mut self, n: usize) -> usize {
        ((n as f64).powf(self.0.unit()) as usize - 1).min(n - 1)
    }
}

/// A pattern and how often it was learned.
#[derive(Clone)]
struct Lesson {
    events: Vec<Event>,
    times: u64,
}

/// The two indexes.
struct World {
    random: Random,
    learned: PatternIndex,
    loaded: PatternIndex,
    known: Vec<Vec<Event>>,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: Random(SplitMix64::from_seed(seed)),
            learned: PatternIndex::new(),
            loaded: PatternIndex::new(),
            known: Vec::new(),
        }
    }

    /// `n` patterns of these lengths over a skewed vocabulary, `times` each.
    fn lessons(
        &mut self,
        n: usize,
        lengths: std::ops::Range<usize>,
        n_symbols: usize,
    ) -> Vec<Lesson> {
        let random = &mut self.random;
        let lesson = |_| {
            let length = lengths.start + random.below(lengths.len());
            let events = (0..length).map(|_| Event::new([symbol(random.zipf(n_symbols))]));
            Lesson {
                events: events.collect(),
                times: 1,
            }
        };
        (0..n).map(lesson).collect()
    }

    /// Teaches both: one learns one by one, the other loads in another order.
    fn teach(&mut self, lessons: &[Lesson]) {
        for lesson in lessons {
            if lesson.times == 1 {
                self.learned.learn(&lesson.events).unwrap();
            } else {
                insert(&mut self.learned, lesson);
            }
            self.known.push(lesson.events.clone());
        }
        let mut shuffled: Vec<&Lesson> = lessons.iter().collect();
        for end in (1..shuffled.len()).rev() {
            shuffled.swap(end, self.random.below(end + 1));
        }
        for lesson in shuffled {
            insert(&mut self.loaded, lesson);
        }
        self.loaded.seal();
        assert_eq!(self.learned.n_patterns(), self.loaded.n_patterns());
        assert_eq!(self.learned.n_symbols(), self.loaded.n_symbols());
    }

    fn finalize(&mut self) {
        assert_eq!(self.learned.finalize(), self.loaded.finalize());
    }

    /// Part of something known, with errors, up to `length` symbols.
    fn state(&mut self, length: usize) -> Vec<Event> {
        let mut state = Vec::new();
        while state.len() < length {
            let known = &self.known[self.random.below(self.known.len())];
            let start = self.random.below(known.len());
            state.extend(known[start..].iter().cloned());
            if self.random.below(3) == 0 {
                state.push(Event::new([symbol(self.random.zipf(60))]));
            }
        }
        state.truncate(length);
        state
    }

    /// Both indexes answer states of these lengths as a full scan does.
    fn check(&mut self, lengths: &[usize], configs: &[PredictionConfig]) {
        for &length in lengths {
            let state = self.state(length);
            for config in configs {
                let expected = self.learned.predict_by_full_scan(&state, config);
                for index in [&self.learned, &self.loaded] {
                    assert!(
                        index.predict(&state, config) == expected,
                        "state {state:?} with {config:?}"
                    );
                }
            }
        }
    }
}

fn symbol(rank: usize) -> String {
    match rank % 5 {
        // What patterns above the bottom consist of.
        4 => PatternName::of_events(&[[rank.to_string()]])
            .prefixed()
            .to_string(),
        _ => format!("s{rank}"),
    }
}

fn insert(index: &mut PatternIndex, lesson: &Lesson) {
    let symbols = lesson.events.iter().flat_map(Event::symbols);
    let symbols: Vec<SymbolId> = symbols
        .map(|symbol| index.intern(symbol).unwrap())
        .collect();
    let lengths: Vec<u32> = lesson
        .events
        .iter()
        .map(|event| event.len() as u32)
        .collect();
    let is_plain = lengths.iter().all(|&length| length == 1);
    let name = PatternName::of_events(&lesson.events);
    index
        .insert(
            name,
            &symbols,
            (!is_plain).then_some(&lengths[..]),
            lesson.times,
        )
        .unwrap();
}

/// By symbols, cheap enough to ask many states.
fn by_symbols() -> Vec<PredictionConfig> {
    let default = PredictionConfig::default;
    let mut configs = vec![default()];
    configs.extend([1, 3].map(|max_predictions| PredictionConfig {
        max_predictions,
        ..default()
    }));
    configs.extend([0.0, 0.05, 0.5].map(|recall_threshold| PredictionConfig {
        recall_threshold,
        max_predictions: 3,
        ..default()
    }));
    configs.push(PredictionConfig {
        rank_sort_algo: RankMetric::BayesianPosterior,
        affinity_emotive: Some("joy".to_owned()),
        max_predictions: 20,
        ..default()
    });
    configs.push(PredictionConfig {
        filter_pipeline: vec![Filter::Length, Filter::Jaccard],
        max_predictions: 10,
        ..default()
    });
    configs
}

/// All that is kept, other likenesses, and filters that look at every symbol.
fn dear() -> Vec<PredictionConfig> {
    let default = PredictionConfig::default;
    let by_characters = |recall_threshold, max_predictions| PredictionConfig {
        use_token_matching: false,
        recall_threshold,
        max_predictions,
        ..default()
    };
    let fuzzy = |threshold| PredictionConfig {
        fuzzy_token_threshold: Some(threshold),
        max_predictions: 3,
        ..default()
    };
    vec![
        PredictionConfig {
            max_predictions: 10_000,
            ..default()
        },
        PredictionConfig {
            recall_threshold: 0.0,
            max_predictions: 10_000,
            ..default()
        },
        by_characters(0.1, 3),
        by_characters(0.5, 100),
        by_characters(0.0, 3),
        fuzzy(0.5),
        fuzzy(0.9),
        PredictionConfig {
            filter_pipeline: vec![Filter::Minhash, Filter::Rapidfuzz],
            filters: FilterSettings {
                minhash_threshold: 0.1,
                ..FilterSettings::default()
            },
            max_predictions: 3,
            ..default()
        },
    ]
}

#[test]
fn pages_that_learning_seals_and_merges() {
    let mut world = World::new(1);
    // Open; sealed once, with a new open page behind; merged.
    for (n, lengths) in [
        (OPEN - 100, &[1, 2, 5, 9, 34][..]),
        (OPEN, &[2, 4, 60]),
        (15 * OPEN, &[1, 3, 5, 7, 20, 60]),
    ] {
        let lessons = world.lessons(n, 5..6, 3000);
        world.teach(&lessons);
        world.check(lengths, &by_symbols());
        // Some pages hold patterns from before and from after.
        world.finalize();
        world.check(&[4], &by_symbols());
    }
    world.check(&[4], &dear());
}

#[test]
fn small_pages_that_sealing_merges() {
    let mut world = World::new(2);
    for round in 0..40 {
        let lessons = world.lessons(50, 2..5, 100);
        world.teach(&lessons);
        world.learned.seal();
        if round % 13 == 0 {
            world.check(&[1, 2, 4, 12], &by_symbols());
        }
    }
    world.finalize();
    world.check(&[1, 2, 3, 5, 13, 60], &by_symbols());
    world.check(&[3, 7], &dear());
}

#[test]
fn more_patterns_than_a_page_holds_and_more_symbols_than_sixteen_bits() {
    let mut world = World::new(3);
    let mut lessons = world.lessons(70_000, 4..5, 500);
    // Most symbols occur once.
    for (rank, lesson) in lessons.iter_mut().enumerate() {
        lesson.events[rank % 4] = Event::new([symbol(1000 + rank)]);
    }
    world.teach(&lessons);
    assert!(world.learned.n_symbols() > usize::from(u16::MAX));
    world.check(&[1, 2, 3, 4, 8, 40], &by_symbols());
    world.check(&[3], &dear());
}

#[test]
fn long_and_irregular_patterns() {
    let mut world = World::new(4);
    let mut lessons = world.lessons(600, 30..201, 200);
    lessons.extend(world.lessons(1000, 2..40, 30));
    for lesson in &mut lessons {
        let random = &mut world.random;
        for idx in 0..lesson.events.len() {
            match random.below(12) {
                // Equal neighbours.
                0 if idx > 0 => lesson.events[idx] = lesson.events[idx - 1].clone(),
                1 => {
                    lesson.events[idx] =
                        Event::new([symbol(random.zipf(30)), symbol(random.zipf(30))])
                }
                2 if idx > 0 => lesson.events[idx] = Event::default(),
                _ => {}
            }
        }
    }
    world.teach(&lessons);
    world.check(&[1, 2, 5, 16, 33, 60], &by_symbols());
    world.check(&[5, 50], &dear());
}

#[test]
fn affinities_of_finite_values_stay_finite() {
    let mut index = PatternIndex::new();
    let name = index
        .learn(&["a", "b"].map(|symbol| Event::new([symbol])))
        .unwrap();
    let joy = EmotiveMap::from([("joy".to_owned(), f64::MAX)]);
    for _ in 0..2 {
        assert!(index.add_affinity(&name, &joy));
    }
    assert_eq!(index.affinity("a"), joy);
}

#[test]
fn frequencies_beyond_32_bits_and_affinities() {
    let mut world = World::new(5);
    let mut lessons = world.lessons(6000, 3..6, 300);
    for lesson in &mut lessons {
        lesson.times = match world.random.below(20) {
            0 => u64::from(u32::MAX) - 1,
            1 => u64::from(u32::MAX) + 5,
            2 => 1 << 40,
            _ => 1,
        };
    }
    world.teach(&lessons);
    // Again, so that sums cross the border.
    world.teach(&lessons[..3000]);
    for (idx, lesson) in lessons.iter().enumerate() {
        let name = PatternName::of_events(&lesson.events);
        assert_eq!(
            world.learned.frequency(&name),
            world.loaded.frequency(&name)
        );
        // Whole numbers, so that sums do not depend on their order.
        let joy = EmotiveMap::from([("joy".to_owned(), (idx % 7) as f64 - 3.0)]);
        for index in [&mut world.learned, &mut world.loaded] {
            assert!(index.add_affinity(&name, &joy));
            assert!(index.set_emotives(&name, joy.clone()));
        }
    }
    world.check(&[1, 2, 3, 5, 10, 60], &by_symbols());
    world.check(&[4], &dear());
}
