//! The texts of the predictions that become part of an answer.

use kato_model::Event;

use super::survivor::{Counting, Survivor};
use crate::collections::{HashMap, HashSet};
use crate::prediction::Anomaly;
use crate::state::State;
use crate::symbols::Symbols;
use crate::{Prediction, SymbolId};

/// Bytes that a text takes beside its own, as an event of one symbol: two vectors, a string, and
/// what the allocator adds.
const TEXT: usize = 112;

/// Returns the bytes of memory that the texts of symbols take, about, each as an event of its own.
pub(crate) fn text_bytes(symbols: &[SymbolId], table: &Symbols) -> usize {
    let bytes = symbols
        .iter()
        .map(|&symbol| TEXT + table.text(symbol).len());
    bytes.sum()
}

impl Survivor<'_> {
    /// Returns the bytes of memory that [`with_texts`](Self::with_texts) takes, about, and not less.
    pub(super) fn bytes_with_texts(&self, state: &State<'_>, table: &Symbols) -> usize {
        // A symbol of the pattern is in the sequence, in past, present or future, perhaps among
        // those that are missing; one of the state among matches or extras, perhaps in an anomaly.
        let of_state = state.texts.iter().map(|text| TEXT + text.len());
        3 * text_bytes(&self.symbols, table) + 2 * of_state.sum::<usize>()
    }

    /// Returns the bytes of memory that the texts of the future take, about.
    pub(super) fn bytes_of_future(&self, table: &Symbols) -> usize {
        let future = self.events(self.split.future.clone());
        future.map(|event| text_bytes(event, table)).sum()
    }

    /// Returns the prediction with all its texts.
    pub(super) fn with_texts(&self, state: &State<'_>, table: &Symbols) -> Prediction {
        let text = |&symbol: &SymbolId| table.text(symbol).into_owned();
        let split = &self.split;
        let parts = [&split.past, &split.present, &split.future];
        let [past, present, future] = parts.map(|events| self.texts_of(events.clone(), table));
        let matches = self.matches.iter().map(|&at| state.texts[at].to_owned());
        // Equal symbols were accepted too, but are no anomalies.
        let anomalies = self
            .fuzzy
            .iter()
            .filter(|found| state.ids[found.position] != self.symbols[found.place])
            .map(|found| Anomaly {
                observed: state.texts[found.position].to_owned(),
                expected: text(&self.symbols[found.place]),
                similarity: found.ratio,
            });
        Prediction {
            matches: matches.collect(),
            // The parts follow each other, and copies cost less than looking texts up.
            sequence: [&*past, &*present, &*future].concat(),
            past,
            present,
            future,
            missing: self.missing(state, table),
            extras: self.extras(state),
            anomalies: anomalies.collect(),
            ..self.prediction.clone()
        }
    }

    /// Returns some events of the pattern as texts.
    pub(super) fn texts_of(&self, events: std::ops::Range<usize>, table: &Symbols) -> Vec<Event> {
        let text = |&symbol: &SymbolId| table.text(symbol).into_owned();
        self.events(events)
            .map(|event| Event::in_given_order(event.iter().map(text).collect()))
            .collect()
    }

    /// Returns, for every event of the present, its symbols that did not match.
    fn missing(&self, state: &State<'_>, table: &Symbols) -> Vec<Vec<String>> {
        let matched: Vec<SymbolId> = self.matches.iter().map(|&at| state.ids[at]).collect();
        let mut matched = Expected::new(&self.counting, &matched);
        let mut places = self.split.present_symbols.clone();
        let events = self.events(self.split.present.clone());
        let missing = events.map(|event| {
            let placed = event.iter().zip(&mut places);
            let missing = placed.filter(|(symbol, place)| match &self.counting {
                Counting::Places(matched) => matched.binary_search(place).is_err(),
                _ => !matched.take(**symbol),
            });
            let texts = missing.map(|(symbol, _)| table.text(*symbol).into_owned());
            texts.collect()
        });
        missing.collect()
    }

    /// Returns the positions of the state whose symbols are not expected, ascending.
    pub(super) fn extra_positions(&self, state: &State<'_>) -> Vec<usize> {
        let mut counts = Expected::new(&self.counting, self.present());
        let positions = state.ids.iter().enumerate();
        let extra = positions.filter(|(position, id)| match &self.counting {
            Counting::Places(_) => self.matches.binary_search(position).is_err(),
            _ => !counts.take(**id),
        });
        extra.map(|(position, _)| position).collect()
    }

    /// Returns, for every event of the state, its symbols that are not expected.
    fn extras(&self, state: &State<'_>) -> Vec<Vec<String>> {
        let mut extras: Vec<Vec<String>> = Vec::with_capacity(state.events.len());
        let mut positions = self.extra_positions(state).into_iter().peekable();
        let mut end = 0;
        for event in state.events {
            end += event.len();
            let mut texts = Vec::new();
            while let Some(position) = positions.next_if(|&position| position < end) {
                texts.push(state.texts[position].to_owned());
            }
            extras.push(texts);
        }
        extras
    }
}

/// Symbols that others are compared with.
enum Expected<'a> {
    /// Any number of equal ones is covered by one.
    Members(Members<'a>),
    /// Each covers one.
    Numbers(HashMap<SymbolId, usize>),
}

impl<'a> Expected<'a> {
    fn new(counting: &Counting, symbols: &'a [SymbolId]) -> Self {
        if !matches!(counting, Counting::Numbers) {
            // Membership and not number: an expected symbol that is repeated and matched once is
            // missing nowhere, as in KATO up to 4.x.
            return Self::Members(Members::new(symbols));
        }
        let mut numbers: HashMap<SymbolId, usize> = HashMap::default();
        for &symbol in symbols {
            *numbers.entry(symbol).or_default() += 1;
        }
        Self::Numbers(numbers)
    }

    /// Returns whether a symbol is covered, and takes what covers it.
    fn take(&mut self, symbol: SymbolId) -> bool {
        match self {
            Self::Members(members) => members.contains(symbol),
            Self::Numbers(numbers) => match numbers.get_mut(&symbol) {
                Some(number) if *number > 0 => {
                    *number -= 1;
                    true
                }
                _ => false,
            },
        }
    }
}

/// Number of symbols up to which looking at each of them takes less than hashing them.
const FEW: usize = 64;

/// The symbols of a list, for repeated look-ups: hashed where there are many, so that long states
/// stay affordable.
enum Members<'a> {
    Few(&'a [SymbolId]),
    Many(HashSet<SymbolId>),
}

impl<'a> Members<'a> {
    fn new(symbols: &'a [SymbolId]) -> Self {
        if symbols.len() <= FEW {
            Self::Few(symbols)
        } else {
            Self::Many(symbols.iter().copied().collect())
        }
    }

    fn contains(&self, symbol: SymbolId) -> bool {
        match self {
            Self::Few(symbols) => symbols.contains(&symbol),
            Self::Many(symbols) => symbols.contains(&symbol),
        }
    }
}
