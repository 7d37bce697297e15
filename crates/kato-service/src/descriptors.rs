//! File descriptors: how many the process may have, and who of a server may have how many.

/// Descriptors that are nobody's share: standard streams, the journal, what is being folded, the runtime.
const KEPT_BACK: u64 = 64;

/// Most open segment files of all stores: more would not be used.
const MAX_SEGMENTS: u64 = 128;

/// The process's limit of open files, shared out among connections, nodes in memory and open segments, so that none of them can
/// take what the others need.
///
/// Connections may take half of it, nodes a quarter; every node in memory takes one, whatever it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// What the process may have at the moment.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            limit: limit_of_process(),
        }
    }

    /// Raises the process's limit as far as it may itself, which is usually far: the lower one guards programs that wait with
    /// `select`. A server calls it before it serves; [`Server::bind`] of kato-server does.
    ///
    /// [`Server::bind`]: https://docs.rs/kato-server
    #[expect(clippy::must_use_candidate, reason = "the limit is a by-product")]
    pub fn raise() -> Self {
        #[cfg(unix)]
        if let Err(_refused) = rlimit::increase_nofile_limit(u64::MAX) {
            // Then the limit stays as it is, and everybody's share is of that.
        }
        let raised = Self::of_process();
        raised.limit_segments();
        raised
    }

    /// The limit.
    #[must_use]
    pub const fn limit(self) -> u64 {
        self.limit
    }

    /// Connections at most.
    #[must_use]
    pub fn connections(self) -> usize {
        count(self.shared() / 2)
    }

    /// Nodes in memory at most.
    #[must_use]
    pub fn nodes(self) -> usize {
        count(self.shared() / 4)
    }

    /// Keeps the stores of the process to their share.
    pub(crate) fn limit_segments(self) {
        kato_store::set_max_open_segments(count((self.shared() / 8).min(MAX_SEGMENTS)));
    }

    const fn shared(self) -> u64 {
        self.limit.saturating_sub(KEPT_BACK)
    }
}

fn count(share: u64) -> usize {
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

#[cfg(unix)]
fn limit_of_process() -> u64 {
    // A system that does not say has one that does not matter.
    rlimit::Resource::NOFILE.get_soft().unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
const fn limit_of_process() -> u64 {
    // Handles are limited by memory alone.
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_something_for_the_rest() {
        for limit in [128, 256, 1024, 1 << 20] {
            let shares = Descriptors { limit };
            let taken = (shares.connections() + shares.nodes()) as u64;
            let segments = (shares.shared() / 8).min(MAX_SEGMENTS);
            assert!(taken + segments + KEPT_BACK <= limit, "{limit}");
        }
        let none = Descriptors { limit: 0 };
        assert_eq!((none.connections(), none.nodes()), (1, 1));
    }
}
