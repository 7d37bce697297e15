//! A histogram of latencies with buckets of constant relative width, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Buckets per doubling. A power of two, so that the bucket of a value follows from its leading
/// bits. The middle of a bucket is off by at most 1/16 of any value in it.
const PER_OCTAVE: usize = 8;
/// Bits below the leading one that choose the bucket within an octave.
const SUB_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// Octaves of buckets: the exact buckets below 8 ns, and one octave for each exponent from 3 to 39.
/// That is enough for 2^40 ns, some 18 minutes; longer latencies are in the last bucket.
const OCTAVES: usize = 38;
const BUCKETS: usize = PER_OCTAVE * OCTAVES;

/// Counters of latencies, which any number of threads add to.
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
    /// Adds `times` calls of one latency.
    pub(crate) fn record(&self, latency: Duration, times: u64) {
        // 2^64 ns are 584 years; the clamped value is in the last bucket like all above 18 minutes.
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket_of(nanos)].fetch_add(times, Ordering::Relaxed);
        let added = nanos.saturating_mul(times);
        let before = self.sum_nanos.fetch_add(added, Ordering::Relaxed);
        // A sum that wrapped would be less than what went into it.
        if before.checked_add(added).is_none() {
            self.sum_nanos.store(u64::MAX, Ordering::Relaxed);
        }
        self.longest_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Returns the latencies counted until now.
    ///
    /// Threads may go on counting meanwhile. Every counter is then read at its own moment, so a
    /// latency may already be in a bucket and not yet in the sum.
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
                // There are 304 buckets, so the number fits.
                .map(|(bucket, count)| (bucket as u32, *count))
                .collect(),
            sum_seconds: Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)).as_secs_f64(),
            longest_seconds: Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed))
                .as_secs_f64(),
        }
    }
}

/// A histogram of latencies at one moment, with eight buckets for each doubling.
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
    /// Returns the number of latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Returns the sum of the latencies, in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        self.sum_seconds
    }

    /// Returns the longest latency since counting began, in seconds; 0 if there is none.
    #[must_use]
    pub fn longest_seconds(&self) -> f64 {
        self.longest_seconds
    }

    /// Returns the mean of the latencies, in seconds; `None` without any.
    #[must_use]
    pub fn mean_seconds(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_seconds / count as f64)
    }

    /// Returns the `q`-quantile of the latencies, in seconds; `None` without any.
    ///
    /// It is the middle of the bucket that holds the latency of this rank, or the longest latency where
    /// that is less: within 1/16 of its value for latencies from 8 ns to 18 minutes. `q` is clamped to 0 to 1.
    #[must_use]
    pub fn quantile_seconds(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // Ranks begin at 1, so that `q` = 0 gives the shortest latency.
        let rank = (q.clamp(0.0, 1.0) * count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(bucket, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                // The middle of the longest latency's bucket may lie above it.
                return Some(middle_of(bucket as usize).min(self.longest_seconds));
            }
        }
        Some(self.longest_seconds)
    }

    /// Returns the buckets in use, ascending, each as its upper bound in seconds and the number of
    /// latencies in it.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets
            .iter()
            .map(|&(bucket, count)| (lower_bound(bucket as usize + 1) * 1e-9, count))
    }

    /// Returns the latencies that were counted after an earlier reading of the same histogram.
    ///
    /// The longest latency stays that of the whole time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bucket: u32| {
            // Buckets are in ascending order, as `read` collects them.
            let at = earlier
                .buckets
                .binary_search_by_key(&bucket, |&(bucket, _)| bucket);
            at.map_or(0, |at| earlier.buckets[at].1)
        };
        Self {
            buckets: self
                .buckets
                .iter()
                // Saturating, in case the readings are given in the wrong order.
                .map(|&(bucket, count)| (bucket, count.saturating_sub(before(bucket))))
                .filter(|&(_, count)| count > 0)
                .collect(),
            sum_seconds: (self.sum_seconds - earlier.sum_seconds).max(0.0),
            longest_seconds: self.longest_seconds,
        }
    }
}

/// Returns the number of the bucket of a latency.
///
/// Values below `PER_OCTAVE` have a bucket each; above, every octave has `PER_OCTAVE` buckets.
fn bucket_of(nanos: u64) -> usize {
    if nanos < PER_OCTAVE as u64 {
        return nanos as usize;
    }
    // At least `SUB_BITS` from here on, as `nanos` is at least `PER_OCTAVE`: nothing underflows.
    let exponent = 63 - nanos.leading_zeros();
    // The bits right below the leading one say in which eighth of its octave the value lies.
    let within = (nanos >> (exponent - SUB_BITS)) as usize & (PER_OCTAVE - 1);
    let bucket = (exponent - SUB_BITS + 1) as usize * PER_OCTAVE + within;
    bucket.min(BUCKETS - 1)
}

/// Returns the smallest number of nanoseconds that belongs to a bucket.
fn lower_bound(bucket: usize) -> f64 {
    if bucket < PER_OCTAVE {
        return bucket as f64;
    }
    let octave = bucket / PER_OCTAVE - 1;
    let within = bucket % PER_OCTAVE;
    (PER_OCTAVE + within) as f64 * 2f64.powi(octave as i32)
}

/// Returns the middle of a bucket, in seconds.
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
        let sum = histogram.read().sum_seconds();
        histogram.record(Duration::from_secs(1), 1);
        assert!(
            histogram.read().sum_seconds() >= sum,
            "the sum must not wrap"
        );
    }

    #[test]
    fn nothing_has_no_quantile() {
        let empty = LatencyHistogram::default();
        assert_eq!(empty.quantile_seconds(0.5), None);
        assert_eq!(empty.mean_seconds(), None);
    }
}
