//! The documents of KATO's collections: how each is written by an upsert and read back.

use std::borrow::Cow;

use kato_model::{
    AttributeLimits, Attributes, DEFAULT_PERSISTENCE, EmotiveMap, EmotiveWindow, FirstSeen,
    Metadata, PatternName, Symbol,
};
use kato_store::{StoredPattern, SymbolCounts, Totals};
use mongodb::bson::raw::RawArray;
use mongodb::bson::{RawBsonRef, RawDocument};

use crate::layout::{PATTERNS, SYMBOLS, TOTALS};
use crate::learned::{Learned, Word};
use crate::writer::Writer;

/// What KATO has no place for.
const OURS: &str = "kato_rs";

/// The numbers of a document; of a pattern the first is its frequency.
pub(crate) type Counts = [u64; 3];

/// What a commit adds to one document.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Pattern(Learned),
    Symbol(Word, SymbolCounts),
    Totals(Totals),
}

/// How an upsert changes the numbers of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    /// By adding.
    Add,
    /// By taking away.
    Subtract,
    /// To these, whatever they were.
    Set(Counts),
}

impl Item {
    pub(crate) fn collection(&self) -> &'static str {
        match self {
            Self::Pattern(_) => PATTERNS,
            Self::Symbol(..) => SYMBOLS,
            Self::Totals(_) => TOTALS,
        }
    }

    /// The field that tells documents apart.
    pub(crate) fn key_field(&self) -> &'static str {
        match self {
            Self::Totals(_) => "class",
            _ => "name",
        }
    }

    pub(crate) fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Pattern(learned) => Cow::Owned(learned.name().to_string()),
            Self::Symbol(word, _) => word.text(),
            Self::Totals(_) => Cow::Borrowed("totals"),
        }
    }

    fn count_fields(&self) -> &'static [&'static str] {
        match self {
            Self::Pattern(_) => &["frequency"],
            Self::Symbol(..) => &["pattern_member_frequency", "frequency"],
            Self::Totals(_) => &[
                "total_pattern_frequencies",
                "total_symbol_frequencies",
                "total_symbols_in_patterns_frequencies",
            ],
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        match self {
            Self::Pattern(learned) => [learned.frequency, 0, 0],
            Self::Symbol(_, counts) => [counts.member_frequency, counts.frequency, 0],
            Self::Totals(totals) => [totals.observations, totals.symbols, totals.member_symbols],
        }
    }

    /// The numbers that a document holds.
    pub(crate) fn counts_in(&self, document: &RawDocument) -> Counts {
        let mut counts = [0; 3];
        for (count, field) in counts.iter_mut().zip(self.count_fields()) {
            *count = count_in(document, field);
        }
        counts
    }

    /// Whether it must be merged with what the document holds, beyond adding numbers.
    pub(crate) fn needs_merging(&self) -> bool {
        matches!(self, Self::Pattern(learned) if learned.attributes.is_some())
    }

    /// Whether numbers are so large that adding them on the server may overflow.
    pub(crate) fn is_large(&self) -> bool {
        self.counts()
            .iter()
            .any(|&count| count > u64::from(u32::MAX) << 16)
    }

    /// Bytes of its upsert, roughly and always the same.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Pattern(learned) => learned.document_bytes(),
            Self::Symbol(word, _) => 128 + 2 * word.text().len() as u64,
            Self::Totals(_) => 256,
        }
    }

    /// Writes the upsert: query, update, and that it may insert.
    pub(crate) fn write_upsert(&self, change: Change, out: &mut Writer) {
        out.document("q", |out| out.text(self.key_field(), &self.key()));
        out.document("u", |out| {
            self.write_counts(change, out);
            if let Self::Pattern(learned) = self {
                out.document("$setOnInsert", |out| {
                    write_content(learned, out);
                    out.document("emotives", |_| {});
                    out.document("metadata", |_| {});
                });
                if let Some(seen) = learned.first_seen {
                    out.document("$min", |out| {
                        out.binary("kato_rs.first_seen", &seen_key(seen));
                    });
                }
            }
        });
        out.boolean("upsert", true);
    }

    fn write_counts(&self, change: Change, out: &mut Writer) {
        let fields = self.count_fields();
        match change {
            Change::Add | Change::Subtract => {
                let sign = if matches!(change, Change::Add) { 1 } else { -1 };
                out.document("$inc", |out| {
                    for (field, count) in fields.iter().zip(self.counts()) {
                        out.integer(field, sign * shown(count));
                    }
                });
            }
            Change::Set(counts) => {
                out.document("$set", |out| {
                    for (field, count) in fields.iter().zip(counts) {
                        write_count(field, count, out);
                    }
                });
            }
        }
    }
}

