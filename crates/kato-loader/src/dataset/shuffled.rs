//! Shuffled order: blocks in random order over the corpus, records in random order within windows
//! of blocks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Corpus, Draw, ReadOptions, RecordLocation};
use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::chunk::{Chunk, Entry, Outcome};
use crate::cursor::{Position, RecordKey};
use crate::document::Place;
use crate::error::LoadError;
use crate::extent::Extent;
use crate::order::Shard;
use crate::permutation::{Permutation, hash};
use crate::records::Sink;
use crate::workers::{ChunkStream, Workers};

/// Footers that are read at the same time, at most.
const MAX_OPENING_THREADS: usize = 16;

/// Reads blocks in random order, and the records of each window of blocks in random order.
pub(super) struct Shuffled {
    seed: u64,
    epoch: u64,
    blocks: Vec<Block>,
    /// Which block stands at which place.
    order: Permutation,
    /// Where each window begins in the order of the blocks, and where the last one ends.
    bounds: Vec<u64>,
    /// Bytes of text in front of each window, and of all windows together.
    bytes_before: Vec<u64>,
    current: Option<Window>,
    /// Windows that are being decoded ahead, by number and in order.
    planned: VecDeque<(u64, Vec<OpenBlock>)>,
    /// The window behind the last one planned.
    plan_at: u64,
    /// Rank of the record drawn last, until it is accepted.
    drawn: Option<u64>,
}

/// A part of a file that can be read on its own.
struct Block {
    file: usize,
    extent: Extent,
}

/// A block that is being decoded.
struct OpenBlock {
    file: usize,
    extent: Extent,
    records: ChunkStream,
}

/// The decoded records of a window.
///
/// Each has a rank that is a function of the window's key and of where the record lies, and of no
/// other record. So what cannot be read moves nothing else, and a position stays valid when it can
/// be read again.
struct Window {
    number: u64,
    chunks: Vec<FetchedChunk>,
    /// The records, by rank.
    order: Vec<RankedRecord>,
    /// How many of them lie behind the position.
    at: usize,
    /// Faults of stretches that could not be reached. They come first and do not move the
    /// position, so that none of their records is taken for one that was read.
    unreachable: VecDeque<(usize, Fault)>,
}

/// A chunk of a block, kept until its window has been read.
struct FetchedChunk {
    file: usize,
    chunk: Chunk,
    /// Index of the first record behind a bad one of the same block.
    lost_from: usize,
}

/// Where the record of a rank is found.
struct RankedRecord {
    /// Unique among the records of a window.
    rank: u64,
    chunk: u32,
    entry: u32,
}

impl Shuffled {
    /// Cuts all files into blocks, puts the blocks into a random order and divides that into
    /// windows.
    pub(super) fn plan(
        corpus: &Corpus,
        seed: u64,
        epoch: u64,
        window_bytes: u64,
    ) -> Result<Self, LoadError> {
        if let Some(stream) = corpus.files.iter().find(|file| !file.is_readable_again()) {
            return Err(LoadError::Unsupported {
                name: stream.name.to_string(),
                reason: "a stream is read from its beginning to its end; store it in a file to shuffle it",
            });
        }
        let mut blocks = Vec::new();
        for (file, parts) in cut_all(corpus).into_iter().enumerate() {
            let input = &corpus.files[file];
            let parts = match parts {
                Ok(parts) => parts,
                // A later attempt would find other blocks, and so another order: resuming would
                // repeat some records and lose others.
                Err(fault) if fault.is_transient() => {
                    return Err(LoadError::Footer {
                        name: input.name.to_string(),
                        source: fault.into_cause(),
                    });
                }
                // A damaged file is one block, which is reported as bad when it is read.
                Err(_) => vec![Extent::whole(input.size.unwrap_or(0))],
            };
            blocks.extend(parts.into_iter().map(|extent| Block { file, extent }));
        }
        // Each shard takes every n-th window, so there are to be as many windows at least.
        let text_bytes = blocks.iter().map(|block| block.extent.text_bytes);
        let text_bytes = text_bytes.fold(0, u64::saturating_add);
        let n_shards = corpus.selection.shard.map_or(1, Shard::count);
        let window_bytes = match n_shards {
            1 => window_bytes,
            n_shards => window_bytes.min((text_bytes / n_shards).max(1)),
        };
        let order = Permutation::new((blocks.len() as u64).max(1), &[seed, epoch, BLOCKS]);
        let mut bounds = vec![0];
        let mut bytes_before = vec![0];
        // A window takes blocks until the next one would not fit, and at least one. A block without
        // text counts as one byte, so that `bytes > 0` says whether the window has a block.
        let (mut bytes, mut total) = (0_u64, 0_u64);
        for place in 0..blocks.len() as u64 {
            let block = &blocks[index(order.at(place))];
            if bytes > 0 && bytes.saturating_add(block.extent.text_bytes) > window_bytes {
                bounds.push(place);
                bytes_before.push(total);
                bytes = 0;
            }
            bytes = bytes.saturating_add(block.extent.text_bytes.max(1));
            total = total.saturating_add(block.extent.text_bytes.max(1));
        }
        if !blocks.is_empty() {
            bounds.push(blocks.len() as u64);
            bytes_before.push(total);
        }
        Ok(Self {
            seed,
            epoch,
            blocks,
            order,
            bounds,
            bytes_before,
            current: None,
            planned: VecDeque::new(),
            plan_at: 0,
            drawn: None,
        })
    }

