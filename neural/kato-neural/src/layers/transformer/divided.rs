//! Where a stack finds weights that replicas have divided.

use std::sync::{Arc, Mutex, PoisonError};

use burn::module::ParamId;

use super::TransformerLayer;
use crate::divided::DividedBlocks;
use crate::fused::DividedBlock;

/// The replicas that have the weights of a stack's blocks, within a step.
#[derive(Debug, Default)]
pub(super) struct Division(Mutex<Option<Arc<DividedBlocks>>>);

impl Clone for Division {
    /// A clone takes no part in the step, as it may be another replica's.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Division {
    pub(super) fn set(&self, blocks: Option<Arc<DividedBlocks>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = blocks;
    }

    /// Says whether replicas have divided weights of the stack.
    pub(super) fn is_set(&self) -> bool {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.is_some()
    }

    /// Returns where the weights of a block are, if it does not have them itself.
    pub(super) fn of(&self, layer: &TransformerLayer) -> Option<DividedBlock> {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = blocks.as_ref()?;
        Some(DividedBlock {
            blocks: Arc::downgrade(blocks),
            number: blocks.number(layer.norm1.weight.id)?,
            learns: layer.norm1.weight.is_require_grad(),
        })
    }
}

impl TransformerLayer {
    /// Ids of its tensors, in the kernels' order.
    pub(crate) const fn ids(&self) -> [ParamId; 12] {
        let attention = &self.self_attn;
        [
            self.norm1.weight.id,
            self.norm1.bias.id,
            attention.in_proj_weight.id,
            attention.in_proj_bias.id,
            attention.out_proj.weight.id,
            attention.out_proj.bias.id,
            self.norm2.weight.id,
            self.norm2.bias.id,
            self.linear1.weight.id,
            self.linear1.bias.id,
            self.linear2.weight.id,
            self.linear2.bias.id,
        ]
    }
}
