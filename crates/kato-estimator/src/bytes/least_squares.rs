//! The fit of coefficients of bytes to measured levels.

use super::model::{ByteCoefficients, ByteMeasurement};

/// Fits the three coefficients by non-negative least squares; `None` where no choice can be solved.
///
/// The minimum is the unconstrained one over the coefficients that are not 0 there, so trying all
/// seven choices of these is exact.
pub(super) fn fit_coefficients(measurements: &[ByteMeasurement]) -> Option<ByteCoefficients> {
    let rows: Vec<[f64; 3]> = measurements
        .iter()
        .map(|m| {
            [
                m.contents.patterns,
                m.contents.symbols,
                m.contents.distinct_symbols,
            ]
            // Divided by the bytes, every row has the target 1 and its residual is a relative
            // error.
            .map(|count| count / m.bytes)
        })
        .collect();
    let mut best: Option<([f64; 3], f64)> = None;
    for choice in 1..8usize {
        let used: Vec<usize> = (0..3).filter(|i| choice & (1 << i) != 0).collect();
        let Some(solution) = least_squares(&rows, &used) else {
            continue;
        };
        if solution.iter().any(|&x| x < 0.0) {
            continue;
        }
        let error: f64 = rows
            .iter()
            .map(|row| (row.iter().zip(&solution).map(|(a, x)| a * x).sum::<f64>() - 1.0).powi(2))
            .sum();
        // The margin keeps rounding from choosing between equally good fits: the first is kept.
        if best.is_none_or(|(_, least)| error < least - 1e-12) {
            best = Some((solution, error));
        }
    }
    best.map(
        |([per_pattern, per_symbol, per_distinct_symbol], _)| ByteCoefficients {
            per_pattern,
            per_symbol,
            per_distinct_symbol,
        },
    )
}

/// Solves the normal equations for the used columns with target 1; `None` where they have no single
/// solution.
fn least_squares(rows: &[[f64; 3]], used: &[usize]) -> Option<[f64; 3]> {
    let n = used.len();
    if rows.len() < n {
        return None;
    }
    let mut matrix: Vec<Vec<f64>> = used
        .iter()
        .map(|&i| {
            let products = used
                .iter()
                .map(|&j| rows.iter().map(|row| row[i] * row[j]).sum());
            products
                .chain([rows.iter().map(|row| row[i]).sum()])
                .collect()
        })
        .collect();
    for pivot in 0..n {
        // Next to nothing is left of a column that is a combination of the columns before it.
        let size = matrix[pivot][pivot];
        let scale: f64 = rows.iter().map(|row| row[used[pivot]].powi(2)).sum();
        if size <= 1e-9 * scale {
            return None;
        }
        for row in 0..n {
            if row == pivot {
                continue;
            }
            let factor = matrix[row][pivot] / size;
            let subtracted: Vec<f64> = matrix[pivot].iter().map(|x| factor * x).collect();
            for (x, part) in matrix[row].iter_mut().zip(subtracted) {
                *x -= part;
            }
        }
    }
    let mut solution = [0.0; 3];
    for (at, &i) in used.iter().enumerate() {
        solution[i] = matrix[at][n] / matrix[at][at];
    }
    Some(solution)
}
