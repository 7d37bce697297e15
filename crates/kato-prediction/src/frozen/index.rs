//! A node's patterns in name order, as columns that are read in place.

#![expect(
    clippy::cast_possible_truncation,
    reason = "ranks and ids are below the number of patterns, which is checked against 2³² when an index is opened"
)]

mod texts;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use kato_model::PatternName;

use super::columns::{lower_bound, lower_bound_near};
use super::directory::{Directory, DirectoryView};
use super::layout::{
    ClassLayout, Column, LARGE_FREQUENCY, LayoutError, NodeLayout, id_of, number_of,
};
use super::lists::RankList;
use super::numbers::{NumbersView, PackedNumbers};
use super::packed::rank_bytes;
use super::signature::{LONGEST_UNSIGNED_LIST, SignatureShape};
use super::taken::Taken;
use crate::SymbolId;
use crate::page_class::PageClass;
use crate::symbols::SymbolCount;
use kato_columns::{BLOCK_BYTES, CheckedBytes, DamageWatch, View};

/// Most symbols of each kind and most patterns, as ids have 31 bits and the last is that of unknown
/// symbols.
const LIMIT: u64 = (1 << 31) - 1;

/// Names in a block: where one in so many is looked up, nearly every block is read.
pub(crate) const NAMES_A_BLOCK: usize = BLOCK_BYTES / PatternName::BYTES;

/// Number of bytes of an entry of [`Column::TextCounts`].
const COUNT_BYTES: usize = 4 + 8;

/// The patterns of one node as they were when the index was written; see the [module](super).
#[derive(Debug, Clone)]
pub struct FrozenIndex {
    /// The index that this one adds to; `None` for one of everything.
    pub(super) lower: Option<Arc<Self>>,
    /// Patterns of the lower ones, whose ranks come first.
    pub(super) first_rank: u32,
    /// Texts of the lower ones, whose numbers come first.
    pub(super) first_text: u32,
    /// Patterns of its own.
    pub(super) n_patterns: u32,
    /// Patterns of the node below, of all its indexes.
    pub(super) n_below: u32,
    /// Texts, those of the lower ones included.
    pub(super) n_texts: u32,
    n_symbols: usize,
    /// Bytes of a symbol's number.
    symbol_bytes: usize,
    pub(super) classes: Vec<Class>,
    names: CheckedBytes,
    /// The node below, whose names symbols stand for; `None` for the lowest node.
    pub(super) below: Option<Arc<Self>>,
    symbol_offsets: PackedNumbers,
    symbols: CheckedBytes,
    frequencies: CheckedBytes,
    large_ranks: CheckedBytes,
    large_frequencies: CheckedBytes,
    event_ranks: CheckedBytes,
    event_offsets: PackedNumbers,
    event_lengths: CheckedBytes,
    text_offsets: PackedNumbers,
    texts: CheckedBytes,
    /// Which of its own texts begin as names do, once it was asked.
    name_texts: OnceLock<Range<usize>>,
    text_counts: CheckedBytes,
    pub(super) learned_ranks: CheckedBytes,
    pub(super) learned_frequencies: CheckedBytes,
    lower_texts: CheckedBytes,
    lower_text_counts: CheckedBytes,
    held: Directory,
    first: Directory,
    pair_keys: Directory,
    pairs: Directory,
    pub(super) damage: DamageWatch,
    /// What those who read it pass over; `None` where that is nothing.
    taken: Option<Arc<Taken>>,
}

/// A class of patterns, and its parts of the directories.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) class: PageClass,
    held: [usize; 2],
    first: [usize; 2],
    pairs: [usize; 2],
    /// Patterns that hold a symbol, from which on its pairs are listed.
    pub(crate) least_pair_list: usize,
    held_shape: Option<SignatureShape>,
    pair_shape: Option<SignatureShape>,
}

/// Keys, starts and content of a directory.
type DirectoryColumns = [Column; 3];

