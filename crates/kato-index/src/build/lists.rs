//! The lists of ranks by symbol, by first symbol and by pair of neighbours.
//!
//! Postings are more than fit into memory, so they are made in rounds: each takes as many classes
//! and symbols as the budget allows, reads all patterns once, and sorts what it has collected.
//! Several threads do so at once, each another round; one writes the rounds in their order, along
//! classes and symbols, so every list is complete at once.

#![expect(
    clippy::cast_possible_truncation,
    reason = "what is cut out of a number was packed into it"
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use foldhash::HashSet;
use kato_prediction::Cancel;
use kato_prediction::frozen::{Column, NodeLayout, SignatureShape};

use super::CHECK_EVERY;
use super::columns::{ColumnWriter, OffsetWriter, WrittenColumn};
use super::node::{BUCKETS, ClassBuild, LEAST_PAIR_LIST};
use crate::IndexFileError;
use crate::map::Map;

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// The patterns that hold a symbol.
    Held,
    /// Those that begin with it.
    First,
    /// Those in which it has a neighbour.
    Pair,
}

/// The patterns of a node to be read from front to back, any number of times.
pub(super) struct Shapes {
    symbols: Map,
    shapes: Map,
    symbol_bytes: usize,
    n_patterns: u32,
}

/// What was counted on the way.
pub(super) struct Counted {
    /// Patterns that hold each text.
    pub(super) by_text: Vec<u32>,
    /// Symbols that occur in a pattern.
    pub(super) n_symbols: u64,
}

/// A builder of all lists of a node.
pub(super) struct ListBuilder<'a> {
    pub(super) dir: &'a Path,
    pub(super) node_idx: usize,
    /// The shift that makes a bucket's number of a symbol's.
    pub(super) shift: u32,
    pub(super) sort_bytes: usize,
    /// Threads that collect and sort, beside the one that writes.
    pub(super) threads: NonZeroUsize,
    pub(super) cancel: &'a Cancel,
    pub(super) shapes: &'a Shapes,
    pub(super) layout: &'a NodeLayout,
    pub(super) classes: &'a mut [ClassBuild],
    /// The numbers of the classes in the order of their lists.
    pub(super) order: &'a [u16],
    pub(super) written: &'a mut BTreeMap<Column, WrittenColumn>,
    pub(super) too_large: Option<IndexFileError>,
}

/// Buckets of a round: from one on and up to another, each a place among the classes in order and a
/// bucket.
type Round = [(usize, usize); 2];

