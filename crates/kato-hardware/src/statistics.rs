//! Medians, quartiles and percentiles of observations.

use crate::figure::Percentiles;

/// Returns the value below which a share of the sorted observations lies, interpolated between
/// neighbours; `None` without observations.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    // In range, as `share` is at most 1.
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    Some(below + (above - below) * place.fract())
}

/// Returns the distance between the quartiles as a share of the median; `None` for fewer than four
/// observations.
pub(crate) fn spread(observations: &[f64]) -> Option<f64> {
    if observations.len() < 4 {
        return None;
    }
    let sorted = sorted(observations);
    let (first, median) = (quantile(&sorted, 0.25)?, quantile(&sorted, 0.5)?);
    let third = quantile(&sorted, 0.75)?;
    (median > 0.0).then(|| (third - first) / median)
}

/// Returns the distribution of observations; `None` without any.
pub(crate) fn percentiles(observations: &[f64]) -> Option<Percentiles> {
    let sorted = sorted(observations);
    Some(Percentiles {
        p50: quantile(&sorted, 0.5)?,
        p90: quantile(&sorted, 0.9)?,
        // Of fewer, it would hardly differ from the maximum.
        p99: quantile(&sorted, 0.99).filter(|_| sorted.len() >= 100),
        max: quantile(&sorted, 1.0)?,
    })
}

/// Returns the observations in ascending order.
fn sorted(observations: &[f64]) -> Vec<f64> {
    let mut sorted = observations.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_a_known_row() {
        let row: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        let found = percentiles(&row).unwrap();
        assert_eq!((found.p50, found.p90, found.max), (51.0, 91.0, 101.0));
        assert_eq!(found.p99, Some(100.0));
        assert_eq!(spread(&row), Some(50.0 / 51.0));
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(percentiles(&[]), None);
        assert_eq!(spread(&[1.0, 2.0, 3.0]), None);
        assert_eq!(percentiles(&[1.0]).unwrap().p99, None);
    }
}
