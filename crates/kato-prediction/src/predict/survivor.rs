//! A pattern that survived the search, with the data that its metrics are computed from.

use std::borrow::Cow;

use kato_model::KatoGeneration;

use crate::cancel::Cancelled;
use crate::candidate::{Candidates, FullMatch};
use crate::events::{EventBounds, EventSymbols, read_ends};
use crate::fuzzy::FuzzySymbol;
use crate::index::{PatternIndex, Spot};
use crate::metrics::{cohesion, confidence, evidence, fragmentation, pre_potential, snr};
use crate::refine::{Pair, ends_of};
use crate::search::Ranked;
use crate::split::Split;
use crate::state::State;
use crate::{Prediction, SymbolId};

/// A prediction without texts, and the data that the texts and the ensemble's metrics come from.
#[derive(Debug)]
pub(super) struct Survivor<'a> {
    /// Its texts are filled in only if it becomes part of the answer.
    pub(super) prediction: Prediction,
    pub(super) spot: Spot,
    pub(super) symbols: Vec<SymbolId>,
    pub(super) event_lengths: Option<Cow<'a, [u32]>>,
    pub(super) split: Split,
    /// Positions of the matches in the state, ascending.
    pub(super) matches: Vec<usize>,
    /// Fuzzy matching's pairs, exact ones included; empty without it.
    pub(super) fuzzy: Vec<FuzzySymbol>,
    pub(super) counting: Counting,
    /// 1 / (fragmentation + 1).
    pub(super) cohesion: f64,
}

/// Returns the score by which candidates are cut.
fn score_of(prediction: &Prediction, n_blocks: usize) -> f64 {
    let Prediction {
        evidence,
        confidence,
        snr,
        ..
    } = *prediction;
    pre_potential(evidence, confidence, snr, cohesion(n_blocks))
}

/// How it is told which symbols are missing, and which are extra.
#[derive(Debug)]
pub(super) enum Counting {
    /// By membership in the matches and in the present: up to KATO 4.x.
    Members,
    /// By these places of the pattern, ascending, and the positions that match.
    Places(Vec<usize>),
    /// By number: each match pays for one expected symbol, and each expected one for one observed.
    Numbers,
}

impl Counting {
    /// Returns how a generation tells it, given what matches where, if that is known.
    fn new(generation: KatoGeneration, pairs: Option<&[Pair]>) -> Self {
        match pairs {
            Some(pairs) => Self::Places(pairs.iter().map(|pair| pair.place).collect()),
            None if generation.segments_by_position() => Self::Numbers,
            None => Self::Members,
        }
    }
}

impl<'a> Survivor<'a> {
    /// Matches a pattern that the search found with the state, in full.
    pub(super) fn new(
        index: &'a PatternIndex,
        state: &State<'_>,
        candidates: &mut Candidates<'_>,
        ranked: &Ranked,
    ) -> Result<Self, Cancelled> {
        let mut symbols = Vec::new();
        index.read_symbols_at(ranked.spot, &mut symbols);
        let event_lengths = index.event_lengths_at(ranked.spot, symbols.len());
        let mut ends = Vec::new();
        read_ends(event_lengths.as_deref().unwrap_or_default(), &mut ends);
        let events = EventBounds::new(event_lengths.as_ref().map(|_| &*ends));
        let pattern = EventSymbols {
            symbols: &symbols,
            events,
        };
        let (generation, ties) = (candidates.generation(), candidates.ties());
        // Fuzzy matching decides about matches and extras; blocks, and with them past, present and
        // future, stay those of equal symbols, as in KATO.
        let fuzzy = candidates.fuzzy_matches(&symbols)?;
        let FullMatch {
            similarity,
            summary,
            pairs,
            is_by_position,
        } = candidates.full_match(pattern)?;
        let matches: Vec<usize> = match &fuzzy {
            Some(accepted) => accepted.iter().map(|symbol| symbol.position).collect(),
            None => pairs.iter().map(|pair| pair.position).collect(),
        };
        let by_position = is_by_position.then_some(pairs);
        let first_match = matches.first().map(|&position| state.ids[position]);
        let (start, end) = match summary.n_blocks {
            0 => (0, symbols.len()),
            _ => (summary.start, summary.end),
        };
        let split = match by_position {
            Some(pairs @ [_, ..]) => {
                let (first, last) = ends_of(pairs);
                Split::of_matches(symbols.len(), events, first, last)
            }
            _ => Split::new(
                symbols.len(),
                event_lengths.as_deref(),
                start,
                end,
                |place| first_match == Some(symbols[place]),
            ),
        };
        let counting = Counting::new(generation, by_position);
        let name = ties.name(&ranked.key);
        let mut prediction = Prediction::new(name, index.frequency_at(ranked.spot));
        prediction.generation = generation;
        prediction.similarity = similarity;
        prediction.evidence = evidence(matches.len(), symbols.len());
        prediction.confidence = confidence(matches.len(), split.present_symbols.len());
        prediction.snr = snr(matches.len(), state.len() - matches.len());
        prediction.fragmentation = fragmentation(summary.n_blocks);
        // The search computes the same from less; what is damaged is read anew anyway.
        let is_same = |score: f64| index.is_damaged() || ranked.score.total_cmp(&score).is_eq();
        debug_assert!(
            is_same(score_of(&prediction, summary.n_blocks)),
            "{prediction:?}"
        );
        Ok(Self {
            prediction,
            spot: ranked.spot,
            split,
            matches,
            fuzzy: fuzzy.unwrap_or_default(),
            counting,
            event_lengths,
            symbols,
            cohesion: cohesion(summary.n_blocks),
        })
    }

    /// Returns the symbols of the present's events.
    pub(super) fn present(&self) -> &[SymbolId] {
        &self.symbols[self.split.present_symbols.clone()]
    }

    /// Returns the symbols of each event of a range of events.
    pub(super) fn events(
        &self,
        events: std::ops::Range<usize>,
    ) -> impl Iterator<Item = &[SymbolId]> {
        let lengths = self.event_lengths.as_deref();
        let length = move |event: usize| lengths.map_or(1, |lengths| lengths[event] as usize);
        let start = match lengths {
            None => events.start,
            Some(_) => (0..events.start).map(length).sum(),
        };
        events.scan(start, move |at, event| {
            let from = *at;
            *at += length(event);
            Some(&self.symbols[from..*at])
        })
    }
}
