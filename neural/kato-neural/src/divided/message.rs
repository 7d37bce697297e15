//! What replicas say to one another about a divided block.

use super::Pieces;
use crate::collective::CollectiveError;
use crate::fused::tensors::{Values, slice};

pub(super) const WEIGHTS: u8 = b'W';
pub(super) const GRADIENTS: u8 = b'G';
pub(super) const NO_GRADIENTS: u8 = b'N';
pub(super) const NOTHING: u8 = b'-';

/// Bytes before the numbers: a kind and a block.
const HEAD: usize = 5;

/// What a replica has to say in a round.
#[derive(Debug)]
pub(super) enum Request {
    /// It is about to compute a block.
    Weights(usize),
    /// It has gradients of a block's tensors; those that travel are taken out as they are written down.
    Gradients(usize, Vec<Option<Values>>),
    /// It has computed what another one counts.
    NoGradients,
    /// It has computed all that it has to.
    Nothing,
}

impl Request {
    /// Writes it down. Gradients of the sender's own tensors stay with it.
    pub(super) fn write_down(&mut self, rank: usize, blocks: &[Pieces]) -> Vec<u8> {
        let head = |kind: u8, block: usize| {
            let mut bytes = vec![kind];
            bytes.extend_from_slice(&(block as u32).to_le_bytes());
            bytes
        };
        match self {
            Self::Weights(block) => head(WEIGHTS, *block),
            Self::NoGradients => head(NO_GRADIENTS, 0),
            Self::Nothing => head(NOTHING, 0),
            Self::Gradients(block, gradients) => {
                let mut bytes = head(GRADIENTS, *block);
                let pieces = blocks[*block].iter().zip(gradients);
                for (_, gradient) in pieces.filter(|(piece, _)| piece.rank != rank) {
                    // Held once: as numbers or as bytes.
                    if let Some(gradient) = gradient.take() {
                        bytes.extend_from_slice(bytemuck::cast_slice(slice(&gradient)));
                    }
                }
                bytes
            }
        }
    }
}

/// Reads a kind, a block and the numbers behind them.
pub(super) fn parse(
    bytes: &[u8],
    n_blocks: usize,
) -> Result<(u8, usize, Numbers<'_>), CollectiveError> {
    let head = bytes.split_at_checked(HEAD).and_then(|(head, numbers)| {
        let (&kind, block) = head.split_first()?;
        let block = u32::from_le_bytes(block.try_into().ok()?) as usize;
        let is_known = [WEIGHTS, GRADIENTS, NO_GRADIENTS, NOTHING].contains(&kind);
        (is_known && block < n_blocks).then_some((kind, block, Numbers::new(numbers)))
    });
    // One that has left the blocks behind, while another is inside of them.
    head.ok_or_else(|| mismatch("one computes blocks and another does not"))
}

fn mismatch(reason: &str) -> CollectiveError {
    let reason = reason.to_owned();
    CollectiveError::Mismatch { reason }
}

/// Numbers inside of a message, which need not lie where numbers may.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Takes the next ones.
    pub(super) fn take(&mut self, n: usize) -> Result<Self, CollectiveError> {
        let parts = self.0.split_at_checked(n * size_of::<f32>());
        let (taken, rest) = parts.ok_or_else(|| mismatch("too few numbers of a block"))?;
        self.0 = rest;
        Ok(Self(taken))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = f32> + 'a {
        let (numbers, _) = self.0.as_chunks();
        numbers.iter().map(|&bytes| f32::from_ne_bytes(bytes))
    }

    pub(super) fn to_vec(self) -> Vec<f32> {
        self.iter().collect()
    }
}
