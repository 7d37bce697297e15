//! Settings of matching and of computing.

/// What is done where table and tree do not fit; by default it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MatchOptions {
    /// Leaves out features that are no tips of the tree. Proportions are those of what is left.
    pub without_unknown_features: bool,
    /// Leaves out samples that hold nothing, or nothing that is left.
    pub without_empty_samples: bool,
    /// Counts absent lengths as zero.
    pub absent_lengths_are_zero: bool,
    /// Counts negative lengths as zero.
    pub negative_lengths_are_zero: bool,
}

impl MatchOptions {
    /// Leaves out features that are no tips of the tree.
    #[must_use]
    pub const fn without_unknown_features(mut self) -> Self {
        self.without_unknown_features = true;
        self
    }

    /// Leaves out samples that hold nothing, or nothing that is left.
    #[must_use]
    pub const fn without_empty_samples(mut self) -> Self {
        self.without_empty_samples = true;
        self
    }

    /// Counts absent lengths as zero.
    #[must_use]
    pub const fn with_absent_lengths_as_zero(mut self) -> Self {
        self.absent_lengths_are_zero = true;
        self
    }

    /// Counts negative lengths as zero.
    #[must_use]
    pub const fn with_negative_lengths_as_zero(mut self) -> Self {
        self.negative_lengths_are_zero = true;
        self
    }
}

/// How distances are computed; no setting changes a bit of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComputeOptions {
    /// Threads; 0, the default, takes those of the rayon pool that it is called in, else of the global one.
    pub n_threads: usize,
    /// Bytes that computing may take beside table and tree, the result included; 1 GiB by default.
    /// Where it is short, the tree is gone over in parts, which takes longer.
    pub memory_limit_bytes: usize,
}

impl Default for ComputeOptions {
    fn default() -> Self {
        Self {
            n_threads: 0,
            memory_limit_bytes: 1 << 30,
        }
    }
}

impl ComputeOptions {
    /// Sets the number of threads.
    #[must_use]
    pub const fn with_n_threads(mut self, n_threads: usize) -> Self {
        self.n_threads = n_threads;
        self
    }

    /// Sets the limit of memory.
    #[must_use]
    pub const fn with_memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = bytes;
        self
    }
}
