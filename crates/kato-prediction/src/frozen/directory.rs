//! Directories: what belongs to numbers.

use super::columns::{OffsetView, Offsets, lower_bound};
use super::layout::LayoutError;
use super::lists::RankList;
use super::signature::SignatureShape;
use kato_columns::{CheckedBytes, View};

/// Keys of a part that are asked for ahead of looking for some of them, at most: of more, few are read.
const AHEAD_KEYS: usize = 1 << 15;

/// A directory by number: of lists of ranks, or of the keys of another directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    keys: CheckedBytes,
    offsets: Offsets,
    content: CheckedBytes,
}

impl Directory {
    /// Returns the bytes of memory beside those of the columns.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.offsets.heap_bytes() + self.content.heap_bytes()
    }

    pub(super) fn new(
        keys: CheckedBytes,
        starts: CheckedBytes,
        bases: CheckedBytes,
        content: CheckedBytes,
    ) -> Result<Self, LayoutError> {
        if !keys.len().is_multiple_of(4) {
            return Err(LayoutError("a directory ends within a number"));
        }
        let n_keys = keys.len() / 4;
        Ok(Self {
            offsets: Offsets::new(starts, bases, n_keys)?,
            keys,
            content,
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
            content: self.content.view(),
        }
    }
}

/// A directory to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryView<'a> {
    keys: View<'a>,
    offsets: OffsetView<'a>,
    content: View<'a>,
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

    /// Returns the list of a key's place, with signatures of this shape.
    pub(super) fn list(self, idx: usize, shape: Option<SignatureShape>) -> RankList<'a> {
        RankList::new(self.content, self.offsets.range(idx), shape)
    }
}
