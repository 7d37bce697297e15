//! The workspace's benches.
