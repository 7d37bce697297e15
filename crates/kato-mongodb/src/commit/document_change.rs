//! What a commit adds to one document of KATO's collections, and the updates that write it.

use std::borrow::Cow;

use kato_model::emotives::add_emotives;
use kato_model::{AttributeLimits, Attributes, EmotiveMap, FirstSeen};
use kato_store::contract::{SymbolCounts, Totals};
use mongodb::bson::RawDocument;
use serde::{Deserialize, Serialize};

use crate::layout::{
    BsonWriter, EXTENSION_FIELD, PATTERNS, PlacedMetadata, SYMBOLS, TOTALS, TOTALS_FIELDS,
    count_in, emotive_sums_in, pattern_of,
};
use crate::staging::{CompactSymbol, PatternDelta};

/// The counts of a document; of a pattern the first is its frequency.
pub(crate) type Counts = [u64; 3];

/// The part of a commit that concerns one document.
#[derive(Debug, Clone)]
pub(crate) enum DocumentChange {
    Pattern(PatternDelta),
    Symbol(CompactSymbol, SymbolSum),
    Totals(Totals),
}

/// The counts that a commit adds to a symbol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SymbolSum {
    pub(crate) counts: SymbolCounts,
    /// For every emotive the sum of the means that the learns of the symbol's patterns carried, as
    /// KATO adds them up.
    pub(crate) emotives: EmotiveMap,
}

impl SymbolSum {
    /// Adds the counts of another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.merge(other.counts);
        add_emotives(&mut self.emotives, &other.emotives);
    }
}

/// A document as it was found and as it is to be. Writing it twice, or late, does what writing it
/// once does: it is written only over what was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Target {
    /// `None` when there is no document yet.
    pub(crate) before: Option<Counts>,
    pub(crate) after: Counts,
    /// A pattern whose attributes are written, too.
    merged: Option<Box<PatternDelta>>,
    /// The sums of a symbol.
    emotives: EmotiveMap,
}