const HELD: DirectoryColumns = [Column::HeldKeys, Column::HeldStarts, Column::HeldLists];
const FIRST: DirectoryColumns = [Column::FirstKeys, Column::FirstStarts, Column::FirstLists];
/// The first symbols of pairs, to which their followers belong.
const PAIR_KEYS: DirectoryColumns = [
    Column::PairKeys,
    Column::PairKeyStarts,
    Column::PairFollowers,
];
/// The followers, which are keys here.
const PAIRS: DirectoryColumns = [Column::PairFollowers, Column::PairStarts, Column::PairLists];

/// The columns of a node, one by one or joined.
struct Columns<F>(F);

impl<F: FnMut(Column) -> Result<CheckedBytes, LayoutError>> Columns<F> {
    fn get(&mut self, column: Column) -> Result<CheckedBytes, LayoutError> {
        (self.0)(column)
    }

    /// Joins the offsets of so many things; one more ends the last.
    fn offsets(&mut self, starts: Column, n: usize) -> Result<PackedNumbers, LayoutError> {
        PackedNumbers::new(self.get(starts)?, n.saturating_add(1))
    }

    fn directory(
        &mut self,
        n_keys: u64,
        columns: DirectoryColumns,
    ) -> Result<Directory, LayoutError> {
        // More than there is room for are refused.
        let n_keys = usize::try_from(n_keys).unwrap_or(usize::MAX);
        let [keys, starts, content] = columns;
        let (keys, starts) = (self.get(keys)?, self.get(starts)?);
        Directory::new(n_keys, keys, starts, self.get(content)?)
    }
}

/// Returns the number of keys of a directory of which each class has a part.
fn n_keys(layout: &NodeLayout, part: impl Fn(&ClassLayout) -> [u64; 2]) -> u64 {
    let ends = layout.classes.iter().map(|class| part(class)[1]);
    ends.max().unwrap_or(0)
}

/// Returns a number of patterns, texts or symbols, which is below that of ids.
fn number(number: u64) -> Result<u32, LayoutError> {
    match number < LIMIT {
        true => Ok(number as u32),
        false => Err(LayoutError("there are more patterns or symbols than ids")),
    }
}

impl FrozenIndex {
    /// Joins the columns of a node, which `column` returns one by one.
    ///
    /// `below` is the index of the node below, `None` for the lowest; `lower` that of the same node which
    /// this one adds to, if there is one. Nothing but sizes is looked at, so this takes no time, however
    /// many patterns there are.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] when the sizes contradict each other.
    pub fn new(
        layout: &NodeLayout,
        below: Option<Arc<Self>>,
        lower: Option<Arc<Self>>,
        damage: DamageWatch,
        column: impl FnMut(Column) -> Result<CheckedBytes, LayoutError>,
    ) -> Result<Self, LayoutError> {
        let n_patterns = number(layout.n_patterns)?;
        let n_below = number(layout.n_below)?;
        let n_texts = number(layout.n_texts)?;
        if below.as_ref().map_or(0, |below| below.n_patterns()) != n_below as usize {
            return Err(LayoutError("the node below has another number of patterns"));
        }
        let (first_rank, first_text) = match &lower {
            Some(lower) => (lower.first_rank + lower.n_patterns, lower.n_texts),
            None => (0, 0),
        };
        number(u64::from(first_rank) + u64::from(n_patterns))?;
        if n_texts < first_text {
            return Err(LayoutError("what it adds to has more texts"));
        }
        let symbol_bytes = match layout.symbol_bytes {
            bytes @ 2..=4 => bytes as usize,
            _ => return Err(LayoutError("symbols have another width than 2 to 4 bytes")),
        };
        let mut columns = Columns(column);
        let index = Self {
            first_rank,
            first_text,
            lower,
            n_patterns,
            n_below,
            n_texts,
            n_symbols: number(layout.n_symbols)? as usize,
            symbol_bytes,
            names: columns.get(Column::Names)?,
            below,
            symbol_offsets: columns.offsets(Column::SymbolStarts, n_patterns as usize)?,
            symbols: columns.get(Column::Symbols)?,
            frequencies: columns.get(Column::Frequencies)?,
            large_ranks: columns.get(Column::LargeRanks)?,
            large_frequencies: columns.get(Column::LargeFrequencies)?,
            event_offsets: {
                let n_ranks = columns.get(Column::EventRanks)?.len() / 4;
                columns.offsets(Column::EventStarts, n_ranks)?
            },
            event_ranks: columns.get(Column::EventRanks)?,
            event_lengths: columns.get(Column::EventLengths)?,
            text_offsets: columns.offsets(Column::TextStarts, (n_texts - first_text) as usize)?,
            texts: columns.get(Column::Texts)?,
            name_texts: OnceLock::new(),
            text_counts: columns.get(Column::TextCounts)?,
            learned_ranks: columns.get(Column::LearnedRanks)?,
            learned_frequencies: columns.get(Column::LearnedFrequencies)?,
            lower_texts: columns.get(Column::LowerTexts)?,
            lower_text_counts: columns.get(Column::LowerTextCounts)?,
            held: columns.directory(n_keys(layout, |class| class.held), HELD)?,
            first: columns.directory(n_keys(layout, |class| class.first), FIRST)?,
            pair_keys: columns.directory(n_keys(layout, |class| class.pairs), PAIR_KEYS)?,
            pairs: columns.directory(layout.n_followers, PAIRS)?,
            classes: Vec::new(),
            damage,
            taken: None,
        };
        index.check_sizes()?;
        index.with_classes(layout)
    }

