//! Disturbance of a measurement from outside: processor time that a hypervisor, other programs or a
//! quota took.

use std::fs;
use std::path::Path;
use std::time::Instant;

use kato_probe::process::{Cgroups, processor_ticks};

/// The system's counters at the beginning of a measurement, to be compared with those at its end.
#[derive(Debug)]
pub(crate) struct Watch {
    start: Instant,
    ticks: Option<Ticks>,
    own: Option<u64>,
    throttled: Option<f64>,
    groups: Option<Cgroups>,
}

/// Shares of the time watched, where the system reports them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interference {
    pub(crate) steal: Option<f64>,
    pub(crate) others: Option<f64>,
    pub(crate) throttled: Option<f64>,
    pub(crate) seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
    idle: u64,
}

impl Watch {
    /// Reads the counters.
    pub(crate) fn start() -> Self {
        let groups = Cgroups::of_process(Path::new("/"));
        Self {
            ticks: ticks(),
            own: processor_ticks(),
            throttled: groups.as_ref().and_then(Cgroups::throttled_seconds),
            groups,
            // After the counters, so that reading them is no part of the time.
            start: Instant::now(),
        }
    }

    /// Reads the counters again and returns what was taken meanwhile.
    pub(crate) fn stop(self) -> Interference {
        let seconds = self.start.elapsed().as_secs_f64();
        // A difference that is not positive says nothing, as in a measurement shorter than a tick.
        let steal = self.ticks.zip(ticks()).and_then(|(before, after)| {
            let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
            Some(after.stolen.checked_sub(before.stolen)? as f64 / all as f64)
        });
        let own = self
            .own
            .zip(processor_ticks())
            .and_then(|(before, after)| after.checked_sub(before));
        let others = self.ticks.zip(ticks()).zip(own).and_then(|(ticks, own)| {
            let (before, after) = ticks;
            let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
            let not_ours = [before, after].map(|ticks| ticks.idle + ticks.stolen);
            let taken = all.checked_sub(not_ours[1].checked_sub(not_ours[0])?)?;
            // The counters are read one after the other, so this process may seem to have used
            // more than all together.
            Some(taken.saturating_sub(own) as f64 / all as f64)
        });
        let after = self.groups.as_ref().and_then(Cgroups::throttled_seconds);
        let throttled = self.throttled.zip(after).map(|(before, after)| {
            // Both counters only grow, and a measurement takes time.
            (after - before).max(0.0) / seconds.max(1e-9)
        });
        Interference {
            steal,
            others,
            throttled,
            seconds,
        }
    }
}

/// Returns the machine's ticks until now.
fn ticks() -> Option<Ticks> {
    parse_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// Parses the line of all processors: user, nice, system, idle, iowait, irq, softirq, steal. Guests
/// are counted in user and nice.
fn parse_ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let columns: Vec<u64> = line
        .split_whitespace()
        // Without the columns of guests, which would count twice.
        .take(8)
        .map_while(|column| column.parse().ok())
        .collect();
    let [idle, waiting, stolen] = [3, 4, 7].map(|place| columns.get(place).copied());
    Some(Ticks {
        all: columns.iter().sum(),
        stolen: stolen?,
        idle: idle? + waiting?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_ticks_are_the_eighth_column() {
        let stat = "cpu  100 5 50 800 10 1 4 30 7 0\ncpu0 50 2 25 400 5 0 2 15 3 0\n";
        let expected = Ticks {
            all: 1000,
            stolen: 30,
            idle: 810,
        };
        assert_eq!(parse_ticks(stat), Some(expected));
        assert_eq!(parse_ticks("cpu  100 5 50 800\n"), None);
        assert_eq!(parse_ticks(""), None);
    }
}
