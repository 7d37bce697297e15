//! Lists of ranks, and walking them in order.

use std::ops::Range;

use super::packed::{BLOCK_RANKS, PackedRanks};
use super::signature::{LONGEST_UNSIGNED_LIST, SignatureShape};
use crate::search::TieOrder;
use kato_columns::View;

/// Number of ranks that are checked and read together: whole blocks.
const WINDOW: usize = 8 * BLOCK_RANKS;

/// Number of ranks of a list that are asked for ahead: most walks end within.
const AHEAD: usize = 4 * WINDOW;

/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 4;

/// An ascending list of ranks, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankList<'a> {
    column: View<'a>,
    ranks: PackedRanks<'a>,
    shape: Option<SignatureShape>,
    /// The places that belong to the part.
    start: usize,
    len: usize,
}

/// Ranks of a list in a row, and the signatures beside them.
#[derive(Debug, Default)]
pub(crate) struct Window<'a> {
    /// They ascend in any order of walking.
    pub(crate) ranks: Vec<u32>,
    /// As many, if the list has some.
    pub(crate) signatures: &'a [[u8; SIGNATURE_BYTES]],
}

impl<'a> RankList<'a> {
    /// Reads the list that lies in a range of bytes of a column.
    pub(super) fn new(
        column: View<'a>,
        range: (usize, usize),
        rank_bytes: usize,
        shape: Option<SignatureShape>,
    ) -> Self {
        let signature_bytes = shape.map_or(0, |_| SIGNATURE_BYTES);
        let ranks = PackedRanks::new(column, range, rank_bytes, signature_bytes);
        Self {
            column,
            ranks,
            shape: shape.filter(|_| ranks.len() > LONGEST_UNSIGNED_LIST),
            start: 0,
            len: ranks.len(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of ranks of the list that this is a part of.
    pub(crate) const fn len_of_whole(&self) -> usize {
        self.ranks.len()
    }

    /// Returns how the signatures are laid out; `None` if there are none.
    pub(crate) const fn shape(&self) -> Option<SignatureShape> {
        self.shape
    }

    /// Replaces `window` by the ranks behind so many others in an order, some hundred at most. Empty at the
    /// end, and where they are damaged.
    pub(crate) fn read_window(&self, n_before: usize, ties: TieOrder, window: &mut Window<'a>) {
        let n_left = self.len.saturating_sub(n_before);
        let end = self.start + self.len;
        // They end where a block does, so that none is read twice.
        let places = match ties {
            TieOrder::Ascending => {
                let first = end - n_left;
                first..end.min((first / WINDOW + 1) * WINDOW)
            }
            TieOrder::Descending => {
                let end = self.start + n_left;
                self.start.max(end.saturating_sub(1) / WINDOW * WINDOW)..end
            }
        };
        self.ranks.read(places.clone(), &mut window.ranks);
        if self.shape.is_some() {
            let at = self.ranks.signatures() + places.start * SIGNATURE_BYTES;
            let signatures = self.column.slice(at, places.len() * SIGNATURE_BYTES);
            window.signatures = signatures.as_chunks().0;
            if window.signatures.len() < window.ranks.len() {
                // What is damaged is not there.
                window.ranks.clear();
            }
        }
    }

    /// Says that the list will soon be walked in an order.
    pub(crate) fn will_walk(&self, ties: TieOrder) {
        let n_ahead = self.len.min(AHEAD);
        let first = match ties {
            TieOrder::Ascending => self.start,
            TieOrder::Descending => self.start + self.len - n_ahead,
        };
        self.ranks.will_read(first..first + n_ahead);
        if self.shape.is_some() {
            let at = self.ranks.signatures() + first * SIGNATURE_BYTES;
            self.column.will_read([(at, n_ahead * SIGNATURE_BYTES)]);
        }
    }

    /// Returns the part of the list whose ranks lie in a range.
    pub(crate) fn within(self, range: &Range<u32>) -> Self {
        let end = self.start + self.len;
        let mut block = Vec::new();
        let mut find = |rank: u32| {
            let place = self.ranks.block_place(self.start..end, rank);
            self.ranks.read(place..self.end_of_block(place), &mut block);
            place + block.partition_point(|&held| held < rank)
        };
        // The first part begins with the list.
        let first = if range.start == 0 {
            self.start
        } else {
            find(range.start)
        };
        Self {
            start: first,
            len: find(range.end).saturating_sub(first),
            ..self
        }
    }

    /// Returns where the block of a place ends.
    fn end_of_block(&self, place: usize) -> usize {
        (self.start + self.len).min((place / BLOCK_RANKS + 1) * BLOCK_RANKS)
    }

    /// Walks along the list.
    pub(crate) fn cursor(self) -> ListCursor<'a> {
        let mut cursor = ListCursor {
            list: self,
            block: Vec::new(),
            at: 0,
            next: self.start,
        };
        cursor.read_block(self.start);
        cursor
    }

    /// Returns all ranks in an order.
    pub(crate) fn iter(self, ties: TieOrder) -> impl Iterator<Item = u32> + use<'a> {
        let mut window = Window::default();
        let (mut n_before, mut at) = (0, 0);
        std::iter::from_fn(move || {
            if at == window.ranks.len() {
                n_before += at;
                at = 0;
                self.read_window(n_before, ties, &mut window);
            }
            let place = match ties {
                TieOrder::Ascending => at,
                TieOrder::Descending => window.ranks.len().checked_sub(at + 1)?,
            };
            at += 1;
            window.ranks.get(place).copied()
        })
    }
}

/// A walk along a list of ranks.
#[derive(Debug, Clone)]
pub(crate) struct ListCursor<'a> {
    list: RankList<'a>,
    /// What was read, and the place in it.
    block: Vec<u32>,
    at: usize,
    /// Place in the list of what follows.
    next: usize,
}

