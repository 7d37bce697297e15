//! Walks over the branches that one sample holds, from its tips to the root.

/// The space that a walk needs, kept from sample to sample.
pub(super) struct Walk {
    // A bit for each node that is still to be visited.
    marks: Vec<u64>,
    // What came up to it so far. Whole counts are summed exactly, whatever their order.
    counts: Vec<f64>,
}

impl Walk {
    pub(super) fn new(n_nodes: usize) -> Self {
        Self {
            marks: vec![0; n_nodes.div_ceil(64)],
            counts: vec![0.0; n_nodes],
        }
    }

    /// Bytes that a walk over so many nodes takes.
    pub(super) const fn n_bytes(n_nodes: usize) -> usize {
        n_nodes.div_ceil(64) * 8 + n_nodes * 8
    }

    /// Visits each branch with a tip of the sample below it once, in ascending order, with the
    /// count below it.
    pub(super) fn visit(
        &mut self,
        parents: &[u32],
        (tips, counts): (&[u32], &[f64]),
        mut visit: impl FnMut(usize, f64),
    ) {
        for (&tip, &count) in tips.iter().zip(counts) {
            self.marks[tip as usize / 64] |= 1 << (tip % 64);
            self.counts[tip as usize] = count;
        }
        let Self { marks, counts } = self;
        rise(marks, parents, |branch, parent| {
            let count = std::mem::take(&mut counts[branch]);
            visit(branch, count);
            counts[parent] += count;
        });
        // The root has no branch, so nothing took what came up to it.
        counts[parents.len() - 1] = 0.0;
    }

    /// Visits the same branches without counts.
    pub(super) fn visit_held(
        &mut self,
        parents: &[u32],
        tips: &[u32],
        mut visit: impl FnMut(usize),
    ) {
        for &tip in tips {
            self.marks[tip as usize / 64] |= 1 << (tip % 64);
        }
        rise(&mut self.marks, parents, |branch, _| visit(branch));
    }
}

/// Goes up from all marked nodes, and unmarks them: calls with each branch and its upper node.
fn rise(marks: &mut [u64], parents: &[u32], mut call: impl FnMut(usize, usize)) {
    let root = parents.len() - 1;
    for word in 0..marks.len() {
        // A parent often lies in the same word, always behind its children; kept in a register, the
        // word need not go through memory for it.
        let mut bits = std::mem::take(&mut marks[word]);
        while bits != 0 {
            let node = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if node == root {
                continue;
            }
            let parent = parents[node] as usize;
            call(node, parent);
            let bit = 1 << (parent % 64);
            if parent / 64 == word {
                bits |= bit;
            } else {
                marks[parent / 64] |= bit;
            }
        }
    }
}
