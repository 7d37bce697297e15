//! Least squares with several quantities, for costs that depend on more than size.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::scaling::ScalingError;

/// A linear model fitted by least squares: value = Σ coefficient · quantity.
///
/// Give logarithms to fit products of powers. Take a column of ones for a constant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Regression {
    /// The coefficients, in the order of the columns.
    pub coefficients: Vec<f64>,
    /// Standard deviation of what is left; 0 where there are as many coefficients as rows.
    pub spread: f64,
    /// Rows beyond the number of coefficients.
    pub freedom: usize,
    /// (XᵀX)⁻¹, row by row.
    #[serde(skip)]
    covariance: Vec<Vec<f64>>,
}

impl Regression {
    /// Fits rows of quantities to values.
    ///
    /// # Errors
    ///
    /// [`ScalingError::Singular`] when the rows do not tell the coefficients apart, or are not as
    /// long as each other, and [`ScalingError::Value`] for what is no number.
    ///
    /// ```
    /// use kato_planner::scaling::regression::Regression;
    ///
    /// let rows = [vec![1.0, 0.0], vec![1.0, 1.0], vec![1.0, 2.0], vec![1.0, 3.0]];
    /// let fitted = Regression::fit(&rows, &[1.0, 3.0, 5.0, 7.0])?;
    /// assert!((fitted.predict(&[1.0, 10.0]) - 21.0).abs() < 1e-9);
    /// # Ok::<(), kato_planner::scaling::ScalingError>(())
    /// ```
    pub fn fit(rows: &[Vec<f64>], values: &[f64]) -> Result<Self, ScalingError> {
        let columns = rows.first().map_or(0, Vec::len);
        let singular = ScalingError::Singular {
            rows: rows.len(),
            columns,
        };
        let fits = columns > 0
            && rows.len() >= columns
            && rows.len() == values.len()
            && rows.iter().all(|row| row.len() == columns);
        if !fits {
            return Err(singular);
        }
        for (position, (row, &value)) in rows.iter().zip(values).enumerate() {
            if let Some(&value) = row.iter().chain([&value]).find(|value| !value.is_finite()) {
                return Err(ScalingError::Value {
                    what: "value",
                    value,
                    position,
                });
            }
        }
        let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
        let matrix: Vec<Vec<f64>> = (0..columns)
            .map(|a| (0..columns).map(|b| product(a, b)).collect())
            .collect();
        let covariance = inverse(matrix).ok_or(singular)?;
        let right: Vec<f64> = (0..columns)
            .map(|column| {
                rows.iter()
                    .zip(values)
                    .map(|(row, value)| row[column] * value)
                    .sum()
            })
            .collect();
        let coefficients: Vec<f64> = covariance.iter().map(|row| dot(row, &right)).collect();
        let left = rows
            .iter()
            .zip(values)
            .map(|(row, value)| value - dot(row, &coefficients));
        let squares: f64 = left.map(|left| left * left).sum();
        let freedom = rows.len() - columns;
        Ok(Self {
            spread: (squares / freedom.max(1) as f64).sqrt(),
            freedom,
            coefficients,
            covariance,
        })
    }

    /// Returns the expected value of a row; quantities beyond the coefficients count nothing.
    #[must_use]
    pub fn predict(&self, row: &[f64]) -> f64 {
        dot(&self.coefficients, row)
    }

    /// Returns the interval that is to hold the value of a row in this share of cases; without ends where
    /// there are as many coefficients as rows, which say nothing of errors.
    #[must_use]
    pub fn interval(&self, row: &[f64], confidence: f64) -> (f64, f64) {
        let center = self.predict(row);
        let along: Vec<f64> = self.covariance.iter().map(|line| dot(line, row)).collect();
        let spread = self.spread * (1.0 + dot(&along, row).max(0.0)).sqrt();
        let tail = 0.5 + confidence.clamp(0.0, 1.0) / 2.0;
        let far = StudentsT::new(0.0, 1.0, self.freedom as f64)
            .map_or(f64::INFINITY, |student| student.inverse_cdf(tail));
        // Nothing times infinity is no number.
        let half = if spread > 0.0 { spread * far } else { 0.0 };
        match self.freedom {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            _ => (center - half, center + half),
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Inverts a matrix by elimination; `None` where rows depend on each other.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let scale: Vec<f64> = (0..n).map(|idx| matrix[idx][idx].abs()).collect();
    let mut inverse: Vec<Vec<f64>> = (0..n)
        .map(|a| (0..n).map(|b| f64::from(u8::from(a == b))).collect())
        .collect();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let head = matrix[column][column];
        // Compared with what the column began with: what is left is rounding.
        if head.abs() <= 1e-12 * scale[column] || head == 0.0 {
            return None;
        }
        for idx in 0..n {
            matrix[column][idx] /= head;
            inverse[column][idx] /= head;
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for idx in 0..n {
                matrix[row][idx] -= factor * matrix[column][idx];
                inverse[row][idx] -= factor * inverse[column][idx];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_say_the_same_are_refused() {
        let rows = [vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        let fitted = Regression::fit(&rows, &[1.0, 2.0, 3.0]);
        assert!(matches!(
            fitted,
            Err(ScalingError::Singular {
                rows: 3,
                columns: 2
            })
        ));
        assert!(Regression::fit(&[], &[]).is_err());
        assert!(Regression::fit(&[vec![f64::NAN]], &[1.0]).is_err());
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_tables() {
        let rows = vec![vec![1.0]; 5];
        let fitted = Regression::fit(&rows, &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // Spread √2.5, five rows, t(0.95, 4) = 2.1318.
        let half = 2.131_847 * (2.5_f64 * 1.2).sqrt();
        let (low, high) = fitted.interval(&[1.0], 0.9);
        assert!((low - (3.0 - half)).abs() < 1e-4 && (high - (3.0 + half)).abs() < 1e-4);
        let exact = Regression::fit(&[vec![1.0]], &[4.0]).unwrap();
        assert_eq!(
            exact.interval(&[1.0], 0.9),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
    }
}
