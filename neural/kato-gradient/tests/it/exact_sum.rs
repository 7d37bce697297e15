//! The exact sum against whole numbers of 128 bits, whose arithmetic is exact by itself.

use kato_gradient::metric::ExactSum;
use proptest::prelude::*;

fn sum_of(terms: &[f64]) -> ExactSum {
    let mut sum = ExactSum::new();
    terms.iter().for_each(|term| sum.add(*term));
    sum
}

/// Any bits that are a finite number, small and large, subnormal too.
fn any_finite() -> impl Strategy<Value = f64> {
    any::<u64>()
        .prop_map(f64::from_bits)
        .prop_filter("finite", |number| number.is_finite())
}

proptest! {
    /// Sums of whole numbers times 2^k. The cast of an `i128` rounds to nearest, ties to even.
    #[test]
    fn it_is_the_sum_of_whole_numbers_rounded_once(
        terms in prop::collection::vec((-(1_i64 << 53)..1 << 53, 0..60_u32), 0..200), scale in -1074..900_i32,
    ) {
        let power = |exponent: i32| -> f64 {
            // Two factors: 2^-1074 is below what one division gives.
            2.0_f64.powi(exponent / 2) * 2.0_f64.powi(exponent - exponent / 2)
        };
        let mut whole = 0_i128;
        let mut sum = ExactSum::new();
        for (number, shift) in terms {
            whole += i128::from(number) << shift;
            sum.add(number as f64 * power(scale + shift as i32));
        }
        prop_assert_eq!(sum.value(), whole as f64 * power(scale));
    }

    #[test]
    fn any_order_and_split_give_the_same_sum(terms in prop::collection::vec(any_finite(), 0..80), cut in 0..80_usize) {
        let whole = sum_of(&terms);
        let (left, right) = terms.split_at(cut.min(terms.len()));
        let mut merged = sum_of(right);
        merged.merge(&sum_of(left));
        prop_assert_eq!(merged.value().to_bits(), whole.value().to_bits());
        prop_assert_eq!(&merged, &whole);
        let mut backwards = terms.clone();
        backwards.reverse();
        prop_assert_eq!(&sum_of(&backwards), &whole);
        let saved = serde_json::to_string(&merged).unwrap();
        prop_assert_eq!(serde_json::from_str::<ExactSum>(&saved).unwrap(), whole);
    }

    #[test]
    fn what_is_taken_away_again_leaves_nothing(mut terms in prop::collection::vec(any_finite(), 0..80), rest in any_finite()) {
        let taken: Vec<f64> = terms.iter().map(|term| -term).collect();
        terms.push(rest);
        terms.extend(taken);
        prop_assert_eq!(sum_of(&terms).value(), rest);
    }

    #[test]
    fn value_and_rest_are_the_whole_sum_of_two(a in -1e300..1e300_f64, b in any_finite()) {
        prop_assume!((a + b).is_finite());
        let (value, rest) = sum_of(&[a, b]).value_and_rest();
        // The sum of two numbers is always the nearest number and one more.
        prop_assert_eq!(value, a + b);
        prop_assert_eq!(sum_of(&[a, b, -value, -rest]).value(), 0.0);
    }
}

#[test]
fn ties_go_to_even_and_a_digit_far_below_decides_them() {
    let ulp = f64::EPSILON;
    assert_eq!(sum_of(&[1.0, ulp / 2.0]).value(), 1.0);
    assert_eq!(sum_of(&[1.0 + ulp, ulp / 2.0]).value(), 1.0 + 2.0 * ulp);
    assert_eq!(
        sum_of(&[1.0, ulp / 2.0, f64::from_bits(1)]).value(),
        1.0 + ulp
    );
    assert_eq!(sum_of(&[1.0, ulp / 2.0, -f64::from_bits(1)]).value(), 1.0);
    // Rounded up into the next power of two.
    assert_eq!(sum_of(&[2.0 - ulp, ulp / 2.0]).value(), 2.0);
    assert_eq!(
        sum_of(&[-1.0, -ulp / 2.0, -f64::from_bits(1)]).value(),
        -1.0 - ulp
    );
}

#[test]
fn the_ends_of_the_range_are_reached_and_left() {
    let least = f64::from_bits(1);
    assert_eq!(sum_of(&[least, least]).value(), 2.0 * least);
    // From subnormal to normal.
    let below = f64::MIN_POSITIVE - least;
    assert_eq!(sum_of(&[below, least]).value(), f64::MIN_POSITIVE);
    assert_eq!(sum_of(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
    assert_eq!(sum_of(&[-f64::MAX, -f64::MAX]).value(), f64::NEG_INFINITY);
    // Half of the last digit more is already the tie to infinity.
    let half_digit = (f64::MAX - f64::from_bits(f64::MAX.to_bits() - 1)) / 2.0;
    assert_eq!(sum_of(&[f64::MAX, half_digit]).value(), f64::INFINITY);
    assert_eq!(sum_of(&[f64::MAX, half_digit, -least]).value(), f64::MAX);
    // Beyond the range on the way, and back: no order matters.
    assert_eq!(
        sum_of(&[f64::MAX, f64::MAX, 3.0, -f64::MAX, -f64::MAX]).value(),
        3.0
    );
    assert_eq!(sum_of(&[]).value().to_bits(), 0);
    assert_eq!(sum_of(&[-0.0]).value().to_bits(), 0);
}

#[test]
fn infinities_and_nans_decide_as_they_do_in_arithmetic() {
    let (plus, minus) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(sum_of(&[1.0, plus]).value(), plus);
    assert_eq!(sum_of(&[minus, f64::MAX]).value(), minus);
    assert!(sum_of(&[plus, minus]).value().is_nan());
    assert!(sum_of(&[1.0, f64::NAN]).value().is_nan());
    assert_eq!(sum_of(&[plus]).value_and_rest(), (plus, 0.0));
    let saved = serde_json::to_string(&sum_of(&[plus, 2.0])).unwrap();
    assert_eq!(
        serde_json::from_str::<ExactSum>(&saved).unwrap().value(),
        plus
    );
}

#[test]
fn doubling_a_sum_beyond_any_training_overflows_nothing() {
    // 2^60 terms, by merging a sum with itself.
    let mut sum = sum_of(&[f64::MAX, -1.0, 0.1]);
    for _ in 0..60 {
        sum.merge(&sum.clone());
    }
    sum.merge(&sum_of(&[0.0]));
    assert_eq!(sum.value(), f64::INFINITY);
    let mut back = sum_of(&[-f64::MAX, 1.0, -0.1]);
    for _ in 0..60 {
        back.merge(&back.clone());
    }
    sum.merge(&back);
    assert_eq!(sum, ExactSum::new());
}

#[test]
fn a_forged_sum_is_refused() {
    for limbs in [
        "[[68, 1]]",
        "[[3, -1]]",
        "[[3, 4294967296]]",
        "[[67, -4294967297]]",
    ] {
        let text = format!("{{\"limbs\": {limbs}}}");
        let refused = serde_json::from_str::<ExactSum>(&text).unwrap_err();
        assert!(refused.to_string().contains("the saved sum"), "{refused}");
    }
    assert!(serde_json::from_str::<ExactSum>("{\"limbs\": [[67, -1]]}").is_ok());
}
