//! A sum of floats that rounds nothing until it is read.

use serde::{Deserialize, Serialize};

use crate::GradientError;

/// How many limbs of 32 bits there are: from 2⁻¹⁰⁷⁴, the least `f64`, to 2¹¹⁰², which takes more
/// than 2⁷⁷ of the greatest.
const N_LIMBS: usize = 68;
/// After how many additions carries are moved on, before a limb of 64 bits could overflow.
const MAX_PENDING: u32 = 1 << 30;
/// The value of the lowest bit is 2 to the power of minus this.
const POINT: usize = 1074;

/// The exact sum of any finite `f64`s.
///
/// A fixed-point number of 2,176 bits, wide enough for every `f64` and for 2⁶⁴ of them together.
/// Adding is integer addition, so it is associative and commutative: in any order and any split,
/// the sum is the same, and [`value`](Self::value) is the exact sum rounded once, to nearest, ties
/// to even. Infinities and NaNs are counted, and decide the value as they do in IEEE 754. It takes
/// 576 bytes. Source: the small superaccumulator of Neal, "Fast exact summation using small and
/// large superaccumulators", 2015.
///
/// ```
/// use kato_gradient::metric::ExactSum;
///
/// let mut sum = ExactSum::new();
/// for term in [1e100, 1.0, -1e100] {
///     sum.add(term);
/// }
/// assert_eq!(sum.value(), 1.0); // `f64`s alone give 0
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SumFields", into = "SumFields")]
pub struct ExactSum {
    /// The number is Σ limbs[i] · 2^(32·i − 1074); limbs have signs and may be above 32 bits.
    limbs: [i64; N_LIMBS],
    /// How many additions there were since carries were moved on: the limbs but the last are
    /// below (pending + 1) · 2³² in size.
    pending: u32,
    n_nan: u64,
    n_positive_infinite: u64,
    n_negative_infinite: u64,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self::new()
    }
}

impl ExactSum {
    /// Creates an empty sum, which is 0.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            limbs: [0; N_LIMBS],
            pending: 0,
            n_nan: 0,
            n_positive_infinite: 0,
            n_negative_infinite: 0,
        }
    }

    /// Adds a number.
    pub fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as usize;
        let fraction = bits & ((1 << 52) - 1);
        // Infinities and NaNs are no numbers to add: they are counted.
        if exponent == 0x7ff {
            return self.count_non_finite(term);
        }
        // Subnormal numbers lack the leading 1 and have the exponent of the least normal ones.
        let (mantissa, shift) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | (1 << 52), exponent - 1),
        };
        // At most 53 + 31 bits: three limbs.
        let shifted = u128::from(mantissa) << (shift % 32);
        // Limbs have signs of their own, so taking away is adding, without borrowing.
        let sign = if term.is_sign_negative() { -1 } else { 1 };
        let first = shift / 32;
        for (place, limb) in self.limbs[first..first + 3].iter_mut().enumerate() {
            *limb += sign * i64::from((shifted >> (32 * place)) as u32);
        }
        self.pending += 1;
        if self.pending == MAX_PENDING {
            self.carry();
        }
    }

    /// Adds what another sum holds.
    pub fn merge(&mut self, other: &Self) {
        self.carry();
        let mut other = other.clone();
        other.carry();
        for (limb, added) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += added;
        }
        self.pending = 1;
        self.n_nan += other.n_nan;
        self.n_positive_infinite += other.n_positive_infinite;
        self.n_negative_infinite += other.n_negative_infinite;
    }

    /// Returns the sum, rounded once, to nearest, ties to even; infinite where it is too large.
    ///
    /// An exact 0 is `+0.0`, also of terms that were all `−0.0`.
    #[must_use]
    pub fn value(&self) -> f64 {
        match (
            self.n_nan,
            self.n_positive_infinite,
            self.n_negative_infinite,
        ) {
            (0, 0, 0) => {}
            (0, _, 0) => return f64::INFINITY,
            (0, 0, _) => return f64::NEG_INFINITY,
            _ => return f64::NAN,
        }
        let mut magnitude = self.clone();
        magnitude.carry();
        // After the carries only the last limb has a sign, which is that of the sum.
        let negative = magnitude.limbs[N_LIMBS - 1] < 0;
        if negative {
            magnitude.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            magnitude.carry();
        }
        let value = round(&magnitude.limbs);
        if negative { -value } else { value }
    }

    /// Returns the sum as two numbers, the nearest and what is left rounded: 106 bits or more.
    #[must_use]
    pub fn value_and_rest(&self) -> (f64, f64) {
        let value = self.value();
        if !value.is_finite() {
            return (value, 0.0);
        }
        // Exact, since the nearest number is itself a number of the accumulator.
        let mut rest = self.clone();
        rest.add(-value);
        (value, rest.value())
    }

    /// Brings the limbs but the last into [0, 2³²). There is one such form of each number.
    fn carry(&mut self) {
        let mut carried = 0;
        for limb in &mut self.limbs[..N_LIMBS - 1] {
            let whole = *limb + carried;
            *limb = whole & 0xffff_ffff;
            // An arithmetic shift: it goes with the mask for negative numbers, too.
            carried = whole >> 32;
        }
        self.limbs[N_LIMBS - 1] += carried;
        self.pending = 0;
    }

    const fn count_non_finite(&mut self, term: f64) {
        if term.is_nan() {
            self.n_nan += 1;
        } else if term > 0.0 {
            self.n_positive_infinite += 1;
        } else {
            self.n_negative_infinite += 1;
        }
    }
}