impl ListBuilder<'_> {
    /// Writes all lists.
    pub(super) fn build(&mut self) -> Result<Counted, IndexFileError> {
        let n_texts = usize::try_from(self.layout.n_texts).unwrap_or(usize::MAX);
        let n_below = usize::try_from(self.layout.n_below).unwrap_or(usize::MAX);
        let mut by_text = vec![0_u32; n_texts];
        let mut children = vec![0_u64; n_below.div_ceil(64)];
        // By class, the symbols whose followers are listed.
        let mut has_pairs: Vec<HashSet<u32>> = vec![HashSet::default(); self.order.len()];
        self.write_lists(ListKind::Held, |class, symbol, n_patterns| {
            match (symbol as usize).checked_sub(n_below) {
                Some(text) => {
                    by_text[text] += u32::try_from(n_patterns).unwrap_or(u32::MAX);
                }
                None => children[symbol as usize / 64] |= 1 << (symbol % 64),
            }
            if n_patterns as u64 >= LEAST_PAIR_LIST {
                has_pairs[class].insert(symbol);
            }
        })?;
        self.write_lists(ListKind::First, |_, _, _| {})?;
        self.write_pairs(&has_pairs)?;
        let used_texts = by_text.iter().filter(|&&n_patterns| n_patterns > 0).count() as u64;
        let used_children: u64 = children
            .iter()
            .map(|bits| u64::from(bits.count_ones()))
            .sum();
        Ok(Counted {
            by_text,
            n_symbols: used_texts + used_children,
        })
    }

    /// Writes the lists of single symbols, and tells of each its class, symbol and length.
    fn write_lists(
        &mut self,
        kind: ListKind,
        mut tell: impl FnMut(usize, u32, usize),
    ) -> Result<(), IndexFileError> {
        let [keys, starts, bases, ranks] = match kind {
            ListKind::Held => [
                Column::HeldKeys,
                Column::HeldStarts,
                Column::HeldBases,
                Column::HeldRanks,
            ],
            _ => [
                Column::FirstKeys,
                Column::FirstStarts,
                Column::FirstBases,
                Column::FirstRanks,
            ],
        };
        let mut out = DirectoryWriter::create(self.dir, self.node_idx, [keys, starts, bases])?;
        let mut rank_column = ColumnWriter::create(self.dir, self.node_idx, ranks)?;
        let shapes = self.signature_shapes(kind);
        let mut signatures = SignatureWriter::create(self, kind)?;
        let mut n_ranks = 0_u64;
        let everything = |_, _| true;
        self.for_each_bucket(kind, &shapes, everything, |class, entries| {
            for list in entries.chunk_by(|a, b| a.first() == b.first()) {
                self.cancel.check()?;
                let symbol = list[0].first();
                out.begin(class, symbol, n_ranks)?;
                if shapes[class].is_some() {
                    signatures.push(class, n_ranks, list)?;
                }
                for entry in list {
                    rank_column.push(&entry.rank().to_le_bytes())?;
                }
                n_ranks += list.len() as u64;
                tell(class, symbol, list.len());
            }
            Ok(())
        })?;
        self.written.insert(ranks, rank_column.finish()?);
        let signed = signatures.finish(self.written)?;
        let parts = self.finish_directory(out, n_ranks)?;
        for ((class, &number), part) in self.order.iter().enumerate().zip(parts) {
            let layout = &mut self.classes[usize::from(number)].layout;
            match kind {
                ListKind::Held => {
                    layout.held = part;
                    layout.held_signatures = signed.get(&class).copied();
                }
                _ => layout.first = part,
            }
        }
        Ok(())
    }

    /// Writes the lists of pairs, of the symbols that have some.
    fn write_pairs(&mut self, has_pairs: &[HashSet<u32>]) -> Result<(), IndexFileError> {
        let keys = [
            Column::PairKeys,
            Column::PairKeyStarts,
            Column::PairKeyBases,
        ];
        let mut out = DirectoryWriter::create(self.dir, self.node_idx, keys)?;
        let followers = [Column::PairFollowers, Column::PairStarts, Column::PairBases];
        let mut follower_out = DirectoryWriter::create(self.dir, self.node_idx, followers)?;
        let mut rank_column = ColumnWriter::create(self.dir, self.node_idx, Column::PairRanks)?;
        let shapes = self.signature_shapes(ListKind::Pair);
        let mut signatures = SignatureWriter::create(self, ListKind::Pair)?;
        let (mut n_followers, mut n_ranks) = (0_u64, 0_u64);
        let is_listed = |class: usize, symbol: u32| has_pairs[class].contains(&symbol);
        self.for_each_bucket(ListKind::Pair, &shapes, is_listed, |class, entries| {
            for list in entries.chunk_by(|a, b| a.symbols() == b.symbols()) {
                self.cancel.check()?;
                if out.begin(class, list[0].first(), n_followers)? {
                    // A new symbol begins its followers anew, also where the last one's last
                    // follower was the same.
                    follower_out.forget_key();
                }
                follower_out.begin(class, list[0].second(), n_ranks)?;
                n_followers += 1;
                if shapes[class].is_some() {
                    signatures.push(class, n_ranks, list)?;
                }
                for entry in list {
                    rank_column.push(&entry.rank().to_le_bytes())?;
                }
                n_ranks += list.len() as u64;
            }
            Ok(())
        })?;
        self.written
            .insert(Column::PairRanks, rank_column.finish()?);
        let signed = signatures.finish(self.written)?;
        let parts = self.finish_directory(out, n_followers)?;
        for ((class, &number), part) in self.order.iter().enumerate().zip(parts) {
            let layout = &mut self.classes[usize::from(number)].layout;
            layout.pairs = part;
            layout.pair_signatures = signed.get(&class).copied();
        }
        self.finish_directory(follower_out, n_ranks)?;
        Ok(())
    }

    /// Returns, by class, how the signatures of its lists are laid out; `None` where there are none.
    ///
    /// Lists of a name are short, as nearly every pattern has names of its own, and of long patterns
    /// signatures would tell little. Where patterns begin is asked for by itself.
    fn signature_shapes(&self, kind: ListKind) -> Vec<Option<SignatureShape>> {
        let n_known = match kind {
            ListKind::Held if self.layout.n_below == 0 => 1,
            ListKind::Pair => 2,
            _ => return vec![None; self.order.len()],
        };
        let length = |&number: &u16| self.classes[usize::from(number)].length;
        let lengths = self.order.iter().map(length);
        lengths
            .map(|length| SignatureShape::new(length?, n_known))
            .collect()
    }

    /// Hands over the postings of the symbols that are wanted, sorted: those of a class and a bucket
    /// at once, in the order of classes and buckets.
    fn for_each_bucket(
        &self,
        kind: ListKind,
        shapes: &[Option<SignatureShape>],
        is_wanted: impl Fn(usize, u32) -> bool + Sync,
        mut take: impl FnMut(usize, &[Entry]) -> Result<(), IndexFileError>,
    ) -> Result<(), IndexFileError> {
        let rounds = self.rounds(kind);
        let n_threads = self.threads.get().min(rounds.len());
        let is_wanted = &is_wanted;
        thread::scope(|scope| {
            let of_threads = (0..n_threads).map(|thread_idx| {
                // A thread waits until its round is taken, so that there are no more rounds in
                // memory than threads, and the one that is being written.
                let (sender, receiver) = sync_channel(0);
                let own = rounds.iter().skip(thread_idx).step_by(n_threads);
                scope.spawn(move || {
                    for &round in own {
                        let collected = self.collect(kind, round, shapes, is_wanted);
                        let has_failed = collected.is_err();
                        // Nobody takes it once writing has failed.
                        if sender.send(collected).is_err() || has_failed {
                            return;
                        }
                    }
                });
                receiver
            });
            let of_threads: Vec<_> = of_threads.collect();
            for receiver in of_threads.iter().cycle().take(rounds.len()) {
                let Ok(collected) = receiver.recv() else {
                    // A thread ends without its round only by a panic, with which the scope ends.
                    break;
                };
                let collected = collected?;
                for (class, range) in collected.buckets {
                    self.cancel.check()?;
                    take(class, &collected.entries[range])?;
                }
            }
            Ok(())
        })
    }

    /// Collects and sorts the postings of a round of the symbols that are wanted.
    fn collect(
        &self,
        kind: ListKind,
        round: Round,
        shapes: &[Option<SignatureShape>],
        is_wanted: impl Fn(usize, u32) -> bool,
    ) -> Result<Collected, IndexFileError> {
        // As every bucket was counted, each posting is put where its bucket lies.
        let mut buckets = self.buckets_of(kind, round);
        let n_entries = buckets.last().map_or(0, |(_, range)| range.end);
        let mut entries = vec![Entry(0); n_entries];
        let [from, _] = round;
        // From here on, a range ends where the next posting of its bucket goes.
        for (_, range) in &mut buckets {
            range.end = range.start;
        }
        let sought = self.sought(round);
        self.shapes
            .for_each(&sought, self.cancel, |rank, of_class, symbols| {
                let class = of_class.place;
                let n_postings = match kind {
                    ListKind::Held => symbols.len(),
                    ListKind::First => symbols.len().min(1),
                    ListKind::Pair => symbols.len().saturating_sub(1),
                };
                for place in 0..n_postings {
                    let first = symbols[place];
                    if !of_class.seeks(first) || !is_wanted(class, first) {
                        continue;
                    }
                    let second = match kind {
                        ListKind::Pair => symbols[place + 1],
                        _ => 0,
                    };
                    let signature = shapes[class].map_or(0, |shape| shape.sign(symbols, place));
                    let bucket =
                        (class - from.0) * BUCKETS + (first >> self.shift) as usize - from.1;
                    // Neither is missing, unless somebody changes the files meanwhile.
                    if let Some((_, range)) = buckets.get_mut(bucket)
                        && let Some(entry) = entries.get_mut(range.end)
                    {
                        *entry = Entry::new([first, second], rank, signature);
                        range.end += 1;
                    }
                }
            })?;
        for (_, range) in &mut buckets {
            self.cancel.check()?;
            let n_kept = sort(&mut entries[range.clone()], self.most_beside());
            range.end = range.start + n_kept;
        }
        Ok(Collected { entries, buckets })
    }

    /// Returns, by the number of a class, what a round seeks in its patterns.
    fn sought(&self, [from, to]: Round) -> Vec<Sought> {
        let nothing = Sought {
            place: 0,
            length: None,
            first: 0,
            n_symbols: 0,
        };
        let mut sought = vec![nothing; self.classes.len()];
        for (place, &number) in self.order.iter().enumerate() {
            let number = usize::from(number);
            // The buckets of a class between the first and the last one are all the round's.
            let first = if place == from.0 { from.1 } else { 0 };
            let end = if place == to.0 { to.1 } else { BUCKETS };
            let end = if place < from.0 || place > to.0 {
                first
            } else {
                end
            };
            sought[number] = Sought {
                place,
                length: self.classes[number].length,
                first: (first as u64) << self.shift,
                n_symbols: (end.saturating_sub(first) as u64) << self.shift,
            };
        }
        sought
    }

    /// Returns the buckets of a round, each with its class and the room that its postings need.
    fn buckets_of(&self, kind: ListKind, [from, to]: Round) -> Vec<(usize, Range<usize>)> {
        let mut end = 0;
        let all = (from.0 * BUCKETS + from.1)..(to.0 * BUCKETS + to.1);
        let buckets = all.map(|at| {
            let class = at / BUCKETS;
            let counts = &self.classes[usize::from(self.order[class])].counts[kind as usize];
            let start = end;
            // No more than the budget of a round, or than one bucket has.
            end += usize::try_from(counts[at % BUCKETS]).unwrap_or(usize::MAX);
            (class, start..end)
        });
        buckets.collect()
    }

    /// Returns the postings for which each thread has memory beside those of its round.
    fn most_beside(&self) -> usize {
        self.sort_bytes / 4 / self.threads / size_of::<Entry>()
    }

    /// Divides the postings of a kind into rounds that fit into the budget, each at least a bucket.
    fn rounds(&self, kind: ListKind) -> Vec<Round> {
        // A round of each thread, and the one that is being written.
        let at_once = self.threads.saturating_add(1);
        let budget = self.sort_bytes / 4 * 3 / at_once / size_of::<Entry>();
        let budget = budget.max(1) as u64;
        let mut rounds = Vec::new();
        let mut from = (0, 0);
        let mut n_entries = 0;
        for (place, &number) in self.order.iter().enumerate() {
            let counts = &self.classes[usize::from(number)].counts[kind as usize];
            for (bucket, &count) in counts.iter().enumerate() {
                if n_entries > 0 && n_entries + count > budget {
                    rounds.push([from, (place, bucket)]);
                    from = (place, bucket);
                    n_entries = 0;
                }
                n_entries += count;
            }
        }
        if n_entries > 0 {
            rounds.push([from, (self.order.len() - 1, BUCKETS)]);
        }
        rounds
    }

    /// Ends a directory whose last list ends there, and returns the part of the keys of each class.
    fn finish_directory(
        &mut self,
        out: DirectoryWriter,
        end: u64,
    ) -> Result<Vec<[u64; 2]>, IndexFileError> {
        let columns = out.columns;
        let mut out = out;
        out.push_offset(end)?;
        if out.is_too_large {
            // Taken once: it ends the build.
            let too_large = self.too_large.take();
            return Err(too_large
                .unwrap_or_else(|| IndexFileError::damaged(self.dir, "its lists are too large")));
        }
        let n_keys = out.n_keys;
        let mut parts = vec![[n_keys; 2]; self.order.len()];
        let mut end = n_keys;
        for (class, part) in parts.iter_mut().enumerate().rev() {
            *part = [out.first_keys.get(&class).copied().unwrap_or(end), end];
            end = part[0];
        }
        let [starts, bases] = out.offsets.finish()?;
        self.written.insert(columns[0], out.keys.finish()?);
        self.written.insert(columns[1], starts);
        self.written.insert(columns[2], bases);
        Ok(parts)
    }
}

