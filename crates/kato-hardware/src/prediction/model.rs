//! The model of predictions: the cost of a sample in every resource, by measured rates
//! (`docs/costs.md`).

use super::{BottleneckResource, Demand, PredictedRange, SpeedForecast, Workload, WorkloadStore};
use crate::HardwareProfile;
use crate::bench::naming::NAME;
use crate::bench::store::LENGTHS;
use crate::figure::{Finding, Measured, MeasuredFigure};

/// Bytes of a token in the text that is hashed, with what surrounds it.
const TOKEN: f64 = 13.0;
/// Bytes of JSON for each byte of text.
const AROUND_TEXT: f64 = 1.05;
/// Seconds between two commits, as training does it by default.
const COMMIT_INTERVAL: f64 = 10.0;
/// Rough number of patterns of a segment of the store when it is written, and the number of
/// segments above which they are merged.
const SEGMENT: f64 = 2.5e6;
const SEGMENTS: f64 = 64.0;
/// Relative error of the model itself, either way, beside the spread of what was measured.
const MODEL: f64 = 0.3;
/// Cost of a learn call to a KATO server, in health checks: expected, and at most. It cannot cost
/// less than one.
const LEARN: f64 = 2.0;
const LEARN_AT_MOST: f64 = 6.0;
/// Memory that training takes by default, in bytes.
const MEMORY: u64 = 800_000_000;

/// Predicts a training whose sizes have been checked.
pub(super) fn predict(profile: &HardwareProfile, workload: &Workload) -> SpeedForecast {
    let mut inputs = Inputs {
        profile,
        missing: Vec::new(),
        spread: 0.0,
    };
    let calls = workload.calls();
    let times = inputs.times(workload, &calls);
    let stored_bytes = inputs.stored_bytes(workload, &calls);
    let rate = if inputs.missing.is_empty() {
        rate(workload.backend, &times, inputs.spread)
    } else {
        Finding::unknown(format!("not measured: {}", inputs.missing.join("; ")))
    };
    let expected = rate.known().map_or(0.0, |rate| rate.expected);
    let mut demands: Vec<Demand> = times
        .iter()
        .map(|(resource, seconds)| Demand {
            resource: *resource,
            seconds_per_sample: *seconds,
            utilization: (seconds * expected).min(1.0),
        })
        .collect();
    demands.sort_by(|a, b| b.seconds_per_sample.total_cmp(&a.seconds_per_sample));
    if rate.known().is_none() {
        // Missing figures make demands meaningless, and those that are left would look complete.
        demands.clear();
    }
    SpeedForecast {
        workload: workload.clone(),
        warnings: warnings(profile, workload, stored_bytes.known()),
        // The first demand is the largest. A known rate has demands, so the default is never used.
        bottleneck: rate.clone().map(|_| {
            demands
                .first()
                .map_or(BottleneckResource::Processor, |demand| demand.resource)
        }),
        seconds: rate
            .clone()
            .map(|rate| rate.divide_into(workload.dataset_size as f64)),
        samples_per_second: rate,
        stored_bytes,
        demands,
        calls,
    }
}

/// Returns the samples a second, by the seconds of each resource for one.
///
/// Threads that overlap fully are as fast as the busiest resource; threads that never do take the
/// sum.
fn rate(
    backend: WorkloadStore,
    times: &[(BottleneckResource, f64)],
    spread: f64,
) -> Finding<PredictedRange> {
    let sum: f64 = times.iter().map(|(_, seconds)| seconds).sum();
    let most = times
        .iter()
        .map(|(_, seconds)| *seconds)
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return Finding::unknown("a document of this kind has nothing to learn: give longer ones");
    }
    let off = 1.0 + MODEL + spread;
    Finding::Known(match backend {
        // Each call waits for the one before it: nothing overlaps. The ends are the most and the
        // least that a call may cost.
        WorkloadStore::Kato => PredictedRange {
            low: 1.0 / (sum * LEARN_AT_MOST / LEARN * (1.0 + spread)),
            expected: 1.0 / sum,
            high: LEARN / sum * (1.0 + spread),
        },
        WorkloadStore::Embedded | WorkloadStore::MongoDb => PredictedRange {
            // Expected is a full overlap, and the upper end adds the errors to it. The lower end is
            // a run in which nothing overlaps, less the errors.
            low: 1.0 / (sum * off),
            expected: 1.0 / most,
            high: off / most,
        },
    })
}

