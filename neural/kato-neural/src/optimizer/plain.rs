//! The update in Burn's own operations: for other back ends, and the oracle of the one on slices.

use burn::tensor::Tensor;

use super::update::Scalars;

/// Updates weight and moments, each entry as `slices` does.
pub(crate) fn update<const D: usize>(
    weight: Tensor<D>,
    gradient: Tensor<D>,
    first: Tensor<1>,
    second: Tensor<1>,
    scalars: &Scalars,
) -> (Tensor<D>, (Tensor<1>, Tensor<1>)) {
    let shape = weight.shape();
    let n = shape.num_elements();
    let weight = weight.reshape([n]);
    // Flat, as the moments are: they are the same for every rank.
    let mut gradient = gradient.reshape([n]).mul_scalar(scalars.gradient);
    if scalars.l2 != 0.0 {
        gradient = gradient + weight.clone().mul_scalar(scalars.l2);
    }
    let first = first.clone() + (gradient.clone() - first).mul_scalar(scalars.one_less_beta_1);
    let second = second.mul_scalar(scalars.beta_2)
        + (gradient.clone() * gradient).mul_scalar(scalars.one_less_beta_2);
    // The correction of the second moment is a factor of its root, which saves a product.
    let root = second
        .clone()
        .sqrt()
        .mul_scalar(scalars.root_factor)
        .add_scalar(scalars.epsilon);
    let step = (first.clone() / root).mul_scalar(scalars.step_size);
    let weight = weight.mul_scalar(scalars.keep) - step;
    (weight.reshape(shape), (first, second))
}