impl DocumentChange {
    /// Returns the collection of the document.
    pub(crate) fn collection(&self) -> &'static str {
        match self {
            Self::Pattern(_) => PATTERNS,
            Self::Symbol(..) => SYMBOLS,
            Self::Totals(_) => TOTALS,
        }
    }

    /// Returns the field that identifies a document in its collection.
    pub(crate) fn key_field(&self) -> &'static str {
        match self {
            Self::Totals(_) => "class",
            _ => "name",
        }
    }

    /// Returns the document's key.
    pub(crate) fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Pattern(delta) => Cow::Owned(delta.name().to_string()),
            Self::Symbol(symbol, _) => symbol.text(),
            Self::Totals(_) => Cow::Borrowed("totals"),
        }
    }

    /// Returns the names of the document's counts, in the order of `Counts`.
    fn count_fields(&self) -> &'static [&'static str] {
        match self {
            Self::Pattern(_) => &["frequency"],
            Self::Symbol(..) => &["pattern_member_frequency", "frequency"],
            Self::Totals(_) => &TOTALS_FIELDS,
        }
    }

    /// Returns the counts that the commit adds.
    fn counts(&self) -> Counts {
        match self {
            Self::Pattern(delta) => [delta.frequency, 0, 0],
            Self::Symbol(_, sum) => [sum.counts.member_frequency, sum.counts.frequency, 0],
            Self::Totals(totals) => [totals.learns, totals.learned_symbols, totals.member_symbols],
        }
    }

    /// Returns the counts that a document holds.
    pub(crate) fn counts_in(&self, document: &RawDocument) -> Counts {
        let mut counts = [0; 3];
        for (count, field) in counts.iter_mut().zip(self.count_fields()) {
            *count = count_in(document, field);
        }
        counts
    }

    /// Returns whether the change must be merged with what the document holds, beyond adding
    /// numbers.
    pub(crate) fn needs_merging(&self) -> bool {
        // Metadata and emotives follow rules that no update operator has: sorted unions, and
        // windows by position.
        matches!(self, Self::Pattern(delta) if delta.attributes.is_some())
    }

    /// Returns whether counts are so large that adding them on the server may overflow.
    pub(crate) fn is_large(&self) -> bool {
        // About 2^48, far below 2^63, from where on an increment would be cut off. Smaller ones
        // that overflow a sum are refused by the server.
        self.counts()
            .iter()
            .any(|&count| count > u64::from(u32::MAX) << 16)
    }

    /// Returns the bytes of the change's upsert, roughly and always the same.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Pattern(delta) => delta.document_bytes(),
            Self::Symbol(symbol, sum) => {
                let emotives = sum.emotives.keys().map(|key| key.len() as u64 + 32);
                128 + 2 * symbol.text().len() as u64 + 2 * emotives.sum::<u64>()
            }
            Self::Totals(_) => 256,
        }
    }

    /// Returns what the document is of, in words.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Pattern(delta) => format!("pattern {}", delta.name()),
            Self::Symbol(symbol, _) => format!("symbol {:.60?}", symbol.text()),
            Self::Totals(_) => "the totals of the node".to_owned(),
        }
    }

    /// Returns the bytes of the document behind a commit of lessons, given what was found; `None` when
    /// that is no document of a pattern and more would have to be merged into it.
    pub(crate) fn bytes_after(
        &self,
        found: Option<&RawDocument>,
        limits: &AttributeLimits,
    ) -> Option<u64> {
        /// Bytes of what is in every document: its key, and numbers.
        const REST: u64 = 256;

        let held = found.map_or(0, |found| found.as_bytes().len() as u64);
        Some(match self {
            Self::Pattern(delta) => {
                let merged = merged(found, delta, limits)?;
                let before = found.map_or(Some(0), |found| {
                    Some(whole_bytes(&PatternDelta::from(pattern_of(found)?)))
                })?;
                // What somebody else has added to the document stays.
                held.saturating_sub(before) + REST + whole_bytes(&merged)
            }
            Self::Symbol(symbol, sum) => {
                let known = found.map(emotive_sums_in).unwrap_or_default();
                let new = sum.emotives.keys().filter(|key| !known.contains_key(*key));
                // A type, an end and a number.
                let new = new.map(|key| key.len() as u64 + 10).sum::<u64>();
                let name = found.map_or(symbol.text().len() as u64, |_| 0);
                held + name + REST + new
            }
            Self::Totals(_) => held.max(REST),
        })
    }

    /// Returns the document as it is to be, given what was found; `None` when that is no document
    /// of a pattern and more would have to be merged into it.
    pub(crate) fn target(
        &self,
        found: Option<&RawDocument>,
        subtract: bool,
        limits: &AttributeLimits,
    ) -> Option<Target> {
        let before = found.map(|found| self.counts_in(found));
        let mut after = before.unwrap_or_default();
        for (sum, count) in after.iter_mut().zip(self.counts()) {
            *sum = if subtract {
                sum.saturating_sub(count)
            } else {
                sum.saturating_add(count)
            };
        }
        let merged = match self {
            Self::Pattern(delta) if self.needs_merging() => {
                Some(Box::new(merged(found, delta, limits)?))
            }
            _ => None,
        };
        let mut emotives = EmotiveMap::new();
        if let Self::Symbol(_, sum) = self
            && !sum.emotives.is_empty()
        {
            emotives.clone_from(&sum.emotives);
            if subtract {
                emotives.values_mut().for_each(|value| *value = -*value);
            }
            let held = found.map(emotive_sums_in).unwrap_or_default();
            add_emotives(&mut emotives, &held);
        }
        Some(Target {
            before,
            after,
            merged,
            emotives,
        })
    }

    /// Returns whether the end of a forget has deleted the document, once a target is reached.
    pub(crate) fn is_deleted_at(&self, target: &Target) -> bool {
        // A symbol that no pattern holds any more; see `bulks::apply_bulks`.
        matches!(self, Self::Symbol(..)) && target.after[0] == 0
    }

    /// Writes an upsert that adds to whatever the document holds, or takes away from it.
    pub(crate) fn write_increment(&self, subtract: bool, out: &mut BsonWriter) {
        out.document("q", |out| out.text(self.key_field(), &self.key()));
        out.document("u", |out| {
            out.document("$inc", |out| {
                let sign = if subtract { -1 } else { 1 };
                for (field, count) in self.count_fields().iter().zip(self.counts()) {
                    out.integer(field, sign * saturated_i64(count));
                }
                if let Self::Symbol(_, sum) = self {
                    let sign = sign as f64;
                    write_sums(sum.emotives.iter().map(|(key, sum)| (key, sign * sum)), out);
                }
            });
            if let Self::Pattern(delta) = self {
                // As KATO's own upsert: the content, and empty emotives and metadata, only where
                // there is no document yet.
                out.document("$setOnInsert", |out| {
                    write_content(delta, out);
                    write_attributes(&Attributes::default(), out);
                });
                write_first_seen(delta, out);
            }
        });
        out.boolean("upsert", true);
    }

    /// Writes an update that holds only for what was found.
    pub(crate) fn write_target(&self, target: &Target, out: &mut BsonWriter) {
        out.document("q", |out| {
            out.text(self.key_field(), &self.key());
            for (field, count) in self
                .count_fields()
                .iter()
                .zip(target.before.into_iter().flatten())
            {
                write_condition(field, count, out);
            }
        });
        let is_new = target.before.is_none();
        out.document("u", |out| {
            // What is new is inserted. If the document has appeared meanwhile, `$setOnInsert`
            // leaves it as it is, and comparing the counts finds that out.
            let set = if is_new { "$setOnInsert" } else { "$set" };
            out.document(set, |out| {
                let whole = target.merged.as_deref();
                if is_new && let Self::Pattern(delta) = self {
                    write_content(whole.unwrap_or(delta), out);
                    if whole.is_none() {
                        write_attributes(&Attributes::default(), out);
                    }
                }
                match whole {
                    Some(merged) => write_whole(merged, out),
                    None => {
                        for (field, count) in self.count_fields().iter().zip(target.after) {
                            write_count(field, count, out);
                        }
                    }
                }
                write_sums(target.emotives.iter().map(|(key, sum)| (key, *sum)), out);
            });
            let is_plain_now = |merged: &PatternDelta| !is_new && !has_extension(merged);
            if target.merged.as_deref().is_some_and(is_plain_now) {
                // What earlier builds kept there has its place in KATO's fields.
                out.document("$unset", |out| out.text(EXTENSION_FIELD, ""));
            }
            if let Self::Pattern(delta) = self
                && target.merged.is_none()
            {
                write_first_seen(delta, out);
            }
        });
        // A document that was found and is gone was removed by somebody else: it is not made again.
        out.boolean("upsert", is_new);
    }
}