    /// Refuses columns that have another size than their patterns need.
    fn check_sizes(&self) -> Result<(), LayoutError> {
        let has_size =
            |column: &CheckedBytes, n: u32, bytes: usize| column.len() == n as usize * bytes;
        if !has_size(&self.names, self.n_patterns, PatternName::BYTES)
            || !has_size(&self.frequencies, self.n_patterns, 1)
            || !has_size(
                &self.text_counts,
                self.n_texts - self.first_text,
                COUNT_BYTES,
            )
            || self.large_ranks.len() / 4 != self.large_frequencies.len() / 8
            || self.learned_ranks.len() / 4 != self.learned_frequencies.len() / 8
            || self.lower_texts.len() / 4 != self.lower_text_counts.len() / COUNT_BYTES
        {
            return Err(LayoutError(
                "a column has another size than its patterns need",
            ));
        }
        Ok(())
    }

    /// Adds the classes of a layout.
    fn with_classes(mut self, layout: &NodeLayout) -> Result<Self, LayoutError> {
        for class in &layout.classes {
            let part = |part: [u64; 2], directory: &Directory| {
                let part = part.map(|end| usize::try_from(end).unwrap_or(usize::MAX));
                match part[0] <= part[1] && part[1] <= directory.n_keys() {
                    true => Ok(part),
                    false => Err(LayoutError("a class lies outside its directory")),
                }
            };
            let page_class = class.class.page_class();
            let page_class = page_class.ok_or(LayoutError("there is no class of such a length"))?;
            let length = page_class.lengths.exact();
            let shape = |n_known| length.and_then(|length| SignatureShape::new(length, n_known));
            self.classes.push(Class {
                // Lists of a name are short, as nearly every pattern has names of its own.
                held_shape: shape(1).filter(|_| self.n_below == 0),
                pair_shape: shape(2),
                class: page_class.clone(),
                held: part(class.held, &self.held)?,
                first: part(class.first, &self.first)?,
                pairs: part(class.pairs, &self.pair_keys)?,
                least_pair_list: usize::try_from(class.least_pair_list).unwrap_or(usize::MAX),
            });
        }
        Ok(self)
    }

    /// Returns the number of patterns, those of what it adds to included.
    #[must_use]
    pub fn n_patterns(&self) -> usize {
        self.first_rank as usize + self.n_patterns as usize
    }

