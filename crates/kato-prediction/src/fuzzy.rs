//! Fuzzy matching against one state, where every pair of symbols is compared once, however many
//! patterns hold it.

use hashbrown::hash_map::Entry;

use crate::SymbolId;
use crate::cancel::{Cancel, Cancelled};
use crate::collections::HashMap;
use crate::matching::CharacterProfile;
use crate::state::State;
use crate::symbols::Symbols;

/// A comparison of patterns with the symbols of one state by their characters.
#[derive(Debug)]
pub(crate) struct FuzzyMatcher<'a> {
    threshold: f64,
    table: &'a Symbols,
    ids: &'a [SymbolId],
    /// For every position of the state, the index of its text in `texts`.
    entries: Vec<usize>,
    /// The distinct texts of the state.
    texts: Vec<StateText>,
}

/// A symbol of the state, prepared for comparisons.
#[derive(Debug)]
struct StateText {
    id: SymbolId,
    profile: CharacterProfile,
    /// The ratios computed so far, by symbol of a pattern.
    ratios: HashMap<SymbolId, f64>,
}

/// The symbol of the pattern that is taken for one of the state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FuzzySymbol {
    /// Position in the state.
    pub(crate) position: usize,
    /// Place in the pattern.
    pub(crate) place: usize,
    pub(crate) ratio: f64,
}

impl<'a> FuzzyMatcher<'a> {
    /// Prepares a state; `None` if fuzzy matching is off.
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

    /// Returns the accepted symbols of the state, in state order.
    pub(crate) fn accepted(
        &mut self,
        pattern: &[SymbolId],
        cancel: &Cancel,
    ) -> Result<Vec<FuzzySymbol>, Cancelled> {
        let best: Vec<Option<(usize, f64)>> = (0..self.texts.len())
            .map(|text| self.best(text, pattern, cancel))
            .collect::<Result<_, _>>()?;
        let positions = self.entries.iter().enumerate();
        let accepted = positions.filter_map(|(position, &text)| {
            best[text].map(|(place, ratio)| FuzzySymbol {
                position,
                place,
                ratio,
            })
        });
        Ok(accepted.collect())
    }

    /// Returns the number of accepted symbols of the state, and the first of them.
    pub(crate) fn count(
        &mut self,
        pattern: &[SymbolId],
        cancel: &Cancel,
    ) -> Result<(usize, Option<SymbolId>), Cancelled> {
        let accepted = self.accepted(pattern, cancel)?;
        let first = accepted.first().map(|first| self.ids[first.position]);
        Ok((accepted.len(), first))
    }

    /// Finds the first of the most similar symbols of the pattern, if it is similar enough.
    fn best(
        &mut self,
        text: usize,
        pattern: &[SymbolId],
        cancel: &Cancel,
    ) -> Result<Option<(usize, f64)>, Cancelled> {
        let StateText {
            id,
            profile,
            ratios,
        } = &mut self.texts[text];
        // Equal symbols have the greatest ratio, so the first of them is the best.
        if let Some(place) = pattern.iter().position(|symbol| symbol == id) {
            return Ok(Some((place, 1.0)).filter(|&(_, ratio)| ratio >= self.threshold));
        }
        let mut best: Option<(usize, f64)> = None;
        for (place, &symbol) in pattern.iter().enumerate() {
            cancel.check()?;
            let ratio = match ratios.entry(symbol) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let text = self.table.text(symbol);
                    *new.insert(profile.similarity_unless(&text, cancel)?)
                }
            };
            // Greater and not equal: the first maximum wins, as in KATO.
            if best.is_none_or(|(_, most)| ratio > most) {
                best = Some((place, ratio));
            }
        }
        Ok(best.filter(|&(_, ratio)| ratio >= self.threshold))
    }
}
