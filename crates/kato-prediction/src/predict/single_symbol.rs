//! Predictions of a state of one symbol: the patterns that begin with it, the shorter the better.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns"
)]

use kato_model::Event;

use super::best;
use super::texts::text_bytes;
use crate::cancel::{Cancel, Cancelled};
use crate::candidate::similarity;
use crate::config::RankMetric;
use crate::frozen::Reader;
use crate::index::{PatternIndex, Place, Spot};
use crate::matching::CharacterProfile;
use crate::metrics::{
    cohesion, confidence, evidence, fragmentation, pre_potential, single_symbol_snr,
};
use crate::page::Page;
use crate::search::{Ranked, TopK};
use crate::state::{State, UNKNOWN};
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
    let mut top = TopK::new(limit);
    for (number, page) in index.pages().iter() {
        offer_page(number, page, symbol, &mut top, cancel)?;
    }
    for unit in index.base().into_iter().flat_map(|base| base.units()) {
        offer_base(&unit.reader(), symbol, &mut top, cancel)?;
    }
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

/// Offers the patterns of a page that begin with a symbol.
fn offer_page(
    number: u16,
    page: &Page,
    symbol: SymbolId,
    top: &mut TopK,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    cancel.check()?;
    // Shorter patterns score higher, so the shortest of the class bounds the page.
    let shortest = *page.class().lengths.lengths().start();
    let upper = potential(shortest.max(1));
    if top
        .threshold()
        .is_some_and(|threshold| upper < threshold.score)
    {
        return Ok(());
    }
    let mut symbols = Vec::new();
    let mut offer = |place: u16| {
        let name = page.names()[usize::from(place)];
        if !top.accepts(upper, &name) {
            // Names of a sealed page ascend, so no later one is accepted either.
            return false;
        }
        if page.first_symbol(place) == Some(symbol) {
            page.read_symbols(place, &mut symbols);
            let score = potential(symbols.len());
            if top.accepts(score, &name) {
                let spot = Spot::Page(Place::new(number, place));
                top.push(Ranked { score, name, spot });
            }
        }
        true
    };
    match page.postings() {
        Some(postings) => {
            let places = postings.lists(symbol).map_or(&[][..], |lists| lists.places);
            let mut places = places.iter();
            while places.next().is_some_and(|&place| offer(place)) {}
        }
        None => {
            // Names of an open page are in no order: one that is refused ends nothing.
            for place in 0..page.len() {
                offer(place as u16);
            }
        }
    }
    Ok(())
}

/// Offers the patterns of the index below that begin with a symbol.
fn offer_base(
    reader: &Reader<'_>,
    symbol: SymbolId,
    top: &mut TopK,
    cancel: &Cancel,
) -> Result<(), Cancelled> {
    for class in reader.classes() {
        let lengths = class.class.lengths.lengths();
        let upper = potential((*lengths.start()).max(1));
        let Some(list) = reader.first(class, symbol) else {
            continue;
        };
        let mut ranks = list.iter();
        let mut ahead: Vec<u32> = Vec::new();
        'class: loop {
            ahead.clear();
            ahead.extend(ranks.by_ref().take(AHEAD));
            if ahead.is_empty() {
                break;
            }
            // Once there are enough, few are better.
            if top.threshold().is_none() {
                reader.will_read_found(ahead.iter().copied());
                reader.will_read_ranges(&ahead);
            }
            for &rank in &ahead {
                cancel.check()?;
                let name = reader.name(rank);
                // Ranks are in name order, so no later one of the class is accepted either.
                if !top.accepts(upper, &name) {
                    break 'class;
                }
                let (_, length) = reader.range(rank);
                let score = potential(length);
                if top.accepts(score, &name) {
                    let spot = Spot::Base(reader.rank_among_all(rank));
                    top.push(Ranked { score, name, spot });
                }
            }
        }
    }
    Ok(())
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
    let mut prediction = Prediction::new(ranked.name, index.frequency_at(ranked.spot));
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