/// The postings of a round.
struct Collected {
    entries: Vec<Entry>,
    /// By class and bucket, ascending: the class, and where the postings lie, sorted.
    buckets: Vec<(usize, Range<usize>)>,
}

/// What a round seeks in the patterns of a class: some symbols, or none.
#[derive(Debug, Clone, Copy)]
struct Sought {
    /// The place of the class in the order of the lists.
    place: usize,
    /// The length of the patterns, where they have one.
    length: Option<usize>,
    /// The first symbol.
    first: u64,
    /// How many from there on.
    n_symbols: u64,
}

impl Sought {
    fn seeks(&self, symbol: u32) -> bool {
        // Below the first it wraps around, and is far above.
        u64::from(symbol).wrapping_sub(self.first) < self.n_symbols
    }
}

/// Postings from which on a radix sort is quicker than one that compares.
const RADIX_SORTED: usize = 512;

/// Sorts the postings of a bucket, which come by rank, and returns how many are left: a pattern may hold
/// a symbol several times and counts once. Takes memory for no more than so many.
fn sort(entries: &mut [Entry], most_beside: usize) -> usize {
    match entries.len() {
        n_entries if (RADIX_SORTED..=most_beside).contains(&n_entries) => {
            // Stable, so that they stay by rank.
            radsort::sort_by_key(entries, |entry| entry.symbols());
        }
        _ => entries.sort_unstable(),
    }
    let mut n_kept = 0;
    for at in 0..entries.len() {
        let entry = entries[at];
        match entries[..n_kept].last_mut() {
            // Of several signatures the least, however they were sorted.
            Some(last) if last.place() == entry.place() => *last = entry.min(*last),
            _ => {
                entries[n_kept] = entry;
                n_kept += 1;
            }
        }
    }
    n_kept
}

