//! What clients met, and what the server took.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::client::Reply;

/// What a server takes at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) files: usize,
    pub(crate) resident_kb: u64,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} open files and {} MB",
            self.files,
            self.resident_kb >> 10
        )
    }
}

/// What came of requests.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Of short requests, in their order.
    took: Vec<Duration>,
    /// Those of them that are the last tenth of each client.
    took_late: Vec<Duration>,
    /// Those of them that are the first of a session, whose node may have to be loaded.
    took_first: Vec<Duration>,
    /// Answers by status, and whether those that refuse say when to come again.
    statuses: BTreeMap<(u16, bool), u64>,
    n_learned: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: Self) {
        let late = other.took.len() - other.took.len() / 10;
        self.took_late.extend(&other.took[late..]);
        self.took.extend(other.took);
        self.took_first.extend(other.took_first);
        for (status, n) in other.statuses {
            *self.statuses.entry(status).or_default() += n;
        }
        self.n_learned += other.n_learned;
    }

    pub(crate) fn count(&mut self, reply: &Reply) {
        *self
            .statuses
            .entry((reply.status, reply.says_when))
            .or_default() += 1;
    }

    pub(crate) fn count_short(&mut self, reply: &Reply, took: Duration, is_first: bool) {
        self.count(reply);
        self.took.push(took);
        if is_first {
            self.took_first.push(took);
        }
    }

    pub(crate) fn count_learned(&mut self, n: u64) {
        self.n_learned += n;
    }

    pub(crate) const fn n_learned(&self) -> u64 {
        self.n_learned
    }

    pub(crate) fn p99(&self) -> Duration {
        all_but_one_in(&self.took, 100)
    }

    /// Nothing but answers, and refusals that the documentation has: come later, or a prediction
    /// that took too long.
    pub(crate) fn assert_legal(&self) {
        let is_legal = |(status, says_when): &(u16, bool)| {
            matches!((status, says_when), (200 | 504, false) | (503, true))
        };
        assert!(self.statuses.keys().all(is_legal), "{self}");
        let answered = self.statuses.get(&(200, false)).copied().unwrap_or(0);
        assert!(answered > 0, "{self}");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} short requests, half within {:.1?}, 99 of 100 within {:.1?} (of the last tenth \
             {:.1?}, of the first ones of sessions {:.1?}), 999 of 1,000 within {:.1?}; {} learned; \
             answers by status and whether they say when to come again: {:?}",
            self.took.len(),
            all_but_one_in(&self.took, 2),
            self.p99(),
            all_but_one_in(&self.took_late, 100),
            all_but_one_in(&self.took_first, 100),
            all_but_one_in(&self.took, 1000),
            self.n_learned,
            self.statuses
        )
    }
}

/// All but one in so many took no longer.
fn all_but_one_in(took: &[Duration], n: usize) -> Duration {
    let mut took = took.to_vec();
    took.sort_unstable();
    let idx = took.len() - took.len() / n;
    took.get(idx.saturating_sub(1)).copied().unwrap_or_default()
}
