//! The buckets of symbols in which postings are counted and collected before they are sorted.

use std::ops::Range;

/// Binary digits of the number of buckets of a class, at most where not every symbol has its own.
const BUCKETS_LOG2: u32 = 12;

/// Bytes of memory for sorting for each bucket of those classes in which every symbol has its own.
const BYTES_A_BUCKET: usize = 1 << 10;

/// A class of patterns, as its postings are collected.
#[derive(Debug, Clone)]
pub(super) struct PostingClass {
    /// The place of the class in the order of the lists.
    pub(super) place: usize,
    /// The length of the patterns, where they have one.
    pub(super) length: Option<usize>,
    /// Its buckets among those of all classes.
    pub(super) buckets: Range<usize>,
    /// The shift that makes a bucket's number of a symbol's: 0 where every symbol has its own.
    pub(super) shift: u32,
}

impl PostingClass {
    /// Divides the postings of classes into buckets. `classes` come in the order of their lists, each with its
    /// number, its length and its patterns; they are returned by number.
    ///
    /// Where a class has more patterns than there are symbols, each of these has its own bucket, as long as there
    /// is memory for so many: what is collected there needs no sorting by symbol.
    pub(super) fn divide(
        classes: impl ExactSizeIterator<Item = (u16, Option<usize>, u64)>,
        n_numbers: u64,
        sort_bytes: usize,
    ) -> Vec<Self> {
        let empty = Self {
            place: 0,
            length: None,
            buckets: 0..0,
            shift: 0,
        };
        let mut divided = vec![empty; classes.len()];
        let bits = u64::BITS - n_numbers.saturating_sub(1).leading_zeros();
        let (mut end, mut n_own) = (0, 0);
        for (place, (number, length, n_patterns)) in classes.enumerate() {
            let n_symbols = usize::try_from(n_numbers).unwrap_or(usize::MAX);
            let all = n_symbols.saturating_add(n_own);
            let are_own = n_patterns >= n_numbers && all <= sort_bytes / BYTES_A_BUCKET;
            let shift = match are_own {
                true => 0,
                false => bits.saturating_sub(BUCKETS_LOG2),
            };
            let start = end;
            end += match are_own {
                true => {
                    n_own = all;
                    n_symbols
                }
                false => 1 << bits.min(BUCKETS_LOG2),
            };
            divided[usize::from(number)] = Self {
                place,
                length,
                buckets: start..end,
                shift,
            };
        }
        divided
    }
}