/// A posting, whose order is that of the lists: by symbol, by the symbol that follows (0 where none is
/// asked for), by rank, and last the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new([first, second]: [u32; 2], rank: u32, signature: u32) -> Self {
        let symbols = u128::from(first) << 32 | u128::from(second);
        Self((symbols << 32 | u128::from(rank)) << 32 | u128::from(signature))
    }

    fn signature(self) -> u32 {
        self.0 as u32
    }

    fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn symbols(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn first(self) -> u32 {
        (self.0 >> 96) as u32
    }

    fn second(self) -> u32 {
        (self.0 >> 64) as u32
    }

    /// Returns all but the signature.
    fn place(self) -> u128 {
        self.0 >> 32
    }
}

/// A writer of the signatures beside the ranks of some classes.
struct SignatureWriter {
    /// The column, and its name; `None` for lists that have none.
    out: Option<(Column, ColumnWriter)>,
    n_signatures: u64,
    /// By class, the places of its first rank and of its first signature.
    parts: BTreeMap<usize, [u64; 2]>,
}

impl SignatureWriter {
    fn create(of: &ListBuilder<'_>, kind: ListKind) -> Result<Self, IndexFileError> {
        let column = match kind {
            ListKind::Held => Some(Column::HeldSignatures),
            ListKind::First => None,
            ListKind::Pair => Some(Column::PairSignatures),
        };
        let out = column.map(|column| {
            Ok::<_, IndexFileError>((column, ColumnWriter::create(of.dir, of.node_idx, column)?))
        });
        Ok(Self {
            out: out.transpose()?,
            n_signatures: 0,
            parts: BTreeMap::new(),
        })
    }

