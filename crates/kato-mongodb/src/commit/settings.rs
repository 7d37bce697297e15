//! The settings of commits.

use std::sync::Arc;

use crate::connection::Sessions;
use crate::guard::Guard;

/// How commits are cut into bulks, and how these are kept exact.
#[derive(Debug)]
pub(crate) struct CommitSettings {
    pub(crate) guard: Guard,
    /// Bulks that are with the server at once.
    pub(crate) max_in_flight: usize,
    /// Upserts in a bulk.
    pub(crate) chunk: usize,
    /// The sessions of transactions.
    pub(crate) sessions: Arc<Sessions>,
}