/// Rounds a number whose limbs are all in [0, 2³²).
fn round(limbs: &[i64; N_LIMBS]) -> f64 {
    let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else {
        return 0.0;
    };
    // The highest bit that is set, counted from the lowest of all.
    let highest = 32 * top + limbs[top].ilog2() as usize;
    // Beyond the range by a whole bit; what rounds up to it is infinite by its own bits.
    if highest > POINT + 1023 {
        return f64::INFINITY;
    }
    // The 53 bits that an f64 holds begin here.
    let lowest = highest.saturating_sub(52);
    let mut mantissa = bits_from(limbs, lowest);
    if lowest > 0 {
        let half = bits_from(limbs, lowest - 1) & 1 == 1;
        if half && (mantissa & 1 == 1 || any_below(limbs, lowest - 1)) {
            mantissa += 1;
        }
    }
    // The leading 1 of a normal number adds one to the exponent, and a mantissa that was rounded
    // up to 2^53 another, as in the next number's bits; at the end of the range that is infinity.
    f64::from_bits(((lowest as u64) << 52) + mantissa)
}

/// Returns the bits of the number from `place` up; at most 53 are set.
fn bits_from(limbs: &[i64; N_LIMBS], place: usize) -> u64 {
    let limb = |index: usize| limbs.get(index).map_or(0, |limb| *limb as u128);
    let first = place / 32;
    let window = limb(first) | limb(first + 1) << 32 | limb(first + 2) << 64;
    (window >> (place % 32)) as u64
}

/// Returns whether any bit below `place` is set.
fn any_below(limbs: &[i64; N_LIMBS], place: usize) -> bool {
    let mask = (1_i64 << (place % 32)) - 1;
    limbs[place / 32] & mask != 0 || limbs[..place / 32].iter().any(|limb| *limb != 0)
}

/// Sums are equal when what they hold is, however it was added.
impl PartialEq for ExactSum {
    fn eq(&self, other: &Self) -> bool {
        SumFields::from(self.clone()) == SumFields::from(other.clone())
    }
}

impl Eq for ExactSum {}

/// The one form of a sum: its limbs that are not 0, after all carries.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SumFields {
    limbs: Vec<(usize, i64)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    n_nan: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    n_positive_infinite: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    n_negative_infinite: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<ExactSum> for SumFields {
    fn from(mut sum: ExactSum) -> Self {
        sum.carry();
        let limbs = sum.limbs.into_iter().enumerate();
        Self {
            limbs: limbs.filter(|(_, limb)| *limb != 0).collect(),
            n_nan: sum.n_nan,
            n_positive_infinite: sum.n_positive_infinite,
            n_negative_infinite: sum.n_negative_infinite,
        }
    }
}

impl TryFrom<SumFields> for ExactSum {
    type Error = GradientError;

    fn try_from(fields: SumFields) -> Result<Self, GradientError> {
        let mut sum = Self {
            n_nan: fields.n_nan,
            n_positive_infinite: fields.n_positive_infinite,
            n_negative_infinite: fields.n_negative_infinite,
            ..Self::new()
        };
        for (index, limb) in fields.limbs {
            // The last limb holds the sign and is far below 2^32 in size; beyond it, additions
            // could overflow.
            let least = if index == N_LIMBS - 1 { -(1 << 32) } else { 0 };
            if index >= N_LIMBS || !(least..1 << 32).contains(&limb) {
                return Err(GradientError::State {
                    what: "sum",
                    why: format!("limb {index} is {limb}"),
                });
            }
            sum.limbs[index] = limb;
        }
        Ok(sum)
    }
}
