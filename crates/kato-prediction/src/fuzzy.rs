//! Fuzzy matching against one state: every pair of symbols is compared once, however many patterns hold it.

use crate::SymbolId;
use crate::collections::HashMap;
use crate::matching::CharacterProfile;
use crate::state::State;
use crate::symbols::Symbols;

/// What fuzzy matching makes of the symbols of a state.
#[derive(Debug)]
pub(crate) struct FuzzyMatcher<'a> {
    threshold: f64,
    table: &'a Symbols,
    ids: &'a [SymbolId],
    /// For every position of the state the entry of its text.
    entries: Vec<usize>,
    texts: Vec<StateText>,
}

#[derive(Debug)]
struct StateText {
    id: SymbolId,
    profile: CharacterProfile,
    ratios: HashMap<SymbolId, f64>,
}

/// The symbol of the pattern that stands for one of the state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FuzzySymbol {
    /// Position in the state.
    pub(crate) position: usize,
    /// Place in the pattern.
    pub(crate) place: usize,
    pub(crate) ratio: f64,
}

impl<'a> FuzzyMatcher<'a> {
    /// `None` if fuzzy matching is off.
    pub(crate) fn new(
        state: &'a State<'a>,
        table: &'a Symbols,
        threshold: Option<f64>,
    ) -> Option<Self> {
        let threshold = threshold.filter(|&threshold| threshold > 0.0)?;
        let mut known: HashMap<&str, usize> = HashMap::default();
        let mut texts = Vec::new();
        let entries = state
            .texts
            .iter()
            .zip(&state.ids)
            .map(|(&text, &id)| {
                *known.entry(text).or_insert_with(|| {
                    texts.push(StateText {
                        id,
                        profile: CharacterProfile::new(text),
                        ratios: HashMap::default(),
                    });
                    texts.len() - 1
                })
            })
            .collect();
        Some(Self {
            threshold,
            table,
            ids: &state.ids,
            entries,
            texts,
        })
    }

    /// The accepted symbols of the state, in state order.
    pub(crate) fn accepted(&mut self, pattern: &[SymbolId]) -> Vec<FuzzySymbol> {
        let best: Vec<Option<(usize, f64)>> = (0..self.texts.len())
            .map(|text| self.best(text, pattern))
            .collect();
        let positions = self.entries.iter().enumerate();
        positions
            .filter_map(|(position, &text)| {
                best[text].map(|(place, ratio)| FuzzySymbol {
                    position,
                    place,
                    ratio,
                })
            })
            .collect()
    }

    /// Number of accepted symbols of the state, and the first of them.
    pub(crate) fn count(&mut self, pattern: &[SymbolId]) -> (usize, Option<SymbolId>) {
        let accepted = self.accepted(pattern);
        let first = accepted.first().map(|first| self.ids[first.position]);
        (accepted.len(), first)
    }

    /// The first of the most similar symbols of the pattern, if similar enough.
    fn best(&mut self, text: usize, pattern: &[SymbolId]) -> Option<(usize, f64)> {
        let StateText {
            id,
            profile,
            ratios,
        } = &mut self.texts[text];
        if let Some(place) = pattern.iter().position(|symbol| symbol == id) {
            return Some((place, 1.0)).filter(|&(_, ratio)| ratio >= self.threshold);
        }
        let mut best: Option<(usize, f64)> = None;
        for (place, &symbol) in pattern.iter().enumerate() {
            let ratio = *ratios
                .entry(symbol)
                .or_insert_with(|| profile.similarity(&self.table.text(symbol)));
            if best.is_none_or(|(_, most)| ratio > most) {
                best = Some((place, ratio));
            }
        }
        best.filter(|&(_, ratio)| ratio >= self.threshold)
    }
}