    /// Appends the signatures of a list of a class, which begins at a place in the column of ranks.
    fn push(
        &mut self,
        class: usize,
        first_rank: u64,
        list: &[Entry],
    ) -> Result<(), IndexFileError> {
        let Some((_, out)) = &mut self.out else {
            return Ok(());
        };
        let part = [first_rank, self.n_signatures];
        self.parts.entry(class).or_insert(part);
        for entry in list {
            out.push(&entry.signature().to_le_bytes())?;
        }
        self.n_signatures += list.len() as u64;
        Ok(())
    }

    /// Ends the column, and returns the parts of the classes.
    fn finish(
        self,
        written: &mut BTreeMap<Column, WrittenColumn>,
    ) -> Result<BTreeMap<usize, [u64; 2]>, IndexFileError> {
        if let Some((column, out)) = self.out {
            written.insert(column, out.finish()?);
        }
        Ok(self.parts)
    }
}

/// A writer of keys and of where their lists begin.
struct DirectoryWriter {
    columns: [Column; 3],
    keys: ColumnWriter,
    offsets: OffsetWriter,
    n_keys: u64,
    last: Option<(usize, u32)>,
    /// By class, the place of its first key.
    first_keys: BTreeMap<usize, u64>,
    is_too_large: bool,
}

impl DirectoryWriter {
    fn create(dir: &Path, node_idx: usize, columns: [Column; 3]) -> Result<Self, IndexFileError> {
        let [keys, starts, bases] = columns;
        Ok(Self {
            columns,
            keys: ColumnWriter::create(dir, node_idx, keys)?,
            offsets: OffsetWriter::create(dir, node_idx, starts, bases)?,
            n_keys: 0,
            last: None,
            first_keys: BTreeMap::new(),
            is_too_large: false,
        })
    }

