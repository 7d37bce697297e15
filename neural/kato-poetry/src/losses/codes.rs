//! Terms of the training loss that have to do with codes alone.

use kato_neural::burn::tensor::Tensor;
use kato_neural::burn::tensor::activation::log_softmax;

use super::TINY;

/// Returns the sum over the rows of a batch of the mean square of their codes, `[batch, bottleneck]`:
/// what [`bottleneck_l2`](crate::settings::LossOptions::bottleneck_l2) is the weight of.
#[must_use]
pub fn code_square_sum(codes: Tensor<2>) -> Tensor<1> {
    codes.square().mean_dim(1).sum()
}

/// Returns the sum over rows of the length of their codes, ‖z‖₂:
/// [`code_norm`](crate::settings::LossOptions::code_norm) is its weight.
#[must_use]
pub fn code_norm_sum(codes: Tensor<2>) -> Tensor<1> {
    // A code of zeros would have no slope.
    codes.square().sum_dim(1).add_scalar(TINY).sqrt().sum()
}

/// Returns the sum over rows of the entropy of softmax(|z|), in nats: 0 where one unit stands out
/// far, ln(units) where all are equally large.
/// [`code_entropy`](crate::settings::LossOptions::code_entropy) is its weight.
#[must_use]
pub fn code_entropy_sum(codes: Tensor<2>) -> Tensor<1> {
    let logarithms = log_softmax(codes.abs(), 1);
    (logarithms.clone().exp() * logarithms).sum().neg()
}