    /// Returns the number of windows, those of other shards included.
    pub(super) fn n_windows(&self) -> u64 {
        self.bounds.len() as u64 - 1
    }

    /// Reads the record behind the position; [`accept`](Self::accept) then moves the position
    /// behind it.
    pub(super) fn draw(
        &mut self,
        corpus: &Corpus,
        position: &mut Position,
        mut workers: Option<&mut Workers>,
        options: ReadOptions,
        sink: &mut Sink<'_>,
    ) -> Draw {
        loop {
            let Position::InWindow { window, after } = *position else {
                return Draw::End;
            };
            if window >= self.n_windows() {
                self.current = None;
                return Draw::End;
            }
            let next = Position::InWindow {
                window: window + 1,
                after: None,
            };
            if !is_in_shard(corpus, window) {
                *position = next;
                continue;
            }
            if self
                .current
                .as_ref()
                .is_none_or(|current| current.number != window)
            {
                // The window before is dropped first, or two would be in memory beside the one
                // decoded ahead.
                self.current = None;
                let opened = self.open(corpus, window, workers.as_deref_mut(), options);
                match opened.seek_after(after) {
                    Ok(window) => self.current = Some(window),
                    Err(bad) => return bad,
                }
            }
            let Some(current) = &mut self.current else {
                continue;
            };
            if let Some((rank, draw)) = current.draw(corpus, options.skips_files, sink) {
                self.drawn = rank;
                return draw;
            }
            self.current = None;
            *position = next;
        }
    }

    /// Moves the position behind what was drawn last, unless that was a fault without a rank.
    pub(super) fn accept(&mut self, position: &mut Position) {
        if let (Position::InWindow { after, .. }, Some(rank)) = (position, self.drawn.take()) {
            *after = Some(rank);
            if let Some(current) = &mut self.current {
                current.at += 1;
            }
        }
    }

    /// Moves the position over whole windows, of at most `records` records together, whose numbers
    /// of records are known; returns how many records that were.
    pub(super) fn skip_records(
        &self,
        corpus: &Corpus,
        position: &mut Position,
        records: u64,
    ) -> u64 {
        let mut passed = 0;
        while let Position::InWindow {
            window,
            after: None,
        } = *position
            && window < self.n_windows()
            && self.current.is_none()
        {
            if corpus.is_dealt() {
                break;
            }
            if is_in_shard(corpus, window) {
                let counts = self.window(window).map(|block| block.extent.records);
                // The sum is `None` as soon as one block, such as one of lines, has an unknown
                // number of records.
                let n_records: Option<u64> = counts.sum();
                match n_records {
                    Some(n_records) if passed + n_records <= records => passed += n_records,
                    _ => break,
                }
            }
            *position = Position::InWindow {
                window: window + 1,
                after: None,
            };
        }
        passed
    }

