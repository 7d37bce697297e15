//! Dealing tasks out to machines, some of which die.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use kato_random::SplitMix64;

use super::ClusterRun;

/// What dealing out tasks of a phase came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dealt {
    /// Seconds until the last task was done.
    pub(super) makespan: f64,
    /// Machine seconds of attempts that count.
    pub(super) useful: f64,
    /// Attempts that a machine died over.
    pub(super) n_lost: u64,
}

/// A moment of the simulated clock; all are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Deals tasks of this mean length to so many lanes, each to the one that is free first. A task whose
/// machine dies goes to the end of the queue.
pub(super) fn deal(
    run: &ClusterRun,
    phase: u64,
    (n_lanes, n_tasks): (u64, u64),
    seconds: f64,
) -> Dealt {
    // A stream for each phase, so that the lengths of one do not depend on the deaths of the other.
    let mut random = SplitMix64::from_seed(run.seed ^ phase.wrapping_mul(SplitMix64::INCREMENT));
    // How long each task takes is a matter of the task: it takes as long again.
    let lengths = (0..n_tasks).map(|_| seconds * log_normal(&mut random, run.spread));
    let mut waiting: VecDeque<f64> = lengths.collect();
    let mut free: BinaryHeap<Reverse<Moment>> = (0..n_lanes.min(n_tasks))
        .map(|_| Reverse(Moment(0.0)))
        .collect();
    let mut dealt = Dealt {
        makespan: 0.0,
        useful: 0.0,
        n_lost: 0,
    };
    while let (Some(length), Some(Reverse(Moment(start)))) = (waiting.pop_front(), free.pop()) {
        let death = exponential(&mut random, run.deaths_a_worker_hour / 3600.0);
        if death < length {
            dealt.n_lost += 1;
            waiting.push_back(length);
            free.push(Reverse(Moment(start + death + run.restart_seconds)));
        } else {
            dealt.useful += length;
            dealt.makespan = dealt.makespan.max(start + length);
            free.push(Reverse(Moment(start + length)));
        }
    }
    dealt
}

/// Draws a factor with mean 1 whose logarithm is normal with this standard deviation.
fn log_normal(random: &mut SplitMix64, deviation: f64) -> f64 {
    // Box and Muller; 1 − unit is never 0.
    let (u, v) = (1.0 - random.unit(), random.unit());
    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    (deviation * normal - deviation * deviation / 2.0).exp()
}

/// Draws the time to an event that comes so often in a second; infinite where it never does.
fn exponential(random: &mut SplitMix64, rate: f64) -> f64 {
    let unit = 1.0 - random.unit();
    match rate > 0.0 {
        true => -unit.ln() / rate,
        false => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tasks_of_machines_that_live_take_full_rounds() {
        let run = ClusterRun::new(1.0, 10).with_workers(4).with_spread(0.0);
        let run = run.with_deaths(0.0, 0.0);
        let dealt = deal(&run, 0, (4, 10), 2.0);
        assert_eq!((dealt.makespan, dealt.n_lost), (6.0, 0));
        assert!((dealt.useful - 20.0).abs() < 1e-9);
    }

    #[test]
    fn lengths_spread_around_their_mean() {
        let mut random = SplitMix64::from_seed(1);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| log_normal(&mut random, 0.5)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / n as f64;
        // exp(σ²) − 1.
        assert!((square - 0.284).abs() < 0.02, "{square}");
    }

    #[test]
    fn a_machine_dies_as_often_as_it_is_said_to() {
        // An hour of work in tasks of 6 minutes, and a death an hour: an attempt is lost with
        // 1 − exp(−0.1).
        let run = ClusterRun::new(1.0, 10_000).with_workers(10);
        let run = run.with_spread(0.0).with_deaths(1.0, 30.0);
        let dealt = deal(&run, 0, (10, 10_000), 360.0);
        let share = dealt.n_lost as f64 / (10_000.0 + dealt.n_lost as f64);
        assert!((share - 0.0952).abs() < 0.01, "{share}");
    }
}
