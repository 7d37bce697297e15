//! Who holds a branch: walks of all samples, turned round.

use std::ops::Range;

use rayon::prelude::*;

use super::plan::{Branches, Class, Part};
use super::walk::Walk;
use super::weights::Weights;
use crate::community::Community;

/// Bytes of a holder in the walk of its sample: slot and weight.
pub(super) const N_WALKED_BYTES: usize = size_of::<u32>() + size_of::<f64>();

/// Bytes of a holder of a sparse branch, while both forms are there.
pub(super) fn n_entry_bytes(weights: Weights) -> usize {
    let n_list_bytes = match weights {
        // The branch's length says it all.
        Weights::Presence => size_of::<u32>(),
        Weights::Proportion => size_of::<u32>() + size_of::<f64>(),
        Weights::Power { .. } => size_of::<u32>() + 2 * size_of::<f64>(),
    };
    N_WALKED_BYTES + n_list_bytes
}

/// Entries of a stretch of lists, so that turning it round stays in a core's cache.
const N_STRETCH_ENTRIES: usize = 32 << 10;

/// The branches of a part, numbered for each class by slots, ascending.
struct Slots {
    of_branch: Vec<Place>,
    n_dense: usize,
    sparse_lengths: Vec<f64>,
    // For each sparse slot where its holders begin, and where the last ones end.
    sparse_starts: Vec<usize>,
}

/// What a walk needs of a branch, together, as it comes to each branch once for each holder.
#[derive(Clone, Copy)]
struct Place {
    length: f64,
    slot: u32,
    class: Class,
}

/// The walks of all samples over the branches of a part.
pub(super) struct Walked {
    pub(super) dense: Vec<Held>,
    pub(super) n_dense: usize,
    sparse: Vec<Held>,
    slots: Slots,
}

/// The branches of a class that one sample holds, ascending by slot.
#[derive(Clone, Default)]
pub(super) struct Held {
    pub(super) slots: Vec<u32>,
    pub(super) weights: Vec<f64>,
}

impl Held {
    fn clear(&mut self) {
        self.slots.clear();
        self.weights.clear();
    }

    /// Finds the places of some slots.
    pub(super) fn between(&self, slots: &Range<usize>) -> Range<usize> {
        let place = |bound: usize| self.slots.partition_point(|&slot| (slot as usize) < bound);
        place(slots.start)..place(slots.end)
    }
}

/// For each sparse branch of a part its holders, ascending.
pub(super) struct Lists {
    /// The length of each slot's branch.
    pub(super) lengths: Vec<f64>,
    /// Slot `s` has the holders from `starts[s]` to `starts[s + 1]`.
    pub(super) starts: Vec<usize>,
    pub(super) holders: Vec<u32>,
    /// As long as the holders; empty where the length is the weight.
    pub(super) weights: Vec<f64>,
}

/// Walks all samples, and adds to what each holds.
pub(super) fn walk(
    community: &Community,
    branches: &Branches,
    part: &Part,
    weights: Weights,
    held: &mut [f64],
) -> Walked {
    let n_nodes = community.parents().len();
    let slots = Slots::new(community.lengths(), branches, part);
    let step = |space: &mut (Walk, Held, Held), (sample, sum): (usize, &mut f64)| {
        let (walk, dense, sparse) = space;
        dense.clear();
        sparse.clear();
        let total = community.total(sample);
        walk.visit(
            community.parents(),
            community.held_tips(sample),
            |branch, count| {
                let place = slots.of_branch[branch];
                let list = match place.class {
                    Class::Idle => return,
                    Class::Sparse => &mut *sparse,
                    Class::Dense => &mut *dense,
                };
                list.slots.push(place.slot);
                list.weights
                    .push(weights.weight(place.length, count, total));
            },
        );
        // Dense ones first, as in the sums of pairs. Only weights that are what is held are dense.
        for weight in &dense.weights {
            *sum += weight;
        }
        for (&slot, &weight) in sparse.slots.iter().zip(&sparse.weights) {
            *sum += weights.held(slots.sparse_lengths[slot as usize], weight);
        }
        // Copies are as long as they must be, unlike what has grown.
        (dense.clone(), sparse.clone())
    };
    let samples = held.par_iter_mut().enumerate();
    let space = || (Walk::new(n_nodes), Held::default(), Held::default());
    let (dense, sparse) = samples.map_init(space, step).unzip();
    Walked {
        dense,
        n_dense: slots.n_dense,
        sparse,
        slots,
    }
}

