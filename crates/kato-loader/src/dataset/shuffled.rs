//! Shuffled order: blocks in random order over the corpus, records in random order within windows
//! of blocks.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use kato_probe::in_order;

use super::window::{Slice, Window};
use super::{Corpus, Draw, ReadOptions};
use crate::bad_record::Fault;
use crate::cursor::Position;
use crate::error::LoadError;
use crate::extent::Extent;
use crate::input_file::InputFile;
use crate::order::Shard;
use crate::permutation::{Permutation, hash};
use crate::records::Sink;
use crate::workers::{ChunkStream, Workers};

/// Windows that records may take, where blocks hold more than a window: what is more is read again.
const HELD_WINDOWS: u64 = 16;
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
    /// Bytes that the records of a window may take; beyond them it is read in slices.
    held_bytes: usize,
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
    /// Whether it is all of an input.
    is_input: bool,
}

/// A block that is being decoded.
pub(super) struct OpenBlock {
    pub(super) file: usize,
    pub(super) extent: Extent,
    pub(super) is_input: bool,
    pub(super) records: ChunkStream,
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
        let mut blocks: Vec<Block> = Vec::new();
        // Where the blocks of the current input begin.
        let mut input_at = 0;
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
            blocks.extend(parts.into_iter().map(|extent| Block {
                file,
                extent,
                is_input: false,
            }));
            if corpus.is_last_of_input(file) {
                if blocks.len() == input_at {
                    // Nothing is in it, which is told when its turn comes.
                    let extent = Extent {
                        end: 0,
                        ..Extent::whole(0)
                    };
                    blocks.push(Block {
                        file,
                        extent,
                        is_input: false,
                    });
                }
                if let [block] = &mut blocks[input_at..] {
                    block.is_input = true;
                }
                input_at = blocks.len();
            }
        }
        // A block may be larger than a window.
        let held_bytes = window_bytes.max(corpus.selection.extent_bytes);
        let held_bytes = held_bytes.saturating_mul(HELD_WINDOWS);
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
            held_bytes: usize::try_from(held_bytes).unwrap_or(usize::MAX),
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
                let blocks = self.open(corpus, window, workers.as_deref_mut(), options);
                let opened = self.fetch(corpus, window, blocks, Slice::behind(after));
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
            let rest = current.slice.next();
            // Before the next slice is read, which takes as much memory.
            self.current = None;
            let Some(rest) = rest else {
                *position = next;
                continue;
            };
            let blocks = self.open_again(corpus, window, workers.as_deref_mut());
            self.current = Some(self.fetch(corpus, window, blocks, rest));
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
            let (before, bytes) = current.slice.shares(bytes);
            // In 128 bits: a number of bytes times a number of records may exceed 64.
            let share = u128::from(bytes) * current.at as u128;
            before + u64::try_from(share / current.order.len().max(1) as u128).unwrap_or(0)
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

    /// Opens the blocks of a window, and starts decoding those to come.
    fn open(
        &mut self,
        corpus: &Corpus,
        window: u64,
        workers: Option<&mut Workers>,
        options: ReadOptions,
    ) -> Vec<OpenBlock> {
        let Some(workers) = workers else {
            return self.open_again(corpus, window, None);
        };
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

    /// Opens the blocks of a window, whatever is planned.
    fn open_again(
        &self,
        corpus: &Corpus,
        window: u64,
        workers: Option<&mut Workers>,
    ) -> Vec<OpenBlock> {
        match workers {
            Some(workers) => self.decode(corpus, window, workers),
            None => {
                let open = |block: &Block| {
                    let file = &corpus.files[block.file];
                    let opened = file.records(&corpus.selection, block.extent, None);
                    block.with_records(ChunkStream::inline(opened))
                };
                self.window(window).map(open).collect()
            }
        }
    }

    /// Waits for the records of a window, or of as large a slice as can be held.
    fn fetch(&self, corpus: &Corpus, window: u64, blocks: Vec<OpenBlock>, slice: Slice) -> Window {
        let key = hash([self.seed, self.epoch, RECORDS, window]);
        Window::fetch(corpus, window, blocks, key, slice, self.held_bytes)
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
            is_input: self.is_input,
            records,
        }
    }
}

/// Cuts all files into parts, in the order of the files.
///
/// Footers are read several at a time: each costs a round trip where files are remote.
fn cut_all(corpus: &Corpus) -> Vec<Result<Vec<Extent>, Fault>> {
    let n_threads = corpus.files.len().min(MAX_OPENING_THREADS);
    let threads = NonZeroUsize::new(n_threads).unwrap_or(NonZeroUsize::MIN);
    let mut files = corpus.files.iter();
    let mut all = Vec::with_capacity(corpus.files.len());
    let cut = |file: &Arc<InputFile>| file.cut(&corpus.selection, true);
    let keep = |parts| {
        all.push(parts);
        ControlFlow::<Infallible>::Continue(())
    };
    // Nothing breaks it off.
    let _ended = in_order(threads, || files.next(), cut, keep);
    all
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

/// Distinguishes the choices that are made with one seed, so that no two are the same.
const BLOCKS: u64 = 1;
const RECORDS: u64 = 2;
