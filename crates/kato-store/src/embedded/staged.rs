//! Staging: writing a sealed batch as a segment file that no commit names yet.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Weak};

use kato_model::batch::{SealedNodeView, SealedSymbol};
use kato_model::{AttributeLimits, Attributes, PatternName, SealedBatch};

use super::lock::WriteLock;
use super::segment::{Extras, SegmentWriter, WrittenSegment};
use crate::StoreError;
use crate::contract::check_emotives;

/// A segment that waits for its commit; its file is removed if it is dropped before.
#[derive(Debug)]
pub(super) struct StagedSegment {
    written: Option<WrittenSegment>,
    /// The writer that staged it. Once that is gone, another one may have given the file's name to
    /// a segment of its own.
    writer: Weak<WriteLock>,
}

impl StagedSegment {
    /// Runs `write`, which writes the segment at `path`; half a file does not stay behind.
    pub(super) fn write(
        path: &Path,
        writer: &Arc<WriteLock>,
        write: impl FnOnce() -> Result<WrittenSegment, StoreError>,
    ) -> Result<Self, StoreError> {
        let written = write().inspect_err(|_| remove_orphan(path))?;
        Ok(Self {
            written: Some(written),
            writer: Arc::downgrade(writer),
        })
    }

    /// Runs `write` as [`write`](Self::write) does; `None` when it was broken off.
    pub(super) fn write_unless(
        path: &Path,
        writer: &Arc<WriteLock>,
        write: impl FnOnce() -> Result<Option<WrittenSegment>, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(written) = write().inspect_err(|_| remove_orphan(path))? else {
            remove_orphan(path);
            return Ok(None);
        };
        Self::write(path, writer, || Ok(written)).map(Some)
    }

    /// Returns the segment, if this writer staged it.
    pub(super) fn staged_by(&self, writer: &Arc<WriteLock>) -> Result<&WrittenSegment, StoreError> {
        // Compared by identity: a store that opens the same directory later has another lock.
        let is_own = self
            .writer
            .upgrade()
            .is_some_and(|own| Arc::ptr_eq(&own, writer));
        self.written
            .as_ref()
            .filter(|_| is_own)
            .ok_or(StoreError::ForeignBatch)
    }

    /// Keeps the file when the segment is dropped.
    pub(super) fn keep(&mut self) {
        self.written = None;
    }
}

impl Drop for StagedSegment {
    fn drop(&mut self) {
        // Holding the lock for the moment keeps another writer from giving the name to a file of
        // its own just now.
        if let (Some(written), Some(_writer)) = (&self.written, self.writer.upgrade()) {
            remove_orphan(written.path());
        }
    }
}

/// Removes a segment file that no commit will name.
fn remove_orphan(path: &Path) {
    // Best effort: the next writer removes it anyway.
    let _ = fs::remove_file(path);
}

/// Writes a batch as a segment.
pub(super) fn write_batch(
    batch: &SealedBatch,
    limits: &AttributeLimits,
    path: &Path,
) -> Result<WrittenSegment, StoreError> {
    let mut writer = SegmentWriter::create(path)?;
    let mut symbols = Vec::new();
    for node_idx in 0..batch.n_nodes() {
        let node = batch.node(node_idx);
        let below = node_idx.checked_sub(1).map(|below| batch.node(below));
        let literals = Literals::number(node, below);
        writer.begin_node(literals.texts.iter().copied())?;
        node.for_each(|pattern, sealed| {
            symbols.clear();
            symbols.extend(sealed.iter().map(|symbol| match *symbol {
                SealedSymbol::Child(rank) => rank,
                SealedSymbol::Literal(rank) => literals.numbers[rank as usize],
            }));
            // A refusal in the middle of the file is safe: no commit names it, and the caller
            // removes it.
            check_emotives(pattern.name, pattern.attributes)?;
            let extras = Extras {
                first_seen: pattern.first_seen,
                attributes: pattern
                    .attributes
                    .and_then(|attributes| stored_attributes(attributes, limits)),
            };
            writer.push(pattern.name, pattern.frequency, &symbols, &extras)
        })?;
        writer.end_node()?;
        for (name, vector) in node.vectors() {
            writer.push_vector(name, vector)?;
        }
    }
    writer.finish(
        batch
            .documents()
            .iter()
            .map(|(document_idx, id)| (*document_idx, id.as_str())),
    )
}

/// Returns what is stored of attributes: within the limits, and nothing where nothing is left
/// beside the frequency.
pub(crate) fn stored_attributes(
    attributes: &Attributes,
    limits: &AttributeLimits,
) -> Option<Box<Attributes>> {
    // Merging applies the limits, with which the batch need not have been made.
    let mut stored = Attributes::default();
    stored.merge(
        Attributes {
            // The pattern's frequency includes it.
            extra_frequency: 0,
            ..attributes.clone()
        },
        limits,
    );
    (stored != Attributes::default()).then(|| Box::new(stored))
}

/// The segment's numbers for the text symbols of one node of a batch.
struct Literals<'a> {
    /// The segment's dictionary.
    texts: Vec<&'a str>,
    /// Rank in the batch's dictionary → number in the segment.
    numbers: Vec<u32>,
}

impl<'a> Literals<'a> {
    /// Numbers the text symbols of a node.
    ///
    /// Every symbol gets one number: text that is the name of a pattern which the node below
    /// learned in the same batch gets that pattern's, else a pattern could hold one symbol under
    /// two numbers.
    fn number(node: SealedNodeView<'a>, below: Option<SealedNodeView<'a>>) -> Self {
        let n_below = number(below.map_or(0, |below| below.len()));
        let mut literals = Self {
            texts: Vec::new(),
            numbers: Vec::new(),
        };
        for text in node.dictionary() {
            let child = below.and_then(|below| rank_of(below, PatternName::from_symbol(text)?));
            literals
                .numbers
                .push(child.unwrap_or(n_below + number(literals.texts.len())));
            if child.is_none() {
                literals.texts.push(text);
            }
        }
        literals
    }
}

/// Returns a rank within a batch as a symbol's number.
fn number(rank: usize) -> u32 {
    // With 31 bits each, the sum of the number of patterns and the rank of a text fits as well.
    u32::try_from(rank).expect("a batch numbers patterns and literals with 31 bits each")
}

/// Returns the rank of a pattern by its name, if the node learned it.
fn rank_of(node: SealedNodeView<'_>, name: PatternName) -> Option<u32> {
    let (mut low, mut high) = (0, node.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match node.pattern(middle).name.cmp(&name) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(number(middle)),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}
