//! Lists of ranks, and walking them in order.

use std::ops::Range;

use super::columns::{OffsetView, Offsets, lower_bound};
use super::layout::LayoutError;
use super::signature::SignatureShape;
use crate::search::TieOrder;
use kato_columns::{CheckedBytes, View};

/// Number of ranks that are checked and read together.
const WINDOW: usize = 1024;

/// Number of ranks of a list that are asked for ahead: most walks end within.
const AHEAD: usize = 4 * WINDOW;

/// Keys of a part that are asked for ahead of looking for some of them, at most: of more, few are read.
const AHEAD_KEYS: usize = 1 << 15;

/// A directory of lists of ranks by number.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    keys: CheckedBytes,
    offsets: Offsets,
    ranks: CheckedBytes,
}

impl Directory {
    /// Returns the bytes of memory beside those of the columns.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.offsets.heap_bytes() + self.ranks.heap_bytes()
    }

    pub(super) fn new(
        keys: CheckedBytes,
        starts: CheckedBytes,
        bases: CheckedBytes,
        ranks: CheckedBytes,
    ) -> Result<Self, LayoutError> {
        if !keys.len().is_multiple_of(4) || !ranks.len().is_multiple_of(4) {
            return Err(LayoutError("a list ends within a number"));
        }
        let n_keys = keys.len() / 4;
        Ok(Self {
            offsets: Offsets::new(starts, bases, n_keys)?,
            keys,
            ranks,
        })
    }

    /// Returns the number of keys.
    pub(super) fn n_keys(&self) -> usize {
        self.keys.len() / 4
    }

    pub(super) fn view(&self) -> DirectoryView<'_> {
        DirectoryView {
            keys: self.keys.view(),
            offsets: self.offsets.view(),
            ranks: self.ranks.view(),
        }
    }
}

/// A directory to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryView<'a> {
    keys: View<'a>,
    offsets: OffsetView<'a>,
    ranks: View<'a>,
}

impl<'a> DirectoryView<'a> {
    /// Says that keys will soon be found in a part of them, and lists read.
    pub(super) fn will_find(self, part: [usize; 2]) {
        let n_keys = part[1].saturating_sub(part[0]);
        if n_keys <= AHEAD_KEYS {
            self.keys
                .will_read([(part[0].saturating_mul(4), n_keys * 4)]);
            self.offsets.will_read_row(part);
        }
    }

    /// Finds the place of a key in a part of the keys.
    pub(super) fn find(self, part: [usize; 2], key: u32) -> Option<usize> {
        let get = |idx: usize| u64::from(self.keys.u32(idx));
        let idx = lower_bound(part[0], part[1], u64::from(key), get);
        (idx < part[1] && self.keys.u32(idx) == key).then_some(idx)
    }

    /// Returns where what belongs to a key begins, and how much it is.
    pub(super) fn range(self, idx: usize) -> (usize, usize) {
        self.offsets.range(idx)
    }

    /// Returns the list of a key's place.
    pub(super) fn list(self, idx: usize) -> RankList<'a> {
        let (start, len) = self.offsets.range(idx);
        RankList {
            ranks: self.ranks,
            start,
            len,
            signatures: None,
        }
    }
}

/// An ascending list of ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankList<'a> {
    ranks: View<'a>,
    start: usize,
    len: usize,
    signatures: Option<Signatures<'a>>,
}

/// The signatures beside a list of ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signatures<'a> {
    pub(super) column: View<'a>,
    pub(super) start: usize,
    pub(super) shape: SignatureShape,
}