    /// Returns how many bytes of the files lie behind the position, in proportion to the text.
    pub(super) fn bytes_read(&self, position: Position, total_bytes: u64) -> u64 {
        let Position::InWindow { window, .. } = position else {
            return 0;
        };
        let window = index(window).min(self.bytes_before.len() - 1);
        let before = self.bytes_before[window];
        let text = self.bytes_before.last().copied().unwrap_or(0).max(1);
        let inside = self.current.as_ref().map_or(0, |current| {
            let bytes = self
                .bytes_before
                .get(window + 1)
                .map_or(0, |end| end - before);
            // In 128 bits: a number of bytes times a number of records may exceed 64.
            let share = u128::from(bytes) * current.at as u128;
            u64::try_from(share / current.order.len().max(1) as u128).unwrap_or(0)
        });
        let scaled = u128::from(total_bytes) * u128::from(before + inside) / u128::from(text);
        u64::try_from(scaled).unwrap_or(total_bytes)
    }

    /// Returns the blocks of a window, in order.
    fn window(&self, window: u64) -> impl Iterator<Item = &Block> {
        let window = index(window);
        let places = self.bounds[window]..self.bounds[window + 1];
        places.map(|place| &self.blocks[index(self.order.at(place))])
    }

    /// Opens a window and waits for all of its records.
    fn open(
        &mut self,
        corpus: &Corpus,
        window: u64,
        workers: Option<&mut Workers>,
        options: ReadOptions,
    ) -> Window {
        let blocks = match workers {
            None => {
                let open = |block: &Block| {
                    let file = &corpus.files[block.file];
                    let opened = file.records(&corpus.selection, block.extent, None);
                    block.with_records(ChunkStream::inline(opened))
                };
                self.window(window).map(open).collect()
            }
            Some(workers) => {
                let is_planned = self
                    .planned
                    .front()
                    .is_some_and(|(number, _)| *number == window);
                // What was planned for another window, as after windows were passed over, is
                // dropped, which cancels its decoding.
                let planned = self.planned.pop_front().filter(|_| is_planned);
                let blocks = match planned {
                    Some((_, blocks)) => blocks,
                    None => {
                        self.planned.clear();
                        self.plan_at = window + 1;
                        self.decode(corpus, window, workers)
                    }
                };
                self.plan_ahead(corpus, workers, options);
                blocks
            }
        };
        let key = hash([self.seed, self.epoch, RECORDS, window]);
        Window::fetch(corpus, window, blocks, key)
    }

    /// Starts decoding windows to come, until the threads have enough blocks waiting.
    fn plan_ahead(&mut self, corpus: &Corpus, workers: &mut Workers, options: ReadOptions) {
        let wanted = workers.number().saturating_mul(options.prefetch);
        // At least one window is decoded ahead, however many blocks it has: its records are needed
        // all at once when the current window ends.
        while (self.planned.is_empty() || self.n_planned() < wanted)
            && self.plan_at < self.n_windows()
        {
            if is_in_shard(corpus, self.plan_at) {
                let blocks = self.decode(corpus, self.plan_at, workers);
                self.planned.push_back((self.plan_at, blocks));
            }
            self.plan_at += 1;
        }
    }

    /// Returns the number of blocks in the windows that are being decoded ahead.
    fn n_planned(&self) -> usize {
        self.planned.iter().map(|(_, blocks)| blocks.len()).sum()
    }

    /// Starts decoding the blocks of a window on other threads.
    fn decode(&self, corpus: &Corpus, window: u64, workers: &mut Workers) -> Vec<OpenBlock> {
        let decode = |block: &Block| {
            let (file, selection) = (
                Arc::clone(&corpus.files[block.file]),
                Arc::clone(&corpus.selection),
            );
            let extent = block.extent;
            let records = workers.decode(move || file.records(&selection, extent, None));
            block.with_records(records)
        };
        self.window(window).map(decode).collect()
    }
}

impl Block {
    /// Joins the block with its records.
    fn with_records(&self, records: ChunkStream) -> OpenBlock {
        OpenBlock {
            file: self.file,
            extent: self.extent,
            records,
        }
    }
}

