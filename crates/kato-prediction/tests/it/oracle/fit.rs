//! One pattern against the state: similarity, the cut into past, present and future, and what
//! follows from them alone.

use std::collections::BTreeMap;

use kato_model::emotives::mean_emotives;
use kato_prediction::PredictionConfig;

use super::segments::Segments;
use super::{Answer, Events, Known, Oracle, is_six, or_zero};
use crate::naive;

pub(super) fn similarity(known: &Known, state: &[String], by_tokens: bool) -> f64 {
    if !by_tokens {
        return naive::character_similarity(&known.flat.join(" "), &state.join(" "));
    }
    let total = (known.flat.len() + state.len()) as f64;
    2.0 * naive::lcs(&known.flat, state) as f64 / total * 100.0 / 100.0
}

pub(super) fn meets_threshold(similarity: f64, threshold: f64, config: &PredictionConfig) -> bool {
    // The original's scorer of characters refuses the threshold 0, so nothing meets it.
    similarity >= threshold && (config.use_token_matching || threshold != 0.0)
}

/// For a state of one symbol, the first one of the pattern, up to 5.x.
pub(super) fn of_one(
    oracle: &Oracle,
    known: &Known,
    symbol: &str,
    config: &PredictionConfig,
) -> Answer {
    let length = known.flat.len() as f64;
    let one = vec![symbol.to_owned()];
    let mut answer = Answer {
        matches: one.clone(),
        present: vec![one.clone()],
        future: known.flat[1..].iter().map(|s| vec![s.clone()]).collect(),
        ..blank(known)
    };
    answer.set(
        "similarity",
        similarity(known, &one, config.single_symbol_token_matching),
    );
    answer.set("evidence", 1.0 / length);
    answer.set("confidence", 1.0);
    answer.set("snr", 1.0);
    answer.set("fragmentation", 0.0);
    let weigh = |emotive: &str| {
        let sum = |list: &[String]| list.iter().map(|s| oracle.weight(s, emotive)).sum();
        Weights::of(&answer, &one, &known.flat, sum)
    };
    let weights = config.affinity_emotive.as_deref().map(weigh);
    let [evidence, confidence, snr] = with_weights(&mut answer, weights.as_ref());
    answer.set("potential", (evidence + confidence) * snr + 1.0);
    answer
}

/// For a longer state, in 6.3 for any; `None` if the pattern is below the threshold. Holds the sum of its potential
/// without the ensemble's part as number `fit`, of the pattern with its own values, and the
/// weighted one as `weighted_fit`.
pub(super) fn of_many(
    oracle: &Oracle,
    known: &Known,
    events: &Events,
    state: &[String],
    config: &PredictionConfig,
) -> Option<Answer> {
    // One symbol is compared as the process is set, whatever the threshold, and never fuzzily.
    let is_one = state.len() == 1;
    let by_tokens = match is_one {
        true => config.single_symbol_token_matching,
        false => config.use_token_matching,
    };
    let similarity = similarity(known, state, by_tokens);
    let threshold = config.recall_threshold;
    let blocks = naive::blocks(&known.flat, state);
    let is_met = is_one || meets_threshold(similarity, threshold, config);
    if !is_met || (blocks.is_empty() && (threshold != 0.0 || is_six(config))) {
        return None;
    }
    let mut answer = blank(known);
    let fuzzy = config.fuzzy_token_threshold.filter(|&t| t > 0.0 && !is_one);
    let n_extras = match fuzzy {
        None if is_six(config) => {
            let segments = Segments::new(&known.events, events);
            answer.matches = segments.matches;
            (answer.past, answer.present, answer.future) =
                (segments.past, segments.present, segments.future);
            (answer.missing, answer.extras) = (segments.missing, segments.extras);
            answer.extras.concat().len()
        }
        _ => {
            let exact = blocks.iter();
            let exact = exact.flat_map(|&(_, j, k)| state[j..j + k].to_vec());
            answer.matches = exact.collect();
            let n_exact = answer.matches.len();
            let n_extras = match fuzzy {
                Some(threshold) => match_fuzzily(&mut answer, &known.flat, state, threshold),
                None => state.len() - n_exact,
            };
            let (start, end) = match (blocks.first(), blocks.last()) {
                (Some(first), Some(last)) => (first.0, last.0 + last.2),
                _ => (0, known.flat.len()),
            };
            split(&mut answer, start, end);
            let unmatched = match is_six(config) {
                true => not_paid,
                false => not_among,
            };
            answer.missing = unmatched(&answer.present, &answer.matches);
            answer.extras = unmatched(events, &answer.present.concat());
            n_extras
        }
    };
    let present = answer.present.concat();

    let (m, e) = (answer.matches.len() as f64, n_extras as f64);
    let n_blocks = blocks.len() as f64;
    let cohesion = if blocks.is_empty() {
        0.0
    } else {
        1.0 / n_blocks
    };
    answer.set("similarity", similarity);
    answer.set("evidence", m / known.flat.len() as f64);
    // A present without events arises when fuzzy matches begin elsewhere than the blocks.
    answer.set("confidence", or_zero(m, present.len() as f64));
    answer.set("snr", (2.0 * m - e) / (2.0 * m + e));
    answer.set("fragmentation", n_blocks - 1.0);
    let [evidence, confidence, snr] = with_weights(&mut answer, None);
    answer.set("fit", (evidence + confidence) * snr + cohesion);
    let weigh = |emotive: &str| {
        // Only symbols of the state have a weight; beside a single one those of the pattern, too.
        let of = |symbol: &String| match is_one || state.contains(symbol) {
            true => oracle.weight(symbol, emotive),
            false => 0.0,
        };
        let sum = |list: &[String]| list.iter().map(of).sum();
        Weights::of(&answer, state, &known.flat, sum)
    };
    let weights = config.affinity_emotive.as_deref().map(weigh);
    let [evidence, confidence, snr] = with_weights(&mut answer, weights.as_ref());
    // The ensemble adds its part.
    answer.set("potential", (evidence + confidence) * snr);
    Some(answer)
}