impl<'a> RankList<'a> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns where the list begins in its column.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Adds the signatures, if there are some.
    pub(super) fn signed(self, signatures: Option<Signatures<'a>>) -> Self {
        Self { signatures, ..self }
    }

    /// Returns how the signatures are laid out; `None` if there are none.
    pub(crate) fn shape(&self) -> Option<SignatureShape> {
        Some(self.signatures?.shape)
    }

    /// Returns ranks behind so many others in an order, some hundred at most, and the signatures beside
    /// them, if there are any. They ascend in any order. Empty at the end, and where they are damaged.
    pub(crate) fn window(
        &self,
        n_before: usize,
        ties: TieOrder,
    ) -> (&'a [[u8; 4]], Option<&'a [[u8; 4]]>) {
        let n_left = self.len.saturating_sub(n_before);
        let n_ranks = n_left.min(WINDOW);
        let at = match ties {
            TieOrder::Ascending => n_before,
            TieOrder::Descending => n_left - n_ranks,
        };
        let read = |column: View<'a>, start: usize| {
            let at = start.saturating_add(at).saturating_mul(4);
            column.slice(at, n_ranks * 4).as_chunks().0
        };
        let ranks = read(self.ranks, self.start);
        let signatures = self.signatures.map(|of| read(of.column, of.start));
        match signatures {
            // What is damaged is not there.
            Some(signatures) if signatures.len() < ranks.len() => (&[], Some(&[])),
            signatures => (ranks, signatures),
        }
    }

    /// Says that the list will soon be walked in an order.
    pub(crate) fn will_walk(&self, ties: TieOrder) {
        let n_ahead = self.len.min(AHEAD);
        let skipped = match ties {
            TieOrder::Ascending => 0,
            TieOrder::Descending => self.len - n_ahead,
        };
        let part = |start: usize| {
            let start = start.saturating_add(skipped);
            (start.saturating_mul(4), n_ahead * 4)
        };
        self.ranks.will_read([part(self.start)]);
        if let Some(of) = self.signatures {
            of.column.will_read([part(of.start)]);
        }
    }

    /// Returns the part of the list whose ranks lie in a range.
    pub(crate) fn within(self, range: &Range<u32>) -> Self {
        let get = |idx: usize| u64::from(self.ranks.u32(self.start.saturating_add(idx)));
        let find = |rank: u32| match rank {
            // The first and the last part begin and end with the list.
            0 => 0,
            _ => lower_bound(0, self.len, u64::from(rank), get),
        };
        let start = find(range.start);
        let is_whole = self.len == 0 || get(self.len - 1) < u64::from(range.end);
        let end = if is_whole { self.len } else { find(range.end) };
        Self {
            start: self.start + start,
            len: end.saturating_sub(start),
            signatures: self.signatures.map(|of| Signatures {
                start: of.start.saturating_add(start),
                ..of
            }),
            ..self
        }
    }

    /// Walks along the list.
    pub(crate) fn cursor(self) -> ListCursor<'a> {
        let mut cursor = ListCursor {
            list: self,
            window: &[],
            next: 0,
            current: None,
        };
        cursor.advance();
        cursor
    }

    /// Returns all ranks in an order.
    pub(crate) fn iter(self, ties: TieOrder) -> impl Iterator<Item = u32> + use<'a> {
        let mut n_read = 0;
        let nothing: &'a [[u8; 4]] = &[];
        let mut window = ties.walk(nothing.iter());
        std::iter::from_fn(move || {
            let next = window.next().or_else(|| {
                let (ranks, _) = self.window(n_read, ties);
                n_read += ranks.len();
                window = ties.walk(ranks.iter());
                window.next()
            });
            next.map(|&rank| u32::from_le_bytes(rank))
        })
    }
}

/// A walk along a list of ranks.
#[derive(Debug, Clone)]
pub(crate) struct ListCursor<'a> {
    list: RankList<'a>,
    /// What was read and not yet passed, 4 bytes a rank.
    window: &'a [[u8; 4]],
    /// Place in the list of what follows the window.
    next: usize,
    current: Option<u32>,
}

