//! Why a symbol has the probability that it has.

use kato_model::PatternName;
use kato_store::Source;
use serde::Serialize;

use crate::history::{Occurrence, Weighing};
use crate::next::NextDistribution;
use crate::options::{EXPERTS, Expert};
use crate::symbols::SymbolId;
use crate::weights::Class;

/// The reasons for a probability: p = Σ λ · pₑ over the experts.
///
/// Sums are exact: adding up the contributions in their order gives `probability` to the last bit,
/// and adding up the terms of a part gives the probability of its expert.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The symbol; empty if the head does not know it.
    pub symbol: String,
    /// Its probability.
    pub probability: f64,
    /// The class of the position, which decided how far each expert is trusted.
    pub class: Class,
    /// What each expert with something to say contributes.
    pub parts: Vec<ExpertShare>,
}

impl Explanation {
    /// Lists the patterns that were named, those that stand behind several counts for each of them.
    pub fn patterns_mut(&mut self) -> impl Iterator<Item = &mut CountedPattern> {
        self.orders_mut().flat_map(|order| &mut order.patterns)
    }

    /// Lists the counts of n-grams.
    pub(crate) fn orders_mut(&mut self) -> impl Iterator<Item = &mut OrderTerm> {
        self.parts
            .iter_mut()
            .flat_map(|part| match &mut part.reason {
                Reason::Ngrams { orders, .. } => orders.as_mut_slice(),
                Reason::Cache { .. } | Reason::Outside { .. } => &mut [],
            })
    }
}

/// The contribution of one expert.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpertShare {
    /// The expert.
    pub expert: Expert,
    /// How far it is trusted here: λ.
    pub weight: f64,
    /// The probability that it gives to the symbol.
    pub probability: f64,
    /// `weight` · `probability`.
    pub contribution: f64,
    /// Why it gives that probability.
    pub reason: Reason,
}

/// The reason for an expert's probability.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// `uniform` + Σ terms, in this order: interpolated Kneser-Ney.
    Ngrams {
        /// What is left for all outcomes alike.
        uniform: f64,
        /// The contexts after which something was counted, from the empty one on; those between the
        /// empty and the longest that the history allows twice, by symbols to the left, where there
        /// are any, and by occurrences.
        orders: Vec<OrderTerm>,
    },
    /// `weight` / `total`.
    Cache {
        /// What the symbol weighs: Σ over its places, in this order.
        weight: f64,
        /// What all symbols weigh.
        total: f64,
        /// Where in the history it was, the oldest first.
        places: Vec<CachedPlace>,
    },
    /// `weight` / `total`, both of them said from outside.
    Outside {
        /// What the symbol weighs.
        weight: f64,
        /// What all symbols weigh.
        total: f64,
    },
}

/// What n-grams of one length contribute: `reached` · `trust` · (`count` − `discount`) / `total`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OrderTerm {
    /// The last symbols of the history, which stand before the symbol.
    pub context: Vec<String>,
    /// What was counted.
    pub counts: Counts,
    /// How often the symbol was counted after the context.
    pub count: u64,
    /// How much of the count goes to symbols that were never seen there.
    pub discount: f64,
    /// The counts of all symbols after the context.
    pub total: u64,
    /// How many different symbols these are.
    pub distinct: u64,
    /// The share that those after it in the list, longer contexts mostly, leave to this one.
    pub reached: f64,
    /// How far the counts are trusted, as the weights have learned it of contexts like this one; 1
    /// means as their discounts say.
    pub trust: f64,
    /// The share that this order leaves to those before it in the list.
    pub left_over: f64,
    /// What it adds to the probability.
    pub term: f64,
    /// The patterns that hold context and symbol, those with the most occurrences first, as many as
    /// were asked for; empty before [`Head::name_patterns`](crate::Head::name_patterns).
    pub patterns: Vec<CountedPattern>,
    /// How many patterns there are; `None` before they were named.
    pub n_patterns: Option<u64>,
}

/// What is counted of an n-gram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counts {
    /// Occurrences in patterns, by their frequencies.
    Occurrences,
    /// Different symbols that stand before context and symbol in patterns: of two symbols that
    /// occur as often, the one that follows more different ones is more likely after a new one.
    SymbolsBefore,
}

