//! The minimum of a function of one number.

/// Points of the grid that finds the valley.
const GRID: usize = 24;
/// Steps of the golden section that goes down in it; each leaves 0.618 of the interval.
const STEPS: usize = 36;

/// Returns the number between `low` and `high` at which `f` is least, and the value there.
///
/// A grid first, as there may be more than one valley.
pub(crate) fn minimum(low: f64, high: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let step = (high - low) / GRID as f64;
    let grid = (0..=GRID).map(|idx| low + step * idx as f64);
    let best = grid
        .map(|at| (at, f(at)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((low, f64::INFINITY));
    let (mut a, mut b) = ((best.0 - step).max(low), (best.0 + step).min(high));
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..STEPS {
        let (left, right) = (b - ratio * (b - a), a + ratio * (b - a));
        if f(left) <= f(right) {
            b = right;
        } else {
            a = left;
        }
    }
    let found = f64::midpoint(a, b);
    let candidates = [(found, f(found)), (low, f(low)), (high, f(high)), best];
    // The ends themselves count: a fixed part of exactly 0 is a parameter less.
    candidates
        .into_iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_two_valleys_is_found_and_ends_count() {
        let (at, _) = minimum(-3.0, 3.0, |x| (x * x - 4.0).powi(2) + x);
        assert!((at + 2.03).abs() < 0.01, "{at}");
        assert_eq!(minimum(0.0, 1.0, |x| x).0, 0.0);
    }
}
