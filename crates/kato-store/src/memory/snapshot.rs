//! A copy of a node's patterns for a visitor, compact: symbols by number, each once.

use std::collections::{HashMap, hash_map};

use kato_model::{Attributes, FirstSeen, PatternName, Symbol};

use crate::visit::{SourceSymbols, VisitedPattern};
use crate::{PatternVisitor, Place, StoreError, StoreErrorKind, StoredPattern};

/// The patterns of a node as the one source of a visit.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Number → symbol.
    table: Vec<Symbol>,
    /// Symbols of all patterns by number.
    symbols: Vec<u32>,
    patterns: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: PatternName,
    frequency: u64,
    n_symbols: usize,
    first_seen: Option<FirstSeen>,
    attributes: Option<Attributes>,
}

impl Snapshot {
    /// Copies patterns, numbering each of their symbols once.
    pub(super) fn from_patterns<'a>(
        patterns: impl Iterator<Item = &'a StoredPattern> + Clone,
    ) -> Result<Self, StoreError> {
        let mut snapshot = Self::default();
        let mut numbers = HashMap::new();
        // Names first, as sources number them.
        for names in [true, false] {
            let symbols = patterns.clone().flat_map(|pattern| &pattern.symbols);
            for symbol in symbols.filter(|symbol| matches!(symbol, Symbol::Name(_)) == names) {
                if let hash_map::Entry::Vacant(entry) = numbers.entry(symbol) {
                    let number = u32::try_from(snapshot.table.len());
                    entry.insert(number.map_err(|_| too_many_symbols())?);
                    snapshot.table.push(symbol.clone());
                }
            }
        }
        for pattern in patterns {
            let numbers = pattern.symbols.iter().map(|symbol| numbers[symbol]);
            snapshot.symbols.extend(numbers);
            snapshot.patterns.push(Entry {
                name: pattern.name,
                frequency: pattern.frequency,
                n_symbols: pattern.symbols.len(),
                first_seen: pattern.first_seen,
                attributes: pattern.attributes(),
            });
        }
        Ok(snapshot)
    }

    /// Shows all patterns, or as many as the visitor wants.
    pub(super) fn visit(&self, visitor: &mut dyn PatternVisitor) {
        if self.patterns.is_empty() {
            return;
        }
        // Names have the lower numbers, so splitting the table changes no number.
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for symbol in &self.table {
            match symbol {
                Symbol::Name(name) => names.push(*name),
                Symbol::Text(text) => texts.push(&**text),
            }
        }
        let symbols = SourceSymbols::new(&names, &texts);
        if visitor
            .source(&symbols, self.patterns.len() as u64)
            .is_break()
        {
            return;
        }
        let mut rest = self.symbols.as_slice();
        for entry in &self.patterns {
            let (numbers, after) = rest.split_at(entry.n_symbols);
            rest = after;
            let pattern = VisitedPattern {
                name: entry.name,
                frequency: entry.frequency,
                symbols: numbers,
                first_seen: entry.first_seen,
                attributes: entry.attributes.as_ref(),
            };
            if visitor.pattern(&symbols, &pattern).is_break() {
                return;
            }
        }
    }
}

/// Creates the error for a node that has more symbols than a source has numbers.
fn too_many_symbols() -> StoreError {
    StoreError::from_backend(
        StoreErrorKind::TooLarge,
        Place::from_address("memory"),
        "a node has more than 2^32 symbols",
    )
}
