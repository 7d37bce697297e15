//! Occurrences from outside: against a scan over the documents, written in any parts, damaged.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod damage;
mod exactness;
mod format;
mod large;
mod support;