/// A pattern that holds an n-gram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CountedPattern {
    /// Its level.
    pub level: usize,
    /// Its name.
    pub pattern: PatternName,
    /// Its frequency, for every place where it holds the n-gram.
    pub count: u64,
    /// The symbols that stand before it there, where those are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Where in the corpus it was first seen, if training recorded that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A place of the history that speaks for a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CachedPlace {
    /// How many symbols ago; 1 for the last one.
    pub ago: u64,
    /// What it weighs.
    pub weight: f64,
}

/// Explains the probability of a symbol.
pub(crate) fn explain(next: &NextDistribution<'_>, symbol: SymbolId) -> Explanation {
    let head = next.head;
    let text = head.text(symbol).unwrap_or_default().to_owned();
    // A number that is none counts as one that nothing was counted of.
    let outcome = head.outcome(Some(symbol));
    let part = |expert: Expert| {
        let weight = next.weight(expert);
        let probability = outcome.map_or(0.0, |outcome| next.of_expert(expert, outcome));
        ExpertShare {
            expert,
            weight,
            probability,
            contribution: weight * probability,
            reason: reason(next, expert, symbol.0),
        }
    };
    let experts = EXPERTS
        .into_iter()
        .filter(|&expert| next.position.class.has(expert));
    let parts: Vec<ExpertShare> = experts.map(part).collect();
    Explanation {
        symbol: text,
        probability: parts.iter().map(|part| part.contribution).sum(),
        class: next.position.class,
        parts,
    }
}

fn reason(next: &NextDistribution<'_>, expert: Expert, symbol: u32) -> Reason {
    let history = next.history;
    let (weight, total) = next.position.weight(history, expert, symbol);
    let cache = |places: Vec<CachedPlace>| Reason::Cache {
        weight,
        total,
        places,
    };
    let places_of = |weighing: Weighing, by: f64| {
        let place = |occurrence: &Occurrence| CachedPlace {
            ago: history.ago(occurrence.place),
            weight: history.weight(weighing, occurrence) * by,
        };
        let places = history.occurrences(symbol).map(place);
        places.filter(|place| place.weight > 0.0).collect()
    };
    let followers = |length: usize| {
        let places = next.position.followers.after(length).iter().copied();
        let place = |place| CachedPlace {
            ago: history.ago(place),
            weight: 1.0,
        };
        let places = places.filter(|&place| history.is_symbol(place, symbol));
        places.map(place).collect()
    };
    match expert {
        Expert::Ngrams => ngrams(next, symbol),
        Expert::CachedSymbols => cache(places_of(Weighing::Rarity, 1.0)),
        Expert::RecentSymbols => cache(places_of(Weighing::Recent, 1.0)),
        Expert::FittingSymbols => {
            let by_ngrams = next.of_expert(Expert::Ngrams, symbol);
            cache(places_of(Weighing::Recent, by_ngrams))
        }
        Expert::CachedPairs => cache(followers(1)),
        Expert::CachedTriples => cache(followers(2)),
        Expert::Outside => Reason::Outside { weight, total },
    }
}

fn ngrams(next: &NextDistribution<'_>, symbol: u32) -> Reason {
    let head = next.head;
    let text = |&symbol: &u32| head.text(SymbolId(symbol)).unwrap_or_default().to_owned();
    let term = |(order, count): (&crate::kneser_ney::Order, u32)| OrderTerm {
        context: next.history.last(order.length).iter().map(text).collect(),
        counts: match order.counts_occurrences {
            true => Counts::Occurrences,
            false => Counts::SymbolsBefore,
        },
        count: count.into(),
        discount: order.discount(count),
        total: order.total,
        distinct: order.distinct,
        reached: order.reached,
        trust: order.trust,
        left_over: order.left_over,
        // Nothing is added for a symbol that was never counted there.
        term: if count > 0 { order.term(count) } else { 0.0 },
        patterns: Vec::new(),
        n_patterns: None,
    };
    Reason::Ngrams {
        uniform: next.position.kneser_ney.uniform,
        orders: next
            .position
            .kneser_ney
            .counts(&next.find(symbol))
            .map(term)
            .collect(),
    }
}
