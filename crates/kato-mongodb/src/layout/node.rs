//! The names of a node's database, of KATO's collections in it, and of the fields that count.

/// Bytes that a document may take: MongoDB's 16 MiB, less what the command around it takes.
pub(crate) const DOCUMENT_LIMIT: u64 = (16 << 20) - (128 << 10);

/// KATO's collections, one set a node.
pub(crate) const PATTERNS: &str = "patterns_kb";
pub(crate) const SYMBOLS: &str = "symbols_kb";
pub(crate) const TOTALS: &str = "metadata";
pub(crate) const PREDICTIONS: &str = "predictions_kb";
pub(crate) const ACTIONS: &str = "associative_action_kb";

/// The end of the names of all databases of nodes.
pub(crate) const NODE_SUFFIX: &str = "_kato";

/// The sub-document for what KATO has no place for.
pub(crate) const EXTENSION_FIELD: &str = "kato_rs";

/// The counts of a node's totals: learn calls, symbols, and distinct symbols of each learn call.
pub(crate) const TOTALS_FIELDS: [&str; 3] = [
    "total_pattern_frequencies",
    "total_symbol_frequencies",
    "total_symbols_in_patterns_frequencies",
];
