//! Generalised distances: two sums for each pair.

use super::lists::{self, Lists};
use super::plan::Costs;
use super::rows::{Block, Rows};
use super::weights::{Weights, power};
use super::{Plan, prepare};
use crate::community::Community;
use crate::error::UnifracError;
use crate::options::ComputeOptions;

/// For a pair of samples, by how much branches that both hold change what each alone adds: to the
/// distance's numerator, and to its denominator.
type Sums = [f64; 2];

/// Where one sample alone holds a branch, it adds l·a^α to both sums; so both begin with what the
/// two samples hold, and only branches that both hold have to be gone over.
pub(super) fn distances(
    community: &Community,
    rows: &Rows,
    alpha: f64,
    options: ComputeOptions,
) -> Result<Vec<f64>, UnifracError> {
    let weights = Weights::Power { alpha };
    let costs = Costs {
        sparse_entry: lists::n_entry_bytes(weights),
        dense_entry: 0,
    };
    // The distances are kept beside both sums for a moment.
    let n_sum_bytes = size_of::<Sums>() + size_of::<f64>();
    let Plan { branches, parts } = prepare(community, rows, costs, n_sum_bytes, false, options)?;
    let mut sums = vec![[0.0; 2]; rows.n_sums()];
    let mut held = vec![0.0; community.n_samples()];
    for part in &parts {
        let walked = lists::walk(community, &branches, part, weights, &mut held);
        let lists = Lists::new(walked, weights);
        rows.for_each_block(&mut sums, |block| add(&lists, rows, alpha, block));
    }
    let mut row = 0;
    let mut distances = Vec::with_capacity(sums.len());
    while row < rows.n_rows() {
        let others = &held[rows.first_column(row)..];
        let row_sums = &sums[rows.offset(row)..rows.offset(row + 1)];
        let of_row = held[rows.sample(row)];
        distances.extend(
            row_sums
                .iter()
                .zip(others)
                .map(|(s, o)| distance(of_row + o, *s)),
        );
        row += 1;
    }
    Ok(distances)
}

fn distance(both: f64, [apart, whole]: Sums) -> f64 {
    let (apart, whole) = (both + apart, both + whole);
    // Rounding may leave a hair outside of 0 to 1; where nothing is held, nothing differs.
    if whole > 0.0 {
        (apart / whole).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

fn add(lists: &Lists, rows: &Rows, alpha: f64, mut block: Block<'_, Sums>) {
    lists.for_each_held(rows, block.rows.clone(), |slot, row, place| {
        let list = lists.of_slot(slot);
        let length = lists.lengths[slot];
        let first = rows.first_column(row);
        let (own, own_alone) = (list.weights[place], list.alone[place]);
        let sums = block.row(rows, row);
        for other in rows.first_other(place)..list.holders.len() {
            let whole = own + list.weights[other];
            let apart = (own - list.weights[other]).abs();
            let of_pair = length * power(whole, alpha);
            let alone = own_alone + list.alone[other];
            let [numerator, denominator] = &mut sums[list.holders[other] as usize - first];
            *numerator += of_pair * (apart / whole) - alone;
            *denominator += of_pair - alone;
        }
    });
}
