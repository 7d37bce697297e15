//! The update on slices, in place: one pass over memory where operations would take ten.

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::update::Scalars;

/// Entries of one task: small enough for the first cache, large enough to be worth a task.
const N_CHUNK: usize = 4_096;

/// Updates weight and moments. Entries do not meet, so that threads cannot change the result.
pub(crate) fn update<const D: usize>(
    weight: Tensor<D>,
    gradient: Tensor<D>,
    first: Tensor<1>,
    second: Tensor<1>,
    scalars: &Scalars,
) -> (Tensor<D>, (Tensor<1>, Tensor<1>)) {
    let (mut weight, gradient) = (whole(weight), whole(gradient));
    let (mut first, mut second) = (whole(first), whole(second));
    // Borrowed for writing: a buffer that a snapshot shares is copied here, and only then.
    let chunks = weight
        .storage_mut::<f32>()
        .par_chunks_mut(N_CHUNK)
        .zip(gradient.storage::<f32>().par_chunks(N_CHUNK))
        .zip(first.storage_mut::<f32>().par_chunks_mut(N_CHUNK))
        .zip(second.storage_mut::<f32>().par_chunks_mut(N_CHUNK));
    chunks.for_each(|(((weight, gradient), first), second)| {
        update_chunk(weight, gradient, first, second, scalars);
    });
    let weight = Tensor::from_primitive::<Flex>(weight);
    (
        weight,
        (
            Tensor::from_primitive::<Flex>(first),
            Tensor::from_primitive::<Flex>(second),
        ),
    )
}

/// Returns a tensor whose storage is its entries in order and nothing else.
fn whole<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Flex> {
    let n = tensor.shape().num_elements();
    let tensor = tensor
        .try_into_primitive::<Flex>()
        .expect("the caller asked for the back end");
    // A view of a larger buffer, or one with turned axes, is copied; weights are neither for long.
    if tensor.is_contiguous() && tensor.storage::<f32>().len() == n {
        return tensor;
    }
    FloatTensor::<Flex>::from_data(tensor.into_data())
}

/// Adam for each entry; see [`Scalars`] for the letters.
fn update_chunk(
    weight: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
    scalars: &Scalars,
) {
    let s = *scalars;
    let entries = weight
        .iter_mut()
        .zip(gradient)
        .zip(first.iter_mut())
        .zip(second.iter_mut());
    for (((weight, &gradient), first), second) in entries {
        let gradient = gradient * s.gradient + *weight * s.l2;
        *first += (gradient - *first) * s.one_less_beta_1;
        *second = *second * s.beta_2 + gradient * gradient * s.one_less_beta_2;
        let root = second.sqrt() * s.root_factor + s.epsilon;
        *weight = *weight * s.keep - *first / root * s.step_size;
    }
}
