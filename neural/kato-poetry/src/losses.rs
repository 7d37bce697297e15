//! How far a rebuilt chunk is from its original.

use kato_neural::burn::tensor::{Tensor, TensorData};

use crate::batch::Batch;
use crate::settings::{LossKind, LossOptions};

/// What is added to the square of a length. The root has no slope at zero, where padding lies: without
/// it every gradient would be lost.
const TINY: f64 = 1e-12;

/// Returns the sum of the loss over the tokens of a batch, from rebuilt and true vectors,
/// `[batch, time, dims]`; divided by [`Batch::n_tokens`] it is the loss of a token.
///
/// A sum, as sums over parts of a batch add up to that of the whole. Padding counts nothing.
///
/// - `mse`: Σ mean over the numbers of a vector of (x̂ − x)².
/// - `cosine`: Σ (1 − w) · (1 − c) + w · mse, where c is the cosine, or tanh(temperature · cosine).
#[must_use]
pub fn loss_sum(
    rebuilt: Tensor<3>,
    targets: Tensor<3>,
    batch: &Batch,
    options: &LossOptions,
) -> Tensor<1> {
    let shape = [batch.n_rows(), batch.n_steps, 1];
    let mask = Tensor::<3>::from_data(TensorData::new(batch.mask(), shape), &targets.device());
    let squares = (rebuilt.clone() - targets.clone()).square().mean_dim(2);
    let per_token = match options.kind {
        LossKind::Mse => squares,
        LossKind::Cosine => {
            let length = |vectors: Tensor<3>| vectors.square().sum_dim(2).add_scalar(TINY).sqrt();
            let scale = length(rebuilt.clone()) * length(targets.clone());
            let cosine = (rebuilt * targets).sum_dim(2) / scale;
            let likeness = match options.temperature {
                Some(temperature) => cosine.mul_scalar(temperature).tanh(),
                None => cosine,
            };
            let distance = likeness.neg().add_scalar(1.0);
            distance.mul_scalar(1.0 - options.mse_share) + squares.mul_scalar(options.mse_share)
        }
    };
    (per_token * mask).sum()
}

/// Returns the sum over the rows of a batch of the mean square of their codes, `[batch, bottleneck]`:
/// what [`LossOptions::bottleneck_l2`] is the weight of.
#[must_use]
pub fn code_square_sum(codes: Tensor<2>) -> Tensor<1> {
    codes.square().mean_dim(1).sum()
}

#[cfg(test)]
mod tests {
    use kato_neural::burn::tensor::Device;

    use super::*;
    use crate::model::values;

    /// Two chunks of two and one tokens, and what was rebuilt of them; padding holds nonsense.
    fn sample(kind: LossKind) -> f64 {
        let device = Device::flex();
        let batch = Batch {
            vectors: vec![1.0, 0.0, 0.0, 2.0, 3.0, 4.0, 0.0, 0.0],
            lengths: vec![2, 1],
            n_steps: 2,
            dims: 2,
        };
        let rebuilt = vec![1.0, 1.0, 0.0, 1.0, 4.0, 3.0, 9.0, 9.0];
        let tensor =
            |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [2, 2, 2]), &device);
        let options = LossOptions {
            kind,
            ..LossOptions::default()
        };
        let sum = loss_sum(
            tensor(rebuilt),
            tensor(batch.vectors.clone()),
            &batch,
            &options,
        );
        f64::from(values(sum)[0])
    }

    #[test]
    fn losses_are_sums_over_tokens_of_their_formula() {
        // Squares: (0 + 1) / 2, (0 + 1) / 2, (1 + 1) / 2.
        assert!((sample(LossKind::Mse) - 2.0).abs() < 1e-6);
        let cosines = [1.0 / 2_f64.sqrt(), 1.0, 24.0 / 25.0];
        let expected: f64 = cosines
            .iter()
            .map(|cosine| 0.9 * (1.0 - cosine))
            .sum::<f64>()
            + 0.2;
        assert!((sample(LossKind::Cosine) - expected).abs() < 1e-6);
    }

    #[test]
    fn padding_of_zeros_leaves_no_gradient_and_loses_none() {
        let device = Device::flex().autodiff();
        let batch = Batch {
            vectors: vec![3.0, 4.0, 0.0, 0.0],
            lengths: vec![1],
            n_steps: 2,
            dims: 2,
        };
        let tensor =
            |values: Vec<f32>| Tensor::<3>::from_data(TensorData::new(values, [1, 2, 2]), &device);
        let rebuilt = tensor(vec![4.0, 3.0, 0.0, 0.0]).require_grad();
        let options = LossOptions {
            kind: LossKind::Cosine,
            ..LossOptions::default()
        };
        let loss = loss_sum(
            rebuilt.clone(),
            tensor(batch.vectors.clone()),
            &batch,
            &options,
        );
        let gradient = rebuilt.grad(&loss.backward()).expect("it was asked for");
        let gradient = gradient
            .into_data()
            .try_into_vec::<f32>()
            .expect("single precision");
        // The cosine's slope, 0.9 · (c·â − b̂) / |a| with a = (4, 3), and that of the squares, 0.1 · (a − b).
        let (cosine, length) = (24.0 / 25.0, 5.0);
        let expected = [
            0.9 * (cosine * 0.8 - 0.6) / length + 0.1,
            0.9 * (cosine * 0.6 - 0.8) / length - 0.1,
        ];
        for (found, expected) in gradient.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{gradient:?}");
        }
        assert_eq!(gradient[2..], [0.0, 0.0]);
    }

    #[test]
    fn codes_count_by_the_mean_of_their_squares() {
        let codes = TensorData::new(vec![1.0_f32, 3.0, 0.0, 2.0], [2, 2]);
        let sum = code_square_sum(Tensor::from_data(codes, &Device::flex()));
        assert_eq!(values(sum), [5.0 + 2.0]);
    }
}
