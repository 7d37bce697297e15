//! Quantiles of a stream in bounded memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{GradientError, exact_float};

/// How many of the bits behind the point tell buckets apart.
const BUCKET_BITS: u32 = 6;
/// Numbers are told apart from 2 to the power of minus this up to 2 to the power of this.
const MAX_EXPONENT: u32 = 64;

/// Quantiles to within 0.8 % of their value, in bounded memory, exact under merging.
///
/// Each power of two from 2⁻⁶⁴ to 2⁶⁴ has 64 buckets that are equally wide, and a quantile is the
/// middle of its bucket: at most 1/128 away from the true one. Smaller numbers count as 0, larger
/// ones as the largest. Counts are integers, so merging in any order gives the same. There are at
/// most 16,387 buckets, in practice a few hundred.
///
/// ```
/// use kato_gradient::metric::Quantiles;
///
/// let mut lengths = Quantiles::new();
/// (1..=1000).for_each(|length| lengths.add(f64::from(length)));
/// let median = lengths.quantile(0.5).unwrap();
/// assert!((median - 500.0).abs() < 4.0);
/// assert_eq!(lengths.max(), Some(1000.0));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct Quantiles {
    /// How many numbers each bucket holds; the keys are in the order of the numbers.
    counts: BTreeMap<i32, u64>,
    n: u64,
    n_nan: u64,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    // Pairs, as not every format has tables with keys that are numbers.
    counts: Vec<(i32, u64)>,
    n_nan: u64,
    #[serde(with = "exact_float::option", default)]
    min: Option<f64>,
    #[serde(with = "exact_float::option", default)]
    max: Option<f64>,
}

impl Quantiles {
    /// Creates quantiles of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number; a NaN is only counted.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            // It has no place in any order.
            self.n_nan += 1;
            return;
        }
        // Only the buckets that were met are there.
        *self.counts.entry(bucket_of(value)).or_default() += 1;
        self.n += 1;
        self.widen(Some(value), Some(value));
    }

    /// Adds what another holds.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
        self.n += other.n;
        self.n_nan += other.n_nan;
        self.widen(other.min, other.max);
    }

    /// Returns the least number of which at least a share `q` of all are not above, to within
    /// 0.8 %; none without numbers. A `q` outside of 0 to 1 counts as the nearer of both.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let (min, max) = (self.min?, self.max?);
        // The nearest rank, counted from 1. A NaN becomes 0 in the cast.
        let rank = ((q * self.n as f64).ceil() as u64).clamp(1, self.n);
        // The two that are known to the bit.
        if rank == 1 {
            return Some(min);
        }
        if rank == self.n {
            return Some(max);
        }
        let mut n_up_to = 0;
        for (bucket, count) in &self.counts {
            n_up_to += count;
            if n_up_to >= rank {
                return Some(middle_of(*bucket).clamp(min, max));
            }
        }
        Some(max)
    }

    /// Returns how many numbers there were, without NaNs.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Returns how many NaNs there were.
    #[must_use]
    pub const fn n_nan(&self) -> u64 {
        self.n_nan
    }

    /// Returns the least number, exactly; none without numbers.
    #[must_use]
    pub const fn min(&self) -> Option<f64> {
        self.min
    }

    /// Returns the greatest number, exactly; none without numbers.
    #[must_use]
    pub const fn max(&self) -> Option<f64> {
        self.max
    }

    fn widen(&mut self, min: Option<f64>, max: Option<f64>) {
        // By the total order: of −0 and +0 the same is kept whichever comes first.
        let order = f64::total_cmp;
        self.min = self.min.into_iter().chain(min).min_by(order);
        self.max = self.max.into_iter().chain(max).max_by(order);
    }
}

/// Returns the bucket of a number: exponent and first bits behind the point, counted from 1, with
/// the number's sign.
fn bucket_of(value: f64) -> i32 {
    // The bits of a number above 0 are in its order, so no logarithm is needed, and none rounds.
    let place = |magnitude: f64| (magnitude.to_bits() >> (52 - BUCKET_BITS)) as i32;
    let first = place(libm::exp2(-f64::from(MAX_EXPONENT)));
    let last = place(libm::exp2(f64::from(MAX_EXPONENT)));
    let bucket = (place(value.abs()).min(last) - first + 1).max(0);
    if value < 0.0 { -bucket } else { bucket }
}

/// Returns the middle of a bucket.
fn middle_of(bucket: i32) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let first = libm::exp2(-f64::from(MAX_EXPONENT)).to_bits() >> (52 - BUCKET_BITS);
    let place = first + u64::from(bucket.unsigned_abs()) - 1;
    // The bit below those of the bucket is half of its width.
    let middle = f64::from_bits((place << (52 - BUCKET_BITS)) | (1 << (51 - BUCKET_BITS)));
    if bucket < 0 { -middle } else { middle }
}

impl From<Quantiles> for Fields {
    fn from(quantiles: Quantiles) -> Self {
        Self {
            counts: quantiles.counts.into_iter().collect(),
            n_nan: quantiles.n_nan,
            min: quantiles.min,
            max: quantiles.max,
        }
    }
}

impl TryFrom<Fields> for Quantiles {
    type Error = GradientError;

    fn try_from(fields: Fields) -> Result<Self, GradientError> {
        let refused = |why: &str| GradientError::State {
            what: "quantiles",
            why: why.to_owned(),
        };
        let last = bucket_of(f64::INFINITY);
        let known = |bucket: &(i32, u64)| (-last..=last).contains(&bucket.0) && bucket.1 > 0;
        if !fields.counts.iter().all(known) {
            return Err(refused("a bucket is none of theirs"));
        }
        // Whole numbers of 64 bits are never reached by counting, but by a forged state.
        let sum = |n: u64, bucket: &(i32, u64)| n.checked_add(bucket.1);
        let n = fields.counts.iter().try_fold(0, sum);
        let n = n.ok_or_else(|| refused("the counts are too large"))?;
        let ends_fit = match (fields.min, fields.max) {
            (None, None) => n == 0,
            // False for a NaN.
            (Some(min), Some(max)) => n > 0 && min <= max,
            _ => false,
        };
        if !ends_fit {
            return Err(refused("min, max and the counts do not go together"));
        }
        Ok(Self {
            n,
            counts: fields.counts.into_iter().collect(),
            n_nan: fields.n_nan,
            min: fields.min,
            max: fields.max,
        })
    }
}
