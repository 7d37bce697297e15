//! The original's rule of fixed thresholds, to compare verdicts with: each resource scores min(1,
//! value / threshold), and the greatest score names the bottleneck.

use std::fmt;

use kato_profiler::ProfilingSummary;

/// A resource of the rule, in the order in which ties are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Cpu,
    Memory,
    Disk,
    Network,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Network => "network",
        })
    }
}

/// The resources with their thresholds: per cent of the allowed cores, per cent of what the process
/// may have, MB a second written, milliseconds of the mean round trip.
const THRESHOLDS: [(Resource, f64); 4] = [
    (Resource::Cpu, 80.0),
    (Resource::Memory, 75.0),
    (Resource::Disk, 50.0),
    (Resource::Network, 100.0),
];

/// Returns the bottleneck and its score; none where everything is idle, unknown or not a number.
pub(crate) fn score(values: [Option<f64>; 4]) -> (Option<Resource>, f64) {
    let mut verdict = (None, 0.0);
    for ((resource, threshold), value) in THRESHOLDS.into_iter().zip(values) {
        let score = value.unwrap_or(0.0) / threshold;
        // Once a score is 1, a later one can only be equal, and the first wins. A NaN is not
        // greater than anything.
        if score > verdict.1 && verdict.1 < 1.0 {
            verdict = (Some(resource), score.min(1.0));
        }
    }
    verdict
}

/// Scores a run by its means; that of round trips is over all calls, as a peer that is called once
/// must not count like others.
pub(crate) fn judge(summary: &ProfilingSummary) -> (Option<Resource>, f64) {
    let trips = summary.calls.iter().filter_map(|calls| calls.latency);
    let (count, seconds) = trips.fold((0, 0.0), |(count, seconds), trip| {
        (count + trip.count, seconds + trip.mean * trip.count as f64)
    });
    score([
        summary.cpu_avg_percent(),
        summary.memory.share_used.map(|share| 100.0 * share.mean),
        summary
            .disk
            .written_bytes_per_second
            .map(|bytes| bytes * 1e-6),
        (count > 0).then(|| 1e3 * seconds / count as f64),
    ])
}

#[test]
fn the_table_of_the_rule() {
    use Resource::{Cpu, Disk, Memory, Network};
    let nan = f64::NAN;
    // Processor %, memory %, disk MB/s, network ms: the bottleneck and its score.
    let table = [
        ([80.0, 0.0, 0.0, 0.0], Some(Cpu), 1.0),
        ([400.0, 10.0, 10.0, 10.0], Some(Cpu), 1.0),
        ([0.0, 30.0, 0.0, 0.0], Some(Memory), 0.4),
        ([8.0, 7.5, 25.0, 10.0], Some(Disk), 0.5),
        ([0.0, 0.0, 0.0, 25.0], Some(Network), 0.25),
        // Ties, below and at saturation.
        ([40.0, 37.5, 25.0, 50.0], Some(Cpu), 0.5),
        ([0.0, 37.5, 25.0, 50.0], Some(Memory), 0.5),
        ([79.0, 750.0, 500.0, 1000.0], Some(Memory), 1.0),
        // Nothing, and what is no figure.
        ([0.0, 0.0, 0.0, 0.0], None, 0.0),
        ([-5.0, -1.0, -1.0, -1.0], None, 0.0),
        ([nan, 37.5, nan, 10.0], Some(Memory), 0.5),
        ([8.0, nan, f64::INFINITY, 0.0], Some(Disk), 1.0),
    ];
    for (values, resource, confidence) in table {
        let (found, score) = score(values.map(Some));
        assert_eq!(found, resource, "{values:?}");
        assert!((score - confidence).abs() < 1e-12, "{values:?}");
    }
    assert_eq!(score([None; 4]), (None, 0.0));
}
