//! The states that a thread can be in.

use serde::{Deserialize, Serialize};

/// The state of a thread of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// Doing nothing for the stage, as before its first and after its last work.
    #[default]
    Idle,
    /// Working, or on its way to a processor.
    Busy,
    /// Waiting for input.
    Starved,
    /// Waiting for something else.
    Blocked(Wait),
}

/// The cause of a blocked thread's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Room in the queue after it, or for the stage after it.
    Downstream,
    /// An answer over the network.
    Server,
    /// A lock that another thread holds.
    Lock,
    /// A disk: reading, writing, flushing.
    Disk,
}

impl ThreadState {
    /// Number of states.
    pub(crate) const COUNT: usize = 7;

    /// Returns the number of the state, below [`COUNT`](Self::COUNT).
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Busy => 1,
            Self::Starved => 2,
            Self::Blocked(Wait::Downstream) => 3,
            Self::Blocked(Wait::Server) => 4,
            Self::Blocked(Wait::Lock) => 5,
            Self::Blocked(Wait::Disk) => 6,
        }
    }

    /// Returns the state with this number.
    pub(crate) const fn from_index(index: usize) -> Self {
        match index {
            1 => Self::Busy,
            2 => Self::Starved,
            3 => Self::Blocked(Wait::Downstream),
            4 => Self::Blocked(Wait::Server),
            5 => Self::Blocked(Wait::Lock),
            6 => Self::Blocked(Wait::Disk),
            // 0, and numbers that `index` never gives.
            _ => Self::Idle,
        }
    }
}

impl Wait {
    /// Returns the word for it in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Downstream => "downstream",
            Self::Server => "server",
            Self::Lock => "lock",
            Self::Disk => "disk",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_number_of_its_own() {
        for index in 0..ThreadState::COUNT {
            assert_eq!(ThreadState::from_index(index).index(), index);
        }
    }
}
