//! A step over blocks whose weights replicas have divided: what others have is let go, and asked for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

use super::Trainer;
use super::shards::Weights;
use crate::Error;
use crate::divided::DividedBlocks;
use crate::fused::tensors::{Values, values};
use crate::train::Task;

impl<T: Task> Trainer<T> {
    /// Begins a step of divided weights: lets go of what other replicas have, and lets the blocks ask for it.
    pub(super) fn begin_divided(&mut self) {
        let rank = self.rank();
        let Some(shards) = &mut self.shards else {
            return;
        };
        if shards.weights != Weights::Divided {
            shards.weights = Weights::Divided;
            let foreign = shards.foreign(rank);
            self.model = self
                .model
                .take()
                .map(|model| model.map(&mut Emptied(foreign)));
        }
        let (task, shards) = (&self.task, self.shards.as_ref());
        let Some((shards, model)) = shards.zip(self.model.as_ref()) else {
            return;
        };
        let pieces = shards.blocks.pieces();
        let own = pieces.filter(|piece| piece.rank == rank);
        let mut held = Held(own.map(|piece| (piece.id, None)).collect());
        model.visit(&mut held);
        let held = held.0.into_iter();
        let held = held.filter_map(|(id, values)| Some((id, values?)));
        shards.blocks.begin(held.collect());
        Self::divide(task, model, Some(&shards.blocks));
    }

    /// Ends what [`begin_divided`](Self::begin_divided) began; returns the gradients of this replica's own weights.
    pub(super) fn end_divided(&self) -> HashMap<ParamId, Vec<f32>> {
        let Some(shards) = &self.shards else {
            return HashMap::new();
        };
        Self::divide(&self.task, self.model(), None);
        shards.blocks.end()
    }

    /// Lets the blocks of a model ask for their weights, or ends that.
    pub(super) fn divide(task: &T, model: &T::Model, blocks: Option<&Arc<DividedBlocks>>) {
        for stack in task.stacks(model) {
            stack.divide(blocks.cloned());
        }
    }

    /// Waits until every replica is through all blocks that it has to compute.
    pub(super) fn through_blocks(&self) -> Result<(), Error> {
        let Some(shards) = &self.shards else {
            return Ok(());
        };
        let ended = shards.blocks.finish_together();
        ended.map_err(|source| self.collective_error(source))
    }
}

/// Takes handles on some parameters.
struct Held(HashMap<ParamId, Option<Values>>);

impl ModuleVisitor for Held {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(place) = self.0.get_mut(&param.id) {
            let tensor = param.val().without_autodiff();
            let n = tensor.shape().num_elements();
            *place = Some(values(tensor.reshape([n])));
        }
    }
}

/// Puts one number that is none in the place of some parameters: whoever computes with it finds out.
struct Emptied(HashSet<ParamId>);

impl ModuleMapper for Emptied {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.0.contains(&param.id) {
            return param;
        }
        let (id, tensor, mapper) = param.consume();
        let (shape, learns) = (tensor.shape(), tensor.is_require_grad());
        let device = tensor.device();
        // Repeated over the shape, which takes no memory.
        let nothing = Tensor::<D>::full([1; D], f32::NAN, &device.clone().without_autodiff());
        let nothing = nothing.expand(shape);
        let tensor = match device.is_autodiff() {
            true => Tensor::from_inner(nothing).set_require_grad(learns),
            false => nothing,
        };
        Param::from_mapped_value(id, tensor, mapper)
    }
}
