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
    /// Ids and numbers of entries of its tensors, in the kernels' order.
    pub(crate) fn pieces(&self) -> [(ParamId, usize); 12] {
        let attention = &self.self_attn;
        let n = |shape: &[usize]| shape.iter().product();
        macro_rules! piece {
            ($param:expr) => {
                ($param.id, n(&$param.val().shape().to_vec()))
            };
        }
        [
            piece!(self.norm1.weight),
            piece!(self.norm1.bias),
            piece!(attention.in_proj_weight),
            piece!(attention.in_proj_bias),
            piece!(attention.out_proj.weight),
            piece!(attention.out_proj.bias),
            piece!(self.norm2.weight),
            piece!(self.norm2.bias),
            piece!(self.linear1.weight),
            piece!(self.linear1.bias),
            piece!(self.linear2.weight),
            piece!(self.linear2.bias),
        ]
    }
}
