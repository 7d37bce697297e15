//! How each sampler puts the items of an epoch in order.

use super::plan::EpochPlan;
use super::settings::{Bucketed, TokenBudget};
use crate::draw::{Purpose, shuffle, stream};

/// Cuts the items in their order.
pub(super) fn in_order(n_items: usize, batch_size: usize) -> EpochPlan {
    let items: Vec<usize> = (0..n_items).collect();
    EpochPlan::from_batches(items.chunks(batch_size), n_items)
}

/// Shuffles all items, then cuts.
pub(super) fn shuffled(
    n_items: usize,
    batch_size: usize,
    drop_last: bool,
    seed: u64,
    epoch: u64,
) -> EpochPlan {
    let mut items: Vec<usize> = (0..n_items).collect();
    shuffle(&mut items, &mut stream(seed, Purpose::Shuffle, &[epoch]));
    EpochPlan::from_batches(cut(&items, batch_size, drop_last), n_items)
}

/// Shuffles and cuts inside each bucket, then shuffles the batches.
pub(super) fn bucketed(
    settings: Bucketed,
    lengths: &[u32],
    edges: &[u32],
    seed: u64,
    epoch: u64,
) -> EpochPlan {
    let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (item, length) in lengths.iter().enumerate() {
        // The last edge is the greatest length, so every item has a bucket.
        buckets[edges.partition_point(|edge| edge < length)].push(item);
    }
    for (index, bucket) in buckets.iter_mut().enumerate() {
        shuffle(
            bucket,
            &mut stream(seed, Purpose::Shuffle, &[epoch, index as u64]),
        );
    }
    let mut batches: Vec<&[usize]> = buckets
        .iter()
        .flat_map(|bucket| cut(bucket, settings.batch_size, settings.drop_last))
        .collect();
    shuffle(
        &mut batches,
        &mut stream(seed, Purpose::BatchOrder, &[epoch]),
    );
    EpochPlan::from_batches(batches, lengths.len())
}

/// Returns the greatest length of each bucket: the quantiles of the lengths, equal ones once.
pub(super) fn bucket_edges(lengths: &[u32], n_buckets: usize) -> Vec<u32> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    // More quantiles than items say nothing more, and must not cost memory.
    let n_buckets = n_buckets.min(sorted.len());
    let mut edges: Vec<u32> = (1..=n_buckets)
        .map(|k| {
            let rank = (k as u128 * sorted.len() as u128).div_ceil(n_buckets as u128);
            sorted[rank as usize - 1]
        })
        .collect();
    edges.dedup();
    edges
}

/// Packs items in order of length under the budget, then shuffles the batches.
///
/// No item may be longer than the budget.
pub(super) fn token_budget(
    settings: TokenBudget,
    lengths: &[u32],
    seed: u64,
    epoch: u64,
) -> EpochPlan {
    let mut items: Vec<usize> = (0..lengths.len()).collect();
    shuffle(&mut items, &mut stream(seed, Purpose::Shuffle, &[epoch]));
    // A stable sort leaves items of one length shuffled, so that batches differ between epochs.
    items.sort_by_key(|item| lengths[*item]);
    let mut batches: Vec<&[usize]> = Vec::new();
    let mut begin = 0;
    for (end, item) in items.iter().enumerate() {
        // In this order the item at hand is the longest, so the rectangle is size × length.
        let size = end - begin + 1;
        let n_tokens = size.saturating_mul(lengths[*item] as usize);
        if size > settings.max_items || n_tokens > settings.max_tokens {
            batches.push(&items[begin..end]);
            begin = end;
        }
    }
    batches.push(&items[begin..]);
    shuffle(
        &mut batches,
        &mut stream(seed, Purpose::BatchOrder, &[epoch]),
    );
    EpochPlan::from_batches(batches, lengths.len())
}

/// Cuts items into batches of one size, the rest left out or as the last batch.
fn cut(items: &[usize], batch_size: usize, drop_last: bool) -> impl Iterator<Item = &[usize]> {
    items
        .chunks(batch_size)
        .filter(move |batch| !drop_last || batch.len() == batch_size)
}
