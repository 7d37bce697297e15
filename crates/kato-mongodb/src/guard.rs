//! The ways in which a commit is applied exactly once.

use serde::{Deserialize, Serialize};

/// A way to apply a commit exactly once, whatever fails in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guard {
    /// [`Transaction`](Self::Transaction) where the server has transactions, else
    /// [`Journal`](Self::Journal).
    #[default]
    Auto,
    /// Every bulk of upserts and the note that it is applied are one transaction. For replica sets
    /// and sharded clusters.
    Transaction,
    /// The state of a bulk's documents before and after it is written down first, and every update
    /// holds only for what was found, so that doing it again, or late, changes nothing. For any
    /// server; nobody else may write into the run's databases meanwhile, which is checked.
    Journal,
}
