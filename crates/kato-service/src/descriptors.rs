//! File descriptors: how many the process may have, and how many of them each part of a server may
//! take.

/// Descriptors that are not shared out: standard streams, the journal, what is being folded, the
/// runtime.
const KEPT_BACK: u64 = 64;

/// Most open segment files of all stores: more would not be used.
const MAX_SEGMENTS: u64 = 128;

/// The limit of open files of the process, shared out among connections, nodes in memory and open
/// segments, so that none of them can take what the others need.
///
/// Of what 64 leave of it, connections may take half, nodes a quarter; every node in memory takes one,
/// whatever it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// Returns the limit that the process has at the moment.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            limit: limit_of_process(),
        }
    }

    /// Raises the limit of the process as far as it may itself, which is usually far: the lower one
    /// guards programs that wait with `select`. A server calls it before it serves;
    /// [`ServerBuilder::bind`] of kato-server does.
    ///
    /// [`ServerBuilder::bind`]: https://docs.rs/kato-server
    #[expect(clippy::must_use_candidate, reason = "the limit is a by-product")]
    pub fn raise() -> Self {
        #[cfg(unix)]
        if let Err(_refused) = rlimit::increase_nofile_limit(u64::MAX) {
            // Then the limit stays as it is, and all shares are of that.
        }
        let raised = Self::of_process();
        raised.limit_segments();
        raised
    }

    /// Returns the limit.
    #[must_use]
    pub const fn limit(self) -> u64 {
        self.limit
    }

    /// Returns the greatest number of connections.
    #[must_use]
    pub fn connections(self) -> usize {
        count(self.shared() / 2)
    }

    /// Returns the greatest number of nodes in memory.
    #[must_use]
    pub fn nodes(self) -> usize {
        count(self.shared() / 4)
    }

    /// Limits the stores of the process to their share.
    pub(crate) fn limit_segments(self) {
        kato_store::embedded::set_max_open_segments(count((self.shared() / 8).min(MAX_SEGMENTS)));
    }

    /// Returns the descriptors that are shared out.
    const fn shared(self) -> u64 {
        self.limit.saturating_sub(KEPT_BACK)
    }
}

fn count(share: u64) -> usize {
    // At least one, however low the limit: with none at all nothing could be served.
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

#[cfg(unix)]
fn limit_of_process() -> u64 {
    // Where the system names no limit, there is none to keep to.
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