/// Returns warnings about room on the disk and memory.
fn warnings(profile: &HardwareProfile, workload: &Workload, stored: Option<&u64>) -> Vec<String> {
    let mut warnings = Vec::new();
    let disks = profile.disks.known().map_or(&[][..], Vec::as_slice);
    // The disk that was measured is the one that data will be written to.
    let disk = disks.iter().find(|disk| disk.is_measured);
    let is_embedded = workload.backend == WorkloadStore::Embedded;
    if let (Some(disk), Some(stored), true) = (disk, stored, is_embedded)
        && *stored > disk.free_bytes
    {
        warnings.push(format!(
            "the store may take {:.1} GB and {} has {:.1} GB free: free some, or name another disk",
            *stored as f64 / 1e9,
            disk.mount.display(),
            disk.free_bytes as f64 / 1e9
        ));
    }
    if let Finding::Known(memory) = profile.usable_memory()
        && memory < MEMORY
    {
        warnings.push(format!(
            "training takes about {:.1} GB of memory and {:.1} GB are there: set a smaller memory budget",
            MEMORY as f64 / 1e9,
            memory as f64 / 1e9
        ));
    }
    warnings
}

/// Reads figures, and keeps which were missing and the largest spread of the others.
struct Inputs<'a> {
    profile: &'a HardwareProfile,
    missing: Vec<String>,
    spread: f64,
}

