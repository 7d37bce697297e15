//! Into how many tasks and ranges a run is best cut.

use std::iter;

use super::{ClusterForecast, ClusterMachine, ClusterRates, ClusterRun, ObjectStore, simulate};
use crate::PlanError;

/// Tokens of a task at most, as its working files, twice what it uploads, take some 100 GB then.
const MOST_TOKENS_A_TASK: f64 = 5e9;

/// Symbols of a range of a level that are planned for: half of what it can have, as ranges are uneven
/// and refer to patterns of other ranges.
const SYMBOLS_A_RANGE: f64 = 2_147_483_648.0;

/// Tasks of a machine, and merges of a level for a thread, beyond which more would keep nobody busier.
const MOST_TASKS_A_WORKER: u64 = 10;
const MOST_RANGES_A_THREAD: u64 = 4;

/// Tasks or ranges that a plan can have.
const MOST_CUTS: u64 = 1_000_000;

/// Numbers behind the least that are tried at most: every pair is simulated.
const MOST_STEPS: u32 = 12;

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
/// ranges of 2³¹ symbols, and double until there is enough for every machine, or grow by a larger factor where
/// doubling would take more than twelve steps. Beyond the least they are a million at most, as in a plan.
/// With more of both all are kept busy to the end, but a merge reads a piece of every task: tasks × ranges × levels
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
    let tasks = numbers(
        cuts.tasks,
        least_tasks,
        run.n_workers.saturating_mul(MOST_TASKS_A_WORKER),
    );
    let ranges = numbers(
        cuts.ranges,
        least_ranges,
        threads.saturating_mul(MOST_RANGES_A_THREAD),
    );
    let simulated = |n_tasks, n_ranges| {
        let mut cut = run.clone().with_ranges(n_ranges);
        cut.n_tasks = n_tasks;
        let forecast = simulate(&cut, rates, machine, store)?;
        Ok::<_, PlanError>((cut, forecast))
    };
    // The least of both decides whether the run can be simulated at all; others that cannot are too
    // many.
    let mut best = simulated(tasks[0], ranges[0])?;
    let pairs = tasks
        .iter()
        .flat_map(|&n_tasks| ranges.iter().map(move |&n_ranges| (n_tasks, n_ranges)));
    for (n_tasks, n_ranges) in pairs.skip(1) {
        if let Ok(found) = simulated(n_tasks, n_ranges)
            && found.1.seconds < best.1.seconds
        {
            best = found;
        }
    }
    Ok(best)
}

/// Returns the numbers to try, at least one: the given one, or those from the least up to one that is enough.
fn numbers(given: Option<u64>, least: u64, enough: u64) -> Vec<u64> {
    if let Some(given) = given {
        return vec![given];
    }
    let least = least.max(1);
    let enough = enough.min(MOST_CUTS) as f64;
    let doublings = (enough / least as f64).log2().ceil().max(0.0);
    let steps = doublings.min(f64::from(MOST_STEPS));
    let factor = match doublings > steps {
        true => (enough / least as f64).powf(steps.recip()),
        false => 2.0,
    };
    let more = (1..=steps as i32).map(|step| (least as f64 * factor.powi(step)).round() as u64);
    let more = more.map(|number| number.min(MOST_CUTS));
    iter::once(least).chain(more).collect()
}
