//! Import of records into a knowledge base, and of JSON Lines.

use std::io::{BufRead, Read};

use kato_model::batch::BatchSymbol;
use kato_model::emotives::EmotiveWindow;
use kato_model::{
    AttributeLimits, Attributes, EmotiveMap, Event, LearnBatch, PatternName, PatternRecord,
    RecordError,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ExchangeError;
use crate::contract::StagedBatch;
use crate::{PatternStore, StoreError, Tombstone, Tombstones};

/// Bytes of memory of a batch above which it is staged.
const BATCH_BYTES: usize = 64 << 20;

/// Sum of frequencies times lengths above which a batch is staged, so that no count of a batch
/// overflows.
const BATCH_SYMBOLS: u64 = 1 << 62;

/// Length of the longest line, in bytes: a pattern of a thousand events with much metadata takes a
/// hundredth.
const LINE_BYTES: u64 = 64 << 20;

/// Returns what a file is that begins so and is no text.
fn kind_of(beginning: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 7] = [
        (b"\x1f\x8b", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        (b"BZh", "compressed by bzip2"),
        (b"\xfd7zXZ\0", "compressed by xz"),
        (b"PAR1", "Parquet (its name must end in .parquet)"),
        (b"\xff\xfe", "UTF-16"),
        (b"\xfe\xff", "UTF-16"),
    ];
    let found = kinds.iter().find(|(magic, _)| beginning.starts_with(magic));
    found.map(|(_, kind)| *kind)
}

/// Stages the lines in batches, commits them all at once and returns the number of patterns.
pub(crate) fn import(
    store: &dyn PatternStore,
    node_idx: usize,
    mut lines: impl BufRead,
) -> Result<u64, ExchangeError> {
    let mut import = Import::new(store, node_idx)?;
    let mut bytes = Vec::new();
    let mut line = 0;
    loop {
        line += 1;
        bytes.clear();
        // One byte more than allowed shows that a line is too long without reading the rest of it
        // into memory.
        let read = lines
            .by_ref()
            .take(LINE_BYTES + 1)
            .read_until(b'\n', &mut bytes);
        match read.map_err(|source| ExchangeError::Read { line, source })? {
            // The only commit: an error on any line before leaves the knowledge base as it was.
            0 => return Ok(import.commit()?),
            read if read as u64 > LINE_BYTES => {
                return Err(ExchangeError::TooLong {
                    line,
                    limit: LINE_BYTES,
                });
            }
            _ => {}
        }
        let text = str::from_utf8(&bytes).map_err(|_| match kind_of(&bytes) {
            Some(found) if line == 1 => ExchangeError::OtherKind { found },
            _ => ExchangeError::NotUtf8 { line },
        })?;
        // Editors and shells of Windows put a byte order mark before the first line.
        let text = match line {
            1 => text.strip_prefix('\u{feff}').unwrap_or(text),
            _ => text,
        };
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        import.take(line, text)?;
    }
}

/// Returns what a line says of a tombstone; `None` where it has none, and of what is no JSON.
///
/// # Errors
///
/// When it has one that this build does not know: without it the pattern would be shown.
fn tombstone_of(text: &str) -> Result<Option<Marked<Tombstone>>, serde_json::Error> {
    // Nearly no line has one, and reading each twice would take twice as long.
    if !text.contains("\"tombstone\"") {
        return Ok(None);
    }
    match serde_json::from_str::<Marked<Tombstone>>(text) {
        Ok(marked) => Ok(Some(marked)),
        // A symbol may have that text, where the line is read for its faults below.
        Err(error) => match serde_json::from_str::<Marked<IgnoredAny>>(text) {
            Ok(_) => Err(error),
            Err(_) => Ok(None),
        },
    }
}

/// What a line says of a tombstone. One without a pattern is of a name that nobody learned.
#[derive(Debug, Deserialize)]
struct Marked<T> {
    name: Option<PatternName>,
    pattern_data: Option<IgnoredAny>,
    tombstone: Option<T>,
}

/// An import in progress. Dropping it abandons what was added.
pub(crate) struct Import<'a> {
    store: &'a dyn PatternStore,
    node_idx: usize,
    limits: AttributeLimits,
    batch: LearnBatch,
    batch_symbols: u64,
    staged: Vec<StagedBatch>,
    patterns: u64,
    /// Those of the store, which refuse what they name.
    tombstones: Tombstones,
    /// Those that come.
    retired: Tombstones,
}

impl<'a> Import<'a> {
    /// Creates an import of nothing so far.
    pub(crate) fn new(store: &'a dyn PatternStore, node_idx: usize) -> Result<Self, StoreError> {
        let limits = store.attribute_limits();
        let batch = LearnBatch::new(store.nodes().len()).with_limits(limits);
        Ok(Self {
            store,
            node_idx,
            limits,
            batch,
            batch_symbols: 0,
            staged: Vec::new(),
            patterns: 0,
            tombstones: store.tombstones(node_idx)?,
            retired: Tombstones::default(),
        })
    }