/// The upsert of a pattern that was merged with what its document held: everything is set.
pub(crate) fn write_merged(merged: &Learned, out: &mut Writer) {
    out.document("q", |out| out.text("name", &merged.name().to_string()));
    out.document("u", |out| {
        out.document("$set", |out| {
            out.integer("frequency", shown(merged.frequency));
            let attributes = merged.attributes.as_deref().cloned().unwrap_or_default();
            write_attributes(&attributes, out);
            out.document(OURS, |out| write_ours(merged, &attributes, out));
        });
        out.document("$setOnInsert", |out| write_content(merged, out));
    });
    out.boolean("upsert", true);
}

fn write_content(learned: &Learned, out: &mut Writer) {
    out.array("pattern_data", |out| {
        for (event_idx, event) in learned.events().enumerate() {
            out.array_at(event_idx, |out| {
                for (idx, word) in event.iter().enumerate() {
                    out.text_at(idx, &word.text());
                }
            });
        }
    });
    out.integer("length", learned.symbols.len() as i64);
}

/// Whether a key can stand in KATO's own place: servers refuse the others, or take them for paths.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.starts_with('$') && !key.contains(['.', '\0'])
}

fn write_attributes(attributes: &Attributes, out: &mut Writer) {
    if attributes.emotives.is_empty() {
        out.document("emotives", |_| {});
    } else {
        out.array("emotives", |out| {
            for (idx, entry) in attributes.emotives.entries().iter().enumerate() {
                out.document_at(idx, |out| write_map(&entry.emotives, out));
            }
        });
    }
    out.document("metadata", |out| {
        for (key, values) in attributes.metadata.iter().filter(|(key, _)| is_plain(key)) {
            out.array(key, |out| {
                for (idx, value) in values.iter().enumerate() {
                    out.text_at(idx, value);
                }
            });
        }
    });
}

fn write_map(map: &EmotiveMap, out: &mut Writer) {
    for (key, value) in map.iter().filter(|(key, _)| is_plain(key)) {
        out.double(key, *value);
    }
}

fn write_ours(merged: &Learned, attributes: &Attributes, out: &mut Writer) {
    if merged.frequency > i64::MAX as u64 {
        out.text("frequency", &merged.frequency.to_string());
    }
    if let Some(seen) = merged.first_seen {
        out.binary("first_seen", &seen_key(seen));
    }
    let maps = attributes
        .emotives
        .entries()
        .iter()
        .map(|entry| &entry.emotives)
        .chain([&attributes.affinity]);
    let keys = maps.flat_map(|map| map.keys().map(String::as_str));
    let mut keys = keys.chain(attributes.metadata.iter().map(|(key, _)| key));
    if !keys.all(is_plain) {
        let text = serde_json::to_string(attributes).expect("keys are text and values finite");
        out.text("attributes", &text);
        return;
    }
    if !attributes.emotives.is_empty() {
        out.array("positions", |out| {
            for (idx, entry) in attributes.emotives.entries().iter().enumerate() {
                out.array_at(idx, |out| {
                    out.text_at(0, &entry.position.0.to_string());
                    out.text_at(1, &entry.position.1.to_string());
                });
            }
        });
    }
    if !attributes.affinity.is_empty() {
        out.document("affinity", |out| write_map(&attributes.affinity, out));
    }
}

