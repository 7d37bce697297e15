//! What replicas divide: the optimiser's state, and weights and gradients of transformer blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::Trainer;
use crate::Error;
use crate::collective::{Collective, CollectiveError, gather_numbers};
use crate::divided::{DividedBlocks, Piece};
use crate::optimizer::{GlobalNorm, Moments, squares};
use crate::parameters::{Arrays, NamedTensor, Place, assign_some, collect_some, places};
use crate::train::Task;
use crate::train::parts::shares;

/// Which replica has which parameters.
#[derive(Debug, Clone)]
pub(super) struct Shards {
    /// All parameters of the model, in its order, and whose they are.
    pub(super) places: Vec<(Place, usize)>,
    pub(super) blocks: Arc<DividedBlocks>,
    /// Parameters of the blocks.
    pub(super) divided: HashSet<ParamId>,
    pub(super) weights: Weights,
}

/// Who has the weights of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weights {
    Divided,
    /// The first replica has all of them, to judge or to save.
    AtFirst,
    Everywhere,
}

impl Shards {
    /// Shares the parameters of a model by how many numbers they have, in their order.
    pub(super) fn new<T: Task>(
        task: &T,
        model: &T::Model,
        collective: Arc<dyn Collective>,
    ) -> Self {
        let all = places(model);
        let sizes: Vec<usize> = all.iter().map(Place::n_entries).collect();
        let mut ranks = vec![0; all.len()];
        for (rank, rows) in shares(&sizes, 0, sizes.iter().sum(), collective.n_ranks()) {
            ranks[rows].fill(rank);
        }
        let places: Vec<(Place, usize)> = all.into_iter().zip(ranks).collect();
        let pieces = places.iter().map(|(place, rank)| Piece {
            id: place.id,
            rank: *rank,
            n: place.n_entries(),
        });
        let by_id: HashMap<ParamId, Piece> = pieces.map(|piece| (piece.id, piece)).collect();
        let stacks = task.stacks(model).into_iter();
        let layers = stacks.flat_map(|stack| stack.layers());
        let blocks = layers.map(|layer| layer.ids().map(|id| by_id[&id]).to_vec());
        let blocks = DividedBlocks::new(collective, blocks.collect());
        Self {
            places,
            divided: blocks.pieces().map(|piece| piece.id).collect(),
            blocks: Arc::new(blocks),
            weights: Weights::Everywhere,
        }
    }

    /// Names of a replica's parameters.
    pub(super) fn of(&self, rank: usize) -> BTreeSet<String> {
        let own = self.places.iter().filter(|&&(_, owner)| owner == rank);
        own.map(|(place, _)| place.name.clone()).collect()
    }

    /// Parameters of the blocks, or those outside of them, and whose they are.
    fn places(&self, in_blocks: bool) -> impl Iterator<Item = &(Place, usize)> {
        let places = self.places.iter();
        places.filter(move |(place, _)| self.divided.contains(&place.id) == in_blocks)
    }

    /// Parameters of blocks that another replica has.
    pub(super) fn foreign(&self, rank: usize) -> HashSet<ParamId> {
        let foreign = self.blocks.pieces().filter(|piece| piece.rank != rank);
        foreign.map(|piece| piece.id).collect()
    }
}

impl<T: Task> Trainer<T> {
    /// The norm over all gradients, wherever they are.
    pub(super) fn norm(&self, gradients: &GradientsParams) -> Result<GlobalNorm, Error> {
        let mut squares = squares(self.model(), gradients);
        if self.shards.is_some() {
            // Below zero is no square: none of this replica's.
            let mine: Vec<f64> = squares
                .iter()
                .map(|(_, square)| square.unwrap_or(-1.0))
                .collect();
            let all = self.exchange(|collective| gather_numbers(collective, &mine))?;
            for (place, (_, square)) in squares.iter_mut().enumerate() {
                let found = all.iter().filter_map(|said| said.get(place));
                // Not compared from above, as a lost one is not a number.
                *square = found.copied().find(|&square| square != -1.0);
            }
        }
        Ok(GlobalNorm::of(squares))
    }

