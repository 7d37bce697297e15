//! Sums in files.

use std::ops::Range;
use std::sync::OnceLock;

use kato_columns::CheckedBytes;

use super::{BothSums, SUMS_BYTES, of_bytes};
use crate::trie::numbers::Numbers;

/// The ids of contexts, ascending, and of each what [`to_bytes`](super::to_bytes) writes.
#[derive(Debug)]
pub(crate) struct WrittenSums {
    ids: Numbers,
    sums: CheckedBytes,
    places: OnceLock<Places>,
}

impl WrittenSums {
    /// Joins the columns.
    pub(crate) const fn new(ids: Numbers, sums: CheckedBytes) -> Self {
        Self {
            ids,
            sums,
            places: OnceLock::new(),
        }
    }

    pub(super) fn get(&self, context: u32) -> Option<BothSums> {
        let reader = self.ids.read();
        let places = self.places.get_or_init(|| Places::of(&self.ids));
        let range = places.of_id(context, self.ids.len());
        let place = reader.lower_bound(range, context);
        let is_held = place < self.ids.len() && reader.get(place) == context;
        is_held.then(|| of_bytes(self.sums.view().array(place * SUMS_BYTES)))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let places = self
            .places
            .get()
            .map_or(0, |places| places.starts.capacity() * 4);
        self.ids.heap_bytes() + self.sums.heap_bytes() + places
    }
}

/// Ids of which is noted where they lie, at most: they are read for that when the first is looked for.
const MOST_IDS: usize = 1 << 20;

/// Ids for each place that is noted, about.
const IDS_A_PLACE: usize = 4;

/// Where ids lie, by their highest bits, so that few are looked at to find one. What was read of a file that is changed
/// leads to places where an id is not found: its sums are added up then.
#[derive(Debug, Default)]
struct Places {
    shift: u32,
    /// Of the ids that begin with these bits, the first; and the end of all. None where there are too many.
    starts: Vec<u32>,
}

impl Places {
    fn of(ids: &Numbers) -> Self {
        let (len, reader) = (ids.len(), ids.read());
        let Some(last) = len.checked_sub(1).filter(|_| len <= MOST_IDS) else {
            return Self::default();
        };
        let last = reader.get(last);
        let most = (len / IDS_A_PLACE).max(1) as u32;
        let bits = |number: u32| u32::BITS - number.leading_zeros();
        let shift = bits(last).saturating_sub(bits(most));
        let n_starts = (last >> shift) as usize + 1;
        let mut starts = Vec::with_capacity(n_starts + 1);
        for place in 0..len {
            // No more than there is room for, whatever a damaged file says.
            let start = ((reader.get(place) >> shift) as usize).min(n_starts - 1);
            while starts.len() <= start {
                starts.push(place as u32);
            }
        }
        starts.resize(n_starts + 1, len as u32);
        Self { shift, starts }
    }

    /// Returns the places among which an id of so many lies.
    fn of_id(&self, id: u32, len: usize) -> Range<usize> {
        if self.starts.is_empty() {
            return 0..len;
        }
        let at = (id >> self.shift) as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            _ => len..len,
        }
    }
}

#[cfg(test)]
mod tests {
    use kato_columns::DamageWatch;
    use kato_columns::files::ColumnSetWriter;
    use proptest::prelude::*;

    use super::super::{Sums, to_bytes};
    use super::*;

    /// Sums that no other id has.
    fn sums_of(id: u32) -> BothSums {
        let n = u64::from(id);
        let sums = |first: u64| Sums {
            total: (n << 20) + first,
            n: [n, first, first + 1],
        };
        [sums(7), sums(9)]
    }

    /// Writes the sums of ids, ascending, and reads them.
    fn written(ids: &[u32]) -> WrittenSums {
        let dir = tempfile::tempdir().unwrap();
        let mut columns = ColumnSetWriter::new(dir.path());
        let mut column = columns.create("sums").unwrap();
        for &id in ids {
            column.push(&to_bytes(&sums_of(id))).unwrap();
        }
        columns.end("sums", column).unwrap();
        let sums = columns.map("sums", &DamageWatch::default()).unwrap();
        WrittenSums::new(Numbers::Owned(ids.to_vec()), sums)
    }

    proptest! {
        // Each writes a file.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn ids_have_their_own_sums_and_others_have_none(
            ids in prop::collection::btree_set(prop_oneof![0..50u32, 0..3_000u32, any::<u32>()], 0..200),
        ) {
            let ids: Vec<u32> = ids.into_iter().collect();
            let places = Places::of(&Numbers::Owned(ids.clone()));
            prop_assert!(places.starts.len() <= ids.len() + 2);
            let written = written(&ids);
            for &id in &ids {
                prop_assert_eq!(written.get(id), Some(sums_of(id)));
            }
            for id in (0..100).chain([u32::MAX]).filter(|id| !ids.contains(id)) {
                prop_assert_eq!(written.get(id), None);
            }
        }
    }
}
