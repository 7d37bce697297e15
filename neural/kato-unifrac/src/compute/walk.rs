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
        let root = parents.len() - 1;
        for (&tip, &count) in tips.iter().zip(counts) {
            self.mark(tip as usize, count);
        }
        for word in 0..self.marks.len() {
            // A parent may lie in the same word, and always behind its children.
            while self.marks[word] != 0 {
                let node = word * 64 + self.marks[word].trailing_zeros() as usize;
                self.marks[word] &= self.marks[word] - 1;
                let count = std::mem::take(&mut self.counts[node]);
                if node != root {
                    visit(node, count);
                    self.mark(parents[node] as usize, count);
                }
            }
        }
    }

    fn mark(&mut self, node: usize, count: f64) {
        self.counts[node] += count;
        self.marks[node / 64] |= 1 << (node % 64);
    }
}