impl Inputs<'_> {
    /// Returns the seconds of each resource for one sample; meaningless when a figure was missing.
    fn times(&mut self, workload: &Workload, calls: &[u64]) -> Vec<(BottleneckResource, f64)> {
        let benchmarks = &self.profile.benchmarks;
        let tokens = workload.tokens_per_sample as f64;
        let text = tokens * workload.bytes_per_token;
        let n_calls: u64 = calls.iter().sum();
        let loader = text * AROUND_TEXT / (self.value("decoding", &benchmarks.decoding) * 1e6);
        let tokenizing = self.value("tokenizing", &benchmarks.tokenizing) * 1e6;
        let tokenizing = text / tokenizing;
        match workload.backend {
            WorkloadStore::Kato => {
                let health = &benchmarks.kato.health_latency;
                let health = self.value("a KATO server's round trip", health) / 1e6;
                vec![
                    (BottleneckResource::Loader, loader + tokenizing),
                    (BottleneckResource::Server, n_calls as f64 * health * LEARN),
                ]
            }
            WorkloadStore::Embedded => {
                let cores = self.cores();
                let stage = self.staging(workload, calls);
                let work = loader + tokenizing + self.naming(workload, calls) + stage;
                let write = &benchmarks.disk.sequential_write;
                let write = self.value("sequential write", write) * 1e6;
                let bytes = self.bytes_per_sample(workload, calls);
                let disk = bytes * write_amplification(workload, n_calls) / write;
                let processor = work / cores;
                // Commits come by time and not by samples: a sample's part of their cost is in
                // proportion to the time that it takes.
                let commit = &benchmarks.store.commit_latency;
                let commit = self.value("commit latency", commit) / 1e6;
                let commits = commit / COMMIT_INTERVAL * processor.max(disk).max(loader);
                vec![
                    (BottleneckResource::Processor, processor),
                    (BottleneckResource::Loader, loader),
                    (BottleneckResource::Disk, disk + commits),
                ]
            }
            WorkloadStore::MongoDb => {
                let cores = self.cores();
                let work = loader + tokenizing + self.naming(workload, calls);
                let upserts = &benchmarks.mongodb.bulk_upsert;
                let upserts = self.value("upserts into MongoDB", upserts);
                vec![
                    (BottleneckResource::Processor, work / cores),
                    (BottleneckResource::Loader, loader),
                    (BottleneckResource::Database, n_calls as f64 / upserts),
                ]
            }
        }
    }

    /// Returns the value of a figure, or 1 where it is missing, so that quotients stay finite.
    fn value(&mut self, name: &str, measured: &Measured) -> f64 {
        match measured {
            Finding::Known(MeasuredFigure {
                value, validity, ..
            }) => {
                // Latencies have tails that a run averages out; half of the distance between the
                // quartiles is a usual error. An unknown spread counts as a wide one.
                let spread = validity.spread.unwrap_or(1.0).min(1.0) / 2.0;
                self.spread = self.spread.max(spread);
                *value
            }
            Finding::Unknown { reason } => {
                self.missing.push(format!("{name} ({reason})"));
                1.0
            }
        }
    }

    /// Returns the speed of all cores together over that of one, as measured: it may be
    /// less than their number.
    fn cores(&mut self) -> f64 {
        let naming = &self.profile.benchmarks.naming;
        let all = self.value("names, all cores", &naming.tokens_all_cores);
        let one = self.value("names, one core", &naming.tokens_one_core);
        (all / one).max(1.0)
    }

    /// Returns the seconds of one core that the names of a sample take.
    fn naming(&mut self, workload: &Workload, calls: &[u64]) -> f64 {
        let naming = &self.profile.benchmarks.naming;
        // For its spread, or its absence: `seconds` below uses it without saying so.
        self.value("names of 7 names", &naming.names_one_core);
        let chunk = workload.chunk_size as f64;
        let texts = calls.iter().enumerate().map(|(level, calls)| {
            let text = chunk * if level == 0 { TOKEN } else { NAME as f64 };
            *calls as f64 * naming.seconds(text).unwrap_or(0.0)
        });
        texts.sum()
    }

    /// Returns the seconds of one core for counting, sorting and writing the patterns of a sample,
    /// by a straight line through both lengths measured.
    fn staging(&mut self, workload: &Workload, calls: &[u64]) -> f64 {
        let store = &self.profile.benchmarks.store;
        let short = 1.0 / self.value("staging in the embedded store", &store.stage);
        let long = 1.0 / self.value("staging long patterns", &store.stage_long);
        let one = interpolate(short, long, workload.chunk_size as f64);
        calls.iter().map(|calls| *calls as f64 * one).sum()
    }

    /// Returns the bytes that the patterns of a sample take on the disk.
    fn bytes_per_sample(&mut self, workload: &Workload, calls: &[u64]) -> f64 {
        let store = &self.profile.benchmarks.store;
        let short = self.value("bytes of a pattern", &store.pattern_bytes);
        let long = self.value("bytes of a long pattern", &store.long_pattern_bytes);
        let one = interpolate(short, long, workload.chunk_size as f64);
        calls.iter().map(|calls| *calls as f64 * one).sum()
    }

    /// Returns the bytes that the whole training stores, if all patterns differ.
    fn stored_bytes(&self, workload: &Workload, calls: &[u64]) -> Finding<u64> {
        // Apart from the other figures: what is missing here does not make the speed unknown.
        let mut inputs = Inputs {
            profile: self.profile,
            missing: Vec::new(),
            spread: 0.0,
        };
        let bytes = inputs.bytes_per_sample(workload, calls) * workload.dataset_size as f64;
        if workload.backend != WorkloadStore::Embedded {
            return Finding::unknown("told for the embedded store only");
        }
        if inputs.missing.is_empty() {
            Finding::Known(bytes as u64)
        } else {
            Finding::unknown(format!("not measured: {}", inputs.missing.join("; ")))
        }
    }
}

/// Returns the value for a length of pattern on the straight line through those measured, which never
/// falls; at least a tenth of that of the shorter one.
fn interpolate(short: f64, long: f64, length: f64) -> f64 {
    let [from, to] = LENGTHS.map(|length| length as f64);
    // A longer pattern never takes less, except by noise. Towards length 0 a steep line would fall
    // below 0, hence the floor.
    let slope = ((long - short) / (to - from)).max(0.0);
    (short + slope * (length - from)).max(short / 10.0)
}

/// Returns how often a byte is written: once, and once more for each generation of merged segments.
fn write_amplification(workload: &Workload, n_calls: u64) -> f64 {
    let segments = workload.dataset_size as f64 * n_calls as f64 / SEGMENT;
    // In this model a merge makes one segment of 64, so the number of generations is a logarithm.
    // It is negative for less than one segment.
    1.0 + (segments.ln() / SEGMENTS.ln()).floor().max(0.0)
}

#[cfg(test)]
mod tests;