    /// Returns the number of symbols that occur in a pattern.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.n_symbols
    }

    /// Returns whether something that was read is not what was written; then no answer of the
    /// index counts.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.damage.is_found()
    }

    /// Returns what is known of its damage.
    pub(crate) const fn damage(&self) -> &DamageWatch {
        &self.damage
    }

    /// Returns the bytes of memory that it takes beside its columns, which the system keeps in memory as
    /// long as there is room: mostly their checksums, a thousandth of them, and what is known of deleted patterns.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let columns = [
            &self.names,
            &self.symbols,
            &self.frequencies,
            &self.large_ranks,
            &self.large_frequencies,
            &self.event_ranks,
            &self.event_lengths,
            &self.texts,
            &self.text_counts,
            &self.learned_ranks,
            &self.learned_frequencies,
            &self.lower_texts,
            &self.lower_text_counts,
        ];
        let offsets = [
            &self.symbol_offsets,
            &self.event_offsets,
            &self.text_offsets,
        ];
        // The followers are ranks of the one directory and keys of the other, and count for both: a
        // few too many bytes.
        let directories = [&self.held, &self.first, &self.pair_keys, &self.pairs];
        columns.map(CheckedBytes::heap_bytes).iter().sum::<usize>()
            + offsets.map(PackedNumbers::heap_bytes).iter().sum::<usize>()
            + directories.map(Directory::heap_bytes).iter().sum::<usize>()
            + size_of_val(&*self.classes)
            + self.taken.as_ref().map_or(0, |taken| taken.heap_bytes())
            + self.lower.as_ref().map_or(0, |lower| lower.heap_bytes())
    }

    pub(crate) fn n_below(&self) -> u32 {
        self.n_below
    }

    pub(crate) fn n_texts(&self) -> u32 {
        self.n_texts
    }

    /// Returns the index of the same patterns, of which some are taken back.
    #[cfg(feature = "disk")]
    pub(crate) fn with_taken(&self, taken: Taken) -> Self {
        Self {
            taken: Some(Arc::new(taken)),
            ..self.clone()
        }
    }

    /// Returns what was taken back of its patterns; `None` where that is nothing.
    pub(crate) fn taken(&self) -> Option<&Arc<Taken>> {
        self.taken.as_ref()
    }

    /// Returns the columns to read from, without those of lower indexes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            index: self,
            rank_bytes: rank_bytes(self.n_patterns.into()),
            names: self.names.view(),
            offsets: self.symbol_offsets.view(),
            symbols: self.symbols.view(),
            held: self.held.view(),
            first: self.first.view(),
            pair_keys: self.pair_keys.view(),
            pairs: self.pairs.view(),
        }
    }

    /// Returns the own rank of a pattern; `None` if there is none of this name.
    pub(super) fn own_rank(&self, name: &PatternName) -> Option<u32> {
        rank_of(self.names.view(), self.n_patterns, name)
    }

    /// Returns the own rank of a pattern as [`own_rank`](Self::own_rank) does, sooner where names come in
    /// order.
    ///
    /// `near` is 0 at first, and after that what the call before has left there.
    pub(super) fn own_rank_near(&self, name: &PatternName, near: &mut u32) -> Option<u32> {
        let (names, n_names) = (self.names.view(), self.n_patterns as usize);
        let leading = |rank: usize| name_at(names, rank as u32).leading_u64();
        let first = lower_bound_near(*near as usize, n_names, name.leading_u64(), leading);
        *near = first as u32;
        rank_from(names, first, n_names, name)
    }

    /// Says that so many names will soon be looked up: where that is one in each block, all are read, and each
    /// block alone would be waited for.
    pub(super) fn will_look_up_own(&self, n_names: usize) {
        if n_names.saturating_mul(NAMES_A_BLOCK) >= self.n_patterns as usize {
            self.names.view().will_read([(0, self.names.len())]);
        }
    }

    /// Returns the number of learns of a pattern of its own that this index counts.
    pub(super) fn own_frequency(&self, rank: u32) -> u64 {
        let [small] = self.frequencies.view().array(rank as usize);
        if small != LARGE_FREQUENCY {
            return u64::from(small);
        }
        let (ranks, frequencies) = (self.large_ranks.view(), self.large_frequencies.view());
        match find_rank(&self.large_ranks, ranks, rank) {
            Some(idx) => frequencies.u64(idx),
            None => {
                ranks.raise_damage();
                0
            }
        }
    }

    /// Returns the number of learns that this index adds to those of a pattern of a lower one, given by
    /// its rank among all.
    pub(super) fn added_frequency(&self, rank: u32) -> u64 {
        let found = find_rank(&self.learned_ranks, self.learned_ranks.view(), rank);
        found.map_or(0, |idx| self.learned_frequencies.view().u64(idx))
    }

    /// Returns the numbers of symbols of the events of a pattern of its own; `None` when each is one.
    pub(super) fn own_event_lengths(&self, rank: u32) -> Option<Vec<u32>> {
        if self.event_ranks.is_empty() {
            return None;
        }
        let idx = find_rank(&self.event_ranks, self.event_ranks.view(), rank)?;
        let (start, len) = self.event_offsets.view().range(idx);
        let lengths = self.event_lengths.view();
        let bytes = lengths.slice(start.saturating_mul(4), len.saturating_mul(4));
        let lengths: Vec<u32> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&n| u32::from_le_bytes(n))
            .collect();
        // What does not add up would make slices panic.
        let total = lengths
            .iter()
            .try_fold(0_usize, |sum, &length| sum.checked_add(length as usize));
        let (_, n_symbols) = self.symbol_offsets.view().range(rank as usize);
        if total != Some(n_symbols) {
            self.event_ranks.view().raise_damage();
            return None;
        }
        Some(lengths)
    }

    /// Returns the number of its own patterns that hold a symbol.
    pub(super) fn own_n_patterns_with(&self, id: SymbolId) -> u32 {
        let Some(number) = number_of(id, self.n_below, self.n_texts) else {
            return 0;
        };
        match number.checked_sub(self.n_below) {
            Some(text) => self.text_count(text).n_patterns,
            None => {
                let reader = self.reader();
                let lists = self
                    .classes
                    .iter()
                    .filter_map(|class| reader.held(class, id));
                lists.map(|list| list.len() as u32).sum()
            }
        }
    }

    /// Returns what this index counts of a text, which may be one of a lower one's.
    pub(super) fn text_count(&self, text: u32) -> SymbolCount {
        let (counts, idx) = match text.checked_sub(self.first_text) {
            Some(own) => (self.text_counts.view(), Some(own as usize)),
            None => {
                let texts = self.lower_texts.view();
                let idx = find_rank(&self.lower_texts, texts, text);
                (self.lower_text_counts.view(), idx)
            }
        };
        idx.map_or_else(SymbolCount::default, |idx| SymbolCount {
            n_patterns: u32::from_le_bytes(counts.array(idx * COUNT_BYTES)),
            frequency: u64::from_le_bytes(counts.array(idx * COUNT_BYTES + 4)),
        })
    }
}

