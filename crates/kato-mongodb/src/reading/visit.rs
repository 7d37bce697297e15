//! Patterns as visitors are shown them: symbols by number, as sources of the embedded store have
//! them.

use std::collections::HashMap;

use kato_model::{Attributes, Symbol};
use kato_store::visit::{SourceSymbols, VisitedPattern};
use kato_store::{PatternVisitor, StoredPattern};

/// Returns the number of the last of so many symbols.
fn number_of_last(n_symbols: usize) -> u32 {
    u32::try_from(n_symbols - 1).expect("a page of patterns holds some thousand symbols")
}

/// Shows patterns as one source; returns whether the visitor has seen enough.
pub(crate) fn show(patterns: &[StoredPattern], visitor: &mut dyn PatternVisitor) -> bool {
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    let mut numbers: HashMap<&Symbol, u32> = HashMap::new();
    let all = || patterns.iter().flat_map(|pattern| &pattern.symbols);
    // Two passes, because `SourceSymbols` numbers the names first and the texts behind them.
    for symbol in all() {
        if let Symbol::Name(name) = symbol {
            numbers.entry(symbol).or_insert_with(|| {
                names.push(*name);
                number_of_last(names.len())
            });
        }
    }
    for symbol in all() {
        if let Symbol::Text(text) = symbol {
            numbers.entry(symbol).or_insert_with(|| {
                texts.push(&**text);
                number_of_last(names.len() + texts.len())
            });
        }
    }
    let symbols = SourceSymbols::new(&names, &texts);
    if visitor.source(&symbols, patterns.len() as u64).is_break() {
        return true;
    }
    patterns.iter().any(|pattern| {
        let in_numbers: Vec<u32> = pattern
            .symbols
            .iter()
            .map(|symbol| numbers[symbol])
            .collect();
        let attributes = attributes_of(pattern);
        let visited = VisitedPattern {
            name: pattern.name,
            frequency: pattern.frequency,
            symbols: &in_numbers,
            first_seen: pattern.first_seen,
            attributes: attributes.as_ref(),
        };
        visitor.pattern(&symbols, &visited).is_break()
    })
}

/// Returns the attributes of a pattern, if it has any.
fn attributes_of(pattern: &StoredPattern) -> Option<Attributes> {
    let attributes = Attributes {
        extra_frequency: 0,
        event_lengths: pattern.event_lengths.clone(),
        metadata: pattern.metadata.clone(),
        emotives: pattern.emotives.clone(),
        affinity: pattern.affinity.clone(),
    };
    (attributes != Attributes::default()).then_some(attributes)
}