    /// Begins the list of a key at an offset, unless it is the key before; returns whether it did.
    fn begin(&mut self, class: usize, key: u32, offset: u64) -> Result<bool, IndexFileError> {
        if self.last == Some((class, key)) {
            return Ok(false);
        }
        self.last = Some((class, key));
        self.first_keys.entry(class).or_insert(self.n_keys);
        self.keys.push(&key.to_le_bytes())?;
        self.n_keys += 1;
        self.push_offset(offset)?;
        Ok(true)
    }

    /// Lets the next key be a new one, even if it equals the last.
    fn forget_key(&mut self) {
        self.last = None;
    }

    fn push_offset(&mut self, offset: u64) -> Result<(), IndexFileError> {
        self.is_too_large |= !self.offsets.push(offset)?;
        Ok(())
    }
}

impl Shapes {
    /// Maps what was written of the patterns.
    pub(super) fn open(
        symbols: &Path,
        shapes: &Path,
        layout: &NodeLayout,
    ) -> Result<Self, IndexFileError> {
        let map = |path: &Path| {
            let map = File::open(path).and_then(|file| Map::of(&file));
            let map = map.map_err(IndexFileError::io("map", path))?;
            map.advise_sequential();
            Ok::<Map, IndexFileError>(map)
        };
        Ok(Self {
            symbols: map(symbols)?,
            shapes: map(shapes)?,
            symbol_bytes: if layout.symbol_bytes == 2 { 2 } else { 4 },
            // Patterns were counted by 31 bits.
            n_patterns: u32::try_from(layout.n_patterns).unwrap_or(0),
        })
    }

    /// Shows every pattern that holds a symbol that is sought: its rank, what is sought in its class,
    /// and its symbols. `sought` goes by the numbers of classes.
    fn for_each(
        &self,
        sought: &[Sought],
        cancel: &Cancel,
        visit: impl FnMut(u32, &Sought, &[u32]),
    ) -> Result<(), IndexFileError> {
        match self.symbol_bytes {
            2 => self.for_each_of(sought, cancel, |two| u16::from_le_bytes(two).into(), visit),
            _ => self.for_each_of(sought, cancel, u32::from_le_bytes, visit),
        }
    }

    fn for_each_of<const N: usize>(
        &self,
        sought: &[Sought],
        cancel: &Cancel,
        number_of: impl Fn([u8; N]) -> u32,
        mut visit: impl FnMut(u32, &Sought, &[u32]),
    ) -> Result<(), IndexFileError> {
        let (mut all_numbers, _) = self.symbols.as_ref().as_chunks::<N>();
        let mut shapes = self.shapes.as_ref();
        let mut symbols = Vec::new();
        for rank in 0..self.n_patterns {
            if u64::from(rank).is_multiple_of(CHECK_EVERY) {
                cancel.check()?;
            }
            // Nothing is missing, unless somebody changes the files meanwhile.
            let Some((class, rest)) = shapes.split_first_chunk() else {
                return Ok(());
            };
            shapes = rest;
            let Some(of_class) = sought.get(usize::from(u16::from_le_bytes(*class))) else {
                return Ok(());
            };
            let length = match of_class.length {
                Some(length) => length,
                None => {
                    let Some((length, rest)) = shapes.split_first_chunk() else {
                        return Ok(());
                    };
                    shapes = rest;
                    u32::from_le_bytes(*length) as usize
                }
            };
            let Some((numbers, rest)) = all_numbers.split_at_checked(length) else {
                return Ok(());
            };
            all_numbers = rest;
            // Most patterns hold nothing that a round seeks.
            let is_sought = |&number: &[u8; N]| of_class.seeks(number_of(number));
            if numbers.iter().any(is_sought) {
                symbols.clear();
                symbols.extend(numbers.iter().map(|&number| number_of(number)));
                visit(rank, of_class, &symbols);
            }
        }
        Ok(())
    }
}
