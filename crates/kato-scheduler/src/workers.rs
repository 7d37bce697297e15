//! The number of workers of a run.

use std::num::NonZeroUsize;

use crate::TrainError;
use crate::options::cores;

/// Memory of one worker, in bytes: with less it would do nothing but stage.
const MEMORY_OF_A_WORKER: usize = 4 << 20;

/// Workers over a network at most: beyond it nothing was ever gained.
const MOST_REMOTE: usize = 32;

/// The number of workers of a run.
///
/// ```
/// use kato_scheduler::Workers;
///
/// assert_eq!("auto".parse(), Ok(Workers::Auto));
/// assert_eq!("4".parse::<Workers>().map(|workers| workers.to_string()), Ok("4".to_owned()));
/// assert!("0".parse::<Workers>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workers {
    /// In this process one for each core, as far as the memory budget allows. Over a network up to
    /// [`most_workers`], of which as many work as pay, measured while the run goes on.
    #[default]
    Auto,
    /// This many.
    Exactly(NonZeroUsize),
}

/// A text that is not a number of workers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no number of workers: use auto, or a number from 1 on")]
pub struct InvalidWorkers(String);

/// The connections that a backend over a network may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionBudget {
    /// All of them together.
    pub pool: usize,
    /// Connections that one worker needs at a time: one for each level.
    pub per_worker: usize,
}

/// Returns the number of workers that [`Workers::Auto`] has at most.
///
/// Formula: in this process min(cores, memory budget / 4 MiB); over a network min(pool /
/// connections of a worker, 32, memory budget / 4 MiB); at least 1.
///
/// ```
/// use std::num::NonZeroUsize;
/// use kato_scheduler::workers::{ConnectionBudget, most_workers};
///
/// let cores = NonZeroUsize::new(8).expect("8 is not 0");
/// assert_eq!(most_workers(cores, 256 << 20, None).get(), 8);
/// assert_eq!(most_workers(cores, 8 << 20, None).get(), 2);
/// assert_eq!(most_workers(cores, 256 << 20, Some(ConnectionBudget { pool: 50, per_worker: 4 })).get(), 12);
/// ```
#[must_use]
pub fn most_workers(
    cores: NonZeroUsize,
    memory_budget: usize,
    connections: Option<ConnectionBudget>,
) -> NonZeroUsize {
    let reachable = match connections {
        None => cores.get(),
        // The fields are public: a backend may say that a worker needs no connection.
        Some(ConnectionBudget { pool, per_worker }) => (pool / per_worker.max(1)).min(MOST_REMOTE),
    };
    let affordable = memory_budget / MEMORY_OF_A_WORKER;
    // At least one, whatever the budgets. If even that needs more connections than there are,
    // `resolve` refuses it.
    NonZeroUsize::new(reachable.min(affordable)).unwrap_or(NonZeroUsize::MIN)
}

impl Workers {
    /// Returns the number of threads, once it is known that they fit the connections.
    pub(crate) fn resolve(
        self,
        memory_budget: usize,
        connections: Option<ConnectionBudget>,
    ) -> Result<NonZeroUsize, TrainError> {
        let workers = match self {
            Self::Auto => most_workers(cores(), memory_budget, connections),
            Self::Exactly(workers) => workers,
        };
        if let Some(ConnectionBudget { pool, per_worker }) = connections {
            // Checked for both kinds: with more levels than connections not even one worker fits.
            let needed = workers.get().saturating_mul(per_worker);
            if needed > pool {
                return Err(TrainError::Connections {
                    workers: workers.get(),
                    per_worker,
                    needed,
                    pool,
                });
            }
        }
        Ok(workers)
    }
}

impl std::fmt::Display for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Exactly(workers) => workers.fmt(f),
        }
    }
}

impl std::str::FromStr for Workers {
    type Err = InvalidWorkers;

    fn from_str(text: &str) -> Result<Self, InvalidWorkers> {
        match text {
            "auto" => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::Exactly)
                .map_err(|_| InvalidWorkers(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_the_connections_is_refused_with_both_numbers() {
        let connections = Some(ConnectionBudget {
            pool: 50,
            per_worker: 4,
        });
        let resolve = |workers| {
            Workers::Exactly(NonZeroUsize::new(workers).unwrap()).resolve(1 << 30, connections)
        };
        assert_eq!(resolve(12).unwrap().get(), 12);
        let error = resolve(15).unwrap_err().to_string();
        assert!(error.contains("60") && error.contains("50"), "{error}");
        let fits = Workers::Auto.resolve(1 << 30, connections).unwrap();
        assert_eq!(fits.get(), 12);
        // More levels than connections fit no worker at all.
        let starved = Some(ConnectionBudget {
            pool: 3,
            per_worker: 4,
        });
        assert!(Workers::Auto.resolve(1 << 30, starved).is_err());
    }
}
