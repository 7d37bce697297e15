//! The place of a replica that is a process: told by the one that starts it, on standard input.

use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::time::Duration;

use super::ReplicaError;
use crate::collective::{TcpGroup, TcpOptions};

/// How long a process looks for the first one, which listens already.
const STARTING: Duration = Duration::from_secs(120);
/// How long it waits for the first one's word: while that one judges, or is stopped by its user, the others wait. One
/// that has ended closes its connections.
const FIRST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Joins the replicas as one of the processes that [`ReplicaProcesses::start`](super::ReplicaProcesses::start) has started: its
/// place is on standard input.
///
/// # Errors
///
/// [`ReplicaError::Start`] where there is none, and [`ReplicaError::Together`].
pub fn replica_group() -> Result<TcpGroup, ReplicaError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let place = Place::from_line(&line).ok_or_else(|| {
        let text = "no place on standard input; a training starts such a process itself";
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    Ok(TcpGroup::join(place.options())?)
}

/// Where a process belongs, in a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) address: SocketAddr,
    pub(super) rank: usize,
    pub(super) n: usize,
    pub(super) key: u64,
}

impl Place {
    pub(super) fn to_line(self) -> String {
        let Self {
            address,
            rank,
            n,
            key,
        } = self;
        format!("{address} {rank} {n} {key}\n")
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        Some(Self {
            address: words.next()?.parse().ok()?,
            rank: words.next()?.parse().ok()?,
            n: words.next()?.parse().ok()?,
            key: words.next()?.parse().ok()?,
        })
    }

    const fn options(self) -> TcpOptions {
        TcpOptions::new(self.address, self.rank, self.n, self.key)
            .with_timeout(STARTING)
            .with_exchange_timeout(FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = Place {
            address: ([127, 0, 0, 1], 4321).into(),
            rank: 2,
            n: 3,
            key: u64::MAX,
        };
        assert_eq!(Place::from_line(&place.to_line()), Some(place));
        assert_eq!(Place::from_line(""), None);
    }
}
