//! What replicas that train one model exchange.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use super::Trainer;
use super::gradients::Total;
use super::shards::Shards;
use crate::Error;
use crate::collective::{Collective, CollectiveError, gather_numbers, sum_f32};
use crate::parameters::collect;
use crate::train::Task;

impl<T: Task> Trainer<T> {
    /// Lets replicas take steps together. Every one is given the same batches, computes its share of
    /// their rows, and has the same weights afterwards, to the bit; a step is that over all rows. Rows of
    /// one batch are shared where the task can [cut](Task::part) it.
    ///
    /// A run through the epochs ends where any replica's observer asks for it. The first replica judges
    /// for all, and one is to write checkpoints.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`] where weights or places in the run differ.
    pub fn with_collective(mut self, collective: Arc<dyn Collective>) -> Result<Self, Error> {
        self.collective = Some(collective);
        let mut hasher = blake3::Hasher::new();
        // Seed and place decide every draw, weights all else.
        hasher.update(format!("{:?}", self.progress).as_bytes());
        for tensor in collect(self.model()) {
            hasher.update(&safetensors::View::data(&&tensor));
        }
        let found = hasher.finalize();
        let all = self.exchange(|collective| collective.gather(found.as_bytes()))?;
        if !all.iter().all(|other| other == found.as_bytes()) {
            return Err(self.differs("weights or places in the run"));
        }
        if let (true, Some(collective)) = (self.options.sharded, &self.collective) {
            let shards = Shards::new(&self.task, self.model(), Arc::clone(collective));
            self.adam.own(shards.of(self.rank()));
            self.shards = Some(shards);
        }
        Ok(self)
    }

    pub(crate) fn rank(&self) -> usize {
        self.collective
            .as_ref()
            .map_or(0, |collective| collective.rank())
    }

    pub(super) fn n_ranks(&self) -> usize {
        self.collective
            .as_ref()
            .map_or(1, |collective| collective.n_ranks())
    }

    pub(super) const fn collective_error(&self, source: CollectiveError) -> Error {
        let step = self.progress.step;
        Error::Collective { step, source }
    }

    fn differs(&self, what: &str) -> Error {
        let reason = format!("{what} differ");
        self.collective_error(CollectiveError::Mismatch { reason })
    }

    /// Talks to the others; nobody answers where there are none.
    pub(super) fn exchange<R: Default>(
        &self,
        talk: impl FnOnce(&dyn Collective) -> Result<R, CollectiveError>,
    ) -> Result<R, Error> {
        match &self.collective {
            Some(collective) => talk(&**collective).map_err(|source| self.collective_error(source)),
            None => Ok(R::default()),
        }
    }

    /// Whether all replicas want to go on.
    pub(crate) fn all_agree(&self, go_on: bool) -> Result<bool, Error> {
        // One that ends alone would leave the others waiting in the next step.
        let votes = self.exchange(|collective| collective.gather(&[u8::from(go_on)]))?;
        Ok(go_on && votes.iter().all(|vote| vote == &[1]))
    }

    /// Returns what the first replica found, which alone has looked.
    pub(crate) fn said_by_first(&self, found: Option<f64>) -> Result<Option<f64>, Error> {
        if self.collective.is_none() {
            return Ok(found);
        }
        let said: Vec<f64> = found.into_iter().collect();
        let all = self.exchange(|collective| gather_numbers(collective, &said))?;
        Ok(all.first().and_then(|first| first.first().copied()))
    }

    /// Adds what all replicas have of a step.
    pub(super) fn reduced(&self, mine: Total, totals: &[f64]) -> Result<Total, Error> {
        if self.collective.is_none() {
            return Ok(mine);
        }
        // Few numbers first: a replica at another step is found before gradients travel.
        let mut said = vec![self.progress.step as f64, totals[0], mine.loss];
        said.extend(&mine.sums);
        let all = self.exchange(|collective| gather_numbers(collective, &said))?;
        // Gradients of other steps or batches would be added without a word.
        if all.iter().any(|other| other.get(..2) != said.get(..2)) {
            return Err(self.differs("steps or batches"));
        }
        let (mut loss, mut sums) = (0.0, Vec::new());
        for other in all {
            loss += other.get(2).copied().unwrap_or(0.0);
            super::add(&mut sums, other.get(3..).unwrap_or_default().to_vec());
        }
        let model = self.model();
        let no_block = HashSet::new();
        let divided = self
            .shards
            .as_ref()
            .map_or(&no_block, |shards| &shards.divided);
        let mut flat = Flat::of(model, &mine.gradients, divided);
        self.exchange(|collective| sum_f32(collective, &mut flat.values))?;
        Ok(Total {
            gradients: flat.into_gradients(model, self.end_divided()),
            loss,
            sums,
        })
    }
}

/// All gradients of a model, one after another, each behind a number that says whether it is one.
struct Flat<'a> {
    from: Option<&'a GradientsParams>,
    /// Parameters of divided blocks, whose gradients are added as they are computed.
    divided: &'a HashSet<ParamId>,
    /// The sums of these that this replica has.
    sums: HashMap<ParamId, Vec<f32>>,
    values: Vec<f32>,
    at: usize,
    gradients: GradientsParams,
}

impl<'a> Flat<'a> {
    fn of<M: Module>(
        model: &M,
        gradients: &'a GradientsParams,
        divided: &'a HashSet<ParamId>,
    ) -> Self {
        let mut flat = Self {
            from: Some(gradients),
            divided,
            sums: HashMap::new(),
            values: Vec::new(),
            at: 0,
            gradients: GradientsParams::new(),
        };
        model.visit(&mut flat);
        flat
    }

    fn into_gradients<M: Module>(
        mut self,
        model: &M,
        sums: HashMap<ParamId, Vec<f32>>,
    ) -> GradientsParams {
        (self.from, self.sums) = (None, sums);
        model.visit(&mut self);
        self.gradients
    }
}

impl Flat<'_> {
    fn register<const D: usize>(&mut self, param: &Param<Tensor<D>>, values: Vec<f32>) {
        let values = TensorData::new(values, param.val().shape());
        let device: Device = param.val().without_autodiff().device();
        self.gradients
            .register::<D>(param.id, Tensor::from_data(values, &device));
    }
}

impl ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let shape = param.val().shape();
        let n = shape.num_elements();
        if self.divided.contains(&param.id) {
            if let Some(sum) = self.sums.remove(&param.id) {
                self.register(param, sum);
            }
            return;
        }
        if let Some(from) = self.from {
            let gradient = from.get::<D>(param.id);
            self.values.push(f32::from(u8::from(gradient.is_some())));
            match gradient {
                Some(gradient) => self.values.extend(gradient.into_data().iter::<f32>()),
                // A replica without rows has none, and the others do.
                None => self.values.resize(self.values.len() + n, 0.0),
            }
            return;
        }
        let (is_one, values) = (self.values[self.at] > 0.0, self.at + 1..self.at + 1 + n);
        self.at = values.end;
        // A parameter that takes no part has no gradient, which is not the same as one of zeros: the
        // optimiser would decay it.
        if is_one {
            self.register(param, self.values[values].to_vec());
        }
    }
}
