//! Which branches are gone over together, so that memory suffices.

use std::ops::Range;

use super::rows::Rows;
use crate::error::UnifracError;

/// Branches held by more than one sample in so many are dense: whole rows are gone over, with
/// vector instructions, instead of pairs. Measured: 5 to 14 differ by a tenth.
const DENSE_DIVISOR: usize = 6;

/// How a branch is gone over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Not at all: it adds nothing.
    Idle,
    /// By pairs of its holders.
    Sparse,
    /// By whole rows.
    Dense,
}

/// The class of each branch, and how many samples hold it.
pub(super) struct Branches {
    pub(super) classes: Vec<Class>,
    pub(super) n_holders: Vec<u32>,
}

/// Branches gone over together: those of the range that are of a class asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) range: Range<usize>,
    pub(super) dense: bool,
    pub(super) sparse: bool,
}

/// What branches cost in bytes while they are gone over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// For each holder of a sparse branch.
    pub(super) sparse_entry: usize,
    /// For each holder of a dense branch.
    pub(super) dense_entry: usize,
}

impl Branches {
    /// Puts branches into classes, by numbers that neither threads nor memory change.
    pub(super) fn new(
        lengths: &[f64],
        n_holders: Vec<u32>,
        n_samples: usize,
        has_dense: bool,
    ) -> Self {
        let class = |branch: usize| {
            let n = n_holders[branch] as usize;
            if n == 0 || lengths[branch] == 0.0 {
                Class::Idle
            } else if has_dense && n * DENSE_DIVISOR > n_samples {
                Class::Dense
            } else {
                Class::Sparse
            }
        };
        Self {
            classes: (0..lengths.len()).map(class).collect(),
            n_holders,
        }
    }

    fn n_bytes(&self, branch: usize, costs: Costs) -> usize {
        let n = self.n_holders[branch] as usize;
        match self.classes[branch] {
            Class::Idle => 0,
            Class::Sparse => n * costs.sparse_entry,
            Class::Dense => n * costs.dense_entry,
        }
    }

    /// Divides the branches into parts that fit.
    ///
    /// Sums go over the dense branches first, then over the sparse ones, each ascending. So parts
    /// of one class follow each other, and only where all fit at once do both share a walk.
    pub(super) fn parts(&self, budget: usize, costs: Costs) -> Result<Vec<Part>, usize> {
        let n_branches = self.classes.len();
        let all: usize = (0..n_branches)
            .map(|branch| self.n_bytes(branch, costs))
            .sum();
        if all <= budget {
            return Ok(vec![Part {
                range: 0..n_branches,
                dense: true,
                sparse: true,
            }]);
        }
        let mut parts = Vec::new();
        for class in [Class::Dense, Class::Sparse] {
            let (mut start, mut n_bytes) = (0, 0);
            for branch in (0..n_branches).filter(|&branch| self.classes[branch] == class) {
                let more = self.n_bytes(branch, costs);
                if more > budget {
                    return Err(more);
                }
                if n_bytes + more > budget {
                    parts.push(Part::of_class(start..branch, class));
                    (start, n_bytes) = (branch, 0);
                }
                n_bytes += more;
            }
            if n_bytes > 0 {
                parts.push(Part::of_class(start..n_branches, class));
            }
        }
        Ok(parts)
    }
}

impl Part {
    fn of_class(range: Range<usize>, class: Class) -> Self {
        Self {
            range,
            dense: class == Class::Dense,
            sparse: class == Class::Sparse,
        }
    }

    pub(super) fn has(&self, class: Class) -> bool {
        match class {
            Class::Idle => false,
            Class::Sparse => self.sparse,
            Class::Dense => self.dense,
        }
    }
}

/// Takes what is there in any case from the limit of memory.
pub(super) fn budget(
    rows: &Rows,
    sum_bytes: usize,
    walk_bytes: usize,
    limit_bytes: usize,
) -> Result<(usize, usize), UnifracError> {
    let fixed = rows
        .n_sums()
        .saturating_mul(sum_bytes)
        .saturating_add(walk_bytes);
    match limit_bytes.checked_sub(fixed) {
        Some(budget) => Ok((budget, fixed)),
        None => Err(UnifracError::MemoryLimit {
            needed_bytes: fixed,
            limit_bytes,
        }),
    }
}
