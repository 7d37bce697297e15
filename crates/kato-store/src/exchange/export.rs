//! Export of patterns as JSON Lines.

use std::io::Write;

use kato_model::naming::{NameScratch, name_of_names};
use kato_model::{PatternName, Symbol};

use super::ExchangeError;
use crate::contract::Scan;
use crate::{StoreError, StoredPattern};

/// Number of bytes that are written at once, so that the caller's writer needs no buffer.
const CHUNK_BYTES: usize = 1 << 18;

/// Writes patterns in the order of the scan and returns their number.
pub(crate) fn export(
    patterns: Scan<'_, StoredPattern>,
    mut out: impl Write,
) -> Result<u64, ExchangeError> {
    let mut lines = Lines::default();
    let mut patterns_written = 0;
    for pattern in patterns {
        let pattern = pattern?;
        lines.push(&pattern)?;
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
    out.write_all(&lines.bytes)
        .and_then(|()| out.flush())
        .map_err(|source| ExchangeError::Write {
            patterns_written,
            source,
        })?;
    Ok(patterns_written)
}

/// A buffer of lines. Its lines are those of `PatternRecord::to_json`, made without building the
/// record, which takes three times as long; a test keeps them equal.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    names: Vec<PatternName>,
    scratch: NameScratch,
}

impl Lines {
    /// Appends the line of a pattern, after checking its name and its emotives.
    fn push(&mut self, pattern: &StoredPattern) -> Result<(), StoreError> {
        // Everything that can be refused is refused before the first byte, so that the buffer never
        // holds a part of a line.
        let name = self.name_of(pattern);
        let mut values = pattern
            .emotives
            .entries()
            .iter()
            .flat_map(|entry| entry.emotives.values());
        if name != pattern.name {
            return Err(StoreError::NameMismatch { name: pattern.name });
        }
        if !values.all(|value| value.is_finite()) {
            return Err(StoreError::NotFinite { name });
        }
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
        self.bytes.extend_from_slice(b"}\n");
        Ok(())
    }

    /// Returns the name of the pattern's content.
    fn name_of(&mut self, pattern: &StoredPattern) -> PatternName {
        // Patterns learned from text hold symbols of one kind, one an event: these are named
        // without building events of owned strings.
        self.names.clear();
        if pattern.event_lengths.is_none() {
            self.names
                .extend(pattern.symbols.iter().map_while(|symbol| match symbol {
                    Symbol::Name(name) => Some(*name),
                    Symbol::Text(_) => None,
                }));
            if self.names.len() == pattern.symbols.len() {
                return name_of_names(&self.names, &mut self.scratch);
            }
            let texts = pattern.symbols.iter().map_while(|symbol| match symbol {
                Symbol::Text(text) => Some([text.as_ref()]),
                Symbol::Name(_) => None,
            });
            let texts: Vec<[&str; 1]> = texts.collect();
            if texts.len() == pattern.symbols.len() {
                return PatternName::of_events(&texts);
            }
        }
        PatternName::of_events(&pattern.events())
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
