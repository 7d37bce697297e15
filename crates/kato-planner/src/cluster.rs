//! Runs on many machines: time, bytes, requests and money, by simulating every task.
//!
//! A run over a cluster learns tasks, merges ranges of names, and seals each range as a segment; each is
//! done by whichever machine is free. [`simulate`] deals them out one after the other, as a scheduler does, with tasks of
//! different lengths and machines that die, and tells of each phase what bounds it. The rates are
//! those that were measured; what the simulation adds is arithmetic.
//! [`simulate_best`] finds the numbers of tasks and ranges with which a run is done first.
//!
//! ```
//! use kato_planner::cluster::{ClusterMachine, ClusterRates, ClusterRun, ObjectStore, simulate};
//!
//! let run = ClusterRun::new(1e9, 64).with_workers(8).with_ranges(8);
//! let rates = ClusterRates::new(5e6, 2e6, 0.16);
//! let machine = ClusterMachine::new(8, 312e6, 0.357);
//! let forecast = simulate(&run, &rates, &machine, &ObjectStore::new())?;
//! assert!(forecast.seconds > 0.0 && forecast.usd > 0.0);
//! # Ok::<(), kato_planner::PlanError>(())
//! ```

mod cuts;
mod deal;
mod rates;
mod run;

use serde::Serialize;

pub use self::cuts::{Cuts, simulate_best};
use self::deal::{Dealt, deal};
pub use self::rates::{ClusterMachine, ClusterRates, ObjectStore};
pub use self::run::ClusterRun;
use crate::PlanError;

/// What bounds a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// The processors of the machines.
    Processor,
    /// The network of a machine.
    Network,
    /// The bytes that the store gives and takes in a second, from all machines together.
    StoreBytes,
    /// The requests that the store answers in a second, from all machines together.
    StoreRequests,
    /// The time of single requests, one after the other.
    Latency,
}

/// What a phase takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PhaseForecast {
    /// Seconds from its first task to its last.
    pub seconds: f64,
    /// Tasks, merges or ranges.
    pub n_tasks: u64,
    /// Attempts that a machine died over; each was made again.
    pub n_lost: u64,
    /// What bounds a task.
    pub bound: Bound,
    /// The share of the machines' time that went into attempts that count.
    pub useful: f64,
    /// Bytes that were read over the network, by attempts that count.
    pub read_bytes: f64,
    /// Bytes that were written over the network, by attempts that count.
    pub written_bytes: f64,
    /// Requests that read, of attempts that count.
    pub n_reads: f64,
    /// Requests that write, of attempts that count.
    pub n_writes: f64,
}

/// What a whole run takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterForecast {
    /// Machines.
    pub n_workers: u64,
    /// Seconds of all phases.
    pub seconds: f64,
    /// Learning.
    pub learn: PhaseForecast,
    /// Merging.
    pub merge: PhaseForecast,
    /// Sealing.
    pub seal: PhaseForecast,
    /// Rent of the machines, in USD.
    pub machine_usd: f64,
    /// Price of the requests, in USD.
    pub request_usd: f64,
    /// Both together, in USD.
    pub usd: f64,
    /// Bytes of the knowledge base's segments.
    pub stored_bytes: f64,
    /// Price of keeping it in the store for a month, in USD.
    pub stored_usd_a_month: f64,
    /// Symbols of a range of the level that has most, in the mean of all ranges; none may reach 2³².
    pub most_symbols_a_range: f64,
}

/// What one attempt at a task asks of a machine and of the store.
#[derive(Debug, Clone, Copy)]
struct Load {
    core_seconds: f64,
    read_bytes: f64,
    written_bytes: f64,
    n_reads: f64,
    n_writes: f64,
}

/// Simulates a run.
///
/// A task's bytes are read while it computes and written when it is done; what is slower decides. The
/// limits of the store are shared by all machines at work. Lengths of tasks spread around the mean by
/// a log-normal distribution, deaths come at random times, and both are drawn from the run's seed.
/// Starting machines and fetching what is published are not counted.
///
/// # Errors
///
/// [`PlanError::Value`] for numbers that cannot be what they stand for.
pub fn simulate(
    run: &ClusterRun,
    rates: &ClusterRates,
    machine: &ClusterMachine,
    store: &ObjectStore,
) -> Result<ClusterForecast, PlanError> {
    run.check()?;
    rates.check()?;
    machine.check()?;
    store.check()?;
    let [learn, merge, seal] = loads(run, rates, store);
    let threads = machine.threads as f64;
    // A task is learned by all threads of a machine; of merges it does one with each thread.
    let whole = Lanes {
        n: run.n_workers,
        threads,
        bytes_a_second: machine.network_bytes_a_second,
    };
    let single = Lanes {
        n: run.n_workers.saturating_mul(machine.threads),
        threads: 1.0,
        bytes_a_second: machine.network_bytes_a_second / threads,
    };
    let learn = phase(run, (0, run.n_tasks), learn, &whole, store);
    let merge = phase(run, (1, run.n_ranges * run.n_levels), merge, &single, store);
    let seal = phase(run, (2, run.n_ranges), seal, &single, store);
    let phases = [&learn, &merge, &seal];
    let sum = |of: fn(&PhaseForecast) -> f64| phases.into_iter().map(of).sum::<f64>();
    let seconds = sum(|phase| phase.seconds);
    let segments = run.tokens * rates.segment_bytes_a_token;
    let patterns = run.tokens * rates.patterns_a_token;
    let machine_usd = run.n_workers as f64 * seconds / 3600.0 * machine.usd_an_hour;
    let request_usd = (sum(|phase| phase.n_reads) * store.usd_a_million_reads
        + sum(|phase| phase.n_writes) * store.usd_a_million_writes)
        / 1e6;
    Ok(ClusterForecast {
        n_workers: run.n_workers,
        seconds,
        machine_usd,
        request_usd,
        usd: machine_usd + request_usd,
        stored_bytes: segments,
        stored_usd_a_month: segments / 1e9 * store.usd_a_gb_month,
        // Nearly all patterns are of the lowest level, and each is a symbol of the next.
        most_symbols_a_range: patterns / run.n_ranges as f64,
        learn,
        merge,
        seal,
    })
}

