//! Predictions of a state of one symbol: the patterns that begin with it, the shorter the better.
//!
//! Up to 5.x with predictions of a shape of their own; from 6.x on only the candidates are.

mod search;

use kato_model::Event;

use self::search::{Candidate, Search};
use super::best;
use super::texts::text_bytes;
use crate::cancel::{Cancel, Cancelled};
use crate::candidate::{Candidates, similarity};
use crate::config::RankMetric;
use crate::frozen::Reader;
use crate::index::{PatternIndex, Spot};
use crate::matching::CharacterProfile;
use crate::metrics::{
    cohesion, confidence, evidence, fragmentation, pre_potential, single_symbol_snr,
};
use crate::search::{Ranked, TieOrder, TopK};
use crate::state::{OverlapBounds, State, UNKNOWN};
use crate::weights::AffinityWeights;
use crate::{Prediction, PredictionConfig, Predictions, SymbolId};

/// Number of patterns that a disk is told of at once: somewhat more than an answer has by default.
const AHEAD: usize = 128;

/// Predicts as KATO's fast path for one symbol does.
///
/// Threshold, filters, ranking metric and the session's `use_token_matching` have no effect, and
/// there is no ensemble.
pub(super) fn predict(
    index: &PatternIndex,
    state: &State<'_>,
    config: &PredictionConfig,
    cancel: &Cancel,
) -> Result<Predictions, Cancelled> {
    let symbol = state.ids[0];
    if symbol == UNKNOWN {
        return Ok(Predictions::default());
    }
    // Without weights only the length matters, so that the best are known before anything else is
    // computed. With weights every pattern that begins with the symbol has to be rated.
    let limit = match config.affinity_emotive {
        None => config.max_predictions,
        Some(_) => usize::MAX,
    };
    let mut search = Search {
        symbol,
        hidden: index.hidden(),
        ties: TieOrder::of(config.generation),
        top: TopK::new(limit),
        cancel,
    };
    search.offer_all(index, &mut |pattern| Ok(Some(potential(pattern.length()))))?;
    let top = search.top;
    let characters =
        (!config.single_symbol_token_matching).then(|| CharacterProfile::new(state.texts[0]));
    let ranked = top.into_sorted();
    for unit in index.base().into_iter().flat_map(|base| base.units()) {
        // With weights there may be any number.
        will_read(&unit.reader(), &ranked[..ranked.len().min(AHEAD)]);
    }
    // Each is moved once, into the answer: it is some hundred bytes.
    let mut rated: Vec<Option<Prediction>> = ranked
        .iter()
        .map(|ranked| rate(index, state, config, characters.as_ref(), ranked, cancel).map(Some))
        .collect::<Result<_, _>>()?;
    let order = best(
        rated.iter().flatten(),
        RankMetric::Potential,
        TieOrder::of(config.generation),
        config.max_predictions,
    );
    // Texts are made last, for the predictions of the answer alone: with weights every pattern that
    // begins with the symbol was rated.
    for &idx in &order {
        if let Some(prediction) = &mut rated[idx] {
            fill_texts(index, state, prediction, ranked[idx].spot, cancel)?;
        }
    }
    Ok(Predictions {
        predictions: order
            .into_iter()
            .filter_map(|idx| rated[idx].take())
            .collect(),
        future_potentials: Vec::new(),
    })
}

/// Returns the settings of a state of one symbol that is answered as all others: no threshold, no filters,
/// and no fuzzy matching.
pub(super) fn ordinary(config: &PredictionConfig) -> PredictionConfig {
    PredictionConfig {
        recall_threshold: 0.0,
        fuzzy_token_threshold: None,
        use_token_matching: config.single_symbol_token_matching,
        filter_pipeline: Vec::new(),
        ..config.clone()
    }
}

