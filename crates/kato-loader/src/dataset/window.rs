//! A window of a shuffled corpus: its records, in random order.

use std::collections::VecDeque;

use super::shuffled::OpenBlock;
use super::{Corpus, Draw, RecordLocation};
use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::chunk::{Chunk, Entry, Outcome};
use crate::cursor::RecordKey;
use crate::document::Place;
use crate::permutation::hash;
use crate::records::Sink;

/// Ranks in front of a position with which its slice begins: one that is equal to another is moved up,
/// and so few are equal.
const MOVED: u64 = 64;

/// The decoded records of a window, or of a slice of it.
///
/// Each has a rank that is a function of the window's key and of where the record lies, and of no
/// other record. So what cannot be read moves nothing else, and a position stays valid when it can
/// be read again.
///
/// A window whose records are too many to be held, as those of a compressed file, is read several
/// times, each time for the next slice of ranks: their order is that of a window that is held whole.
/// What cannot be reached is told of each slice, as it may have been of any.
pub(super) struct Window {
    pub(super) number: u64,
    pub(super) slice: Slice,
    /// Bytes that the records of a slice may have, the largest of them left out.
    limit: usize,
    chunks: Vec<FetchedChunk>,
    /// Bytes of the records in the chunks.
    pub(super) record_bytes: usize,
    /// The records, by rank.
    pub(super) order: Vec<RankedRecord>,
    /// How many of them lie behind the position.
    pub(super) at: usize,
    /// Faults of stretches that could not be reached. They come first and do not move the
    /// position, so that none of their records is taken for one that was read.
    unreachable: VecDeque<(usize, Fault)>,
}

/// Ranks, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    first: u64,
    last: u64,
}

/// A chunk of a block, kept until its window has been read.
struct FetchedChunk {
    file: usize,
    /// The key that its file has in the window.
    key: u64,
    chunk: Chunk,
    /// Index of the first record behind a bad one of the same block.
    lost_from: usize,
    /// Whether it stands for an input in which there is no text.
    is_nothing: bool,
}

/// Where the record of a rank is found.
pub(super) struct RankedRecord {
    /// Unique among the records of a window.
    rank: u64,
    chunk: u32,
    entry: u32,
}

impl Slice {
    /// Creates the ranks from that of a position on.
    pub(super) fn behind(after: Option<u64>) -> Self {
        Self {
            first: after.map_or(0, |after| after.saturating_sub(MOVED)),
            last: u64::MAX,
        }
    }

    /// Returns the ranks behind these, as many; `None` if there are none.
    pub(super) fn next(self) -> Option<Self> {
        let first = self.last.checked_add(1)?;
        let last = first.saturating_add(self.last - self.first);
        Some(Self { first, last })
    }

    /// Returns how many of as many bytes as a window has lie in front of the slice, and in it.
    pub(super) fn shares(self, bytes: u64) -> (u64, u64) {
        let up_to = |ranks: u128| u64::try_from((u128::from(bytes) * ranks) >> 64).unwrap_or(bytes);
        let before = up_to(self.first.into());
        (before, up_to(u128::from(self.last) + 1) - before)
    }

    fn contains(self, rank: u64) -> bool {
        (self.first..=self.last).contains(&rank)
    }

    /// Returns the lower half.
    fn halved(self) -> Self {
        let last = self.first + (self.last - self.first) / 2;
        Self { last, ..self }
    }
}

impl FetchedChunk {
    /// Returns the rank of one of its records.
    fn rank(&self, entry: &Entry) -> u64 {
        RecordKey::new(self.file, entry.mark).rank(self.key)
    }

    /// Keeps the records of a slice.
    fn retain(&mut self, slice: Slice) {
        let (file, key, lost_from) = (self.file, self.key, self.lost_from);
        let mut n_before = 0;
        self.chunk.retain(|at, entry| {
            let rank = RecordKey::new(file, entry.mark).rank(key);
            let is_kept = slice.contains(rank) && !entry.is_taken();
            n_before += usize::from(is_kept && at < lost_from);
            is_kept
        });
        if lost_from != usize::MAX {
            self.lost_from = n_before;
        }
    }
}

