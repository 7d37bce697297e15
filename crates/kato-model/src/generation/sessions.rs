//! Rules by which a client speaks to a server.

use super::KatoGeneration;

impl KatoGeneration {
    /// Returns whether settings, percepts and what was observed belong to the session, and observed
    /// attributes outlive a learn. Before, the sessions of a node shared all of them.
    #[must_use]
    pub fn keeps_sessions_apart(self) -> bool {
        self >= Self::V3_10
    }

    /// Returns whether a server tells symbols, with their counts and affinities, and finalizes training.
    #[must_use]
    pub fn tells_symbols(self) -> bool {
        self >= Self::V3_10
    }

    /// Returns whether a node has genes: settings for all of its sessions.
    #[must_use]
    pub fn has_genes(self) -> bool {
        self < Self::V3_10
    }

    /// Returns whether patterns can be retired and purged.
    #[must_use]
    pub fn can_retire(self) -> bool {
        self >= Self::V6
    }
}
