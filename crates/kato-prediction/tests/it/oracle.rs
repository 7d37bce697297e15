//! Predictions of KATO 3.10.1 and 6.3.2 by brute force: every pattern is looked at, everything is
//! computed from symbols as strings.
//!
//! Written from the description of the formulas, without the crate's own: what it is compared with
//! must not help it.

mod candidates;
mod ensemble;
mod fit;
mod segments;

use std::collections::{BTreeMap, BTreeSet};

use kato_model::emotives::mean_emotives;
use kato_model::{EmotiveMap, Event, KatoGeneration, PatternName};
use kato_prediction::PredictionConfig;
use kato_prediction::prediction::FutureShare;

pub(crate) type Events = Vec<Vec<String>>;

/// One prediction: its lists, and its numbers by name.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) name: PatternName,
    pub(crate) frequency: u64,
    pub(crate) emotives: EmotiveMap,
    pub(crate) matches: Vec<String>,
    pub(crate) past: Events,
    pub(crate) present: Events,
    pub(crate) future: Events,
    pub(crate) missing: Events,
    pub(crate) extras: Events,
    /// Observed, expected, similarity.
    pub(crate) anomalies: Vec<(String, String, f64)>,
    pub(crate) sequence: Events,
    pub(crate) numbers: BTreeMap<String, Option<f64>>,
}

impl Answer {
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        if name == "frequency" {
            return Some(self.frequency as f64);
        }
        self.numbers.get(name).copied().flatten()
    }

    fn set(&mut self, name: &str, value: f64) {
        self.numbers.insert(name.to_owned(), Some(value));
    }
}

/// One distinct future.
#[derive(Debug, Clone)]
pub(crate) struct Future {
    pub(crate) events: Events,
    pub(crate) aggregate_potential: f64,
    pub(crate) supporting_patterns: usize,
    pub(crate) total_weighted_frequency: f64,
}

impl Future {
    pub(crate) fn of(potential: &FutureShare) -> Self {
        Self {
            events: to_symbols(&potential.future),
            aggregate_potential: potential.aggregate_potential,
            supporting_patterns: potential.supporting_patterns,
            total_weighted_frequency: potential.total_weighted_frequency,
        }
    }
}

pub(crate) fn to_symbols(events: &[Event]) -> Events {
    events
        .iter()
        .map(|event| event.symbols().to_vec())
        .collect()
}

/// What is predicted.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) predictions: Vec<Answer>,
    pub(crate) futures: Vec<Future>,
}

/// A learned pattern.
struct Known {
    name: PatternName,
    events: Events,
    flat: Vec<String>,
    frequency: u64,
    /// The last five emotive maps.
    window: Vec<EmotiveMap>,
    /// Entropy, normalised and global, of the whole pattern, once finalised.
    entropies: Option<[f64; 3]>,
}

/// A node.
#[derive(Default)]
pub(crate) struct Oracle {
    patterns: BTreeMap<PatternName, Known>,
    /// For every symbol the sums of emotives over learns.
    affinities: BTreeMap<String, EmotiveMap>,
    /// Patterns that are counted, and in no answer.
    retired: BTreeSet<PatternName>,
}

impl Oracle {
    pub(crate) fn learn(&mut self, events: &[Event], emotives: &[EmotiveMap]) -> PatternName {
        let name = PatternName::of_events(events);
        let known = self.patterns.entry(name).or_insert_with(|| Known {
            name,
            events: to_symbols(events),
            flat: flatten(events),
            frequency: 0,
            window: Vec::new(),
            entropies: None,
        });
        known.frequency += 1;
        known.window.extend(emotives.iter().cloned());
        let excess = known.window.len().saturating_sub(5);
        known.window.drain(..excess);
        for symbol in distinct(&known.flat) {
            let sums = self.affinities.entry(symbol.clone()).or_default();
            for (emotive, mean) in mean_emotives(emotives) {
                *sums.entry(emotive).or_default() += mean;
            }
        }
        name
    }

    /// The mean emotives of a pattern.
    pub(crate) fn emotives(&self, name: &PatternName) -> EmotiveMap {
        mean_emotives(&self.patterns[name].window)
    }

    pub(crate) fn retire(&mut self, name: PatternName) {
        self.retired.insert(name);
    }

    pub(crate) fn finalize(&mut self) {
        let n_symbols = self.n_symbols();
        let entropies: Vec<[f64; 3]> = self
            .patterns
            .values()
            .map(|known| {
                ensemble::entropies(&known.flat, n_symbols, |symbol| self.probability(symbol))
            })
            .collect();
        for (known, entropies) in self.patterns.values_mut().zip(entropies) {
            known.entropies = Some(entropies);
        }
    }