/// The columns of an index, borrowed for a while, so that each is looked up once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    index: &'a FrozenIndex,
    /// Bytes of a rank in lists.
    rank_bytes: usize,
    names: View<'a>,
    offsets: NumbersView<'a>,
    symbols: View<'a>,
    held: DirectoryView<'a>,
    first: DirectoryView<'a>,
    pair_keys: DirectoryView<'a>,
    pairs: DirectoryView<'a>,
}

impl<'a> Reader<'a> {
    /// Returns the classes of the patterns.
    pub(crate) fn classes(&self) -> &'a [Class] {
        &self.index.classes
    }

    /// Returns the number of patterns, without those of lower indexes.
    pub(crate) fn n_patterns(&self) -> u32 {
        self.index.n_patterns
    }

    /// Returns the rank among all of a pattern.
    pub(crate) fn rank_among_all(&self, rank: u32) -> u32 {
        self.index.first_rank + rank
    }

    /// Returns the rank of a pattern that has this one among all; `None` if it is another index's.
    pub(crate) fn own_rank(&self, among_all: u32) -> Option<u32> {
        let rank = among_all.checked_sub(self.index.first_rank)?;
        (rank < self.index.n_patterns).then_some(rank)
    }

    /// Returns the numbers of symbols of a pattern's events; `None` when each is one.
    pub(crate) fn event_lengths(&self, rank: u32) -> Option<Vec<u32>> {
        self.index.own_event_lengths(rank)
    }

    pub(crate) fn name(&self, rank: u32) -> PatternName {
        name_at(self.names, rank)
    }

    /// Returns the number of patterns whose names are less than this one.
    pub(crate) fn n_before(&self, name: &PatternName) -> u32 {
        let n_names = self.index.n_patterns as usize;
        let leading = |rank: usize| self.name(rank as u32).leading_u64();
        let first = lower_bound(0, n_names, name.leading_u64(), leading);
        // Nearly always there is none with the same leading bytes.
        let same = (first..n_names).take_while(|&rank| {
            let held = self.name(rank as u32);
            held < *name && held.leading_u64() == name.leading_u64()
        });
        (first + same.count()) as u32
    }

    /// Says that the [`range`](Self::range)s of these patterns will soon be read.
    pub(crate) fn will_read_ranges(&self, ranks: &[u32]) {
        self.offsets
            .will_read(ranks.iter().map(|&rank| rank as usize));
    }

    /// Replaces `out` by the [`range`](Self::range)s of patterns.
    pub(crate) fn read_ranges(&self, ranks: &[u32], out: &mut Vec<(usize, usize)>) {
        let ranks = ranks.iter().map(|&rank| rank as usize);
        self.offsets.read_ranges(ranks, out);
    }

    /// Says that the symbols of these ranges will soon be read.
    pub(crate) fn will_read_symbols(&self, ranges: &[(usize, usize)]) {
        let bytes = self.index.symbol_bytes;
        let parts = ranges.iter();
        let parts =
            parts.map(|&(start, len)| (start.saturating_mul(bytes), len.saturating_mul(bytes)));
        self.symbols.will_read(parts);
    }

    /// Says that the names and frequencies of patterns will soon be read.
    pub(crate) fn will_read_found(&self, ranks: impl Iterator<Item = u32> + Clone) {
        let frequencies = self.index.frequencies.view();
        let ranks = ranks.map(|rank| rank as usize);
        let name = |rank: usize| (rank.saturating_mul(PatternName::BYTES), PatternName::BYTES);
        self.names.will_read(ranks.clone().map(name));
        frequencies.will_read(ranks.map(|rank| (rank, 1)));
    }

    /// Returns where the symbols of a pattern begin, and how many there are.
    #[inline]
    pub(crate) fn range(&self, rank: u32) -> (usize, usize) {
        self.offsets.range(rank as usize)
    }

    /// Replaces `out` by the symbols of a pattern.
    pub(crate) fn read_symbols(&self, rank: u32, out: &mut Vec<SymbolId>) {
        out.clear();
        self.append_symbols(self.range(rank), out);
    }

    /// Appends the symbols of a range. What is damaged is left out.
    #[inline]
    pub(crate) fn append_symbols(&self, (start, len): (usize, usize), out: &mut Vec<SymbolId>) {
        let n_below = self.index.n_below;
        let end = n_below + self.index.n_texts;
        let before = out.len();
        let mut largest = 0;
        let mut id = |number: u32| {
            largest = number.max(largest);
            id_of(number, n_below)
        };
        let bytes = self.index.symbol_bytes;
        let bytes = self
            .symbols
            .slice(start.saturating_mul(bytes), len.saturating_mul(bytes));
        match self.index.symbol_bytes {
            2 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&two| id(u16::from_le_bytes(two).into())),
            ),
            3 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&[a, b, c]| id(u32::from_le_bytes([a, b, c, 0]))),
            ),
            _ => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&four| id(u32::from_le_bytes(four))),
            ),
        }
        if largest >= end && out.len() > before {
            // Only a file that was written so has numbers out of bounds.
            self.symbols.raise_damage();
            out.truncate(before);
        }
    }

    /// Returns the patterns of a class that hold a symbol.
    pub(crate) fn held(&self, class: &Class, id: SymbolId) -> Option<RankList<'a>> {
        let number = self.number(id)?;
        let key = self.held.find(class.held, number)?;
        Some(self.held.list(key, self.rank_bytes, class.held_shape))
    }

    /// Returns patterns of a class among which are all that begin with a symbol, and whether they are no others.
    pub(crate) fn first(&self, class: &Class, id: SymbolId) -> Option<(RankList<'a>, bool)> {
        let held = self.held(class, id)?;
        if held.len() <= LONGEST_UNSIGNED_LIST {
            // Where few hold it, those that begin with it are not listed.
            return Some((held, false));
        }
        let key = self.first.find(class.first, self.number(id)?)?;
        Some((self.first.list(key, self.rank_bytes, None), true))
    }

    /// Keeps those of some patterns that begin with a symbol.
    pub(crate) fn retain_beginning(&self, ranks: &mut Vec<u32>, id: SymbolId) {
        let mut first = Vec::new();
        ranks.retain(|&rank| {
            let (start, len) = self.range(rank);
            first.clear();
            self.append_symbols((start, len.min(1)), &mut first);
            first == [id]
        });
    }

    /// Says that [`pair`](Self::pair)s of a class that begin with a symbol will soon be looked up.
    pub(crate) fn will_look_up_pairs(&self, class: &Class, first: SymbolId) {
        let key = self.number(first);
        if let Some(key) = key.and_then(|key| self.pair_keys.find(class.pairs, key)) {
            let (start, len) = self.pair_keys.range(key);
            self.pairs.will_find([start, start.saturating_add(len)]);
        }
    }

    /// Returns the patterns of a class that have two symbols as neighbours, of which both are held by as many
    /// that their pairs are listed; `None` if there are none.
    pub(crate) fn pair(
        &self,
        class: &Class,
        first: SymbolId,
        second: SymbolId,
    ) -> Option<RankList<'a>> {
        let (a, b) = (self.number(first)?, self.number(second)?);
        let (start, len) = self.pair_keys.range(self.pair_keys.find(class.pairs, a)?);
        let part = [start, start.saturating_add(len)];
        let follower = self.pairs.find(part, b)?;
        Some(self.pairs.list(follower, self.rank_bytes, class.pair_shape))
    }

    /// Returns the number that stands for a symbol in the columns; `None` if it is not one of the node's.
    pub(crate) fn number(&self, id: SymbolId) -> Option<u32> {
        number_of(id, self.index.n_below, self.index.n_texts)
    }
}