impl ListCursor<'_> {
    /// Returns the rank that the walk stands at; `None` at the end.
    #[inline]
    pub(crate) fn current(&self) -> Option<u32> {
        self.block.get(self.at).copied()
    }

    /// Moves to the first rank that is not before another one.
    #[inline]
    pub(crate) fn seek(&mut self, rank: u32) {
        if self.current().is_none_or(|current| current >= rank) {
            return;
        }
        if self.block.last().is_some_and(|&last| last < rank) {
            let left = self.next..self.list.start + self.list.len;
            self.read_block(self.list.ranks.block_place(left, rank));
        }
        self.at += self.block[self.at..].partition_point(|&held| held < rank);
        if self.at == self.block.len() {
            self.read_block(self.next);
        }
    }

    /// Reads the ranks from a place to the end of its block.
    #[cold]
    fn read_block(&mut self, place: usize) {
        self.next = self.list.end_of_block(place);
        self.at = 0;
        // Damage leaves nothing to read: the walk ends there.
        self.list.ranks.read(place..self.next, &mut self.block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frozen::packed::{pack, rank_bytes};
    use crate::frozen::{DamageWatch, checked};

    impl RankList<'static> {
        /// Makes a list of its own, which lives as long as the process.
        pub(crate) fn of_ranks(ranks: &[u32]) -> Self {
            let mut bytes = Vec::new();
            let rank_bytes = rank_bytes(ranks.last().map_or(0, |&last| u64::from(last) + 1));
            pack(ranks, rank_bytes, std::iter::empty(), &mut bytes);
            let n_bytes = bytes.len();
            let damage = DamageWatch::default();
            let column = Box::leak(Box::new(checked(bytes, &damage)));
            let list = Self::new(column.view(), (0, n_bytes), rank_bytes, None);
            assert!(!damage.is_found());
            list
        }
    }

    /// Reads so many bytes as a list; returns how many ranks it has, or `None` where it is damaged.
    fn n_read(bytes: &[u8], len: usize) -> Option<usize> {
        let damage = DamageWatch::default();
        let column = checked(bytes.to_vec(), &damage);
        let list = RankList::new(column.view(), (0, len), 2, None);
        (!damage.is_found()).then_some(list.len())
    }

    #[test]
    fn a_list_that_is_not_as_long_as_it_says_or_says_what_none_does_is_damaged() {
        let ranks: Vec<u32> = (0..100).map(|n| n * n).collect();
        let mut bytes = Vec::new();
        pack(&ranks, 2, std::iter::empty(), &mut bytes);
        let len = bytes.len();
        bytes.resize(1_000, 0);
        let whole = (50..bytes.len()).filter_map(|len| Some((len, n_read(&bytes, len)?)));
        assert_eq!(whole.collect::<Vec<_>>(), [(len, ranks.len())]);
        // Gaps of more bits than a rank has, and ranks that are few enough to be told by the length.
        for head in [[100, 33], [1, 0]] {
            bytes[..2].copy_from_slice(&head);
            assert!((50..bytes.len()).all(|len| n_read(&bytes, len).is_none()));
        }
    }

    proptest::proptest! {
        #[test]
        fn what_was_packed_is_read_in_any_order_from_any_place(
            gaps in proptest::collection::vec(
                proptest::prop_oneof![9 => 1..9_u32, 1 => 1..1_000_000_u32],
                0..2_500,
            ),
            sought in proptest::collection::vec(0..40_000_000_u32, 0..20),
        ) {
            let ends = gaps.iter().scan(0, |end, gap| {
                *end += gap;
                Some(*end - 1)
            });
            let ranks: Vec<u32> = ends.collect();
            let list = RankList::of_ranks(&ranks);
            assert_eq!(list.len(), ranks.len());
            assert!(list.iter(TieOrder::Ascending).eq(ranks.iter().copied()));
            assert!(list.iter(TieOrder::Descending).eq(ranks.iter().rev().copied()));
            let mut sought = sought;
            sought.extend(ranks.iter().step_by(97));
            sought.sort_unstable();
            let mut cursor = list.cursor();
            for &rank in &sought {
                cursor.seek(rank);
                let expected = ranks.iter().copied().find(|&held| held >= rank);
                assert_eq!(cursor.current(), expected);
                let end = rank.saturating_add(5_000);
                let part = ranks.iter().copied().filter(|held| (rank..end).contains(held));
                assert!(list.within(&(rank..end)).iter(TieOrder::Ascending).eq(part));
            }
        }
    }
}