    pub(crate) fn predict(&self, state: &[Event], config: &PredictionConfig) -> Answers {
        let events = to_symbols(state);
        let state = flatten(state);
        let metric = serde_json::to_value(config.rank_sort_algo).unwrap();
        let (mut answers, metric) = match &state[..] {
            [] => (Answers::default(), "potential"),
            [symbol] if !is_six(config) => {
                let predictions = self.predict_from_one(symbol, config);
                let futures = Vec::new();
                (
                    Answers {
                        predictions,
                        futures,
                    },
                    "potential",
                )
            }
            _ => (
                self.predict_from_many(&events, &state, config),
                metric.as_str().unwrap(),
            ),
        };
        sort_by_number(&mut answers.predictions, metric, config);
        answers.predictions.truncate(config.max_predictions);
        answers
    }

    fn predict_from_one(&self, symbol: &String, config: &PredictionConfig) -> Vec<Answer> {
        self.patterns
            .values()
            .filter(|known| !self.retired.contains(&known.name))
            .filter(|known| known.flat.first() == Some(symbol))
            .map(|known| fit::of_one(self, known, symbol, config))
            .collect()
    }

    fn predict_from_many(
        &self,
        events: &Events,
        state: &[String],
        config: &PredictionConfig,
    ) -> Answers {
        let mut predictions: Vec<Answer> = candidates::candidates(self, state, config)
            .into_iter()
            .filter_map(|known| fit::of_many(self, known, events, state, config))
            .collect();
        let most = 3 * config.max_predictions;
        if predictions.len() > most {
            for answer in &mut predictions {
                let score = answer.number("fit").unwrap();
                answer.set("_pre_potential", score);
            }
            sort_by_number(&mut predictions, "fit", config);
            predictions.truncate(most);
            predictions.sort_by_key(|answer| answer.name);
        }
        let futures = ensemble::complete(self, &mut predictions, state, config);
        for answer in &mut predictions {
            answer.numbers.remove("fit");
        }
        Answers {
            predictions,
            futures,
        }
    }

    fn n_symbols(&self) -> usize {
        let symbols: BTreeSet<&String> = self.patterns.values().flat_map(|p| &p.flat).collect();
        symbols.len()
    }

    /// Share of the patterns that contain a symbol.
    fn probability(&self, symbol: &String) -> f64 {
        let containing = self.patterns.values().filter(|p| p.flat.contains(symbol));
        containing.count() as f64 / self.patterns.len() as f64
    }

    /// Occurrences of a symbol over all learns.
    fn occurrences(&self, symbol: &String) -> u64 {
        let occurrences = |p: &Known| p.frequency * count(&p.flat, symbol) as u64;
        self.patterns.values().map(occurrences).sum()
    }

    fn weight(&self, symbol: &String, emotive: &str) -> f64 {
        let affinity = self.affinities.get(symbol).and_then(|a| a.get(emotive));
        let affinity = affinity.map_or(0.0, |sum| sum.abs());
        let occurrences = self.occurrences(symbol);
        if affinity > 0.0 && occurrences > 0 {
            affinity / occurrences as f64 + 0.01
        } else {
            0.01
        }
    }
}

/// Whether predictions are those of 6.3, and not of 3.10.
fn is_six(config: &PredictionConfig) -> bool {
    config.generation == KatoGeneration::V6
}

/// Greatest first; without the number last; ties in name order, in 6.3 the last name first.
fn sort_by_number(answers: &mut [Answer], name: &str, config: &PredictionConfig) {
    answers.sort_by(|a, b| {
        let by_value = match (a.number(name), b.number(name)) {
            (Some(a), Some(b)) => b.partial_cmp(&a).unwrap(),
            (a, b) => a.is_none().cmp(&b.is_none()),
        };
        by_value.then(match is_six(config) {
            true => b.name.cmp(&a.name),
            false => a.name.cmp(&b.name),
        })
    });
}

fn flatten(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .flat_map(|event| event.symbols().to_vec())
        .collect()
}

/// Each symbol once.
fn distinct(symbols: &[String]) -> Vec<&String> {
    let mut known = BTreeSet::new();
    symbols
        .iter()
        .filter(|symbol| known.insert(*symbol))
        .collect()
}

fn count(symbols: &[String], symbol: &String) -> usize {
    symbols.iter().filter(|other| *other == symbol).count()
}

fn or_zero(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}