/// Writes a condition that a count is what was found; one that was not there was read as zero.
fn write_condition(field: &str, count: u64, out: &mut BsonWriter) {
    if count == 0 {
        // `null` also matches documents without the field.
        out.document(field, |out| {
            out.array("$in", |out| {
                out.integer("0", 0);
                out.null("1");
            });
        });
        return;
    }
    out.integer(field, saturated_i64(count));
    if count > i64::MAX as u64 {
        out.text(&format!("{EXTENSION_FIELD}.{field}"), &count.to_string());
    }
}

/// Writes a first sighting, of which the server keeps the earliest.
fn write_first_seen(delta: &PatternDelta, out: &mut BsonWriter) {
    if let Some(seen) = delta.first_seen {
        out.document("$min", |out| {
            out.binary(&format!("{EXTENSION_FIELD}.first_seen"), &seen_key(seen));
        });
    }
}

/// Writes the sums of a symbol's emotives, except those whose keys would be taken for paths.
fn write_sums<'a>(sums: impl Iterator<Item = (&'a String, f64)>, out: &mut BsonWriter) {
    for (key, sum) in sums.filter(|(key, _)| is_plain(key)) {
        out.double(&format!("emotives.{key}"), sum);
    }
}

/// Writes a pattern that was merged with what its document held, except for its content.
fn write_whole(merged: &PatternDelta, out: &mut BsonWriter) {
    out.integer("frequency", saturated_i64(merged.frequency));
    let attributes = merged.attributes.as_deref().cloned().unwrap_or_default();
    write_attributes(&attributes, out);
    if has_extension(merged) {
        out.document(EXTENSION_FIELD, |out| {
            write_extension(merged, &attributes, out)
        });
    }
}

/// Returns the bytes of all that is written of a pattern.
fn whole_bytes(pattern: &PatternDelta) -> u64 {
    let mut out = BsonWriter::new();
    write_content(pattern, &mut out);
    write_whole(pattern, &mut out);
    out.bytes()
}