/// A count as the database shows it: its integers end earlier than ours.
fn shown(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn write_count(field: &str, count: u64, out: &mut Writer) {
    out.integer(field, shown(count));
    if count > i64::MAX as u64 {
        out.text(&format!("{OURS}.{field}"), &count.to_string());
    }
}

/// A count: whatever type of number it has, and exactly where it is larger than the database's integers.
pub(crate) fn count_in(document: &RawDocument, field: &str) -> u64 {
    let number = match document.get(field) {
        Ok(Some(RawBsonRef::Int32(number))) => i64::from(number),
        Ok(Some(RawBsonRef::Int64(number))) => number,
        Ok(Some(RawBsonRef::Double(number))) => number as i64,
        _ => 0,
    };
    let ours = || {
        document
            .get_document(OURS)
            .ok()?
            .get_str(field)
            .ok()?
            .parse()
            .ok()
    };
    if number == i64::MAX {
        return ours().unwrap_or(number as u64);
    }
    u64::try_from(number).unwrap_or(0)
}

/// A first sighting in bytes whose order is that of sightings, so that the server keeps the earliest.
fn seen_key(seen: FirstSeen) -> [u8; 16] {
    let both = u128::from(seen.sample_idx) << 64 | u128::from(seen.token_idx);
    both.to_be_bytes()
}

fn seen_of(bytes: &[u8]) -> Option<FirstSeen> {
    let both = u128::from_be_bytes(bytes.try_into().ok()?);
    Some(FirstSeen {
        sample_idx: (both >> 64) as u64,
        token_idx: both as u64,
    })
}

/// The totals of a node.
pub(crate) fn totals_of(document: &RawDocument) -> Totals {
    let [observations, symbols, member_symbols] =
        Item::Totals(Totals::default()).counts_in(document);
    Totals {
        observations,
        symbols,
        member_symbols,
    }
}

/// A symbol with its counts; `None` when the document has no name.
pub(crate) fn symbol_of(document: &RawDocument) -> Option<(Symbol, SymbolCounts)> {
    let symbol = Symbol::from(document.get_str("name").ok()?);
    let counts = SymbolCounts {
        frequency: count_in(document, "frequency"),
        member_frequency: count_in(document, "pattern_member_frequency"),
    };
    Some((symbol, counts))
}

/// Name and frequency of a pattern.
pub(crate) fn frequency_of(document: &RawDocument) -> Option<(PatternName, u64)> {
    let name = document.get_str("name").ok()?.parse().ok()?;
    Some((name, count_in(document, "frequency")))
}

/// A pattern; `None` when the document is none.
pub(crate) fn pattern_of(document: &RawDocument) -> Option<StoredPattern> {
    let (name, frequency) = frequency_of(document)?;
    let (mut symbols, mut lengths) = (Vec::new(), Vec::new());
    for event in document.get_array("pattern_data").ok()? {
        let before = symbols.len();
        for symbol in event.ok()?.as_array()? {
            symbols.push(Symbol::from(symbol.ok()?.as_str()?));
        }
        lengths.push((symbols.len() - before) as u32);
    }
    let mut pattern = StoredPattern::new(name, symbols, frequency);
    if lengths.iter().any(|&length| length != 1) {
        pattern.event_lengths = Some(lengths.into());
    }
    let ours = document.get_document(OURS).ok();
    let seen = ours.and_then(|ours| ours.get_binary("first_seen").ok());
    pattern.first_seen = seen.and_then(|seen| seen_of(seen.bytes));
    let whole = ours.and_then(|ours| ours.get_str("attributes").ok());
    if let Some(text) = whole {
        let attributes: Attributes = serde_json::from_str(text).ok()?;
        pattern.metadata = attributes.metadata;
        pattern.emotives = attributes.emotives;
        pattern.affinity = attributes.affinity;
        return Some(pattern);
    }
    pattern.metadata = metadata_of(document)?;
    let positions = ours.and_then(|ours| ours.get_array("positions").ok());
    // `{}` for none, as KATO writes it.
    if let Ok(Some(RawBsonRef::Array(maps))) = document.get("emotives") {
        pattern.emotives = window_of(maps, positions)?;
    }
    if let Some(affinity) = ours.and_then(|ours| ours.get_document("affinity").ok()) {
        pattern.affinity = map_of(affinity)?;
    }
    Some(pattern)
}

fn metadata_of(document: &RawDocument) -> Option<Metadata> {
    let mut metadata = Metadata::default();
    let Ok(map) = document.get_document("metadata") else {
        return Some(metadata);
    };
    for entry in map {
        let (key, values) = entry.ok()?;
        for value in values.as_array()? {
            metadata.insert_text(key.as_str(), value.ok()?.as_str()?.to_owned(), None);
        }
    }
    Some(metadata)
}

fn window_of(maps: &RawArray, positions: Option<&RawArray>) -> Option<EmotiveWindow> {
    let position = |idx: usize| {
        let pair = positions?.get_array(idx).ok()?;
        let part = |idx| pair.get_str(idx).ok()?.parse().ok();
        Some((part(0)?, part(1)?))
    };
    let mut window = EmotiveWindow::default();
    let n_maps = maps.into_iter().count();
    let persistence = n_maps.try_into().unwrap_or(DEFAULT_PERSISTENCE);
    for (idx, map) in maps.into_iter().enumerate() {
        // What KATO learned has no position: older than what training learns, in the order given.
        let position = position(idx).unwrap_or((0, idx as u64));
        window.learn(position, map_of(map.ok()?.as_document()?)?, persistence);
    }
    Some(window)
}

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

/// A stored pattern as if a batch had taught it, so that more can be merged into it.
pub(crate) fn learned_of(pattern: StoredPattern) -> Learned {
    let attributes = Attributes {
        extra_frequency: 0,
        event_lengths: None,
        metadata: pattern.metadata,
        emotives: pattern.emotives,
        affinity: pattern.affinity,
    };
    Learned {
        name: *pattern.name.as_bytes(),
        frequency: pattern.frequency,
        symbols: pattern.symbols.into_iter().map(Word::from).collect(),
        event_lengths: pattern.event_lengths,
        first_seen: pattern.first_seen,
        attributes: (attributes != Attributes::default()).then(|| Box::new(attributes)),
    }
}

/// What a document holds once a batch's part is added to it.
pub(crate) fn merged(
    held: Option<&RawDocument>,
    learned: &Learned,
    limits: &AttributeLimits,
) -> Learned {
    match held.and_then(pattern_of) {
        Some(held) => {
            let mut merged = learned_of(held);
            merged.merge(learned.clone(), limits);
            merged
        }
        None => learned.clone(),
    }
}
