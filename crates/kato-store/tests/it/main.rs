//! The stores through their public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod beyond;
mod conformance;
mod durability;
mod exchange;
mod file_format;
mod forgetting;
mod golden;
#[cfg(feature = "parquet")]
mod parquet;
mod random;
mod support;
