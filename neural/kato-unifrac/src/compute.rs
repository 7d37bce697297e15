//! Sums over branches, from walks to distances.

mod dense;
mod generalized;
mod lists;
mod plan;
mod rows;
mod sparse;
mod walk;
mod weights;

use rayon::prelude::*;

use crate::community::Community;
use crate::error::UnifracError;
use crate::metric::Metric;
use crate::options::ComputeOptions;
use plan::{Branches, Costs, Part};
use rows::Rows;
use walk::Walk;
use weights::Weights;

/// Computes all pairs: the rows of the upper triangle, one behind the other.
pub(crate) fn all_pairs(
    community: &Community,
    metric: Metric,
    options: ComputeOptions,
) -> Result<Vec<f64>, UnifracError> {
    let rows = Rows::Upper {
        n_samples: community.n_samples(),
    };
    in_pool(options, || distances(community, &rows, metric, options))
}

/// Computes whole rows of the samples given.
pub(crate) fn given_rows(
    community: &Community,
    samples: Vec<u32>,
    metric: Metric,
    options: ComputeOptions,
) -> Result<Vec<f64>, UnifracError> {
    let rows = Rows::Given {
        samples,
        n_samples: community.n_samples(),
    };
    in_pool(options, || distances(community, &rows, metric, options))
}

/// Computes the length that each sample holds.
pub(crate) fn faith_pd(
    community: &Community,
    options: ComputeOptions,
) -> Result<Vec<f64>, UnifracError> {
    let n_nodes = community.parents().len();
    in_pool(options, || {
        let held = |walk: &mut Walk, sample: usize| {
            let mut sum = 0.0;
            walk.visit_held(
                community.parents(),
                community.held_tips(sample).0,
                |branch| {
                    sum += community.lengths()[branch];
                },
            );
            sum
        };
        let samples = (0..community.n_samples()).into_par_iter();
        Ok(samples.map_init(|| Walk::new(n_nodes), held).collect())
    })
}

/// Runs work with the threads asked for.
fn in_pool<T: Send>(
    options: ComputeOptions,
    work: impl FnOnce() -> Result<T, UnifracError> + Send,
) -> Result<T, UnifracError> {
    if options.n_threads == 0 {
        return work();
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.n_threads)
        .build();
    pool.map_err(|source| UnifracError::Threads(Box::new(source)))?
        .install(work)
}

fn distances(
    community: &Community,
    rows: &Rows,
    metric: Metric,
    options: ComputeOptions,
) -> Result<Vec<f64>, UnifracError> {
    if let Metric::Generalized { alpha } = metric {
        return generalized::distances(community, rows, alpha, options);
    }
    let weights = match metric {
        Metric::Unweighted => Weights::Presence,
        _ => Weights::Proportion,
    };
    let costs = Costs {
        sparse_entry: lists::n_entry_bytes(weights),
        dense_entry: lists::N_WALKED_BYTES,
    };
    let plan = prepare(community, rows, costs, size_of::<f64>(), true, options)?;
    let mut sums = vec![0.0; rows.n_sums()];
    // What each sample holds, Σ l·a.
    let mut held = vec![0.0; community.n_samples()];
    for part in &plan.parts {
        let walked = lists::walk(community, &plan.branches, part, weights, &mut held);
        if part.dense {
            dense::add(&walked, rows, &mut sums);
        }
        if part.sparse {
            let lists = lists::Lists::new(walked, weights);
            rows.for_each_block(&mut sums, |block| sparse::add(&lists, rows, block));
        }
    }
    rows.for_each_block(&mut sums, |mut block| {
        for row in block.rows.clone() {
            let of_row = held[rows.sample(row)];
            let others = &held[rows.first_column(row)..];
            for (sum, &of_other) in block.row(rows, row).iter_mut().zip(others) {
                *sum = distance(metric, of_row + of_other, *sum);
            }
        }
    });
    Ok(sums)
}

/// Makes a distance of what two samples hold together and what they share.
///
/// Shared sums have the terms of a sample's own, in the same order, or smaller ones. As rounding
/// keeps order, they are never greater: no distance is below 0, and equal samples are at 0.
fn distance(metric: Metric, both: f64, shared: f64) -> f64 {
    let apart = both - 2.0 * shared;
    let whole = match metric {
        Metric::Unweighted => both - shared,
        Metric::NormalizedWeighted => both,
        _ => return apart,
    };
    // Neither holds any length: there is nothing by which they could differ.
    if whole > 0.0 { apart / whole } else { 0.0 }
}

/// Branches in classes, divided into parts that fit into memory.
struct Plan {
    branches: Branches,
    parts: Vec<Part>,
}

fn prepare(
    community: &Community,
    rows: &Rows,
    costs: Costs,
    sum_bytes: usize,
    has_dense: bool,
    options: ComputeOptions,
) -> Result<Plan, UnifracError> {
    let n_nodes = community.parents().len();
    // Each thread walks, and counts holders while it does; class, count and place of each branch
    // are kept, and some tiles.
    let walks = rayon::current_num_threads() * (Walk::n_bytes(n_nodes) + n_nodes * 4);
    let fixed = walks + n_nodes * 24 + dense::n_bytes(community.n_samples(), n_nodes);
    let (budget, fixed) = plan::budget(rows, sum_bytes, fixed, options.memory_limit_bytes)?;
    let n_holders = count_holders(community);
    let branches = Branches::new(
        community.lengths(),
        n_holders,
        community.n_samples(),
        has_dense,
    );
    let parts = branches
        .parts(budget, costs)
        .map_err(|more| UnifracError::MemoryLimit {
            needed_bytes: fixed + more,
            limit_bytes: options.memory_limit_bytes,
        })?;
    Ok(Plan { branches, parts })
}

/// Counts for each branch the samples that hold it.
fn count_holders(community: &Community) -> Vec<u32> {
    let n_nodes = community.parents().len();
    let samples = (0..community.n_samples()).into_par_iter();
    let counted = samples.fold(
        || (Walk::new(n_nodes), vec![0_u32; n_nodes]),
        |(mut walk, mut n_holders), sample| {
            walk.visit_held(
                community.parents(),
                community.held_tips(sample).0,
                |branch| {
                    n_holders[branch] += 1;
                },
            );
            (walk, n_holders)
        },
    );
    counted.map(|(_, n_holders)| n_holders).reduce(
        || vec![0; n_nodes],
        |mut left, right| {
            for (left, right) in left.iter_mut().zip(right) {
                *left += right;
            }
            left
        },
    )
}
