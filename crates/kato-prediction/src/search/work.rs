//! What a search did, for those who measure it.

use std::ops::AddAssign;

/// What the search for one answer did: the yardstick beside its time, and the same on every machine
/// where one thread searches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchWork {
    /// Entries of the lists of patterns by symbol and by pair that were walked in the index below; an
    /// entry counts each time.
    pub n_listed: u64,
    /// Patterns whose symbols were read.
    pub n_read: u64,
    /// Patterns that were scored.
    pub n_scored: u64,
}

impl AddAssign for SearchWork {
    fn add_assign(&mut self, other: Self) {
        self.n_listed += other.n_listed;
        self.n_read += other.n_read;
        self.n_scored += other.n_scored;
    }
}
