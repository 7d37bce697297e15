//! The loader through its public face.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod bad_records;
mod corpus;
mod empty;
mod formats;
mod hostile;
mod identity;
mod inputs;
mod looks;
mod own_sources;
#[cfg(feature = "parquet")]
mod parquet;
mod refused_options;
mod registry;
#[cfg(feature = "remote")]
mod remote;
mod resume;
mod shards;
mod split;
#[cfg(feature = "remote")]
mod standin;
mod support;
mod workers;
