//! Sums over pairs of holders, for branches that few samples hold.

use super::lists::Lists;
use super::rows::{Block, Rows};

/// Adds what the sparse branches of a part add to a block of rows.
pub(super) fn add(lists: &Lists, rows: &Rows, mut block: Block<'_, f64>) {
    for_each_holder(lists, rows, block.rows.clone(), |slot, row, place| {
        let (holders, weights) = lists.of_slot(slot);
        let start = rows.first_other(place);
        let first = rows.first_column(row);
        let sums = block.row(rows, row);
        if weights.is_empty() {
            add_length(sums, first, &holders[start..], lists.lengths[slot]);
        } else {
            add_smaller(
                sums,
                first,
                (&holders[start..], &weights[start..]),
                weights[place],
            );
        }
    });
}

/// Calls with the slot, the row and the row's place among the holders, for each branch and each row
/// of the block whose sample holds it.
pub(super) fn for_each_holder(
    lists: &Lists,
    rows: &Rows,
    block: std::ops::Range<usize>,
    mut call: impl FnMut(usize, usize, usize),
) {
    for slot in 0..lists.lengths.len() {
        let (holders, _) = lists.of_slot(slot);
        match rows {
            Rows::Upper { .. } => {
                let start = first_at_least(holders, block.start as u32);
                for (place, &holder) in holders.iter().enumerate().skip(start) {
                    if holder as usize >= block.end {
                        break;
                    }
                    call(slot, holder as usize, place);
                }
            }
            Rows::Given { samples, .. } => {
                for row in block.clone() {
                    if let Ok(place) = holders.binary_search(&samples[row]) {
                        call(slot, row, place);
                    }
                }
            }
        }
    }
}

/// Finds the first holder of a number or more; most lists are too short for a search by halves.
fn first_at_least(holders: &[u32], sample: u32) -> usize {
    if holders.len() > 16 {
        return holders.partition_point(|&holder| holder < sample);
    }
    holders
        .iter()
        .position(|&holder| holder >= sample)
        .unwrap_or(holders.len())
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
