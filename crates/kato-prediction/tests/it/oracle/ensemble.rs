//! What relates predictions to each other and to the node: entropies, probabilities, futures,
//! potential.

use std::collections::BTreeSet;

use kato_prediction::PredictionConfig;

use super::{Answer, Events, Future, Known, Oracle, count, distinct, is_six, or_zero};

/// Adds all metrics of the ensemble; returns its futures.
pub(super) fn complete(
    oracle: &Oracle,
    predictions: &mut [Answer],
    state: &[String],
    config: &PredictionConfig,
) -> Vec<Future> {
    let futures = futures(predictions);
    let total: f64 = predictions.iter().map(|p| p.frequency as f64).sum();
    let mentioned: BTreeSet<String> = predictions
        .iter()
        .flat_map(|p| p.matches.iter().chain(p.missing.iter().flatten()).cloned())
        .collect();
    let probability = |symbol: &String| match mentioned.contains(symbol) {
        true => oracle.probability(symbol),
        false => 0.0,
    };
    let evidence_total: f64 = predictions
        .iter()
        .map(|p| similarity(p) * (p.frequency as f64 / total))
        .sum();
    for answer in predictions {
        let known = &oracle.patterns[&answer.name];
        let (frequency, similarity) = (answer.frequency as f64, similarity(answer));
        let present = answer.present.concat();
        let own = if is_six(config) || known.entropies.is_some() {
            &known.flat
        } else {
            &present
        };
        let [entropy, normalized, global] = known.entropies.unwrap_or_else(|| {
            // Of a whole pattern symbols count that no prediction mentions, too.
            entropies(own, oracle.n_symbols(), |symbol| match is_six(config) {
                true => oracle.probability(symbol),
                false => probability(symbol),
            })
        });
        answer.set("entropy", entropy);
        answer.set("normalized_entropy", normalized);
        answer.set("global_normalized_entropy", global);
        answer.set("tfidf_score", tfidf(oracle, own, &mentioned));
        answer.set(
            "confluence",
            confluence(oracle, known, &present, probability),
        );

        let prior = frequency / total;
        answer.set("pattern_probability", prior);
        answer.set("weighted_strength", similarity * prior);
        answer.set("bayesian_prior", prior);
        answer.set("bayesian_likelihood", similarity);
        answer.set(
            "bayesian_posterior",
            or_zero(similarity * prior, evidence_total),
        );
        let of_future = futures
            .iter()
            .find(|f| sorted(&f.events) == sorted(&answer.future));
        let aggregate = of_future.map_or(0.0, |f| f.aggregate_potential);
        answer.set(
            "predictive_information",
            or_zero(similarity * prior, aggregate),
        );

        let itfdf = 1.0 - distance(state, &present, probability) * frequency / total;
        answer.set("itfdf_similarity", itfdf);
        let fragmentation = answer.number("fragmentation").unwrap();
        let cohesion = or_zero(1.0, fragmentation + 1.0);
        let fit = answer.number("potential").unwrap();
        answer.set("potential", fit + itfdf + cohesion);
    }
    futures
}

/// Entropy in bits, normalised, and global, of a list of symbols.
pub(super) fn entropies(
    symbols: &[String],
    n_symbols: usize,
    probability: impl Fn(&String) -> f64,
) -> [f64; 3] {
    let term = |p: f64| match p > 0.0 && n_symbols > 1 {
        true => -p * (p.ln() / (n_symbols as f64).ln()),
        false => 0.0,
    };
    let distinct = distinct(symbols);
    let share = |symbol: &&String| count(symbols, symbol) as f64 / symbols.len() as f64;
    [
        total(distinct.iter().map(share).map(|p| -p * p.log2())),
        total(distinct.iter().map(share).map(term)),
        total(distinct.iter().map(|symbol| term(probability(symbol)))),
    ]
}

fn tfidf(oracle: &Oracle, symbols: &[String], mentioned: &BTreeSet<String>) -> f64 {
    let n_patterns = oracle.patterns.len() as f64;
    let distinct = distinct(symbols);
    let score = |symbol: &String| {
        let p = match mentioned.contains(symbol) {
            true => oracle.probability(symbol),
            false => 0.0,
        };
        let containing = f64::max(1.0, (p * n_patterns).trunc());
        let share = count(symbols, symbol) as f64 / symbols.len() as f64;
        share * ((n_patterns / containing).log2() + 1.0)
    };
    let sum = total(distinct.iter().map(|symbol| score(symbol)));
    or_zero(sum, distinct.len() as f64)
}

fn confluence(
    oracle: &Oracle,
    known: &Known,
    present: &[String],
    probability: impl Fn(&String) -> f64,
) -> f64 {
    if present.is_empty() {
        return 0.0;
    }
    let factor = |symbol: &String| match probability(symbol) {
        0.0 => 1e-10,
        p => p,
    };
    let product: f64 = ascending(present.iter().map(factor)).iter().product();
    known.frequency as f64 / oracle.patterns.len() as f64 * (1.0 - product)
}

fn distance(state: &[String], present: &[String], probability: impl Fn(&String) -> f64) -> f64 {
    let both = [state, present].concat();
    let symbols = distinct(&both);
    let vector = |list: &[String]| -> Vec<f64> {
        let component = |symbol: &&String| probability(symbol) * count(list, symbol) as f64;
        symbols.iter().map(component).collect()
    };
    let (a, b) = (vector(state), vector(present));
    let dot = |a: &[f64], b: &[f64]| total(a.iter().zip(b).map(|(a, b)| a * b));
    1.0 - or_zero(dot(&a, &b), dot(&a, &a).sqrt() * dot(&b, &b).sqrt())
}

/// Distinct futures, heaviest first, ties in the order in which they come.
fn futures(predictions: &[Answer]) -> Vec<Future> {
    let mut futures: Vec<Future> = Vec::new();
    for answer in predictions.iter().filter(|p| !p.future.is_empty()) {
        let weight = answer.frequency as f64 * similarity(answer);
        let same = |f: &&mut Future| sorted(&f.events) == sorted(&answer.future);
        if let Some(future) = futures.iter_mut().find(same) {
            future.supporting_patterns += 1;
            future.total_weighted_frequency += weight;
        } else {
            futures.push(Future {
                events: answer.future.clone(),
                aggregate_potential: 0.0,
                supporting_patterns: 1,
                total_weighted_frequency: weight,
            });
        }
    }
    let total: f64 = futures.iter().map(|f| f.total_weighted_frequency).sum();
    for future in &mut futures {
        future.aggregate_potential = or_zero(future.total_weighted_frequency, total);
    }
    futures.sort_by(|a, b| b.aggregate_potential.total_cmp(&a.aggregate_potential));
    futures
}

fn sorted(events: &Events) -> Events {
    let mut events = events.clone();
    events.iter_mut().for_each(|event| event.sort());
    events
}

fn similarity(answer: &Answer) -> f64 {
    answer.number("similarity").unwrap()
}

/// The sum in ascending order, so that it does not depend on the order of symbols.
fn total(terms: impl Iterator<Item = f64>) -> f64 {
    ascending(terms).iter().sum()
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
