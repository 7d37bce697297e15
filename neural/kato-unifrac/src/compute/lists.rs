//! Who holds a branch: walks of all samples, turned round.

use std::ops::Range;

use rayon::prelude::*;

use super::plan::{Branches, Class, Part};
use super::rows::Rows;
use super::walk::Walk;
use super::weights::Weights;
use crate::community::Community;

/// Bytes of a holder in the walk of its sample: slot and weight.
pub(super) const N_WALKED_BYTES: usize = size_of::<u32>() + size_of::<f64>();

/// Bytes of a holder of a sparse branch, while both forms are there: slot, weight and place by
/// sample, and the lists. Where the runs of samples begin takes less than one more.
pub(super) fn n_entry_bytes(weights: Weights) -> usize {
    let n_list_bytes = match weights {
        // The branch's length says it all.
        Weights::Presence => size_of::<u32>(),
        Weights::Proportion => size_of::<u32>() + size_of::<f64>(),
        Weights::Power { .. } => size_of::<u32>() + 2 * size_of::<f64>(),
    };
    N_WALKED_BYTES + size_of::<u32>() + n_list_bytes + 1
}

/// Entries of a stretch of lists, at least, so that it stays in a core's cache.
const N_STRETCH_ENTRIES: usize = 16 << 10;

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

/// For each sparse branch of a part its holders, ascending; and for each sample where it stands
/// among them.
pub(super) struct Lists {
    /// The length of each slot's branch.
    pub(super) lengths: Vec<f64>,
    // Slot `s` has the holders from `starts[s]` to `starts[s + 1]`.
    starts: Vec<usize>,
    holders: Vec<u32>,
    // As long as the holders; empty where the length is the weight.
    weights: Vec<f64>,
    // What each holder alone adds; empty where that is the weight.
    alone: Vec<f64>,
    // For each sample its slots, ascending.
    held_slots: Vec<Vec<u32>>,
    stretches: Vec<Stretch>,
}

/// Lists that lie together.
struct Stretch {
    // Among the holders of all slots, where its own begin.
    first: usize,
    // For each sample a run: its places among them, for its slots in the stretch.
    run_starts: Vec<u32>,
    places: Vec<u32>,
}

/// The holders of one branch, and what each adds.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) holders: &'a [u32],
    /// Empty where the length is the weight.
    pub(super) weights: &'a [f64],
    /// Empty where the weight is what a holder alone adds.
    pub(super) alone: &'a [f64],
}

/// The arrays of a stretch while it is turned round.
struct Turning<'a> {
    slots: Range<usize>,
    holders: &'a mut [u32],
    weights: &'a mut [f64],
    alone: &'a mut [f64],
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
        let (starts, lengths) = (slots.sparse_starts, slots.sparse_lengths);
        let n_entries = starts.last().copied().unwrap_or(0);
        let n_weights = if weights == Weights::Presence {
            0
        } else {
            n_entries
        };
        let n_alone = if matches!(weights, Weights::Power { .. }) {
            n_entries
        } else {
            0
        };
        let mut holders = vec![0; n_entries];
        let mut kept = vec![0.0; n_weights];
        let mut alone = vec![0.0; n_alone];
        // Each stretch of slots owns a stretch of the arrays, so threads need no lock.
        let n_least = N_STRETCH_ENTRIES.max(8 * sparse.len());
        let mut turning = Vec::new();
        let mut rest = (&mut holders[..], &mut kept[..], &mut alone[..]);
        let mut first = 0;
        for end in 1..=lengths.len() {
            let n = starts[end] - starts[first];
            if n >= n_least || end == lengths.len() {
                let (holders, other_holders) = rest.0.split_at_mut(n);
                let (weights, other_weights) = rest.1.split_at_mut(n.min(rest.1.len()));
                let (alone, other_alone) = rest.2.split_at_mut(n.min(rest.2.len()));
                turning.push(Turning {
                    slots: first..end,
                    holders,
                    weights,
                    alone,
                });
                rest = (other_holders, other_weights, other_alone);
                first = end;
            }
        }
        let turn = |turning: Turning<'_>| turning.turn(&sparse, &starts, &lengths, weights);
        let stretches = turning.into_par_iter().map(turn).collect();
        let held_slots = sparse.into_iter().map(|held| held.slots).collect();
        Self {
            lengths,
            starts,
            holders,
            weights: kept,
            alone,
            held_slots,
            stretches,
        }
    }

    /// Calls with slot, row, and the row's place in the slot's list, for each branch that the sample
    /// of a row of the block holds: for each row in the order of the slots.
    pub(super) fn for_each_held(
        &self,
        rows: &Rows,
        block: Range<usize>,
        mut call: impl FnMut(usize, usize, usize),
    ) {
        // How far each row has come in its slots.
        let mut reached = vec![0; block.len()];
        for stretch in &self.stretches {
            for (row, reached) in block.clone().zip(&mut reached) {
                let sample = rows.sample(row);
                let run =
                    stretch.run_starts[sample] as usize..stretch.run_starts[sample + 1] as usize;
                let slots = &self.held_slots[sample][*reached..*reached + run.len()];
                *reached += run.len();
                for (&slot, &place) in slots.iter().zip(&stretch.places[run]) {
                    let slot = slot as usize;
                    call(
                        slot,
                        row,
                        stretch.first + place as usize - self.starts[slot],
                    );
                }
            }
        }
    }

    /// Returns the holders of a slot's branch.
    pub(super) fn of_slot(&self, slot: usize) -> List<'_> {
        let range = self.starts[slot]..self.starts[slot + 1];
        List {
            holders: &self.holders[range.clone()],
            weights: self.weights.get(range.clone()).unwrap_or_default(),
            alone: self.alone.get(range).unwrap_or_default(),
        }
    }
}

impl Turning<'_> {
    /// Fills the lists of a stretch, in the order of the samples.
    fn turn(self, sparse: &[Held], starts: &[usize], lengths: &[f64], weights: Weights) -> Stretch {
        let first = starts[self.slots.start];
        let mut next: Vec<_> = starts[self.slots.clone()]
            .iter()
            .map(|start| start - first)
            .collect();
        let mut places = Vec::with_capacity(self.holders.len());
        let mut run_starts = Vec::with_capacity(sparse.len() + 1);
        for (sample, held) in sparse.iter().enumerate() {
            run_starts.push(places.len() as u32);
            let range = held.between(&self.slots);
            for (&slot, &weight) in held.slots[range.clone()].iter().zip(&held.weights[range]) {
                let slot = slot as usize;
                let next = &mut next[slot - self.slots.start];
                let place = *next;
                *next += 1;
                self.holders[place] = sample as u32;
                if let Some(kept) = self.weights.get_mut(place) {
                    *kept = weight;
                }
                if let Some(alone) = self.alone.get_mut(place) {
                    *alone = weights.held(lengths[slot], weight);
                }
                places.push(place as u32);
            }
        }
        run_starts.push(places.len() as u32);
        Stretch {
            first,
            run_starts,
            places,
        }
    }
}
