//! Sorting the postings of a round, bucket by bucket.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::BuildOptions;
use super::lists::ListKind;
use super::posting::Posting;
use super::threads::on_threads;
use crate::disk::IndexFileError;

/// Postings from which on a radix sort is quicker than one that compares.
const RADIX_SORTED: usize = 512;

/// The postings of a bucket, where there are any.
pub(super) struct Bucket {
    /// The place of its class.
    pub(super) class: usize,
    /// Where the postings lie, sorted.
    pub(super) range: Range<usize>,
    pub(super) is_of_one_symbol: bool,
}

/// Sorts the postings of buckets, and shortens each to those that are left.
pub(super) fn sort_buckets(
    postings: &mut [Posting],
    buckets: &mut [Bucket],
    kind: ListKind,
    options: &BuildOptions,
) -> Result<(), IndexFileError> {
    let mut unsorted = Vec::with_capacity(buckets.len());
    let mut rest = postings;
    for bucket in buckets {
        let (of_bucket, behind) = take(&mut rest).split_at_mut(bucket.range.len());
        rest = behind;
        unsorted.push((of_bucket, bucket));
    }
    let n_threads = options.threads.get().min(unsorted.len());
    // The buckets differ in size, so each thread takes the next one.
    let unsorted = Mutex::new(unsorted.into_iter());
    let most_beside = AtomicUsize::new(options.sort_bytes / 4 / size_of::<Posting>());
    let take_next = || {
        let mut unsorted = unsorted.lock().unwrap_or_else(PoisonError::into_inner);
        unsorted.next()
    };
    let (take_next, most_beside) = (&take_next, &most_beside);
    let sorting = (0..n_threads).map(|_| {
        move || {
            while let Some((of_bucket, bucket)) = take_next() {
                options.cancel.check()?;
                let is_sorted = bucket.is_of_one_symbol && kind == ListKind::Held;
                if !is_sorted {
                    sort(of_bucket, bucket.is_of_one_symbol, most_beside);
                }
                bucket.range.end = bucket.range.start + join(of_bucket);
            }
            Ok(())
        }
    });
    on_threads(sorting).map(drop)
}

/// Sorts the postings of a bucket, which come by rank. Takes memory for no more than so many beside them.
fn sort(postings: &mut [Posting], are_of_one_symbol: bool, most_beside: &AtomicUsize) {
    let n_postings = postings.len();
    let reserve = |free: usize| free.checked_sub(n_postings);
    let order = Ordering::Relaxed;
    if n_postings >= RADIX_SORTED && most_beside.fetch_update(order, order, reserve).is_ok() {
        // Stable, so that they stay by rank.
        match are_of_one_symbol {
            true => radsort::sort_by_key(postings, |posting| posting.second()),
            false => radsort::sort_by_key(postings, |posting| posting.symbols()),
        }
        most_beside.fetch_add(n_postings, order);
    } else {
        postings.sort_unstable();
    }
}

/// Joins the sorted postings of a pattern, which may hold a symbol several times and counts once; returns how many
/// are left.
fn join(postings: &mut [Posting]) -> usize {
    let is_repeated = |two: &[Posting]| two[0].place() == two[1].place();
    let Some(first) = postings.windows(2).position(is_repeated) else {
        return postings.len();
    };
    let mut n_kept = first + 1;
    for at in first + 1..postings.len() {
        let (posting, last) = (postings[at], postings[n_kept - 1]);
        if last.place() == posting.place() {
            postings[n_kept - 1] = last.joined(posting);
        } else {
            postings[n_kept] = posting;
            n_kept += 1;
        }
    }
    n_kept
}
