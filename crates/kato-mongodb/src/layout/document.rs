//! Reading of the documents of KATO's collections: ours, and those that a KATO wrote.

use kato_model::emotives::{DEFAULT_PERSISTENCE, EmotiveWindow};
use kato_model::{Attributes, EmotiveMap, FirstSeen, Metadata, PatternName, Symbol};
use kato_store::StoredPattern;
use kato_store::contract::{SymbolCounts, Totals};
use mongodb::bson::raw::RawArray;
use mongodb::bson::{RawBsonRef, RawDocument};

use super::metadata_paths::metadata_in;
use super::node::{EXTENSION_FIELD, TOTALS_FIELDS};

/// Returns the whole part of a number; the nearest integer there is where it has none.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from a float stops at the ends of the integers, which is what is wanted"
)]
fn whole(number: f64) -> i64 {
    number as i64
}

/// Returns a count, whatever numeric type it has, and exactly where it exceeds the database's
/// integers.
pub(crate) fn count_in(document: &RawDocument, field: &str) -> u64 {
    let number = match document.get(field) {
        Ok(Some(RawBsonRef::Int32(number))) => i64::from(number),
        Ok(Some(RawBsonRef::Int64(number))) => number,
        Ok(Some(RawBsonRef::Double(number))) => whole(number),
        _ => 0,
    };
    let exact = || {
        document
            .get_document(EXTENSION_FIELD)
            .ok()?
            .get_str(field)
            .ok()?
            .parse()
            .ok()
    };
    // Larger counts stop at the largest integer, and stand exactly as text beside it.
    if number == i64::MAX {
        return exact().unwrap_or(i64::MAX.cast_unsigned());
    }
    u64::try_from(number).unwrap_or(0)
}

/// Reads a first sighting from 16 bytes: the number of the sample, then that of the token.
fn seen_of(bytes: &[u8]) -> Option<FirstSeen> {
    let (document_idx, token_idx) = bytes.split_first_chunk()?;
    Some(FirstSeen {
        document_idx: u64::from_be_bytes(*document_idx),
        token_idx: u64::from_be_bytes(token_idx.try_into().ok()?),
    })
}

/// Returns the totals of a node.
pub(crate) fn totals_of(document: &RawDocument) -> Totals {
    let [observations, symbols, member_symbols] =
        TOTALS_FIELDS.map(|field| count_in(document, field));
    Totals {
        learns: observations,
        learned_symbols: symbols,
        member_symbols,
    }
}

/// Returns a symbol with its counts; `None` when the document has no name.
pub(crate) fn symbol_of(document: &RawDocument) -> Option<(Symbol, SymbolCounts)> {
    let symbol = Symbol::from(document.get_str("name").ok()?);
    let counts = SymbolCounts {
        frequency: count_in(document, "frequency"),
        member_frequency: count_in(document, "pattern_member_frequency"),
    };
    Some((symbol, counts))
}

/// Returns name and frequency of a pattern; `None` when the document is none.
pub(crate) fn frequency_of(document: &RawDocument) -> Option<(PatternName, u64)> {
    let name = document.get_str("name").ok()?.parse().ok()?;
    Some((name, count_in(document, "frequency")))
}

/// Returns the pattern of a document; `None` when it is none.
pub(crate) fn pattern_of(document: &RawDocument) -> Option<StoredPattern> {
    let (name, frequency) = frequency_of(document)?;
    let (mut symbols, mut lengths) = (Vec::new(), Vec::new());
    for event in document.get_array("pattern_data").ok()? {
        let before = symbols.len();
        for symbol in event.ok()?.as_array()? {
            symbols.push(Symbol::from(symbol.ok()?.as_str()?));
        }
        // Documents have at most 16 MiB, so the symbols of an event are far fewer than 2^32.
        lengths.push(u32::try_from(symbols.len() - before).ok()?);
    }
    let mut pattern = StoredPattern::new(name, symbols, frequency);
    // Lengths are kept only where they say something, as batches do; else equal patterns would
    // differ.
    if lengths.iter().any(|&length| length != 1) {
        pattern.event_lengths = Some(lengths.into());
    }
    let extension = document.get_document(EXTENSION_FIELD).ok();
    let seen = extension.and_then(|extension| extension.get_binary("first_seen").ok());
    pattern.first_seen = seen.and_then(|seen| seen_of(seen.bytes));
    pattern.metadata = metadata_of(document)?;
    let whole = extension.and_then(|extension| extension.get_str("attributes").ok());
    if let Some(text) = whole {
        let attributes: Attributes = serde_json::from_str(text).ok()?;
        // A KATO does not know this field, so what it learned since stands in its own fields only.
        pattern.metadata.merge(attributes.metadata, None);
        pattern.emotives = attributes.emotives;
        pattern.affinity = attributes.affinity;
        return Some(pattern);
    }
    let positions = extension.and_then(|extension| extension.get_array("positions").ok());
    // KATO writes `{}` for none, and an array otherwise.
    if let Ok(Some(RawBsonRef::Array(maps))) = document.get("emotives") {
        pattern.emotives = window_of(maps, positions)?;
    }
    let affinity = extension.and_then(|extension| extension.get_document("affinity").ok());
    if let Some(affinity) = affinity {
        pattern.affinity = map_of(affinity)?;
    }
    Some(pattern)
}

/// Returns the metadata of a document; empty where it has none.
fn metadata_of(document: &RawDocument) -> Option<Metadata> {
    match document.get_document("metadata") {
        Ok(metadata) => metadata_in(metadata),
        Err(_) => Some(Metadata::default()),
    }
}

/// Rebuilds a window of emotives from its maps, and from their positions where these are known.
fn window_of(maps: &RawArray, positions: Option<&RawArray>) -> Option<EmotiveWindow> {
    let position = |idx: usize| {
        let pair = positions?.get_array(idx).ok()?;
        let part = |idx| pair.get_str(idx).ok()?.parse().ok();
        Some((part(0)?, part(1)?))
    };
    let mut window = EmotiveWindow::default();
    let n_maps = maps.into_iter().count();
    // As wide as the list, so that nothing falls out of it: the run's limit is applied when more is
    // learned. An empty list has no width, and needs none.
    let persistence = n_maps.try_into().unwrap_or(DEFAULT_PERSISTENCE);
    for (idx, map) in maps.into_iter().enumerate() {
        // Maps that a KATO added have no position: they count as older than all that training
        // learns, in the order given.
        let position = position(idx).unwrap_or((0, idx as u64));
        window.learn(position, map_of(map.ok()?.as_document()?)?, persistence);
    }
    Some(window)
}

/// Returns the sums of a symbol's emotives; empty where there are none.
pub(crate) fn emotive_sums_in(document: &RawDocument) -> EmotiveMap {
    let sums = document.get_document("emotives").ok();
    sums.and_then(map_of).unwrap_or_default()
}

/// Reads a map of emotives; `None` when a value is no number.
fn map_of(map: &RawDocument) -> Option<EmotiveMap> {
    let mut emotives = EmotiveMap::new();
    for entry in map {
        let (key, value) = entry.ok()?;
        let value = match value {
            RawBsonRef::Double(value) => value,
            RawBsonRef::Int32(value) => f64::from(value),
            RawBsonRef::Int64(value) => value as f64,
            _ => return None,
        };
        emotives.insert(key.to_string(), value);
    }
    Some(emotives)
}
