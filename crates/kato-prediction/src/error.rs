//! The errors of adding a pattern to an index, and of reading one that is damaged.

/// The reason why an index refused a pattern. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// More distinct symbols, pages of patterns or symbols of one pattern than the index has numbers for.
    #[error(
        "the index is full: it holds at most {limit} {what}; split the data over several nodes"
    )]
    Full {
        /// The things of which there are too many.
        what: &'static str,
        /// How many of them the index can hold.
        limit: u64,
    },
    /// The pattern holds no symbol, or its event lengths are not those of its symbols.
    #[error(
        "a pattern needs at least one symbol, and event lengths that add up to its {symbols} symbols"
    )]
    Malformed {
        /// Number of symbols of the refused pattern.
        symbols: usize,
    },
}

/// The index on the disk that a [`PatternIndex`](crate::PatternIndex) lies above is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the index on the disk is damaged: {what}")]
pub struct DamagedIndex {
    /// What is damaged: a file and a reason.
    pub what: String,
}