/// Writes what never changes of a pattern: its events and its length.
fn write_content(delta: &PatternDelta, out: &mut BsonWriter) {
    out.array("pattern_data", |out| {
        for (event_idx, event) in delta.events().enumerate() {
            out.array_at(event_idx, |out| {
                for (idx, symbol) in event.iter().enumerate() {
                    out.text_at(idx, &symbol.text());
                }
            });
        }
    });
    // Symbols and not events, as in KATO.
    out.integer("length", delta.symbols.len() as i64);
}

/// Returns whether the key of an emotive can stand in KATO's own place: servers refuse the others,
/// or take them for paths.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.starts_with('$') && !key.contains(['.', '\0'])
}

/// Writes emotives and metadata in KATO's own fields.
fn write_attributes(attributes: &Attributes, out: &mut BsonWriter) {
    if attributes.emotives.is_empty() {
        // `{}` for none, as KATO writes it, although some are an array.
        out.document("emotives", |_| {});
    } else {
        out.array("emotives", |out| {
            for (idx, entry) in attributes.emotives.entries().iter().enumerate() {
                out.document_at(idx, |out| write_map(&entry.emotives, out));
            }
        });
    }
    out.document("metadata", |out| {
        PlacedMetadata::new(&attributes.metadata).write(out)
    });
}

/// Writes the emotives whose keys can stand in KATO's own place.
fn write_map(map: &EmotiveMap, out: &mut BsonWriter) {
    for (key, value) in map.iter().filter(|(key, _)| is_plain(key)) {
        out.double(key, *value);
    }
}

/// Returns whether KATO's own places hold all of it.
fn fits(attributes: &Attributes) -> bool {
    let entries = attributes.emotives.entries().iter();
    let maps = entries.map(|entry| &entry.emotives);
    let maps = maps.chain([&attributes.affinity]);
    let mut keys = maps.flat_map(EmotiveMap::keys);
    keys.all(|key| is_plain(key)) && PlacedMetadata::new(&attributes.metadata).is_whole
}

/// Returns whether there is something that KATO has no place for.
fn has_extension(merged: &PatternDelta) -> bool {
    let attributes = merged.attributes.as_deref();
    merged.frequency > i64::MAX as u64
        || merged.first_seen.is_some()
        || attributes.is_some_and(|attributes| {
            let has_sums = !attributes.emotives.is_empty() || !attributes.affinity.is_empty();
            has_sums || !fits(attributes)
        })
}

/// Writes what KATO has no place for.
fn write_extension(merged: &PatternDelta, attributes: &Attributes, out: &mut BsonWriter) {
    if merged.frequency > i64::MAX as u64 {
        out.text("frequency", &merged.frequency.to_string());
    }
    if let Some(seen) = merged.first_seen {
        out.binary("first_seen", &seen_key(seen));
    }
    // The JSON text holds all attributes, so positions and affinity are not written again.
    if !fits(attributes) {
        let text = serde_json::to_string(attributes).expect("keys are text and values finite");
        out.text("attributes", &text);
        return;
    }
    if !attributes.emotives.is_empty() {
        // As text, because positions are unsigned and the database's integers end earlier.
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

/// Returns a count as the database shows it: its integers end earlier than ours.
fn saturated_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes a count, and as text beside it what the database's integers do not hold.
fn write_count(field: &str, count: u64, out: &mut BsonWriter) {
    out.integer(field, saturated_i64(count));
    if count > i64::MAX as u64 {
        out.text(&format!("{EXTENSION_FIELD}.{field}"), &count.to_string());
    }
}

/// Returns a first sighting as bytes whose order is that of sightings, so that the server keeps the
/// earliest.
fn seen_key(seen: FirstSeen) -> [u8; 16] {
    let both = u128::from(seen.document_idx) << 64 | u128::from(seen.token_idx);
    both.to_be_bytes()
}

/// Returns what a document holds once a batch's part is added to it; `None` when what it holds
/// cannot be read, and would be lost.
fn merged(
    held: Option<&RawDocument>,
    delta: &PatternDelta,
    limits: &AttributeLimits,
) -> Option<PatternDelta> {
    let Some(held) = held else {
        return Some(delta.clone());
    };
    let mut merged = PatternDelta::from(pattern_of(held)?);
    merged.merge(delta.clone(), limits);
    Some(merged)
}
