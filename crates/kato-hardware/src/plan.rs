//! Shares of the steps in the time of an analysis. They add up to its limit, whatever hangs; time
//! that one step leaves over, later ones may take.

use std::time::Duration;

use crate::step::Step;

/// Longest time of a whole analysis and of a quick one: below a minute and below ten seconds with
/// everything around it.
pub(crate) const LIMITS: [Duration; 2] = [Duration::from_secs(55), Duration::from_secs(9)];
/// Part of a share that is spent on measuring. The rest is for noticing that it is over, and for
/// cleaning up.
const MEASURING: f64 = 0.7;

/// Every step with its part of the time, in proportion to the others.
const PARTS: [(Step, u32); 13] = [
    (Step::Machine, 2),
    (Step::Disks, 2),
    (Step::Gpus, 8),
    (Step::Network, 2),
    (Step::Memory, 12),
    (Step::Naming, 6),
    (Step::Decoding, 4),
    (Step::Tokenizing, 6),
    (Step::Disk, 26),
    (Step::Store, 12),
    (Step::Loopback, 2),
    (Step::Mongodb, 14),
    (Step::Kato, 4),
];

/// The time of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// Time for measuring.
    pub(crate) time: Duration,
    /// Time for ending.
    pub(crate) grace: Duration,
}

/// Returns the share of a step in an analysis of this limit.
pub(crate) fn share(step: Step, limit: Duration) -> Share {
    let all: u32 = PARTS.iter().map(|(_, part)| part).sum();
    let part = PARTS.iter().find(|(of, _)| *of == step);
    let part = part.map_or(0, |(_, part)| *part);
    let whole = limit.mul_f64(f64::from(part) / f64::from(all));
    let time = whole.mul_f64(MEASURING);
    Share {
        time,
        // The difference, so that rounding loses nothing of the limit.
        grace: whole - time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_limit() {
        for limit in LIMITS {
            let sum: Duration = PARTS
                .iter()
                .map(|(step, _)| share(*step, limit))
                .map(|share| share.time + share.grace)
                .sum();
            assert!(sum <= limit && sum >= limit.mul_f64(0.999), "{sum:?}");
        }
        assert!(LIMITS[0] < Duration::from_secs(60) && LIMITS[1] < Duration::from_secs(10));
    }
}