impl Window {
    /// Waits for the records of all blocks, and ranks those of a slice: of a smaller one where they
    /// have more bytes than `limit`, apart from the largest record.
    pub(super) fn fetch(
        corpus: &Corpus,
        number: u64,
        blocks: Vec<OpenBlock>,
        key: u64,
        slice: Slice,
        limit: usize,
    ) -> Self {
        let mut window = Self {
            number,
            slice,
            limit,
            chunks: Vec::new(),
            record_bytes: 0,
            order: Vec::new(),
            at: 0,
            unreachable: VecDeque::new(),
        };
        for block in blocks {
            window.push(corpus, block, key);
        }
        window.rank();
        window
    }

    /// Puts the records into their order.
    fn rank(&mut self) {
        for (chunk, fetched) in self.chunks.iter().enumerate() {
            for (at, entry) in fetched.chunk.entries.iter().enumerate() {
                // A stretch that could not be reached gets no rank: its records keep theirs for the
                // time when they can be read.
                if !entry.is_taken() {
                    self.order.push(RankedRecord {
                        rank: fetched.rank(entry),
                        chunk: number(chunk),
                        entry: number(at),
                    });
                }
            }
        }
        // Ranks of one file are distinct, because `mix` is a bijection, but two files may share
        // one. The cursor names a record by its rank alone, so equal ones are told apart by their
        // place and then moved up to the next free rank.
        let place = |ranked: &RankedRecord| (ranked.rank, ranked.chunk, ranked.entry);
        self.order.sort_unstable_by_key(place);
        let mut least = 0;
        for ranked in &mut self.order {
            ranked.rank = ranked.rank.max(least);
            least = ranked.rank.saturating_add(1);
        }
    }

    /// Takes in the records of a block.
    fn push(&mut self, corpus: &Corpus, mut block: OpenBlock, key: u64) {
        let file = block.file;
        // Files have keys of their own: places repeat from file to file.
        let key = hash([key, file as u64]);
        let mut has_fault = false;
        let mut has_text = false;
        let mut end = None;
        while let Some(mut chunk) = block.records.next() {
            end = chunk.is_whole().then_some(chunk.mark);
            has_text |= chunk.has_text();
            // A fault in an earlier chunk of the block leaves nothing of this one under `SkipFile`.
            let mut lost_from = match has_fault {
                true => 0,
                false => usize::MAX,
            };
            for (at, entry) in chunk.entries.iter_mut().enumerate() {
                if !matches!(entry.outcome, Outcome::Record) {
                    // The bad record itself is drawn and reported; what stands behind it in the
                    // file is lost.
                    lost_from = lost_from.min(at + 1);
                }
                if let Some(fault) = entry.take_transient_fault() {
                    self.unreachable.push_back((file, limit_to_block(fault)));
                }
            }
            has_fault |= lost_from != usize::MAX;
            self.keep(FetchedChunk {
                file,
                key,
                chunk,
                lost_from,
                is_nothing: false,
            });
        }
        let fault = end.and_then(|end| corpus.check_end(file, block.extent, end));
        if let Some(fault) = fault {
            self.unreachable.push_back((file, limit_to_block(fault)));
        } else if block.is_input && !has_text && corpus.selection.shard.is_none() {
            // A shard may have none of an input. That there is none has a rank, also where it is
            // allowed: it is told once, however often reading is interrupted, and positions are the
            // same whether or not it is.
            self.keep(FetchedChunk {
                file,
                key,
                // No record ends at its mark.
                chunk: Chunk::bad(Fault::for_file(BadReason::NoText)),
                lost_from: usize::MAX,
                is_nothing: true,
            });
        }
    }

    /// Keeps what of a chunk belongs to the slice, which is made smaller until that can be held.
    fn keep(&mut self, mut fetched: FetchedChunk) {
        if self.slice != Slice::behind(None) {
            fetched.retain(self.slice);
        }
        self.record_bytes += fetched.chunk.record_bytes();
        self.chunks.push(fetched);
        while self.record_bytes > self.limit && self.slice.first < self.slice.last {
            let chunks = self.chunks.iter().map(|fetched| &fetched.chunk);
            let largest = chunks.map(Chunk::longest_text).max().unwrap_or(0);
            if self.record_bytes - largest <= self.limit {
                break;
            }
            self.slice = self.slice.halved();
            let slice = self.slice;
            self.chunks.retain_mut(|fetched| {
                fetched.retain(slice);
                !fetched.chunk.entries.is_empty()
            });
            let chunks = self.chunks.iter().map(|fetched| &fetched.chunk);
            self.record_bytes = chunks.map(Chunk::record_bytes).sum();
        }
    }