fn name_at(names: View<'_>, rank: u32) -> PatternName {
    PatternName::from_bytes(names.array(rank as usize * PatternName::BYTES))
}

fn rank_of(names: View<'_>, n_names: u32, name: &PatternName) -> Option<u32> {
    let n_names = n_names as usize;
    let leading = |rank: usize| name_at(names, rank as u32).leading_u64();
    let first = lower_bound(0, n_names, name.leading_u64(), leading);
    rank_from(names, first, n_names, name)
}

/// Finds a name from the rank on that is the first with its leading bytes, or with larger ones.
fn rank_from(names: View<'_>, first: usize, n_names: usize, name: &PatternName) -> Option<u32> {
    // Nearly always one name has these leading bytes.
    for rank in first..n_names {
        let held = name_at(names, rank as u32);
        if held == *name {
            return Some(rank as u32);
        }
        // Damage reads as zeros, which would go on to the end.
        if held > *name || held.leading_u64() != name.leading_u64() {
            return None;
        }
    }
    None
}

/// Finds a rank in a column of ascending ones.
fn find_rank(column: &CheckedBytes, ranks: View<'_>, rank: u32) -> Option<usize> {
    let n_ranks = column.len() / 4;
    let get = |idx: usize| u64::from(ranks.u32(idx));
    let idx = lower_bound(0, n_ranks, u64::from(rank), get);
    (idx < n_ranks && ranks.u32(idx) == rank).then_some(idx)
}

#[cfg(test)]
mod tests;
