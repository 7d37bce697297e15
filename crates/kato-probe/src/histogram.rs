//! Latencies in buckets of constant relative width, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Buckets to a doubling: a quantile is off by at most 1/16 of its value, 3 % at the middle of a bucket.
const PER_OCTAVE: usize = 8;
const SUB_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// Enough for 2^40 ns, some 18 minutes; what takes longer is in the last bucket.
const OCTAVES: usize = 38;
const BUCKETS: usize = PER_OCTAVE * OCTAVES;

/// Latencies as they are counted.
#[derive(Debug)]
pub(crate) struct AtomicHistogram {
    buckets: Box<[AtomicU64]>,
    sum_nanos: AtomicU64,
    longest_nanos: AtomicU64,
}

impl Default for AtomicHistogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum_nanos: AtomicU64::new(0),
            longest_nanos: AtomicU64::new(0),
        }
    }
}

impl AtomicHistogram {
    pub(crate) fn record(&self, latency: Duration, times: u64) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket_of(nanos)].fetch_add(times, Ordering::Relaxed);
        self.sum_nanos
            .fetch_add(nanos.saturating_mul(times), Ordering::Relaxed);
        self.longest_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> LatencyHistogram {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| bucket.load(Ordering::Relaxed))
            .collect();
        LatencyHistogram {
            buckets: counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(bucket, count)| (bucket as u32, *count))
                .collect(),
            sum_seconds: Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)).as_secs_f64(),
            longest_seconds: Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed))
                .as_secs_f64(),
        }
    }
}

/// Latencies as they were counted: how many fell into which bucket. Buckets are 1/8 of an octave wide.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    /// Number of the bucket, and how many latencies are in it; ascending, without empty ones.
    buckets: Vec<(u32, u64)>,
    /// Sum of all latencies, in seconds.
    sum_seconds: f64,
    /// The longest one since the beginning, in seconds.
    longest_seconds: f64,
}

impl LatencyHistogram {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Their sum, in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        self.sum_seconds
    }

    /// The longest since the beginning, in seconds; 0 if there is none.
    #[must_use]
    pub fn longest_seconds(&self) -> f64 {
        self.longest_seconds
    }

    /// Their mean, in seconds; `None` without any.
    #[must_use]
    pub fn mean_seconds(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_seconds / count as f64)
    }

    /// A quantile, in seconds: the middle of the bucket that holds the latency of this rank, so within 1/16 of its value. `None`
    /// without any; `q` is brought into 0 to 1.
    #[must_use]
    pub fn quantile_seconds(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(bucket, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return Some(middle_of(bucket as usize).min(self.longest_seconds));
            }
        }
        Some(self.longest_seconds)
    }

    /// Upper bounds of the buckets in use, in seconds, with how many latencies are in each; ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets
            .iter()
            .map(|&(bucket, count)| (lower_bound(bucket as usize + 1) * 1e-9, count))
    }

    /// What came in after an earlier reading of the same histogram. The longest latency stays that of the whole time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bucket: u32| {
            let at = earlier
                .buckets
                .binary_search_by_key(&bucket, |&(bucket, _)| bucket);
            at.map_or(0, |at| earlier.buckets[at].1)
        };
        Self {
            buckets: self
                .buckets
                .iter()
                .map(|&(bucket, count)| (bucket, count.saturating_sub(before(bucket))))
                .filter(|&(_, count)| count > 0)
                .collect(),
            sum_seconds: (self.sum_seconds - earlier.sum_seconds).max(0.0),
            longest_seconds: self.longest_seconds,
        }
    }
}

/// Values below `PER_OCTAVE` have a bucket each; then every octave has `PER_OCTAVE` of them.
fn bucket_of(nanos: u64) -> usize {
    if nanos < PER_OCTAVE as u64 {
        return nanos as usize;
    }
    let exponent = 63 - nanos.leading_zeros();
    let within = (nanos >> (exponent - SUB_BITS)) as usize & (PER_OCTAVE - 1);
    let bucket = (exponent - SUB_BITS + 1) as usize * PER_OCTAVE + within;
    bucket.min(BUCKETS - 1)
}

/// The smallest number of nanoseconds of a bucket.
fn lower_bound(bucket: usize) -> f64 {
    if bucket < PER_OCTAVE {
        return bucket as f64;
    }
    let octave = bucket / PER_OCTAVE - 1;
    let within = bucket % PER_OCTAVE;
    (PER_OCTAVE + within) as f64 * 2f64.powi(octave as i32)
}

fn middle_of(bucket: usize) -> f64 {
    0.5e-9 * (lower_bound(bucket) + lower_bound(bucket + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(nanos in 0u64..1 << 40) {
            let bucket = bucket_of(nanos);
            prop_assert!(lower_bound(bucket) <= nanos as f64);
            prop_assert!((nanos as f64) < lower_bound(bucket + 1));
        }

        #[test]
        fn a_quantile_is_within_a_sixteenth(mut nanos in proptest::collection::vec(100u64..1 << 39, 1..200), q in 0.0f64..=1.0) {
            let histogram = AtomicHistogram::default();
            for &nanos in &nanos {
                histogram.record(Duration::from_nanos(nanos), 1);
            }
            nanos.sort_unstable();
            let rank = ((q * nanos.len() as f64).ceil() as usize).clamp(1, nanos.len());
            let exact = nanos[rank - 1] as f64 * 1e-9;
            let estimate = histogram.read().quantile_seconds(q).unwrap_or(f64::NAN);
            prop_assert!((estimate - exact).abs() <= exact / 16.0 + 1e-12, "{estimate} for {exact}");
        }
    }

    #[test]
    fn the_difference_of_two_readings_holds_what_came_between() {
        let histogram = AtomicHistogram::default();
        histogram.record(Duration::from_millis(1), 3);
        let before = histogram.read();
        histogram.record(Duration::from_millis(20), 2);
        let between = histogram.read().since(&before);
        assert_eq!(between.count(), 2);
        assert!((between.sum_seconds() - 0.04).abs() < 1e-12);
    }

    #[test]
    fn what_takes_too_long_for_the_buckets_still_counts() {
        let histogram = AtomicHistogram::default();
        histogram.record(Duration::MAX, 1);
        assert_eq!(histogram.read().count(), 1);
    }

    #[test]
    fn nothing_has_no_quantile() {
        let empty = LatencyHistogram::default();
        assert_eq!(empty.quantile_seconds(0.5), None);
        assert_eq!(empty.mean_seconds(), None);
    }
}