    /// Moves behind the record with the rank `after`, or fails where there is none.
    pub(super) fn seek_after(mut self, after: Option<u64>) -> Result<Self, Draw> {
        let Some(after) = after else {
            return Ok(self);
        };
        self.at = self.order.partition_point(|ranked| ranked.rank <= after);
        // Without that record the cursor is of another corpus, unless it lies in a stretch that
        // cannot be reached at the moment.
        let before = self.at.checked_sub(1).map(|at| &self.order[at]);
        let is_here = before.is_some_and(|before| before.rank == after);
        if is_here || !self.unreachable.is_empty() {
            return Ok(self);
        }
        Err(Draw::Bad {
            file: self.chunks.first().map_or(0, |fetched| fetched.file),
            fault: Fault::for_file(BadReason::EndsBeforeCursor),
        })
    }

    /// Reads what comes next, with its rank where accepting it moves the position; returns `None`
    /// at the end of the window.
    pub(super) fn draw(
        &mut self,
        corpus: &Corpus,
        skips_blocks: bool,
        sink: &mut Sink<'_>,
    ) -> Option<(Option<u64>, Draw)> {
        if let Some((file, fault)) = self.unreachable.pop_front() {
            return Some((None, Draw::Bad { file, fault }));
        }
        let (ranked, fetched, at) = loop {
            let ranked = self.order.get(self.at)?;
            let fetched = &mut self.chunks[ranked.chunk as usize];
            let at = ranked.entry as usize;
            let is_allowed = fetched.is_nothing && corpus.selection.allows_empty;
            if !is_allowed && (!skips_blocks || at < fetched.lost_from) {
                break (ranked, fetched, at);
            }
            // Not counted and not drawn: it is allowed, or the entry of the bad record before it says that
            // the rest of the block is lost. The next record that is accepted moves the position over it.
            self.at += 1;
        };
        let (file, chunk) = (fetched.file, &mut fetched.chunk);
        let is_numbered = !corpus.files[file].has_cuttable_lines(&corpus.selection);
        let Entry {
            outcome,
            mark,
            begin,
            ..
        } = &mut chunk.entries[at];
        let (mark, begin) = (*mark, *begin);
        // A fault is drawn once and can be moved out: behind it the stream either goes on or has
        // ended.
        let fault = match outcome {
            Outcome::Record => None,
            Outcome::Bad(fault) => fault.take(),
            Outcome::Broken(fault) => fault.take().map(limit_to_block),
        };
        if let Some(mut fault) = fault {
            if !is_numbered {
                (fault.record, fault.line) = (None, None);
            }
            if skips_blocks && !fetched.is_nothing {
                fault.lost = SkippedExtent::RestOfBlock;
            }
            return Some((Some(ranked.rank), Draw::Bad { file, fault }));
        }
        let place = match is_numbered {
            true => Place::Record(mark.record),
            false => Place::Byte(begin),
        };
        chunk.push_to(at, sink);
        Some((
            Some(ranked.rank),
            Draw::Record(RecordLocation { file, mark, place }),
        ))
    }
}

/// Limits a fault to its block where it would take the rest of the file: blocks are read on their
/// own.
fn limit_to_block(mut fault: Fault) -> Fault {
    if fault.lost == SkippedExtent::RestOfFile {
        fault.lost = SkippedExtent::RestOfBlock;
    }
    fault
}

/// Shortens the index of a chunk, or of a record within one, to 32 bits.
fn number(index: usize) -> u32 {
    // A chunk takes some hundred kilobytes: neither the chunks of a window nor the records of a
    // chunk come near 2³².
    u32::try_from(index).unwrap_or(u32::MAX)
}
