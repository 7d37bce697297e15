//! Weights of transformer blocks that replicas have divided: gathered where a block is computed, and dropped behind it.

mod message;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::module::ParamId;

use crate::collective::{Collective, CollectiveError};
use crate::fused::tensors::{Values, slice, tensor};
use message::{Numbers, Request};

/// One tensor of a block: whose it is, and of how many numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) id: ParamId,
    pub(crate) rank: usize,
    pub(crate) n: usize,
}

/// The tensors of a block, in the kernels' order.
pub(crate) type Pieces = Vec<Piece>;

/// Blocks whose tensors lie with different replicas.
///
/// Replicas compute different numbers of blocks, in an order of their own. So they talk in rounds: in each, every
/// one says what it wants of a block, and one that has nothing left to compute only serves the others. Whoever
/// wants what, the rounds are the same in every run, and with them the order of all sums.
#[derive(Debug)]
pub(crate) struct DividedBlocks {
    collective: Arc<dyn Collective>,
    blocks: Vec<Pieces>,
    /// By the first tensor of each.
    numbers: HashMap<ParamId, usize>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// This replica's own tensors; held within a step alone, as the optimiser writes in place what nobody shares.
    held: HashMap<ParamId, Values>,
    /// Sums over all replicas, of its own tensors.
    gradients: HashMap<ParamId, Vec<f32>>,
    /// Whether its gradients are those of another replica once more.
    is_repeated: bool,
    /// A pass through a model cannot fail, so that errors wait here.
    error: Option<CollectiveError>,
}

impl DividedBlocks {
    pub(crate) fn new(collective: Arc<dyn Collective>, blocks: Vec<Pieces>) -> Self {
        let firsts = blocks.iter().enumerate();
        let numbers = firsts.map(|(number, pieces)| (pieces[0].id, number));
        Self {
            collective,
            numbers: numbers.collect(),
            blocks,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tensors of all blocks.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.blocks.iter().flatten()
    }

    /// The number of the block with such a first tensor.
    pub(crate) fn number(&self, first: ParamId) -> Option<usize> {
        self.numbers.get(&first).copied()
    }

    /// Begins a step with the tensors that are this replica's.
    pub(crate) fn begin(&self, held: HashMap<ParamId, Values>) {
        self.state().held = held;
    }

    /// Says whether the other replicas compute the same from here on, so that one alone is counted.
    pub(crate) fn repeats(&self, is_repeated: bool) {
        self.state().is_repeated = is_repeated;
    }

    /// Lets go of the tensors, and returns the gradients of this replica's own.
    pub(crate) fn end(&self) -> HashMap<ParamId, Vec<f32>> {
        let mut state = self.state();
        state.held.clear();
        std::mem::take(&mut state.gradients)
    }

    /// Serves the others until all have computed what they have to.
    pub(crate) fn finish_together(&self) -> Result<(), CollectiveError> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let error = self.state().error.take();
        error.map_or(Ok(()), Err)?;
        while !self.round(Request::Nothing)?.1 {}
        Ok(())
    }

    /// Gathers the tensors of a block, in the kernels' order.
    pub(crate) fn weights(&self, block: usize) -> Vec<Values> {
        let gathered = self.attempt(Request::Weights(block)).flatten();
        // After a failure nothing that is computed is used.
        let lost = || {
            let pieces = self.blocks[block].iter();
            pieces
                .map(|piece| tensor(vec![f32::NAN; piece.n], [piece.n]))
                .collect()
        };
        gathered.unwrap_or_else(lost)
    }

    /// Adds the gradients of a block's tensors, each where the tensor is.
    pub(crate) fn add(&self, block: usize, gradients: Vec<Values>) {
        let is_counted = self.collective.rank() == 0 || !self.state().is_repeated;
        let request = match is_counted {
            true => Request::Gradients(block, gradients.into_iter().map(Some).collect()),
            // A round all the same: the others are in one.
            false => Request::NoGradients,
        };
        self.attempt(request);
    }

    fn attempt(&self, request: Request) -> Option<Option<Vec<Values>>> {
        if self.state().error.is_some() {
            return None;
        }
        match self.round(request) {
            Ok((answer, _)) => Some(answer),
            Err(error) => {
                self.state().error = Some(error);
                None
            }
        }
    }

    /// Asks together with all others. Returns the tensors, where they are asked for, and whether nobody had anything
    /// to ask.
    fn round(&self, mut mine: Request) -> Result<(Option<Vec<Values>>, bool), CollectiveError> {
        let rank = self.collective.rank();
        let said = mine.write_down(rank, &self.blocks);
        let said = self.collective.gather(&said)?;
        let mut wanted = BTreeSet::new();
        let mut is_over = true;
        for (from, said) in said.iter().enumerate() {
            let (kind, block, numbers) = message::parse(said, self.blocks.len())?;
            is_over &= kind == message::NOTHING;
            match kind {
                message::WEIGHTS => drop(wanted.insert(block)),
                message::GRADIENTS => self.add_from(from, &mine, block, numbers)?,
                _ => {}
            }
        }
        drop(said);
        if wanted.is_empty() {
            return Ok((None, is_over));
        }
        let answers = self.answer(&wanted);
        let answers = self.collective.gather(&answers)?;
        let Request::Weights(block) = mine else {
            return Ok((None, false));
        };
        let mut answers: Vec<_> = answers.iter().map(|bytes| Numbers::new(bytes)).collect();
        let state = self.state();
        let mut gathered = Vec::new();
        for &other in &wanted {
            for piece in &self.blocks[other] {
                let numbers = answers[piece.rank].take(piece.n)?;
                if other == block {
                    let own = state.held.get(&piece.id).cloned();
                    gathered.push(own.unwrap_or_else(|| tensor(numbers.to_vec(), [piece.n])));
                }
            }
        }
        Ok((Some(gathered), false))
    }

    /// Hands over what this replica has of some blocks.
    fn answer(&self, wanted: &BTreeSet<usize>) -> Vec<u8> {
        let (rank, state) = (self.collective.rank(), self.state());
        let pieces = wanted.iter().flat_map(|&block| &self.blocks[block]);
        let mut bytes = Vec::new();
        for piece in pieces.filter(|piece| piece.rank == rank) {
            let held = &state.held[&piece.id];
            bytes.extend_from_slice(bytemuck::cast_slice(slice(held)));
        }
        bytes
    }

    /// Adds what a replica has of a block to the sums of this one's tensors.
    fn add_from(
        &self,
        from: usize,
        mine: &Request,
        block: usize,
        mut numbers: Numbers<'_>,
    ) -> Result<(), CollectiveError> {
        let rank = self.collective.rank();
        let mut state = self.state();
        for (place, piece) in self.blocks[block].iter().enumerate() {
            let mut add = |more: &mut dyn Iterator<Item = f32>| {
                let sum = state.gradients.entry(piece.id);
                let sum = sum.or_insert_with(|| vec![0.0; piece.n]);
                sum.iter_mut()
                    .zip(more)
                    .for_each(|(sum, more)| *sum += more);
            };
            // What is the sender's own does not travel.
            if piece.rank == from {
                if let (true, Request::Gradients(_, own)) = (from == rank, mine)
                    && let Some(own) = &own[place]
                {
                    add(&mut slice(own).iter().copied());
                }
                continue;
            }
            let more = numbers.take(piece.n)?;
            if piece.rank == rank {
                add(&mut more.iter());
            }
        }
        Ok(())
    }
}