fn blank(known: &Known) -> Answer {
    Answer {
        name: known.name,
        frequency: known.frequency,
        emotives: mean_emotives(&known.window),
        matches: Vec::new(),
        past: Vec::new(),
        present: Vec::new(),
        future: Vec::new(),
        missing: Vec::new(),
        extras: Vec::new(),
        anomalies: Vec::new(),
        sequence: known.events.clone(),
        numbers: BTreeMap::new(),
    }
}

/// Replaces matches by those within the threshold; returns how many symbols of the state are none.
fn match_fuzzily(
    answer: &mut Answer,
    pattern: &[String],
    state: &[String],
    threshold: f64,
) -> usize {
    answer.matches.clear();
    for observed in state {
        let mut best = (0.0, None);
        for expected in pattern {
            let ratio = naive::character_similarity(observed, expected);
            if ratio > best.0 {
                best = (ratio, Some(expected));
            }
        }
        if let (ratio, Some(expected)) = best
            && ratio >= threshold
        {
            answer.matches.push(observed.clone());
            if expected != observed {
                let anomaly = (observed.clone(), expected.clone(), ratio);
                answer.anomalies.push(anomaly);
            }
        }
    }
    state.len() - answer.matches.len()
}

/// Cuts the pattern's events at the symbols where the match starts and ends.
fn split(answer: &mut Answer, start: usize, end: usize) {
    let mut covered = 0;
    for event in answer.sequence.clone() {
        let part = if covered < start {
            &mut answer.past
        } else if covered < end {
            &mut answer.present
        } else {
            &mut answer.future
        };
        covered += event.len();
        part.push(event);
    }
    if let (Some(last), Some(first_match)) = (answer.past.last(), answer.matches.first())
        && last.contains(first_match)
    {
        let last = answer.past.pop().unwrap();
        answer.present.insert(0, last);
    }
}

/// Of each event the symbols that are not among others.
fn not_among(events: &Events, others: &[String]) -> Events {
    let kept = |event: &Vec<String>| {
        let kept = event.iter().filter(|symbol| !others.contains(symbol));
        kept.cloned().collect()
    };
    events.iter().map(kept).collect()
}

/// Of each event the symbols that no other one pays for, of which each pays for one.
fn not_paid(events: &Events, others: &[String]) -> Events {
    let mut purse = others.to_vec();
    let mut pay = |symbol: &&String| {
        let coin = purse.iter().position(|coin| coin == *symbol);
        coin.map(|coin| purse.remove(coin)).is_some()
    };
    let mut kept = |event: &Vec<String>| {
        let kept = event.iter().filter(|symbol| !pay(symbol));
        kept.cloned().collect()
    };
    events.iter().map(&mut kept).collect()
}

/// Sums of affinity weights.
struct Weights {
    matches: f64,
    state: f64,
    pattern: f64,
    present: f64,
    extras: f64,
}

impl Weights {
    fn of(
        answer: &Answer,
        state: &[String],
        pattern: &[String],
        sum: impl Fn(&[String]) -> f64,
    ) -> Self {
        Self {
            matches: sum(&answer.matches),
            state: sum(state),
            pattern: sum(pattern),
            present: sum(&answer.present.concat()),
            extras: sum(&answer.extras.concat()),
        }
    }
}

/// Sets the weighted metrics; returns evidence, confidence and signal-to-noise ratio as the
/// potential takes them.
fn with_weights(answer: &mut Answer, weights: Option<&Weights>) -> [f64; 3] {
    let names = ["similarity", "evidence", "confidence", "snr"];
    let values = weights.map(|w| {
        [
            2.0 * w.matches / (w.state + w.pattern),
            or_zero(w.matches, w.pattern),
            or_zero(w.matches, w.present),
            or_zero(w.matches, w.matches + w.extras),
        ]
    });
    for (i, name) in names.iter().enumerate() {
        let value = values.map(|values| values[i]);
        answer.numbers.insert(format!("weighted_{name}"), value);
    }
    match values {
        Some([_, evidence, confidence, snr]) => [evidence, confidence, snr],
        None => ["evidence", "confidence", "snr"].map(|name| answer.number(name).unwrap()),
    }
}
