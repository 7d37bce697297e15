//! The error of adding a pattern to an index.

/// The reason why an index refused a pattern. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// More distinct symbols, patterns or symbols of one pattern than 32-bit numbers count.
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
