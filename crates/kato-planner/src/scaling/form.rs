//! The forms that are fitted: a law, with or without a fixed part.

use crate::scaling::Law;
use crate::scaling::search::minimum;

/// A law as it is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// value = s · shape.
    Plain(Law),
    /// value = s · (w + (1 − w) · shape / shape in the middle): a fixed part beside what grows.
    WithFixedPart(Law),
    /// value = c · size^p.
    Power,
    /// value = the expected number of distinct patterns with strength θ and discount d.
    PitmanYor,
}

/// A form with its parameters.
///
/// All of them are fitted to logarithms, because the noise of costs is a share of the cost: a run
/// of hours is off by minutes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedForm {
    pub(crate) form: Form,
    /// The logarithm of the scale (of the strength for Pitman–Yor), then the second parameter,
    /// where the form has one.
    pub(crate) parameters: Vec<f64>,
    /// The middle of the sizes, by their logarithms.
    middle: f64,
    /// Sum of the squares of what is left of the logarithms.
    pub(crate) squares: f64,
}

impl Form {
    /// Returns the law.
    pub(crate) fn law(self) -> Law {
        match self {
            Self::Plain(law) | Self::WithFixedPart(law) => law,
            Self::Power => Law::Power,
            Self::PitmanYor => Law::PitmanYor,
        }
    }

    /// Returns the forms of a law.
    pub(crate) fn of(law: Law) -> Vec<Self> {
        match law {
            Law::Constant => vec![Self::Plain(law)],
            Law::Power => vec![Self::Power],
            Law::PitmanYor => vec![Self::PitmanYor],
            law => vec![Self::Plain(law), Self::WithFixedPart(law)],
        }
    }

    /// Returns the number of parameters.
    pub(crate) fn n_parameters(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::WithFixedPart(_) | Self::Power | Self::PitmanYor => 2,
        }
    }

    /// Fits the form to the logarithms of values at sizes.
    pub(crate) fn fit(self, points: &[(f64, f64)]) -> FittedForm {
        let middle =
            (points.iter().map(|(size, _)| size.ln()).sum::<f64>() / points.len() as f64).exp();
        // With the other parameter known, the scale is a mean.
        let scale_of = |second: f64| {
            let left = points
                .iter()
                .map(|&(size, value)| value.ln() - self.ln_shape(size, second, middle));
            left.sum::<f64>() / points.len() as f64
        };
        let squares_of = |scale: f64, second: f64| {
            let left = points
                .iter()
                .map(|&(size, value)| value.ln() - self.ln_value(&[scale, second], size, middle));
            left.map(|left| left * left).sum::<f64>()
        };
        let with_scale = |second: f64| squares_of(scale_of(second), second);
        let (parameters, squares) = match self {
            Self::Plain(_) => (vec![scale_of(0.0)], with_scale(0.0)),
            Self::WithFixedPart(_) => {
                // Not up to 1, where nothing grows and the law would be no law.
                let (share, squares) = minimum(0.0, 0.999, with_scale);
                (vec![scale_of(share), share], squares)
            }
            Self::Power => {
                let power = slope(points, middle);
                (vec![scale_of(power), power], with_scale(power))
            }
            Self::PitmanYor => {
                let by_strength =
                    |discount: f64| minimum(-5.0, 30.0, |strength| squares_of(strength, discount));
                let (discount, squares) = minimum(0.01, 0.99, |discount| by_strength(discount).1);
                (vec![by_strength(discount).0, discount], squares)
            }
        };
        FittedForm {
            form: self,
            parameters,
            middle,
            squares,
        }
    }

    /// Returns the logarithm of the value where the scale is 1.
    fn ln_shape(self, size: f64, second: f64, middle: f64) -> f64 {
        match self {
            Self::Plain(law) => law.shape(size).ln() - law.shape(middle).ln(),
            Self::WithFixedPart(law) => {
                let growing = law.shape(size) / law.shape(middle);
                (second + (1.0 - second) * growing).ln()
            }
            Self::Power => second * (size / middle).ln(),
            Self::PitmanYor => 0.0,
        }
    }

    /// Returns the logarithm of the value at a size.
    fn ln_value(self, parameters: &[f64], size: f64, middle: f64) -> f64 {
        let first = parameters.first().copied().unwrap_or(0.0);
        let second = parameters.get(1).copied().unwrap_or(0.0);
        match self {
            Self::PitmanYor => ln_pitman_yor(first.exp(), second, size),
            form => first + form.ln_shape(size, second, middle),
        }
    }
}

/// Returns the slope of logarithms of values over those of sizes, by least squares.
fn slope(points: &[(f64, f64)], middle: f64) -> f64 {
    let mean = points.iter().map(|point| point.1.ln()).sum::<f64>() / points.len() as f64;
    let (mut both, mut own) = (0.0, 0.0);
    for &(size, value) in points {
        let along = (size / middle).ln();
        both += along * (value.ln() - mean);
        own += along * along;
    }
    // There are at least three sizes.
    both / own
}

impl FittedForm {
    /// Returns the logarithm of the value at a size.
    pub(crate) fn ln_value(&self, size: f64) -> f64 {
        self.form.ln_value(&self.parameters, size, self.middle)
    }

