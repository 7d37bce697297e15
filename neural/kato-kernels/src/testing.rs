//! Helps tests: numbers, gaps, and gradients by central differences in f64.

/// Numbers from −0.5 to 0.5 that f32 holds exactly.
pub(crate) fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64) / f64::from(1 << 24) - 0.5
    };
    // The first numbers of like seeds resemble one another.
    next();
    (0..n).map(|_| next()).collect()
}

/// Largest gap between two lists, as a share of the largest entry.
pub(crate) fn gap(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected
        .iter()
        .fold(1e-12_f64, |largest, value| largest.max(value.abs()));
    let gaps = found
        .iter()
        .zip(expected)
        .map(|(&a, &b)| (f64::from(a) - b).abs());
    // `max` would pass over a NaN.
    gaps.fold(
        0.0,
        |largest: f64, gap| if gap <= largest { largest } else { gap },
    ) / largest
}

/// Gradient of `loss` at `point` by central differences.
pub(crate) fn gradient(point: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let (mut point, n) = (point.to_vec(), point.len());
    let mut slope = |i: usize| {
        let value = point[i];
        point[i] = value + STEP;
        let above = loss(&point);
        point[i] = value - STEP;
        let below = loss(&point);
        point[i] = value;
        (above - below) / (2.0 * STEP)
    };
    (0..n).map(&mut slope).collect()
}
