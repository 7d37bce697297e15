//! Why a table cannot be made.

use std::error::Error;

/// Reason why bytes, or parts, are no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes are compressed as a whole.
    #[error("the table is compressed; unpack it first, for example with `gunzip`")]
    Compressed,
    /// The bytes are of none of the formats.
    #[error(
        "this is no BIOM 2.1 (HDF5), no BIOM 1.0 (JSON) and no table with tabs; convert it to one of them"
    )]
    UnknownFormat,
    /// The HDF5 file lacks something, or it cannot be decoded.
    #[error("the BIOM 2.1 table's `{name}` cannot be read; write the file anew")]
    Hdf5 {
        /// The group or data set.
        name: String,
        /// What the decoder says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A data set has numbers of a type that a table does not have.
    #[error(
        "the BIOM 2.1 table's `{name}` has numbers of a type that is not read: {found}; write it with 32 or 64 bits"
    )]
    NumberType {
        /// The data set.
        name: String,
        /// The type found.
        found: String,
    },
    /// The JSON text is no BIOM 1.0.
    #[error("this is no BIOM 1.0 table")]
    Json(#[source] serde_json::Error),
    /// Arrays of the table contradict each other.
    #[error("the table is damaged: {reason}; write it anew")]
    Damaged {
        /// What does not hold.
        reason: &'static str,
    },
    /// An entry lies outside of the table.
    #[error(
        "there is an entry for feature {feature} and sample {sample}, which the table does not have; names come first"
    )]
    Outside {
        /// Index of the feature, from 0.
        feature: usize,
        /// Index of the sample, from 0.
        sample: usize,
    },
    /// A place of the table has two entries.
    #[error("feature `{feature}` has two counts in sample `{sample}`; add them up first")]
    Twice {
        /// The feature.
        feature: String,
        /// The sample.
        sample: String,
    },
    /// A line of a table with tabs cannot be read.
    #[error("line {line} of the table: {reason}")]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// What is wrong, and what to do.
        reason: String,
    },
}
