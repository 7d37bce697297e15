//! Directories: what belongs to numbers.

use super::columns::lower_bound;
use super::layout::LayoutError;
use super::lists::RankList;
use super::numbers::{NumbersView, PackedNumbers};
use super::signature::SignatureShape;
use kato_columns::{CheckedBytes, View};

/// Keys of a part that are asked for ahead of looking for some of them, at most: of more, few are read.
const AHEAD_KEYS: usize = 1 << 15;

/// A directory by number: of lists of ranks, or of the keys of another directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    keys: PackedNumbers,
    offsets: PackedNumbers,
    content: CheckedBytes,
}

impl Directory {
    /// Returns the bytes of memory beside those of the columns.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.offsets.heap_bytes() + self.content.heap_bytes()
    }

    /// Joins the columns of so many keys; one more offset ends the last.
    pub(super) fn new(
        n_keys: usize,
        keys: CheckedBytes,
        starts: CheckedBytes,
        content: CheckedBytes,
    ) -> Result<Self, LayoutError> {
        Ok(Self {
            keys: PackedNumbers::new(keys, n_keys)?,
            offsets: PackedNumbers::new(starts, n_keys.saturating_add(1))?,
            content,
        })
    }

    /// Returns the number of keys.
    pub(super) fn n_keys(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn view(&self) -> DirectoryView<'_> {
        DirectoryView {
            keys: self.keys.view(),
            offsets: self.offsets.view(),
            content: self.content.view(),
        }
    }
}

/// A directory to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryView<'a> {
    keys: NumbersView<'a>,
    offsets: NumbersView<'a>,
    content: View<'a>,
}

impl<'a> DirectoryView<'a> {
    /// Says that keys will soon be found in a part of them, and lists read.
    pub(super) fn will_find(self, part: [usize; 2]) {
        let n_keys = part[1].saturating_sub(part[0]);
        if (1..=AHEAD_KEYS).contains(&n_keys) {
            // Behind the last key is none, but an offset.
            self.keys.will_read_row([part[0], part[1] - 1]);
            self.offsets.will_read_row(part);
        }
    }

    /// Finds the place of a key in a part of the keys.
    pub(super) fn find(self, part: [usize; 2], key: u32) -> Option<usize> {
        let (key, get) = (u64::from(key), |idx: usize| self.keys.get(idx));
        let idx = lower_bound(part[0], part[1], key, get);
        (idx < part[1] && get(idx) == key).then_some(idx)
    }

    /// Returns where what belongs to a key begins, and how much it is.
    pub(super) fn range(self, idx: usize) -> (usize, usize) {
        self.offsets.range(idx)
    }

    /// Returns the list of a key's place, of ranks of so many bytes and with signatures of this shape.
    pub(super) fn list(
        self,
        idx: usize,
        rank_bytes: usize,
        shape: Option<SignatureShape>,
    ) -> RankList<'a> {
        RankList::new(self.content, self.offsets.range(idx), rank_bytes, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frozen::numbers::{BLOCK_NUMBERS, NumberPacker};
    use crate::frozen::{DamageWatch, checked};

    #[test]
    fn the_last_keys_are_looked_for_where_they_fill_a_block() {
        let damage = DamageWatch::default();
        let packed = |n_numbers: usize| {
            let (mut packer, mut bytes) = (NumberPacker::default(), Vec::new());
            (0..n_numbers as u64).for_each(|number| packer.push(number * number, &mut bytes));
            packer.finish(&mut bytes);
            checked(bytes, &damage)
        };
        for n_keys in [1, BLOCK_NUMBERS - 1, BLOCK_NUMBERS, 2 * BLOCK_NUMBERS] {
            let (keys, starts) = (packed(n_keys), packed(n_keys + 1));
            let directory =
                Directory::new(n_keys, keys, starts, checked(Vec::new(), &damage)).unwrap();
            let (view, last) = (directory.view(), n_keys - 1);
            for part in [[0, n_keys], [last, n_keys], [n_keys, n_keys]] {
                view.will_find(part);
            }
            let key = u32::try_from(last * last).unwrap();
            assert_eq!(view.find([0, n_keys], key), Some(last));
            assert!(!damage.is_found(), "{n_keys} keys");
        }
    }
}
