//! Tests of the public interface.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        reason = "helpers of tests may fail by panic, as tests do"
    )
)]

// Elsewhere a mapped file cannot be cut off, or ends the process that reads it.
#[cfg(all(test, target_os = "linux"))]
mod files;
