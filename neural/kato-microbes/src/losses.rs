//! What training makes small, as sums that add up over parts of a step.

use kato_neural::burn::tensor::activation::log_softmax;
use kato_neural::burn::tensor::{Int, Tensor, TensorData};

use crate::model::tensor;
use crate::settings::TargetLoss;

/// What is added to a squared distance: the root has no slope at zero.
const TINY: f64 = 1e-12;

/// How far rows are apart where their samples' distance is tanh(1).
const SCALE: f64 = 10.0;

/// Returns the pairs of `n` samples, the upper triangle row behind row.
pub(crate) fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// Returns the distances that rows `[samples, width]` stand for, a number a pair in the order of
/// a condensed matrix: tanh(‖a − b‖ / 10).
///
/// # Panics
///
/// With fewer than two samples there is no pair.
#[must_use]
pub fn predicted_distances(rows: Tensor<2>) -> Tensor<1> {
    let [n, _] = rows.dims();
    let device = rows.device();
    let places = |of: fn((usize, usize)) -> usize| {
        let places: Vec<i64> = pairs(n).map(|pair| of(pair) as i64).collect();
        let n_pairs = places.len();
        Tensor::<1, Int>::from_data(TensorData::new(places, [n_pairs]), &device)
    };
    let apart =
        rows.clone().select(0, places(|pair| pair.0)) - rows.select(0, places(|pair| pair.1));
    let squares = apart.square().sum_dim(1);
    let [n_pairs, _] = squares.dims();
    let lengths = squares.reshape([n_pairs]).add_scalar(TINY).sqrt();
    lengths.mul_scalar(1.0 / SCALE).tanh()
}

/// Returns the sum over pairs of the squared difference of predicted and true distances.
#[must_use]
pub fn distance_sum(rows: Tensor<2>, distances: &[f32]) -> Tensor<1> {
    let predicted = predicted_distances(rows);
    let truth = tensor(distances.to_vec(), [distances.len()], &predicted.device());
    (predicted - truth).square().sum()
}

/// Returns the sum over rows of the negative logarithm of the true class's probability, each times
/// its weight, from scores `[rows, classes]`.
#[must_use]
pub fn class_sum(scores: Tensor<2>, classes: &[i64], weights: &[f32]) -> Tensor<1> {
    let (device, n) = (scores.device(), classes.len());
    let places = TensorData::new(classes.to_vec(), [n, 1]);
    let places = Tensor::<2, Int>::from_data(places, &device);
    let logs = log_softmax(scores, 1).gather(1, places);
    (logs * tensor(weights.to_vec(), [n, 1], &device))
        .sum()
        .neg()
}

/// Returns the sum over the sequences of all samples of the squared difference of predicted and true
/// abundances, both `samples × rows`; a sample's rows behind its length are padding, and do not count.
#[must_use]
pub fn count_sum(predicted: Tensor<2>, abundances: &[f32], lengths: &[usize]) -> Tensor<1> {
    let (shape, device) = (predicted.dims(), predicted.device());
    let valid = lengths
        .iter()
        .flat_map(|&length| (0..shape[1]).map(move |row| f32::from(u8::from(row < length))));
    let valid = tensor(valid.collect(), shape, &device);
    let truth = tensor(abundances.to_vec(), shape, &device);
    ((predicted - truth) * valid).square().sum()
}

/// Returns the sum over samples of the distance of predicted and true numbers, both scaled.
#[must_use]
pub fn number_sum(predicted: Tensor<2>, truth: &[f32], loss: TargetLoss) -> Tensor<1> {
    let apart = tensor(truth.to_vec(), [truth.len(), 1], &predicted.device()) - predicted;
    match loss {
        TargetLoss::Mse => apart.square().sum(),
        TargetLoss::Mae => apart.abs().sum(),
        TargetLoss::Huber => {
            // Half the square of what lies within 1, and all of what lies beyond.
            let within = apart.clone().abs().clamp_max(1.0);
            let beyond = apart.abs() - within.clone();
            (within.square().mul_scalar(0.5) + beyond).sum()
        }
        TargetLoss::Asymmetric { expectile } => {
            // Each side of zero apart: the other one's square has no slope there.
            let too_low = apart.clone().clamp_min(0.0).square();
            let too_high = apart.clamp_max(0.0).square();
            (too_low.mul_scalar(expectile) + too_high.mul_scalar(1.0 - expectile)).sum()
        }
        TargetLoss::Pinball { quantile } => {
            let below = apart.clone().mul_scalar(quantile);
            let above = apart.mul_scalar(quantile - 1.0);
            below.max_pair(above).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use kato_neural::burn::tensor::Device;

    use super::*;
    use crate::model::values;

    fn near(found: Tensor<1>, expected: f64) {
        let found = f64::from(values(found)[0]);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn losses_are_those_of_their_formulas() {
        let device = Device::flex();
        let rows = tensor(vec![0.0, 0.0, 3.0, 4.0, 0.0, 10.0], [3, 2], &device);
        let far = |length: f64| (length / 10.0).tanh();
        let expected =
            (far(5.0) - 0.5).powi(2) + far(10.0).powi(2) + (far(45_f64.sqrt()) - 1.0).powi(2);
        near(distance_sum(rows, &[0.5, 0.0, 1.0]), expected);

        let scores = tensor(vec![0.0, 0.0, 2.0, 1.0], [2, 2], &device);
        let second = -(1_f64.exp() / (1_f64.exp() + 2_f64.exp())).ln();
        near(
            class_sum(scores, &[0, 1], &[1.0, 3.0]),
            2_f64.ln() + 3.0 * second,
        );

        let numbers = |loss| {
            number_sum(
                tensor(vec![0.0, 1.0, 4.0], [3, 1], &device),
                &[0.5, 3.0, 1.0],
                loss,
            )
        };
        near(numbers(TargetLoss::Mse), 0.25 + 4.0 + 9.0);
        near(numbers(TargetLoss::Mae), 5.5);
        near(numbers(TargetLoss::Huber), 0.125 + 1.5 + 2.5);
        near(
            numbers(TargetLoss::Pinball { quantile: 0.9 }),
            0.9 * 2.5 + 0.1 * 3.0,
        );
        near(
            numbers(TargetLoss::Asymmetric { expectile: 0.9 }),
            0.9 * (0.25 + 4.0) + 0.1 * 9.0,
        );
        let counts = tensor(vec![0.5, 9.0, 0.25, 0.0], [2, 2], &device);
        near(
            count_sum(counts, &[0.0, 0.0, 0.75, 1.0], &[1, 2]),
            0.25 + 0.25 + 1.0,
        );
    }

    #[test]
    fn equal_rows_and_far_numbers_lose_no_gradient() {
        let device = Device::flex().autodiff();
        let rows = tensor(vec![1.0, 1.0], [2, 1], &device).require_grad();
        let loss = distance_sum(rows.clone(), &[0.5]);
        let gradient = values(rows.grad(&loss.backward()).expect("it was asked for"));
        assert!(
            gradient.iter().all(|entry| entry.is_finite()),
            "{gradient:?}"
        );
        let predicted = tensor(vec![5.0, 0.2], [2, 1], &device).require_grad();
        let loss = number_sum(predicted.clone(), &[0.0, 0.0], TargetLoss::Huber);
        let gradient = values(predicted.grad(&loss.backward()).expect("it was asked for"));
        // 1 beyond, and the difference itself within.
        assert!(
            (gradient[0] - 1.0).abs() < 1e-6 && (gradient[1] - 0.2).abs() < 1e-6,
            "{gradient:?}"
        );
    }
}
