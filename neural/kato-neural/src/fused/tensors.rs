//! Between Burn's tensors and slices.

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::NodeGuard;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};

/// A tensor of the graph.
pub(crate) type Tracked = FloatTensor<Autodiff<Flex, NoCheckpointing>>;
/// A tensor of numbers.
pub(crate) type Values = FloatTensor<Flex>;

/// Takes a tensor out of the graph's front; one that is in no graph joins it as a constant.
pub(crate) fn tracked<const D: usize>(tensor: Tensor<D>) -> Tracked {
    // Batches are often made on a device without gradients.
    let tensor = if tensor.is_autodiff() {
        tensor
    } else {
        Tensor::from_inner(tensor)
    };
    tensor
        .try_into_primitive::<Autodiff<Flex>>()
        .expect("the caller asked for the back end")
}

/// Parts the parents of a node into their numbers and guards, which keep their nodes until it is registered.
pub(crate) fn parted<const N: usize>(
    parents: impl IntoIterator<Item = Tracked>,
) -> (Vec<Values>, [NodeGuard; N]) {
    let (numbers, guards): (_, Vec<_>) = parents.into_iter().map(Tracked::into_parts).unzip();
    (numbers, guards.try_into().expect("as many as the node has"))
}

/// Takes a tensor's numbers, laid out in order.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Values {
    // Whoever asks for numbers has no graph, or wants out of it.
    let tensor = tensor.without_autodiff().try_into_primitive::<Flex>();
    contiguous(tensor.expect("the caller asked for the back end"))
}

/// Lays numbers out in order.
pub(crate) fn contiguous(values: Values) -> Values {
    if values.is_contiguous() {
        values
    } else {
        values.to_contiguous()
    }
}

/// The numbers as a slice.
pub(crate) fn slice(values: &Values) -> &[f32] {
    values
        .as_slice::<f32>()
        .expect("f32, and laid out in order by whoever made it")
}

/// Makes a tensor of numbers.
pub(crate) fn tensor<const D: usize>(numbers: Vec<f32>, shape: [usize; D]) -> Values {
    Values::from_data(TensorData::new(numbers, shape))
}
