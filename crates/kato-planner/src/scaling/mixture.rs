//! Several laws together as one distribution of what a cost will be.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// One law's belief about the logarithm of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Belief {
    pub(crate) weight: f64,
    pub(crate) center: f64,
    pub(crate) spread: f64,
    pub(crate) freedom: f64,
}

impl Belief {
    /// Returns the probability that the logarithm is at most `at`.
    fn below(&self, at: f64) -> f64 {
        if self.spread <= 0.0 || !self.spread.is_finite() {
            return if at < self.center { 0.0 } else { 1.0 };
        }
        match StudentsT::new(self.center, self.spread, self.freedom) {
            Ok(student) => student.cdf(at),
            Err(_) => 0.5,
        }
    }
}

/// Returns the logarithm below which the value is with a probability, by all beliefs together.
pub(crate) fn quantile(beliefs: &[Belief], probability: f64) -> f64 {
    let total: f64 = beliefs.iter().map(|belief| belief.weight).sum();
    let below = |at: f64| beliefs.iter().map(|b| b.weight * b.below(at)).sum::<f64>() / total;
    // With one degree of freedom, the interval of 99 % is 64 spreads wide to each side.
    let ends = beliefs.iter().map(|belief| {
        (
            belief.center - 700.0 * belief.spread,
            belief.center + 700.0 * belief.spread,
        )
    });
    let (mut low, mut high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, end| {
        (all.0.min(end.0), all.1.max(end.1))
    });
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_belief_has_the_quantiles_of_students_t() {
        let belief = Belief {
            weight: 0.3,
            center: 2.0,
            spread: 0.5,
            freedom: 10.0,
        };
        // t(0.95, 10) = 1.8125, from the tables.
        assert!((quantile(&[belief], 0.95) - (2.0 + 0.5 * 1.812_461)).abs() < 1e-5);
        // Near its middle the distribution is known to half of the digits.
        assert!((quantile(&[belief], 0.5) - 2.0).abs() < 1e-6);
        let exact = Belief {
            spread: 0.0,
            ..belief
        };
        assert!((quantile(&[exact], 0.95) - 2.0).abs() < 1e-9);
    }
}