    /// Returns how the logarithm of the value at a size changes with each parameter.
    pub(crate) fn gradient(&self, size: f64) -> Vec<f64> {
        (0..self.parameters.len())
            .map(|idx| {
                let moved = |by: f64| {
                    let mut parameters = self.parameters.clone();
                    if let Some(parameter) = parameters.get_mut(idx) {
                        *parameter += by;
                    }
                    self.form.ln_value(&parameters, size, self.middle)
                };
                // To both sides, but not beyond where the parameter can be.
                let step = 1e-5;
                let is_share = idx == 1 && matches!(self.form, Form::WithFixedPart(_));
                match is_share && self.parameters.get(1).is_some_and(|&share| share < step) {
                    true => (moved(step) - moved(0.0)) / step,
                    false => (moved(step) - moved(-step)) / (2.0 * step),
                }
            })
            .collect()
    }

    /// Returns the value at a size in words, with the coefficients.
    pub(crate) fn equation(&self) -> String {
        let scale = self.parameters.first().copied().unwrap_or(0.0).exp();
        let second = self.parameters.get(1).copied().unwrap_or(0.0);
        let shape = |law: Law| match law {
            Law::Logarithmic => " · log(1 + n)",
            Law::Linear => " · n",
            Law::Linearithmic => " · n log(1 + n)",
            Law::Quadratic => " · n²",
            Law::Constant | Law::Power | Law::PitmanYor => "",
        };
        match self.form {
            Form::Plain(law) => {
                let factor = scale / law.shape(self.middle);
                format!("{}{}", short(factor), shape(law))
            }
            Form::WithFixedPart(law) => {
                let factor = scale * (1.0 - second) / law.shape(self.middle);
                format!(
                    "{} + {}{}",
                    short(scale * second),
                    short(factor),
                    shape(law)
                )
            }
            Form::Power => {
                let factor = scale / self.middle.powf(second);
                format!("{} · n^{second:.3}", short(factor))
            }
            Form::PitmanYor => format!(
                "Pitman–Yor with strength {} and discount {second:.3}",
                short(scale)
            ),
        }
    }
}

/// Writes a number with four digits.
fn short(number: f64) -> String {
    match number == 0.0 || (1e-3..1e6).contains(&number.abs()) {
        true => {
            let digits = 3 - number.abs().max(1e-3).log10().floor() as i32;
            format!("{number:.*}", digits.clamp(0, 6) as usize)
        }
        false => format!("{number:.3e}"),
    }
}

/// Returns the logarithm of the expected number of distinct patterns after `n` learn calls.
///
/// Formula: θ/d · (Γ(θ + n + d) Γ(θ) / (Γ(θ + n) Γ(θ + d)) − 1).
fn ln_pitman_yor(strength: f64, discount: f64, n: f64) -> f64 {
    let ln_ratio = ln_gamma_step(strength + n, discount) - ln_gamma_step(strength, discount);
    // Near 0 the difference of two numbers near 1 would lose its digits.
    strength.ln() - discount.ln() + ln_ratio.exp_m1().ln()
}

/// Returns ln Γ(x + d) − ln Γ(x).
fn ln_gamma_step(x: f64, d: f64) -> f64 {
    if x < 1e6 {
        return libm::lgamma(x + d) - libm::lgamma(x);
    }
    // The first terms of the series; the difference of two large logarithms would have no digits
    // left.
    d * x.ln() + d * (d - 1.0) / (2.0 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pitman_yor_counts_what_its_urn_gives() {
        // The first draw is always new; the second with (θ + d) / (θ + 1).
        for (strength, discount) in [(1.0, 0.5), (100.0, 0.1), (0.2, 0.9)] {
            let at = |n: f64| ln_pitman_yor(strength, discount, n).exp();
            assert!((at(1.0) - 1.0).abs() < 1e-9);
            let second = (strength + discount) / (strength + 1.0);
            assert!((at(2.0) - 1.0 - second).abs() < 1e-9);
            // No step where one formula takes over from the other.
            let (below, above) = (at(999_990.0), at(1_000_010.0));
            let slope = at(999_990.0) - at(999_970.0);
            assert!(
                ((above - below) / slope - 1.0).abs() < 1e-2,
                "{strength} {discount}"
            );
        }
    }

    #[test]
    fn exact_series_give_their_parameters_back() {
        let sizes = [1e3, 1e4, 1e5, 1e6, 1e7];
        let series = |f: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
            sizes.iter().map(|&size| (size, f(size))).collect()
        };
        let fitted = Form::Power.fit(&series(&|n| 0.03 * n.powf(1.25)));
        assert!((fitted.parameters[1] - 1.25).abs() < 1e-6);
        assert_eq!(fitted.equation(), "0.03000 · n^1.250");
        let fitted = Form::WithFixedPart(Law::Linear).fit(&series(&|n| 5.0 + 0.001 * n));
        assert_eq!(fitted.equation(), "5.000 + 0.001000 · n");
        let fitted = Form::PitmanYor.fit(&series(&|n| ln_pitman_yor(500.0, 0.6, n).exp()));
        assert!((fitted.parameters[1] - 0.6).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.ln_value(1e8) - ln_pitman_yor(500.0, 0.6, 1e8)).abs() < 1e-3);
    }
}
