//! The pure vocabulary of KATO: symbols, events, patterns, their names, and counting.
