//! Cosines that have the same bits on every machine.
//!
//! Sums run in eight lanes of `f64` in one fixed order, so that results do not depend on the
//! machine or on the number of workers, and rounding errors are far below the digits of the text.

use crate::element::Number;

/// Lanes that the compiler can put in registers side by side.
const LANES: usize = 8;

/// Norms between which squares and products neither overflow nor vanish. All norms of `f32` vectors
/// but zero are within.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-140..=1e140;

/// Returns the length of a vector of finite elements.
pub(crate) fn norm<E: Number>(vector: &[E]) -> f64 {
    let norm = sum_of_products(vector, vector, 1.0, 1.0).sqrt();
    if ORDINARY.contains(&norm) {
        return norm;
    }
    // Squares may have overflowed or lost digits. Divided by the largest element, all are at most
    // 1.
    let unit = largest(vector);
    if unit == 0.0 {
        return 0.0;
    }
    // The greatest number stands for lengths beyond it: an infinite one would make cosines NaN.
    (sum_of_products(vector, vector, unit, unit).sqrt() * unit).min(f64::MAX)
}

/// Returns the cosine of the angle between two vectors of equal length with these norms: −1 to 1,
/// and 0 if one has no direction.
pub(crate) fn cosine<E: Number>(a: &[E], norm_a: f64, b: &[E], norm_b: f64) -> f64 {
    if norm_a == 0.0 || norm_b == 0.0 {
        return 0.0;
    }
    let cosine = if ORDINARY.contains(&norm_a) && ORDINARY.contains(&norm_b) {
        sum_of_products(a, b, 1.0, 1.0) / (norm_a * norm_b)
    } else {
        // Norms near the ends of the range have lost digits, so that the lengths are computed anew
        // from scaled elements.
        let (unit_a, unit_b) = (largest(a), largest(b));
        let squared_a = sum_of_products(a, a, unit_a, unit_a);
        let squared_b = sum_of_products(b, b, unit_b, unit_b);
        sum_of_products(a, b, unit_a, unit_b) / (squared_a * squared_b).sqrt()
    };
    // Rounding may put the cosine of parallel vectors a little beyond 1.
    cosine.clamp(-1.0, 1.0)
}

/// Returns the greatest magnitude among the elements.
fn largest<E: Number>(vector: &[E]) -> f64 {
    let magnitude = |element: &E| Into::<f64>::into(*element).abs();
    vector.iter().map(magnitude).fold(0.0, f64::max)
}

/// Returns the sum of the products of elements, each divided by its vector's unit.
#[inline]
fn sum_of_products<E: Number>(a: &[E], b: &[E], unit_a: f64, unit_b: f64) -> f64 {
    // A division by 1 changes nothing, but costs as much as any other.
    let is_plain = unit_a == 1.0 && unit_b == 1.0;
    let product = |a: E, b: E| -> f64 {
        let (a, b): (f64, f64) = (a.into(), b.into());
        if is_plain {
            a * b
        } else {
            (a / unit_a) * (b / unit_b)
        }
    };
    let (chunks_a, rest_a) = a.as_chunks::<LANES>();
    let (chunks_b, rest_b) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (chunk_a, chunk_b) in chunks_a.iter().zip(chunks_b) {
        for lane in 0..LANES {
            lanes[lane] += product(chunk_a[lane], chunk_b[lane]);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(rest_a.iter().zip(rest_b)) {
        *lane += product(a, b);
    }
    // Addition rounds, so that its order is part of the result: it is fixed here, not left to a
    // reduction.
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<E: Number>(a: &[E], b: &[E]) -> f64 {
        cosine(a, norm(a), b, norm(b))
    }

    #[test]
    fn directions_are_compared() {
        assert_eq!(norm(&[3.0_f32, 4.0]), 5.0);
        assert_eq!(of(&[1.0_f32, 0.0], &[7.0, 0.0]), 1.0);
        assert_eq!(of(&[1.0_f32, 0.0], &[-7.0, 0.0]), -1.0);
        assert_eq!(of(&[1.0_f32, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(of(&[0.0_f32, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(norm::<f32>(&[]), 0.0);
    }

    #[test]
    fn extreme_vectors_have_directions_too() {
        for unit in [1.0, 5e-324, 1e-200, 1e200, f64::MAX] {
            let turned = of(&[unit, 0.0], &[unit, unit]);
            assert!((turned - 0.5_f64.sqrt()).abs() < 1e-9, "{unit}: {turned}");
            assert!(
                (of(&[unit, unit], &[1.0, 1.0]) - 1.0).abs() < 1e-6,
                "{unit}"
            );
        }
        assert!((of(&[f32::MAX, f32::MAX], &[1e-45, 1e-45]) - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn equals_the_plain_formula(pairs in prop::collection::vec((-9.0_f32..9.0, -9.0_f32..9.0), 0..40)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
            };
            let lengths = dot(&a, &a).sqrt() * dot(&b, &b).sqrt();
            let plain = if lengths == 0.0 { 0.0 } else { dot(&a, &b) / lengths };
            prop_assert!((of(&a, &b) - plain).abs() < 1e-12);
        }

        #[test]
        fn any_vectors_have_a_cosine(pairs in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20)) {
            let finite = |number: f64| if number.is_finite() { number } else { 1.0 };
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().map(|(a, b)| (finite(a), finite(b))).unzip();
            prop_assert!((-1.0..=1.0).contains(&of(&a, &b)));
        }
    }
}