    /// Gives every replica the weights outside of blocks that the others have updated.
    pub(super) fn exchange_weights(&mut self) -> Result<(), Error> {
        let Some(shards) = &self.shards else {
            return Ok(());
        };
        let own = self.own(shards.places(false));
        let mine: Vec<f32> = own.iter().flat_map(NamedTensor::entries).collect();
        let said = self.exchange(|collective| gather_numbers(collective, &mine))?;
        let mut said: Vec<&[f32]> = said.iter().map(Vec::as_slice).collect();
        let mut arrays = Arrays::new();
        for (place, rank) in shards.places(false) {
            let parts = said[*rank].split_at_checked(place.n_entries());
            let (part, rest) = parts.ok_or_else(|| self.too_few(*rank))?;
            arrays.insert(place.name.clone(), (place.shape.clone(), part.to_vec()));
            said[*rank] = rest;
        }
        self.assign(arrays)
    }

    /// Gives all weights to the first replica, which judges and saves, or to every one; divided ones come apart
    /// again with the next step. Every replica has to call it.
    pub(crate) fn gather_weights(&mut self, everywhere: bool) -> Result<(), Error> {
        let wanted = match everywhere {
            true => Weights::Everywhere,
            false => Weights::AtFirst,
        };
        let Some(shards) = &self.shards else {
            return Ok(());
        };
        if [wanted, Weights::Everywhere].contains(&shards.weights) {
            return Ok(());
        }
        let takes = everywhere || self.rank() == 0;
        let mut arrays = Arrays::new();
        let mut own = self.own(shards.places(true)).into_iter();
        for &(ref place, rank) in shards.places(true) {
            let mine = (rank == self.rank()).then(|| own.next()).flatten();
            let mine = mine.map(|tensor| tensor.entries()).unwrap_or_default();
            // One after another: who does not take them holds one at a time.
            let said = self.exchange(|collective| gather_numbers(collective, &mine))?;
            let entries = said.into_iter().nth(rank).unwrap_or_default();
            if entries.len() != place.n_entries() {
                return Err(self.too_few(rank));
            }
            if takes && rank != self.rank() {
                arrays.insert(place.name.clone(), (place.shape.clone(), entries));
            }
        }
        self.assign(arrays)?;
        if let Some(shards) = &mut self.shards {
            shards.weights = wanted;
        }
        Ok(())
    }

    /// Puts arrays where weights are.
    fn assign(&mut self, arrays: Arrays) -> Result<(), Error> {
        let model = self.model.take().map(|model| assign_some(model, arrays));
        self.model = model.transpose()?;
        Ok(())
    }

    /// This replica's own of some parameters, in the model's order. Those of others are not looked at: emptied ones
    /// would be laid out.
    pub(super) fn own<'p>(
        &self,
        places: impl IntoIterator<Item = &'p (Place, usize)>,
    ) -> Vec<NamedTensor> {
        let places = places.into_iter();
        let own = places.filter(|(_, owner)| *owner == self.rank());
        let own: HashSet<&str> = own.map(|(place, _)| place.name.as_str()).collect();
        collect_some(self.model(), &|name| own.contains(name))
    }

    /// Returns the moments of all replicas to the first one, for a checkpoint from which any number of them can go
    /// on.
    pub(crate) fn all_moments(&self) -> Result<BTreeMap<String, Moments>, Error> {
        let mut all = self.adam.moments().clone();
        let Some(shards) = &self.shards else {
            return Ok(all);
        };
        let device = self.device().without_autodiff();
        for (place, rank) in &shards.places {
            let moments = all.get(&place.name);
            let mine: Vec<f32> = moments
                .iter()
                .flat_map(|both| [&both.first, &both.second])
                .flat_map(|moment| moment.to_data().iter::<f32>().collect::<Vec<_>>())
                .collect();
            let said = self.exchange(|collective| gather_numbers(collective, &mine))?;
            let both = said.into_iter().nth(*rank).unwrap_or_default();
            // What never had a gradient has none.
            if both.is_empty() || self.rank() > 0 || *rank == 0 {
                continue;
            }
            let n = place.n_entries();
            if both.len() != 2 * n {
                return Err(self.too_few(*rank));
            }
            let moment =
                |part: &[f32]| Tensor::<1>::from_data(TensorData::new(part.to_vec(), [n]), &device);
            let (first, second) = (moment(&both[..n]), moment(&both[n..]));
            all.insert(place.name.clone(), Moments { first, second });
        }
        Ok(all)
    }

    fn too_few(&self, rank: usize) -> Error {
        let reason = format!("replica {rank} has handed over too few numbers");
        self.collective_error(CollectiveError::Mismatch { reason })
    }
}
