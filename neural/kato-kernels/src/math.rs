//! Holds the functions that activations are made of, one number at a time and without branches,
//! so that loops over them become vectors.

/// Adding and subtracting it rounds to an integer, whose bits then stand in the lowest places.
const ROUNDER: f32 = 12_582_912.0;
/// The upper bits of ln 2; products with small integers are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
/// What is lacking of ln 2.
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Splits `x` into `n · ln 2 + r`; returns `2ⁿ` and `eʳ − 1`, |r| ≤ ln 2 / 2.
///
/// The polynomial of degree 6 is a least-squares fit of relative gaps, reweighted towards the
/// largest, which is below 4e-9.
#[inline(always)]
const fn split(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    // Rounding by addition: a conversion to integers would need instructions of its own.
    let n = shifted - ROUNDER;
    // In two steps, as n · ln 2 alone has more places than an f32.
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let mut sum = 0.001_381_46;
    sum = r.mul_add(sum, 0.008_368_717);
    sum = r.mul_add(sum, 0.041_668_39);
    sum = r.mul_add(sum, 0.166_665_21);
    sum = r.mul_add(sum, 0.499_999_94);
    let less_one = r.mul_add(sum * r, r);
    // The integer's bits, moved to the place of the exponent; what stands above falls out.
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    (scale, less_one)
}

/// Returns `eˣ` for x from −87 to 88; below it gives e⁻⁸⁷, above e⁸⁸.
#[inline(always)]
pub(crate) const fn exp(x: f32) -> f32 {
    // Comparisons instead of `min` and `max`, which would lose a NaN.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let (scale, less_one) = split(x);
    // 2ⁿ + 2ⁿ(eʳ − 1): the large part is exact and the small one rounded once.
    scale.mul_add(less_one, scale)
}

/// Returns the logistic function of `x`.
#[inline(always)]
pub(crate) const fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Returns the hyperbolic tangent of `x`.
#[inline(always)]
pub(crate) const fn tanh(x: f32) -> f32 {
    // tanh |x| = (e^2|x| − 1) / (e^2|x| + 1), and tanh 10 is 1 in f32.
    let twice = 2.0 * x.abs();
    let twice = if twice > 20.0 { 20.0 } else { twice };
    let (scale, less_one) = split(twice);
    // eˣ − 1 without cancellation: near zero it keeps the places that tanh needs.
    let less_one = scale.mul_add(less_one, scale - 1.0);
    (less_one / (less_one + 2.0)).copysign(x)
}

/// Coefficients of `e^(z²) · erfc z` as a polynomial in `t = 1 / (1 + 0.3 z)`, from the first power
/// on: a least-squares fit of relative gaps, reweighted towards the largest, over 0 ≤ z ≤ 9.5. The
/// largest gap is 2e-8.
const TAIL: [f32; 9] = [
    0.169_189_63,
    0.170_691_77,
    0.148_483_48,
    0.214_432_52,
    -0.093_623_1,
    0.546_384_03,
    -0.511_217_4,
    0.485_092_3,
    -0.129_433_26,
];

/// Returns the share of the normal distribution below `x`, and its density at `x`.
#[inline(always)]
pub(crate) fn normal(x: f32) -> (f32, f32) {
    const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    const DENSITY: f32 = 0.398_942_3;
    // One exponential serves the share and the density.
    let power = exp(-0.5 * x * x);
    let t = 1.0 / (0.3 * ROOT_HALF).mul_add(x.abs(), 1.0);
    let mut sum = TAIL[8];
    for i in (0..8).rev() {
        sum = sum.mul_add(t, TAIL[i]);
    }
    let tail = 0.5 * power * t * sum;
    // The tail is the small one of the two shares: the other is its rest.
    let below = if x < 0.0 { tail } else { 1.0 - tail };
    (below, power * DENSITY)
}

/// Returns `x` times the share of the normal distribution below it.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    x * normal(x).0
}

/// Returns [`gelu`] and its derivative.
#[inline(always)]
pub(crate) fn gelu_both(x: f32) -> (f32, f32) {
    let (below, density) = normal(x);
    (x * below, x.mul_add(density, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest gap between `found` and `expected` over a grid, in units of the last place.
    fn largest_gap(range: f32, found: impl Fn(f32) -> f32, expected: impl Fn(f64) -> f64) -> f64 {
        let grid = (-200_000..=200_000).map(|i| i as f32 * (range / 200_000.0));
        let gap = |x: f32| {
            let expected = expected(x.into());
            let unit = f64::from(f32::EPSILON) * expected.abs().max(1e-30);
            (f64::from(found(x)) - expected).abs() / unit
        };
        grid.map(gap).fold(0.0, f64::max)
    }

    /// The error function by its series near zero and its continued fraction further out.
    fn normal_share(x: f64) -> f64 {
        if x.abs() < 3.0 {
            let (mut term, mut sum) = (x, x);
            for n in 1..100 {
                term *= x * x / f64::from(2 * n + 1);
                sum += term;
            }
            return 0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        }
        let a = x.abs();
        let fraction = (1..200).rev().fold(a, |below, n| a + f64::from(n) / below);
        let tail = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt() / fraction;
        if x < 0.0 { tail } else { 1.0 - tail }
    }

    #[test]
    fn functions_are_right_to_the_last_places() {
        assert!(largest_gap(86.0, exp, f64::exp) < 1.0);
        assert!(largest_gap(80.0, sigmoid, |x| 1.0 / (1.0 + (-x).exp())) < 2.0);
        assert!(largest_gap(20.0, tanh, f64::tanh) < 2.0);
        assert!(largest_gap(1e-3, tanh, f64::tanh) < 2.0);
        let gap = largest_gap(12.0, |x| normal(x).0, normal_share);
        // The square in the exponent loses some places far out.
        assert!(gap < 120.0, "{gap}");
        let gap = largest_gap(2.0, |x| normal(x).0, normal_share);
        assert!(gap < 6.0, "{gap}");
    }

    #[test]
    fn ends_and_strange_values() {
        for f in [exp as fn(f32) -> f32, sigmoid, tanh, gelu, |x| {
            gelu_both(x).1
        }] {
            assert!(f(f32::NAN).is_nan());
        }
        assert_eq!((tanh(f32::INFINITY), tanh(f32::NEG_INFINITY)), (1.0, -1.0));
        assert_eq!(
            (sigmoid(f32::INFINITY), sigmoid(-1e30) < 1e-37),
            (1.0, true)
        );
        assert_eq!((gelu(1e30), gelu(-30.0).abs() < 1e-36), (1e30, true));
        assert_eq!(tanh(-0.0).to_bits(), (-0.0_f32).to_bits());
    }
}
