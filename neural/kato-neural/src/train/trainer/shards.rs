//! The optimiser's state, divided over replicas: each updates its share of the parameters.

use std::collections::{BTreeMap, BTreeSet};

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};

use super::Trainer;
use crate::Error;
use crate::collective::{CollectiveError, gather_f32};
use crate::optimizer::Moments;
use crate::parameters::{Arrays, assign, collect};
use crate::train::Task;
use crate::train::parts::shares;

/// Which replica updates which parameters.
#[derive(Debug, Clone)]
pub(super) struct Shards {
    /// Names by rank.
    owned: Vec<BTreeSet<String>>,
}

impl Shards {
    /// Shares the parameters of a model by how many numbers they have, in their order.
    pub(super) fn new<M: Module>(model: &M, n_ranks: usize) -> Self {
        let all = collect(model);
        let sizes: Vec<usize> = all.iter().map(|tensor| tensor.n_entries()).collect();
        let mut owned = vec![BTreeSet::new(); n_ranks];
        for (rank, rows) in shares(&sizes, 0, sizes.iter().sum(), n_ranks) {
            owned[rank].extend(all[rows].iter().map(|tensor| tensor.name.clone()));
        }
        Self { owned }
    }

    pub(super) fn of(&self, rank: usize) -> &BTreeSet<String> {
        &self.owned[rank]
    }
}

impl<T: Task> Trainer<T> {
    /// Gives every replica the weights that the others have updated.
    pub(super) fn exchange_weights(&mut self) -> Result<(), Error> {
        let Some(shards) = &self.shards else {
            return Ok(());
        };
        let all = collect(self.model());
        let owned_by = |rank: usize| {
            let owned = shards.of(rank);
            all.iter()
                .filter(move |tensor| owned.contains(&tensor.name))
        };
        let mine: Vec<f32> = owned_by(self.rank())
            .flat_map(|tensor| tensor.entries())
            .collect();
        let said = self.exchange(|collective| gather_f32(collective, &mine))?;
        let mut arrays = Arrays::new();
        for (rank, values) in said.iter().enumerate() {
            let mut values = &values[..];
            for tensor in owned_by(rank) {
                let (part, rest) = values
                    .split_at_checked(tensor.n_entries())
                    .ok_or_else(|| self.too_few(rank))?;
                arrays.insert(tensor.name.clone(), (tensor.shape.clone(), part.to_vec()));
                values = rest;
            }
        }
        let model = self.model.take().map(|model| assign(model, arrays));
        self.model = model.transpose()?;
        Ok(())
    }

    /// Returns the moments of all replicas, for a checkpoint from which any number of them can go on.
    pub(crate) fn all_moments(&self) -> Result<BTreeMap<String, Moments>, Error> {
        let mut all = self.adam.moments().clone();
        let Some(shards) = &self.shards else {
            return Ok(all);
        };
        let mut mine = Vec::new();
        for name in shards.of(self.rank()) {
            // A number says whether there are any: what never had a gradient has none.
            let moments = self.adam.moments().get(name);
            mine.push(f32::from(u8::from(moments.is_some())));
            for moment in moments.iter().flat_map(|both| [&both.first, &both.second]) {
                mine.extend(moment.to_data().iter::<f32>());
            }
        }
        let said = self.exchange(|collective| gather_f32(collective, &mine))?;
        let sizes = collect(self.model()).into_iter();
        let sizes: BTreeMap<String, usize> = sizes
            .map(|tensor| (tensor.name.clone(), tensor.n_entries()))
            .collect();
        let device = self.device().without_autodiff();
        for (rank, values) in said.iter().enumerate() {
            let mut values = values.iter().copied();
            for name in shards.of(rank) {
                let has_some = values.next().ok_or_else(|| self.too_few(rank))? > 0.0;
                if !has_some {
                    continue;
                }
                let mut take = || -> Result<Tensor<1>, Error> {
                    let n = sizes[name];
                    let part: Vec<f32> = values.by_ref().take(n).collect();
                    if part.len() < n {
                        return Err(self.too_few(rank));
                    }
                    Ok(Tensor::from_data(TensorData::new(part, [n]), &device))
                };
                let (first, second) = (take()?, take()?);
                all.insert(name.clone(), Moments { first, second });
            }
        }
        Ok(all)
    }

    fn too_few(&self, rank: usize) -> Error {
        let reason = format!("replica {rank} has handed over too few numbers");
        self.collective_error(CollectiveError::Mismatch { reason })
    }
}
