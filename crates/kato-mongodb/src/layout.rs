//! KATO's layout of a node, and what lies beside it: names, indexes, and how documents are read and
//! written.

mod bson_writer;
mod document;
mod indexes;
mod metadata_paths;
mod node;
mod preparation;
mod sample_and_vector;
mod sharding;

pub(crate) use self::bson_writer::BsonWriter;
pub(crate) use self::document::{
    count_in, emotive_sums_in, frequency_of, pattern_of, symbol_of, totals_of,
};
pub(crate) use self::indexes::prepare_indexes;
pub(crate) use self::metadata_paths::PlacedMetadata;
pub(crate) use self::node::{
    DOCUMENT_LIMIT, EXTENSION_FIELD, NODE_SUFFIX, PATTERNS, SYMBOLS, TOTALS, TOTALS_FIELDS,
};
pub(crate) use self::preparation::{clear_node, clear_run, prepare_node, prepare_run};
pub(crate) use self::sample_and_vector::{document_key, vector_key, vector_of, vector_prefix};