impl Window {
    /// Waits for the records of all blocks and ranks them.
    fn fetch(corpus: &Corpus, number: u64, blocks: Vec<OpenBlock>, key: u64) -> Self {
        let mut window = Self {
            number,
            chunks: Vec::new(),
            order: Vec::new(),
            at: 0,
            unreachable: VecDeque::new(),
        };
        for block in blocks {
            window.push(corpus, block, key);
        }
        // Ranks of one file are distinct, because `mix` is a bijection, but two files may share
        // one. The cursor names a record by its rank alone, so equal ones are told apart by their
        // place and then moved up to the next free rank.
        let place = |ranked: &RankedRecord| (ranked.rank, ranked.chunk, ranked.entry);
        window.order.sort_unstable_by_key(place);
        let mut least = 0;
        for ranked in &mut window.order {
            ranked.rank = ranked.rank.max(least);
            least = ranked.rank.saturating_add(1);
        }
        window
    }

    /// Takes in the records of a block.
    fn push(&mut self, corpus: &Corpus, mut block: OpenBlock, key: u64) {
        let file = block.file;
        // Files have keys of their own: places repeat from file to file.
        let key = hash([key, file as u64]);
        let mut has_fault = false;
        let mut end = None;
        while let Some(mut chunk) = block.records.next() {
            end = chunk.is_whole().then_some(chunk.mark);
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
                // A stretch that could not be reached gets no rank: its records keep theirs for the
                // time when they can be read.
                match entry.take_transient_fault() {
                    Some(fault) => self.unreachable.push_back((file, limit_to_block(fault))),
                    None => self.order.push(RankedRecord {
                        rank: RecordKey::new(file, entry.mark).rank(key),
                        chunk: number(self.chunks.len()),
                        entry: number(at),
                    }),
                }
            }
            has_fault |= lost_from != usize::MAX;
            self.chunks.push(FetchedChunk {
                file,
                chunk,
                lost_from,
            });
        }
        if let Some(fault) = end.and_then(|end| corpus.check_end(file, block.extent, end)) {
            self.unreachable.push_back((file, limit_to_block(fault)));
        }
    }

    /// Moves behind the record with the rank `after`, or fails where there is none.
    fn seek_after(mut self, after: Option<u64>) -> Result<Self, Draw> {
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
    fn draw(
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
            if !skips_blocks || at < fetched.lost_from {
                break (ranked, fetched, at);
            }
            // Not counted and not drawn: the entry of the bad record before it says that the rest
            // of the block is lost. The next record that is accepted moves the position over it.
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
            if skips_blocks {
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

/// Cuts all files into parts, in the order of the files.
///
/// Footers are read several at a time: each costs a round trip where files are remote.
fn cut_all(corpus: &Corpus) -> Vec<Result<Vec<Extent>, Fault>> {
    let n_files = corpus.files.len();
    let next = AtomicUsize::new(0);
    let cut_some = || {
        let mut cut = Vec::new();
        loop {
            // Relaxed, since the counter only hands out numbers; the results travel by joining the
            // threads.
            let file = next.fetch_add(1, Ordering::Relaxed);
            if file >= n_files {
                return cut;
            }
            cut.push((file, corpus.files[file].cut(&corpus.selection, true)));
        }
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        // One less than the number of files at most: the current thread works, too.
        let threads: Vec<_> = (1..n_files.min(MAX_OPENING_THREADS))
            .map(|_| scope.spawn(cut_some))
            .collect();
        let mut all = cut_some();
        for thread in threads {
            match thread.join() {
                Ok(cut) => all.extend(cut),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(file, _)| *file);
    all.into_iter().map(|(_, parts)| parts).collect()
}

/// Returns whether a window belongs to the shard.
pub(super) fn is_in_shard(corpus: &Corpus, window: u64) -> bool {
    corpus.shares_parts_with(window)
}

/// Converts the number of a block or window into an index: there is a list of them in memory, so it
/// fits.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Shortens the index of a chunk, or of a record within one, to 32 bits.
fn number(index: usize) -> u32 {
    // A chunk takes some hundred kilobytes: neither the chunks of a window nor the records of a
    // chunk come near 2³².
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Distinguishes the choices that are made with one seed, so that no two are the same.
const BLOCKS: u64 = 1;
const RECORDS: u64 = 2;
