//! Minimisation of functions of one and two variables, without derivatives.

/// Minimises a function by Nelder and Mead's simplex from several starts, and returns the best
/// point with its value.
///
/// The function may return infinity where it is not defined. With no start the point is the origin.
pub(crate) fn minimize2(
    f: impl Fn([f64; 2]) -> f64,
    starts: impl IntoIterator<Item = [f64; 2]>,
) -> ([f64; 2], f64) {
    let mut best = ([0.0; 2], f64::INFINITY);
    for start in starts {
        let found = descend(&f, start);
        if found.1 < best.1 {
            best = found;
        }
    }
    best
}

/// Descends from one start with a simplex, for at most 400 steps.
fn descend(f: &impl Fn([f64; 2]) -> f64, start: [f64; 2]) -> ([f64; 2], f64) {
    let value = |point: [f64; 2]| {
        let value = f(point);
        // NaN would compare as the largest value or the smallest, depending on its sign.
        (point, if value.is_nan() { f64::INFINITY } else { value })
    };
    let mut simplex = [
        value(start),
        value([start[0] + 0.5, start[1]]),
        value([start[0], start[1] + 0.5]),
    ];
    for _ in 0..400 {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [best, middle, worst] = simplex;
        let size = (worst.0[0] - best.0[0])
            .abs()
            .max((worst.0[1] - best.0[1]).abs());
        // Small, or flat and nearly small: on a flat valley the simplex would creep on without
        // gain.
        if size < 1e-7 || (worst.1 - best.1).abs() < 1e-11 * (1.0 + best.1.abs()) && size < 1e-4 {
            break;
        }
        // The usual coefficients: reflection 1, expansion 2, contraction 1/2, shrinking 1/2.
        let centre = mix(best.0, middle.0, 0.5);
        let reflected = value(mix(centre, worst.0, -1.0));
        simplex[2] = if reflected.1 < best.1 {
            let expanded = value(mix(centre, worst.0, -2.0));
            if expanded.1 < reflected.1 {
                expanded
            } else {
                reflected
            }
        } else if reflected.1 < middle.1 {
            reflected
        } else {
            let towards = if reflected.1 < worst.1 {
                reflected
            } else {
                worst
            };
            let contracted = value(mix(centre, towards.0, 0.5));
            if contracted.1 < towards.1 {
                contracted
            } else {
                // Nothing better near by: both other corners move towards the best one.
                simplex[1] = value(mix(best.0, middle.0, 0.5));
                value(mix(best.0, worst.0, 0.5))
            }
        };
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex[0]
}

/// Returns the point this part of the way from `a` to `b`.
fn mix(a: [f64; 2], b: [f64; 2], part: f64) -> [f64; 2] {
    [0, 1].map(|i| a[i] + part * (b[i] - a[i]))
}

/// Returns the minimum of a unimodal function between two ends, by golden section.
pub(crate) fn minimize1(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    // With this ratio one of the inner points is again an inner point of the next interval, so each
    // step takes one evaluation.
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let mut inner = [high - ratio * (high - low), low + ratio * (high - low)];
    let mut values = inner.map(&f);
    while high - low > 1e-9 * (1.0 + low.abs()) {
        if values[0] <= values[1] {
            high = inner[1];
            inner = [high - ratio * (high - low), inner[0]];
            values = [f(inner[0]), values[0]];
        } else {
            low = inner[0];
            inner = [inner[1], low + ratio * (high - low)];
            values = [values[1], f(inner[1])];
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_found() {
        let f = |[x, y]: [f64; 2]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
        let (point, value) = minimize2(f, [[-1.2, 1.0]]);
        assert!(
            (point[0] - 1.0).abs() < 1e-4 && (point[1] - 1.0).abs() < 1e-4,
            "{point:?}"
        );
        assert!(value < 1e-8);
    }

    #[test]
    fn a_minimum_on_a_line_is_found() {
        assert!((minimize1(|x| (x - 2.5).powi(2), 1.0, 12.0) - 2.5).abs() < 1e-6);
        assert!(minimize1(|x| x, 1.0, 12.0) < 1.0 + 1e-6);
    }
}
