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
/// The Taylor polynomial of degree 8 leaves a relative gap below 3e-9.
#[inline(always)]
const fn split(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let mut sum = 1.0 / 40_320.0;
    sum = r.mul_add(sum, 1.0 / 5_040.0);
    sum = r.mul_add(sum, 1.0 / 720.0);
    sum = r.mul_add(sum, 1.0 / 120.0);
    sum = r.mul_add(sum, 1.0 / 24.0);
    sum = r.mul_add(sum, 1.0 / 6.0);
    sum = r.mul_add(sum, 0.5);
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
    let less_one = scale.mul_add(less_one, scale - 1.0);
    (less_one / (less_one + 2.0)).copysign(x)
}
