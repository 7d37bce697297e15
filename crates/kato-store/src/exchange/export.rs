//! Export of patterns as JSON Lines.

use std::io::Write;

use kato_model::{PatternName, Symbol};

use super::ExchangeError;
use super::check::Check;
use crate::contract::Scan;
use crate::{StoreError, StoredPattern, Tombstone, Tombstones};

/// Number of bytes that are written at once, so that the caller's writer needs no buffer.
const CHUNK_BYTES: usize = 1 << 18;

/// Writes patterns in the order of the scan, by name, those that are retired with their tombstones, and retired names
/// that no pattern has among them; returns how many patterns.
pub(crate) fn export(
    patterns: Scan<'_, StoredPattern>,
    tombstones: &Tombstones,
    mut out: impl Write,
) -> Result<u64, ExchangeError> {
    let mut lines = Lines::default();
    let mut patterns_written = 0;
    let mut retired = tombstones.unpurged().peekable();
    for pattern in patterns {
        let pattern = pattern?;
        while let Some(name) = retired.next_if(|name| *name < pattern.name) {
            lines.push_retired(name);
        }
        retired.next_if_eq(&pattern.name);
        let tombstone = tombstones.get(&pattern.name);
        if tombstone == Some(Tombstone::Purged) {
            // It was since the scan began.
            continue;
        }
        lines.push(&pattern, tombstone)?;
        patterns_written += 1;
        if lines.bytes.len() >= CHUNK_BYTES {
            out.write_all(&lines.bytes)
                .map_err(|source| ExchangeError::Write {
                    patterns_written,
                    source,
                })?;
            lines.bytes.clear();
        }
    }
    retired.for_each(|name| lines.push_retired(name));
    out.write_all(&lines.bytes)
        .and_then(|()| out.flush())
        .map_err(|source| ExchangeError::Write {
            patterns_written,
            source,
        })?;
    Ok(patterns_written)
}

/// A buffer of lines. Its lines are those of `PatternRecord::to_json`, made without building the
/// record, which takes three times as long; a test keeps them equal. A tombstone is a key more.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    check: Check,
}

impl Lines {
    /// Appends the line of a pattern, after checking its name and its emotives.
    fn push(
        &mut self,
        pattern: &StoredPattern,
        tombstone: Option<Tombstone>,
    ) -> Result<(), StoreError> {
        // Everything that can be refused is refused before the first byte, so that the buffer never
        // holds a part of a line.
        self.check.check(pattern)?;
        let name = pattern.name;
        write(
            &mut self.bytes,
            format_args!("{{\"name\":\"{name}\",\"pattern_data\":["),
        );
        for (idx, event) in pattern.symbols_by_event().enumerate() {
            self.bytes
                .extend_from_slice(if idx == 0 { b"[" } else { b",[" });
            for (idx, symbol) in event.iter().enumerate() {
                if idx > 0 {
                    self.bytes.push(b',');
                }
                match symbol {
                    Symbol::Text(text) => self.push_json(text),
                    Symbol::Name(name) => {
                        write(&mut self.bytes, format_args!("\"{}\"", name.prefixed()))
                    }
                }
            }
            self.bytes.push(b']');
        }
        let (length, frequency) = (pattern.symbols.len(), pattern.frequency);
        write(
            &mut self.bytes,
            format_args!("],\"length\":{length},\"frequency\":{frequency},\"emotives\":["),
        );
        for (idx, entry) in pattern.emotives.entries().iter().enumerate() {
            if idx > 0 {
                self.bytes.push(b',');
            }
            self.push_json(&entry.emotives);
        }
        self.bytes.extend_from_slice(b"],\"metadata\":");
        self.push_json(&pattern.metadata);
        if let Some(tombstone) = tombstone {
            self.push_tombstone(tombstone);
        }
        self.bytes.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Appends the line of a retired name that no pattern has.
    fn push_retired(&mut self, name: PatternName) {
        write(&mut self.bytes, format_args!("{{\"name\":\"{name}\""));
        self.push_tombstone(Tombstone::Retired);
        self.bytes.extend_from_slice(b"}\n");
    }

    /// Appends the key of a tombstone.
    fn push_tombstone(&mut self, tombstone: Tombstone) {
        self.bytes.extend_from_slice(b",\"tombstone\":");
        self.push_json(&tombstone);
    }

    /// Appends a value as JSON.
    fn push_json(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.bytes, value)
            .expect("text and maps with text keys are JSON, and memory takes them");
    }
}

/// Appends formatted text.
fn write(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    bytes.write_fmt(text).expect("memory takes all bytes");
}
