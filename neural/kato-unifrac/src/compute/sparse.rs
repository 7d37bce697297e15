//! Sums over pairs of holders, for branches that few samples hold.

use super::lists::Lists;
use super::rows::{Block, Rows};

/// Adds what the sparse branches of a part add to a block of rows.
pub(super) fn add(lists: &Lists, rows: &Rows, mut block: Block<'_, f64>) {
    lists.for_each_held(rows, block.rows.clone(), |slot, row, place| {
        let list = lists.of_slot(slot);
        let start = rows.first_other(place);
        let others = &list.holders[start..];
        let first = rows.first_column(row);
        let sums = block.row(rows, row);
        if list.weights.is_empty() {
            add_length(sums, first, others, lists.lengths[slot]);
        } else {
            add_smaller(
                sums,
                first,
                (others, &list.weights[start..]),
                list.weights[place],
            );
        }
    });
}

fn add_length(sums: &mut [f64], first: usize, others: &[u32], length: f64) {
    for &other in others {
        sums[other as usize - first] += length;
    }
}

fn add_smaller(sums: &mut [f64], first: usize, (others, weights): (&[u32], &[f64]), weight: f64) {
    for (&other, &other_weight) in others.iter().zip(weights) {
        // No weight is NaN, so this is the smaller, in one instruction.
        sums[other as usize - first] += if other_weight < weight {
            other_weight
        } else {
            weight
        };
    }
}