/// Returns what an attempt asks for: at learning a task, at merging and at sealing a range.
fn loads(run: &ClusterRun, rates: &ClusterRates, store: &ObjectStore) -> [Load; 3] {
    let (tasks, levels) = (run.n_tasks as f64, run.n_levels as f64);
    let merges = run.n_ranges as f64 * levels;
    let slices = run.tokens * rates.slice_bytes_a_token;
    let merged = run.tokens * rates.merged_bytes_a_token;
    let segments = run.tokens * rates.segment_bytes_a_token;
    let patterns = run.tokens * rates.patterns_a_token;
    let learn = Load {
        core_seconds: run.tokens / tasks / rates.learn_tokens_a_second,
        read_bytes: run.tokens / tasks * rates.corpus_bytes_a_token,
        written_bytes: slices / tasks,
        // The plan and the marker, and the corpus in pieces.
        n_reads: 2.0 + (run.tokens / tasks * rates.corpus_bytes_a_token / store.part_bytes).ceil(),
        n_writes: 1.0 + levels * (slices / tasks / levels / store.part_bytes).ceil().max(1.0),
    };
    let merge = Load {
        core_seconds: patterns / merges / rates.merge_patterns_a_second,
        read_bytes: slices / merges,
        written_bytes: merged / merges,
        // Of every task its marker, its dictionary and the range.
        n_reads: 1.0 + tasks * (2.0 + (slices / merges / tasks / store.part_bytes).ceil()),
        n_writes: 1.0 + (merged / merges / store.part_bytes).ceil().max(1.0),
    };
    let ranges = run.n_ranges as f64;
    let seal = Load {
        core_seconds: patterns / ranges / rates.seal_patterns_a_second,
        read_bytes: merged / ranges,
        written_bytes: segments / ranges,
        n_reads: 1.0 + levels * (1.0 + (merged / merges / store.part_bytes).ceil()),
        n_writes: 1.0 + (segments / ranges / store.part_bytes).ceil().max(1.0),
    };
    [learn, merge, seal]
}

/// Where tasks of a phase are done, one at a time in each lane.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    n: u64,
    threads: f64,
    bytes_a_second: f64,
}

/// Simulates one phase of a run, given by its number, with so many tasks.
fn phase(
    run: &ClusterRun,
    (number, n_tasks): (u64, u64),
    load: Load,
    lanes: &Lanes,
    store: &ObjectStore,
) -> PhaseForecast {
    let at_work = lanes.n.min(n_tasks) as f64;
    let bytes = load.read_bytes + load.written_bytes;
    let n_requests = load.n_reads + load.n_writes;
    let processor = load.core_seconds / lanes.threads;
    let reading = load.read_bytes / lanes.bytes_a_second;
    let writing = load.written_bytes / lanes.bytes_a_second;
    let latency = n_requests * store.request_seconds / lanes.threads;
    // What is read is computed with at once; what is written is there at the end.
    let own = processor.max(reading) + writing + latency;
    let limits = [
        (Bound::StoreBytes, at_work * bytes / store.bytes_a_second),
        (
            Bound::StoreRequests,
            at_work * n_requests / store.requests_a_second,
        ),
    ];
    let mut seconds = own;
    let mut bound = match (processor >= reading, processor.max(reading)) {
        (_, longer) if latency > longer + writing => Bound::Latency,
        (true, longer) if longer >= writing => Bound::Processor,
        _ => Bound::Network,
    };
    for (limit, shared) in limits {
        if shared > seconds {
            (seconds, bound) = (shared, limit);
        }
    }
    let Dealt {
        makespan,
        useful,
        n_lost,
    } = deal(run, number, (lanes.n, n_tasks), seconds);
    let n = n_tasks as f64;
    PhaseForecast {
        seconds: makespan,
        n_tasks,
        n_lost,
        bound,
        useful: useful / (makespan * lanes.n as f64),
        read_bytes: n * load.read_bytes,
        written_bytes: n * load.written_bytes,
        n_reads: n * load.n_reads,
        n_writes: n * load.n_writes,
    }
}