    /// Takes a line that is not blank, with its number.
    fn take(&mut self, line: u64, text: &str) -> Result<(), ExchangeError> {
        let malformed = |error: RecordError| ExchangeError::Record {
            line,
            source: Box::new(error),
        };
        let marked = tombstone_of(text).map_err(|error| {
            let source = error.into();
            malformed(RecordError::Malformed { source })
        })?;
        if let Some(Marked {
            name: Some(name),
            pattern_data: None,
            tombstone: Some(Tombstone::Retired),
        }) = marked
        {
            return self.take_tombstone(line, name);
        }
        let record = PatternRecord::from_json(text).map_err(malformed)?;
        let name = record.pattern.name();
        if record.frequency == 0 {
            return Err(ExchangeError::ZeroFrequency { line, name });
        }
        if marked.is_some_and(|marked| marked.tombstone.is_some()) {
            self.take_tombstone(line, name)?;
        }
        Ok(self.push(record)?)
    }

    /// Takes the tombstone of a line.
    fn take_tombstone(&mut self, line: u64, name: PatternName) -> Result<(), ExchangeError> {
        if !self.store.keeps_tombstones() {
            return Err(ExchangeError::NoTombstones { line, name });
        }
        self.retired.retire(name);
        Ok(())
    }

    /// Adds a pattern to the batch, after staging the batch if it is full.
    pub(crate) fn push(&mut self, record: PatternRecord) -> Result<(), StoreError> {
        let name = record.pattern.name();
        if self.tombstones.get(&name).is_some() && self.retired.get(&name).is_none() {
            return Err(StoreError::Retired {
                node: self.store.nodes()[self.node_idx].clone(),
                pattern: name,
            });
        }
        let length = record.pattern.length() as u64;
        let symbols = record.frequency.saturating_mul(length.max(1));
        if self.batch_symbols.saturating_add(symbols) > BATCH_SYMBOLS
            || self.batch.heap_bytes() > BATCH_BYTES
        {
            self.stage()?;
        }
        self.batch_symbols = self.batch_symbols.saturating_add(symbols);
        self.patterns += 1;
        let attributes = Attributes {
            // Learning it below counts one.
            extra_frequency: record.frequency - 1,
            event_lengths: event_lengths(record.pattern.events()),
            metadata: record.metadata,
            emotives: emotives(record.emotives, &self.limits),
            ..Attributes::default()
        };
        let batch = &mut self.batch;
        let events = record.pattern.events();
        // A child is an occurrence in the same batch, which an import of one node has none of. So
        // names of patterns enter as text; a merge of segments makes ranks of them.
        let ids: Vec<u32> = events
            .iter()
            .flat_map(Event::symbols)
            .map(|symbol| batch.literal(symbol))
            .collect();
        let occurrence = batch.learn(
            self.node_idx,
            name,
            ids.into_iter().map(BatchSymbol::Literal),
        );
        if attributes != Attributes::default() {
            batch.attach(self.node_idx, occurrence, attributes);
        }
        Ok(())
    }

    /// Stages the batch and begins another one.
    fn stage(&mut self) -> Result<(), StoreError> {
        let empty = LearnBatch::new(self.store.nodes().len()).with_limits(self.limits);
        let batch = std::mem::replace(&mut self.batch, empty);
        self.batch_symbols = 0;
        if !batch.is_empty() {
            self.staged.push(self.store.stage(batch.seal())?);
        }
        Ok(())
    }

    /// Gives the store the tombstones that came, ahead of their patterns: should the process end in between, none
    /// of these was ever shown, and the import can be given again.
    fn retire(&mut self) -> Result<(), StoreError> {
        if self.retired.is_empty() {
            return Ok(());
        }
        let mut all = Tombstones::of_store(self.store)?;
        for (name, _) in self.retired.iter() {
            // Here it may be gone: as purged it could never be purged again.
            let of_node = &mut all[self.node_idx];
            of_node.raise(&name);
            of_node.retire(name);
        }
        let no_names = vec![Vec::new(); all.len()];
        self.store.bury(all, &no_names, self.store.checkpoint())
    }

    /// Commits all that was staged and returns the number of patterns.
    pub(crate) fn commit(mut self) -> Result<u64, StoreError> {
        self.stage()?;
        self.retire()?;
        // An import is no part of training, so the training position stays.
        self.store.commit(self.staged, self.store.checkpoint())?;
        Ok(self.patterns)
    }
}

/// Returns the lengths of the events, unless every event holds one symbol.
fn event_lengths(events: &[Event]) -> Option<Box<[u32]>> {
    if events.iter().all(|event| event.len() == 1) {
        return None;
    }
    let length = |event: &Event| {
        u32::try_from(event.len()).expect("an event has fewer symbols than its line has bytes")
    };
    Some(events.iter().map(length).collect())
}

/// Returns the window that learns the maps in order, before anything that training learns.
fn emotives(maps: Vec<EmotiveMap>, limits: &AttributeLimits) -> EmotiveWindow {
    let mut window = EmotiveWindow::default();
    for (idx, map) in (0..).zip(maps) {
        window.learn((0, idx), map, limits.persistence);
    }
    window
}
