//! The number of workers of a run.

use std::num::NonZeroUsize;

use crate::TrainError;
use crate::options::cores;

/// Memory of one worker, in bytes: with less it would do nothing but stage.
const MEMORY_OF_A_WORKER: usize = 4 << 20;

/// Memory that a worker has beside what it has learned, in bytes: tables of the tokenizer, and the
/// plan of the document at hand.
const OWN_MEMORY_OF_A_WORKER: u64 = 64 << 20;

/// Workers over a network at most: beyond it nothing was ever gained.
const MOST_REMOTE: usize = 32;

/// Workers at most: with more, a run would do nothing but start and stop them.
pub const MAX_WORKERS: usize = 1024;

/// The number of workers of a run.
///
/// ```
/// use kato_scheduler::Workers;
///
/// assert_eq!("auto".parse(), Ok(Workers::Auto));
/// assert_eq!("4".parse::<Workers>().map(|workers| workers.to_string()), Ok("4".to_owned()));
/// assert!("0".parse::<Workers>().is_err());
/// assert!("100000".parse::<Workers>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workers {
    /// One for each core, as far as the memory budget and the ceiling allow. Of a backend with
    /// [connections](crate::Backend::connections) up to [`most_workers`], of which as many work as pay, measured
    /// while the run goes on; with another distribution than work stealing all of them work.
    #[default]
    Auto,
    /// This many, at most [`MAX_WORKERS`].
    Exactly(NonZeroUsize),
}

/// A text that is not a number of workers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no number of workers: use auto, or a number from 1 to {MAX_WORKERS}")]
pub struct InvalidWorkers(String);

/// The connections that a backend over a network may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionBudget {
    /// All of them together.
    pub pool: usize,
    /// Connections that one worker needs at a time: one for each level.
    pub per_worker: usize,
}

impl ConnectionBudget {
    /// Checks that so many workers have the connections that they need.
    ///
    /// # Errors
    ///
    /// [`TrainError::Connections`] when there are too few.
    pub fn check(self, workers: usize) -> Result<(), TrainError> {
        let Self { pool, per_worker } = self;
        let needed = workers.saturating_mul(per_worker);
        if needed > pool {
            return Err(TrainError::Connections {
                workers,
                per_worker,
                needed,
                pool,
            });
        }
        Ok(())
    }
}

/// Returns the number of workers that [`Workers::Auto`] has at most.
///
/// Formula: min(cores, memory budget / 4 MiB); of a backend with connections min(pool /
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

/// Returns the number of workers whose own memory has room below the ceiling, beside what they have
/// learned.
fn below(memory_ceiling: Option<u64>, memory_budget: usize) -> NonZeroUsize {
    let room = memory_ceiling.map_or(u64::MAX, |ceiling| {
        ceiling.saturating_sub(memory_budget as u64)
    });
    let workers = usize::try_from(room / OWN_MEMORY_OF_A_WORKER).unwrap_or(usize::MAX);
    NonZeroUsize::new(workers).unwrap_or(NonZeroUsize::MIN)
}

impl Workers {
    /// Returns the number of threads, once it is known that they fit the connections.
    pub(crate) fn resolve(
        self,
        memory_budget: usize,
        memory_ceiling: Option<u64>,
        connections: Option<ConnectionBudget>,
    ) -> Result<NonZeroUsize, TrainError> {
        let workers = match self {
            Self::Auto => most_workers(cores(), memory_budget, connections)
                .min(below(memory_ceiling, memory_budget)),
            Self::Exactly(workers) if workers.get() > MAX_WORKERS => {
                return Err(TrainError::Workers {
                    workers: workers.get(),
                    most: MAX_WORKERS,
                });
            }
            Self::Exactly(workers) => workers,
        };
        // Checked for both kinds: with more levels than connections not even one worker fits.
        connections.map_or(Ok(()), |connections| connections.check(workers.get()))?;
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
            number => match number.parse() {
                Ok(number) if NonZeroUsize::get(number) <= MAX_WORKERS => Ok(Self::Exactly(number)),
                _ => Err(InvalidWorkers(text.to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_fit_below_the_ceiling_and_there_is_always_one() {
        let below = |ceiling: Option<u64>| below(ceiling, 60 << 20).get();
        assert_eq!(below(None), (u64::MAX / OWN_MEMORY_OF_A_WORKER) as usize);
        assert_eq!(below(Some(0)), 1);
        assert_eq!(below(Some(180 << 20)), 1);
        assert_eq!(below(Some(600 << 20)), 8);
        let auto = Workers::Auto.resolve(1 << 30, Some(1 << 20), None);
        assert_eq!(auto.unwrap().get(), 1);
    }

    #[test]
    fn more_workers_than_there_may_be_are_refused() {
        let resolve = |workers| {
            let workers = Workers::Exactly(NonZeroUsize::new(workers).unwrap());
            workers.resolve(1 << 30, None, None)
        };
        assert_eq!(resolve(MAX_WORKERS).unwrap().get(), MAX_WORKERS);
        for number in [MAX_WORKERS + 1, 100_000, usize::MAX] {
            let error = resolve(number).unwrap_err().to_string();
            assert!(error.contains("1024"), "{error}");
            let text = number.to_string();
            assert!(text.parse::<Workers>().is_err(), "{text}");
        }
        let beyond = "100000000000000000000000".parse::<Workers>().unwrap_err();
        assert!(beyond.to_string().contains("1024"), "{beyond}");
    }

    #[test]
    fn what_does_not_fit_the_connections_is_refused_with_both_numbers() {
        let connections = Some(ConnectionBudget {
            pool: 50,
            per_worker: 4,
        });
        let resolve = |workers| {
            Workers::Exactly(NonZeroUsize::new(workers).unwrap()).resolve(
                1 << 30,
                None,
                connections,
            )
        };
        assert_eq!(resolve(12).unwrap().get(), 12);
        let error = resolve(15).unwrap_err().to_string();
        assert!(error.contains("60") && error.contains("50"), "{error}");
        let fits = Workers::Auto.resolve(1 << 30, None, connections).unwrap();
        assert_eq!(fits.get(), 12);
        // More levels than connections fit no worker at all.
        let starved = Some(ConnectionBudget {
            pool: 3,
            per_worker: 4,
        });
        assert!(Workers::Auto.resolve(1 << 30, None, starved).is_err());
    }
}
