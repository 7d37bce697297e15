//! The norm over all gradients of a model together.

use burn::backend::Flex;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use rayon::prelude::*;

use crate::names::Names;

/// Entries that are summed by one thread; the sums of parts are added in order.
const N_CHUNK: usize = 16_384;

/// The norm over all gradients, or where it is lost.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GlobalNorm {
    /// Root of the sum of all squares.
    pub norm: f64,
    /// The first parameter whose gradient is infinite or not a number.
    pub not_finite: Option<String>,
}

impl GlobalNorm {
    /// The norm of gradients with such sums of squares; parameters without a gradient have none.
    pub(crate) fn of(squares: Vec<(String, Option<f64>)>) -> Self {
        // NaN and infinity survive a sum of squares, so that one test a tensor finds them.
        let lost = |square: &Option<f64>| square.is_some_and(|square| !square.is_finite());
        let sum: f64 = squares.iter().filter_map(|(_, square)| *square).sum();
        let mut squares = squares.into_iter();
        Self {
            norm: sum.sqrt(),
            not_finite: squares
                .find(|(_, square)| lost(square))
                .map(|(name, _)| name),
        }
    }
}

/// Computes the root of the sum of squares over the gradients of every parameter of `model`.
///
/// Squares are summed in an order that does not depend on threads, in `f64` over the parameters, and on the back end
/// `flex` within each.
#[must_use]
pub fn global_norm<M: Module>(model: &M, gradients: &GradientsParams) -> GlobalNorm {
    GlobalNorm::of(squares(model, gradients))
}

/// Sums the squares of each parameter's gradient, in the model's order.
pub(crate) fn squares<M: Module>(
    model: &M,
    gradients: &GradientsParams,
) -> Vec<(String, Option<f64>)> {
    let mut visitor = SquareVisitor {
        gradients,
        names: Names::default(),
        squares: Vec::new(),
    };
    model.visit(&mut visitor);
    visitor.squares
}

struct SquareVisitor<'a> {
    gradients: &'a GradientsParams,
    names: Names,
    squares: Vec<(String, Option<f64>)>,
}

impl ModuleVisitor for SquareVisitor<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.names.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.leave();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let square = self.gradients.get::<D>(param.id).map(square_sum);
        self.squares.push((self.names.current().text, square));
    }
}

/// Sums the squares of a tensor's entries.
fn square_sum<const D: usize>(tensor: Tensor<D>) -> f64 {
    let Ok(tensor) = tensor.clone().try_into_primitive::<Flex>() else {
        // Other back ends sum in f32, in their own order.
        return tensor.square().sum().into_scalar::<f32>().into();
    };
    // The order of a sum is that of memory: turned gradients are laid out first.
    let tensor = if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    };
    let entries = tensor
        .as_slice::<f32>()
        .expect("gradients of f32 weights are f32");
    // Collected before they are added: a parallel sum would depend on who is first.
    let parts: Vec<f64> = entries.par_chunks(N_CHUNK).map(chunk_square).collect();
    parts.iter().sum()
}

fn chunk_square(entries: &[f32]) -> f64 {
    // Eight sums side by side, which the compiler turns into vectors.
    let mut lanes = [0.0_f64; 8];
    let (blocks, rest) = entries.as_chunks::<8>();
    for block in blocks {
        for (lane, &entry) in lanes.iter_mut().zip(block) {
            *lane += f64::from(entry) * f64::from(entry);
        }
    }
    lanes.iter().sum::<f64>()
        + rest
            .iter()
            .map(|&entry| f64::from(entry).powi(2))
            .sum::<f64>()
}