/// Finds the `limit` best patterns that begin with the symbol of a state.
pub(super) fn find(
    index: &PatternIndex,
    state: &State<'_>,
    candidates: &mut Candidates<'_>,
    limit: usize,
) -> Result<Vec<Ranked>, Cancelled> {
    let symbol = state.ids[0];
    if symbol == UNKNOWN {
        return Ok(Vec::new());
    }
    let mut search = Search {
        symbol,
        hidden: index.hidden(),
        ties: candidates.ties(),
        top: TopK::new(limit),
        cancel: candidates.cancel(),
    };
    // A pattern may repeat the symbol.
    let common = OverlapBounds {
        symbols: usize::MAX,
        pairs: 0,
    };
    let mut symbols = Vec::new();
    search.offer_all(index, &mut |pattern| match pattern {
        Candidate::Page(page, place, _) => candidates.score(page, place, common),
        Candidate::Base(reader, rank, _) => {
            reader.read_symbols(rank, &mut symbols);
            let lengths = match symbols.is_empty() {
                true => None,
                false => reader.event_lengths(rank),
            };
            candidates.score_pattern(&symbols, lengths.as_deref(), common)
        }
    })?;
    Ok(search.top.into_sorted())
}

/// Says that the symbols of those patterns that are in the index below will soon be read.
fn will_read(reader: &Reader<'_>, ranked: &[Ranked]) {
    let in_base = |ranked: &Ranked| match ranked.spot {
        Spot::Base(rank) => Some(reader.range(reader.own_rank(rank)?)),
        Spot::Page(_) => None,
    };
    let ranges: Vec<(usize, usize)> = ranked.iter().filter_map(in_base).collect();
    reader.will_read_symbols(&ranges);
}

/// Computes the potential of a pattern of this length without weights.
fn potential(length: usize) -> f64 {
    pre_potential(
        evidence(1, length),
        confidence(1, 1),
        single_symbol_snr(1, 0),
        cohesion(1),
    )
}

/// Computes the prediction of a pattern that was found, without its texts.
fn rate(
    index: &PatternIndex,
    state: &State<'_>,
    config: &PredictionConfig,
    characters: Option<&CharacterProfile>,
    ranked: &Ranked,
    cancel: &Cancel,
) -> Result<Prediction, Cancelled> {
    cancel.check()?;
    let table = index.symbol_table();
    let mut symbols = Vec::new();
    index.read_symbols_at(ranked.spot, &mut symbols);
    let name = TieOrder::of(config.generation).name(&ranked.key);
    let mut prediction = Prediction::new(name, index.frequency_at(ranked.spot));
    prediction.generation = config.generation;
    prediction.similarity = similarity(&symbols, state, table, characters, || Ok(1), cancel)?;
    prediction.evidence = evidence(1, symbols.len());
    prediction.confidence = confidence(1, 1);
    prediction.snr = single_symbol_snr(1, 0);
    prediction.fragmentation = fragmentation(1);
    if let Some(emotive) = config.affinity_emotive.as_deref() {
        // Unlike states of several symbols, all symbols of the pattern have a weight here.
        let observed = &symbols[..symbols.len().min(1)];
        prediction.weighted = AffinityWeights::from_symbols(
            index,
            symbols.iter().copied(),
            emotive,
        )
        .metrics(observed, observed, observed, &symbols, &[]);
    }
    let weighted = prediction.weighted;
    prediction.potential = pre_potential(
        weighted.evidence.unwrap_or(prediction.evidence),
        weighted.confidence.unwrap_or(prediction.confidence),
        weighted.snr.unwrap_or(prediction.snr),
        cohesion(1),
    );
    Ok(prediction)
}

/// Adds the texts and emotives of a prediction that is part of the answer.
fn fill_texts(
    index: &PatternIndex,
    state: &State<'_>,
    prediction: &mut Prediction,
    spot: Spot,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    cancel.check()?;
    let table = index.symbol_table();
    let mut symbols = Vec::new();
    index.read_symbols_at(spot, &mut symbols);
    // In the sequence and in the future.
    cancel.reserve(|| 2 * text_bytes(&symbols, table))?;
    let text = |symbol: &SymbolId| table.text(*symbol).into_owned();
    let single = |symbol: &SymbolId| Event::in_given_order(vec![text(symbol)]);
    prediction.emotives = index.emotives_of(&prediction.name);
    prediction.matches = vec![state.texts[0].to_owned()];
    prediction.present = vec![Event::in_given_order(prediction.matches.clone())];
    // KATO cuts the pattern by symbols here and not by events.
    prediction.future = symbols.iter().skip(1).map(single).collect();
    prediction.sequence = index.events_at(spot);
    Ok(())
}
