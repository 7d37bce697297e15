//! Divides sequences among batches: put in order, cut under the budget, shuffled by seed.

use crate::options::{BudgetMeasure, SequenceOrder, Shape};

/// The sequences of one batch, as positions in the list of lengths.
pub(crate) type Cut = Vec<usize>;

/// Divides sequences, given by their lengths, among batches. A sequence above the budget gets a
/// batch of its own.
///
/// `first_document` tells windows apart, so that each is shuffled in its own way.
pub(crate) fn cut(lengths: &[usize], shape: &Shape, first_document: u64) -> Vec<Cut> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    if shape.order == SequenceOrder::ByLength {
        // A stable sort: sequences of one length stay in the order of their documents, so the cut
        // is a function of the lengths alone.
        order.sort_by_key(|&at| lengths[at]);
    }
    let max_sequences = shape.max_sequences();
    let mut cuts: Vec<Cut> = Vec::new();
    let mut batch = Cut::new();
    let (mut longest, mut sum) = (0, 0);
    for at in order {
        let len = lengths[at];
        let cost = match shape.budget {
            // The rectangle that the batch would take with this sequence in it.
            BudgetMeasure::Padded => len.max(longest).saturating_mul(batch.len() + 1),
            BudgetMeasure::Exact => len.saturating_add(sum),
        };
        // The sequence that would not fit begins the next batch, also where it alone is above the
        // budget: that batch then ends with it.
        let is_full = cost > shape.max_tokens() || batch.len() >= max_sequences;
        if is_full && !batch.is_empty() {
            cuts.push(std::mem::take(&mut batch));
            (longest, sum) = (0, 0);
        }
        batch.push(at);
        longest = longest.max(len);
        sum += len;
    }
    if !batch.is_empty() {
        cuts.push(batch);
    }
    if let Some(seed) = shape.shuffle {
        shuffle(&mut cuts, seed, first_document);
    }
    cuts
}

/// Shuffles batches by a permutation that depends on seed, window and number only, on every
/// platform: Fisher–Yates with draws from BLAKE3.
fn shuffle(cuts: &mut [Cut], seed: u64, first_document: u64) {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&first_document.to_le_bytes());
    let mut draws = hasher.finalize_xof();
    for last in (1..cuts.len()).rev() {
        let mut draw = [0; 8];
        draws.fill(&mut draw);
        // The high half of draw times range lies within the range: uniform up to 2⁻⁶⁴ of it,
        // without a division.
        let product = u128::from(u64::from_le_bytes(draw)) * (last as u128 + 1);
        let chosen = usize::try_from(product >> 64).unwrap_or(last);
        cuts.swap(chosen, last);
    }
}