impl Slots {
    fn new(lengths: &[f64], branches: &Branches, part: &Part) -> Self {
        let idle = Place {
            length: 0.0,
            slot: 0,
            class: Class::Idle,
        };
        let mut slots = Self {
            of_branch: vec![idle; lengths.len()],
            n_dense: 0,
            sparse_lengths: Vec::new(),
            sparse_starts: vec![0],
        };
        let mut n_entries = 0;
        for branch in part
            .range
            .clone()
            .filter(|&branch| part.has(branches.classes[branch]))
        {
            let (length, class) = (lengths[branch], branches.classes[branch]);
            let n_before = if class == Class::Dense {
                slots.n_dense += 1;
                slots.n_dense - 1
            } else {
                slots.sparse_lengths.push(length);
                n_entries += branches.n_holders[branch] as usize;
                slots.sparse_starts.push(n_entries);
                slots.sparse_lengths.len() - 1
            };
            slots.of_branch[branch] = Place {
                length,
                slot: n_before as u32,
                class,
            };
        }
        slots
    }
}

impl Lists {
    /// Turns the walks over sparse branches round.
    pub(super) fn new(walked: Walked, weights: Weights) -> Self {
        let Walked { sparse, slots, .. } = walked;
        let starts = slots.sparse_starts;
        let n_entries = starts.last().copied().unwrap_or(0);
        let n_kept = if weights == Weights::Presence {
            0
        } else {
            n_entries
        };
        let mut lists = Self {
            lengths: slots.sparse_lengths,
            holders: vec![0; n_entries],
            weights: vec![0.0; n_kept],
            starts,
        };
        // Each stretch of slots owns a stretch of the arrays, so threads need no lock.
        let mut stretches = Vec::new();
        let (mut holders, mut kept) = (&mut lists.holders[..], &mut lists.weights[..]);
        let mut first = 0;
        for slot in 0..lists.lengths.len() {
            let n_entries = lists.starts[slot + 1] - lists.starts[first];
            let is_last = slot + 1 == lists.lengths.len();
            if n_entries >= N_STRETCH_ENTRIES || is_last {
                let (own_holders, other_holders) = holders.split_at_mut(n_entries);
                let (own_kept, other_kept) = kept.split_at_mut(n_entries.min(kept.len()));
                stretches.push((first..slot + 1, own_holders, own_kept));
                (holders, kept, first) = (other_holders, other_kept, slot + 1);
            }
        }
        stretches
            .into_par_iter()
            .for_each(|(slots, holders, kept)| {
                turn(&sparse, &lists.starts, slots, holders, kept);
            });
        lists
    }

    /// Returns the holders of a slot's branch, and their weights.
    pub(super) fn of_slot(&self, slot: usize) -> (&[u32], &[f64]) {
        let range = self.starts[slot]..self.starts[slot + 1];
        let weights = self.weights.get(range.clone()).unwrap_or_default();
        (&self.holders[range], weights)
    }
}

/// Fills the lists of a stretch of slots, in the order of the samples.
fn turn(
    sparse: &[Held],
    starts: &[usize],
    slots: Range<usize>,
    holders: &mut [u32],
    kept: &mut [f64],
) {
    let first = starts[slots.start];
    let mut next: Vec<_> = starts[slots.clone()]
        .iter()
        .map(|start| start - first)
        .collect();
    for (sample, held) in sparse.iter().enumerate() {
        let range = held.between(&slots);
        for (&slot, &weight) in held.slots[range.clone()].iter().zip(&held.weights[range]) {
            let place = &mut next[slot as usize - slots.start];
            holders[*place] = sample as u32;
            if let Some(kept) = kept.get_mut(*place) {
                *kept = weight;
            }
            *place += 1;
        }
    }
}
