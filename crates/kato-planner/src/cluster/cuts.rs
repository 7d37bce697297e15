//! Into how many tasks and ranges a run is best cut.

use super::{ClusterForecast, ClusterMachine, ClusterRates, ClusterRun, ObjectStore, simulate};
use crate::PlanError;

/// Tokens of a task at most, as its working files, twice what it uploads, take some 100 GB then.
const MOST_TOKENS_A_TASK: f64 = 5e9;

/// Symbols of a range of a level that are planned for: half of what it can have, as ranges are uneven
/// and refer to patterns of other ranges.
const SYMBOLS_A_RANGE: f64 = 2_147_483_648.0;

/// How many times the least number is tried at most, in doublings.
const MOST_DOUBLINGS: u32 = 12;

/// Which of the two numbers of a run are given; those that are not are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Tasks.
    pub tasks: Option<u64>,
    /// Ranges of names.
    pub ranges: Option<u64>,
}

/// Simulates a run cut into several numbers of tasks and ranges, and returns the one that is done first
/// with its forecast.
///
/// The numbers that are tried begin with the least that sizes allow, tasks of five billion tokens and
/// ranges of 2³¹ symbols, and double until there is more than enough for every machine. With more of
/// both all are kept busy to the end, but a merge reads a piece of every task: tasks × ranges × levels
/// requests. What `cuts` gives stays.
///
/// # Errors
///
/// Those of [`simulate`].
pub fn simulate_best(
    run: &ClusterRun,
    cuts: Cuts,
    rates: &ClusterRates,
    machine: &ClusterMachine,
    store: &ObjectStore,
) -> Result<(ClusterRun, ClusterForecast), PlanError> {
    let threads = run.n_workers.saturating_mul(machine.threads);
    let least_tasks = (run.tokens / MOST_TOKENS_A_TASK).ceil() as u64;
    let symbols = run.tokens * rates.patterns_a_token;
    let least_ranges = (symbols / SYMBOLS_A_RANGE).ceil() as u64;
    let mut best: Option<(ClusterRun, ClusterForecast)> = None;
    for n_tasks in numbers(cuts.tasks, least_tasks, run.n_workers.saturating_mul(10)) {
        for n_ranges in numbers(cuts.ranges, least_ranges, threads.saturating_mul(4)) {
            let mut cut = run.clone().with_ranges(n_ranges);
            cut.n_tasks = n_tasks;
            let forecast = match simulate(&cut, rates, machine, store) {
                Ok(forecast) => forecast,
                // More than can be simulated; a smaller number was.
                Err(_) if best.is_some() => continue,
                Err(error) => return Err(error),
            };
            let is_better = match &best {
                Some((_, best)) => forecast.seconds < best.seconds,
                None => true,
            };
            if is_better {
                best = Some((cut, forecast));
            }
        }
    }
    match best {
        Some(best) => Ok(best),
        None => Ok((run.clone(), simulate(run, rates, machine, store)?)),
    }
}

/// Returns the numbers to try: the given one, or doublings of the least up to the first that is enough.
fn numbers(given: Option<u64>, least: u64, enough: u64) -> impl Iterator<Item = u64> {
    let least = least.max(1);
    let first = given.unwrap_or(least);
    let doublings = match given {
        Some(_) => 0,
        None => MOST_DOUBLINGS,
    };
    (0..=doublings)
        .map(move |doubling| (first.saturating_mul(1 << doubling), doubling))
        .take_while(move |&(number, doubling)| doubling == 0 || number < enough.saturating_mul(2))
        .map(|(number, _)| number)
}
