//! Knowledge that an index is taught, and two ways to teach it that must have the same result.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::{EmotiveMap, Event, PatternName};
use kato_prediction::{PatternIndex, SymbolId};

use crate::input::Input;

const FREQUENCIES: [u64; 5] = [5, 1000, u32::MAX as u64, u32::MAX as u64 + 7, u64::MAX];

/// Lessons, in order.
pub(super) struct Knowledge(Vec<Lesson>);

/// Pattern that is taught.
struct Lesson {
    events: Vec<Event>,
    name: PatternName,
    times: u64,
    /// Whether it is learned one by one instead of inserted.
    is_learned: bool,
    emotives: EmotiveMap,
    /// Whether the index is sealed with it.
    seals: bool,
    /// Whether the index is finalized after it.
    finalizes: bool,
}

impl Knowledge {
    /// Makes lessons, some of them repeated.
    pub(super) fn of(input: &mut Input<'_>, n_frequent: usize) -> Self {
        let most = input.choose(&[12, 40, 100]);
        let mut lessons: Vec<Lesson> = Vec::new();
        for _ in 0..input.below(most) {
            let events = match lessons.len() {
                0 => input.events(n_frequent),
                n if input.is_one_in(6) => lessons[input.below(n)].events.clone(),
                _ => input.events(n_frequent),
            };
            lessons.push(Lesson::of(input, events));
        }
        Self(lessons)
    }

    /// Teaches an index in order.
    pub(super) fn as_told(&self) -> PatternIndex {
        let mut index = PatternIndex::new();
        for lesson in &self.0 {
            lesson.teach(&mut index, lesson.is_learned);
            if lesson.seals {
                index.seal();
            }
            if lesson.finalizes {
                index.finalize();
            }
        }
        self.set_emotives(&mut index);
        index
    }

    /// Teaches an index backwards between the same calls of `finalize`, each lesson in the other
    /// way, sealed at other times.
    pub(super) fn told_backwards(&self) -> PatternIndex {
        let mut index = PatternIndex::new();
        // `finalize` computes from what is known at that time, so that lessons must not move past
        // it.
        for part in self.0.split_inclusive(|lesson| lesson.finalizes) {
            for lesson in part.iter().rev() {
                if lesson.seals {
                    index.seal();
                }
                lesson.teach(&mut index, !lesson.is_learned);
            }
            if part.last().is_some_and(|lesson| lesson.finalizes) {
                index.finalize();
            }
        }
        self.set_emotives(&mut index);
        index
    }

    /// Sets the emotives of all patterns.
    fn set_emotives(&self, index: &mut PatternIndex) {
        // In the same order for both ways, as the last lesson of a pattern wins.
        for lesson in &self.0 {
            let is_known = index.set_emotives(&lesson.name, lesson.emotives.clone());
            assert_eq!(is_known, lesson.is_pattern());
        }
    }

    /// Checks what an index counts.
    pub(super) fn check(&self, index: &PatternIndex) {
        let mut frequencies: BTreeMap<PatternName, u64> = BTreeMap::new();
        let mut symbols: BTreeMap<&str, (u64, BTreeSet<PatternName>)> = BTreeMap::new();
        for lesson in self.0.iter().filter(|lesson| lesson.is_pattern()) {
            let frequency = frequencies.entry(lesson.name).or_default();
            *frequency = frequency.saturating_add(lesson.times);
            for symbol in lesson.symbols() {
                let (frequency, patterns) = symbols.entry(symbol).or_default();
                *frequency = frequency.saturating_add(lesson.times);
                patterns.insert(lesson.name);
            }
        }
        assert_eq!(index.n_patterns(), frequencies.len());
        assert_eq!(index.n_symbols(), symbols.len());
        assert_eq!(index.symbols().count(), symbols.len());
        for lesson in &self.0 {
            let frequency = frequencies.get(&lesson.name).copied();
            assert_eq!(index.frequency(&lesson.name), frequency.unwrap_or(0));
            let events = index.events(&lesson.name);
            assert_eq!(
                events.as_ref(),
                lesson.is_pattern().then_some(&lesson.events)
            );
        }
        for (symbol, (frequency, patterns)) in symbols {
            let counts = index.symbol_counts(symbol);
            assert_eq!(
                (counts.frequency, counts.n_patterns),
                (frequency, patterns.len() as u64)
            );
        }
    }
}

impl Lesson {
    /// Makes a lesson of some events.
    fn of(input: &mut Input<'_>, events: Vec<Event>) -> Self {
        let times = match input.below(8) {
            7 => input.choose(&FREQUENCIES),
            6 => 3,
            _ => 1,
        };
        let mut emotives = EmotiveMap::new();
        if input.is_one_in(4) {
            // Whole numbers, so that sums do not depend on their order.
            let value = input.below(9) as f64 - 4.0;
            emotives.insert(input.choose(&["joy", "awe", ""]).to_owned(), value);
        }
        Self {
            name: PatternName::of_events(&events),
            events,
            times,
            is_learned: input.is_one_in(2),
            emotives,
            seals: input.is_one_in(3),
            finalizes: input.is_one_in(16),
        }
    }

    /// Returns the symbols of all events.
    fn symbols(&self) -> impl Iterator<Item = &str> {
        let symbols = self.events.iter().flat_map(Event::symbols);
        symbols.map(String::as_str)
    }

    /// Returns whether there is a symbol, so that it can be learned.
    fn is_pattern(&self) -> bool {
        self.symbols().next().is_some()
    }

    /// Teaches an index the lesson.
    fn teach(&self, index: &mut PatternIndex, one_by_one: bool) {
        let is_new = index.frequency(&self.name) == 0;
        // More times than that can only be inserted: one by one they would take for ever.
        let taught = if one_by_one && self.times <= 3 {
            (0..self.times).all(|_| index.learn(&self.events) == Ok(self.name))
        } else {
            self.insert(index) == Some(is_new)
        };
        assert_eq!(taught, self.is_pattern());
        assert_eq!(index.add_affinity(&self.name, &self.emotives), taught);
    }

    /// Inserts the pattern, and returns whether it is new; `None` if it was refused.
    fn insert(&self, index: &mut PatternIndex) -> Option<bool> {
        // A symbol that is a pattern's name is kept as such.
        let intern = |symbol| match PatternName::from_symbol(symbol) {
            Some(name) => index.intern_name(&name),
            None => index.intern(symbol),
        };
        let symbols: Vec<SymbolId> = self.symbols().map(intern).collect::<Result<_, _>>().ok()?;
        let lengths: Vec<u32> = self.events.iter().map(|event| event.len() as u32).collect();
        let lengths = lengths
            .iter()
            .any(|&length| length != 1)
            .then_some(&lengths[..]);
        index.insert(self.name, &symbols, lengths, self.times).ok()
    }
}