impl ListCursor<'_> {
    /// Returns the rank that the walk stands at; `None` at the end.
    #[inline]
    pub(crate) fn current(&self) -> Option<u32> {
        self.current
    }

    /// Moves to the next rank.
    #[inline]
    pub(crate) fn advance(&mut self) {
        if let Some((first, rest)) = self.window.split_first() {
            self.current = Some(u32::from_le_bytes(*first));
            self.window = rest;
            return;
        }
        self.refill();
    }

    /// Moves to the first rank that is not before another one.
    #[inline]
    pub(crate) fn seek(&mut self, rank: u32) {
        if self.current.is_none_or(|current| current >= rank) {
            return;
        }
        let is_before = |held: &[u8; 4]| u32::from_le_bytes(*held) < rank;
        if self.window.last().is_none_or(is_before) {
            self.skip_windows(rank);
        }
        let n_before = self.window.partition_point(is_before);
        self.window = &self.window[n_before..];
        self.advance();
    }

    /// Leaves the window for the place where ranks that are not before another one begin.
    fn skip_windows(&mut self, rank: u32) {
        let get = |idx: usize| self.list.ranks.u32(self.list.start.saturating_add(idx));
        // Doubling steps, as the place is near where many ranks are sought one after another.
        let (mut lo, mut step) = (self.next, 64);
        let mut hi = lo;
        while hi < self.list.len && get(hi) < rank {
            lo = hi + 1;
            hi = lo.saturating_add(step);
            step *= 2;
        }
        hi = hi.min(self.list.len);
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if get(middle) < rank {
                lo = middle + 1;
            } else {
                hi = middle;
            }
        }
        self.next = lo;
        self.window = &[];
    }

    /// Reads the next ranks of the list.
    #[cold]
    fn refill(&mut self) {
        let n_ranks = (self.list.len - self.next).min(WINDOW);
        let at = self.list.start.saturating_add(self.next).saturating_mul(4);
        let bytes = self.list.ranks.slice(at, n_ranks * 4);
        let (ranks, _) = bytes.as_chunks();
        // Damage leaves nothing to read: the list ends there.
        self.next = if ranks.is_empty() {
            self.list.len
        } else {
            self.next + ranks.len()
        };
        match ranks.split_first() {
            Some((first, rest)) => {
                self.current = Some(u32::from_le_bytes(*first));
                self.window = rest;
            }
            None => self.current = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frozen::Damage;

    /// Makes a column of ranks.
    fn column(ranks: &[u32], damage: Damage) -> CheckedBytes {
        let bytes: Vec<u8> = ranks.iter().flat_map(|rank| rank.to_le_bytes()).collect();
        let blocks = bytes.chunks(crate::frozen::BLOCK_BYTES);
        let checksums = blocks.map(crc32fast::hash).collect();
        CheckedBytes::new(Arc::new(bytes), checksums, damage).unwrap()
    }

    impl<'a> RankList<'a> {
        /// Makes a list of all ranks of a column.
        fn of_column(column: &'a CheckedBytes) -> Self {
            Self {
                ranks: column.view(),
                start: 0,
                len: column.len() / 4,
                signatures: None,
            }
        }
    }

    impl RankList<'static> {
        /// Makes a list of its own, which lives as long as the process.
        pub(crate) fn of_ranks(ranks: &[u32]) -> Self {
            let column = column(ranks, Damage::default());
            Self::of_column(Box::leak(Box::new(column)))
        }
    }

    #[test]
    fn seeking_finds_what_advancing_finds() {
        let ranks: Vec<u32> = (0..5_000).map(|n| n * 3 + n / 7).collect();
        let damage = Damage::default();
        let column = column(&ranks, damage.clone());
        let list = RankList::of_column(&column);
        assert_eq!(list.iter(TieOrder::Ascending).collect::<Vec<_>>(), ranks);
        let backwards: Vec<u32> = ranks.iter().rev().copied().collect();
        assert_eq!(
            list.iter(TieOrder::Descending).collect::<Vec<_>>(),
            backwards
        );
        for step in [1, 2, 5, 100, 4_000, 20_000] {
            let mut cursor = list.cursor();
            for wanted in (0..20_000).step_by(step) {
                cursor.seek(wanted);
                let expected = ranks.iter().find(|&&rank| rank >= wanted).copied();
                assert_eq!(cursor.current(), expected, "{step} {wanted}");
            }
        }
        let part = list.within(&(100..9_000));
        let expected: Vec<u32> = ranks
            .iter()
            .copied()
            .filter(|r| (100..9_000).contains(r))
            .collect();
        assert_eq!(part.iter(TieOrder::Ascending).collect::<Vec<_>>(), expected);
        assert!(!damage.is_found());
    }
}
