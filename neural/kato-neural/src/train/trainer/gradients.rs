//! The gradients of a step: of its parts one after another, or of all of their codes together.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};

use super::cut::Part;
use super::{Trainer, add};
use crate::collective::{CollectiveError, gather_numbers};
use crate::train::{Gather, Loss, Share, Task};
use crate::{Error, Pass};

/// What a step's parts add up to.
pub(super) struct Total {
    pub(super) gradients: GradientsParams,
    pub(super) loss: f64,
    pub(super) sums: Vec<f64>,
}

/// A total in the making.
struct Sum<'a, M> {
    model: &'a M,
    accumulator: GradientsAccumulator<M>,
    loss: f64,
    sums: Vec<f64>,
    scale: Option<f32>,
}

impl<M: Module> Sum<'_, M> {
    /// Notes a loss, and scales it for the way back.
    fn scaled(&mut self, loss: Loss) -> Tensor<1> {
        // Read before it is scaled, which is what the user knows as the loss.
        self.loss += f64::from(loss.value.clone().into_scalar::<f32>());
        add(&mut self.sums, loss.sums);
        match self.scale {
            Some(scale) => loss.value.mul_scalar(scale),
            None => loss.value,
        }
    }

    /// Goes back from a scaled loss, and adds the gradients.
    fn go_back(&mut self, value: &Tensor<1>) {
        // Where all is frozen, or there is nothing to judge, no way leads back.
        if !value.is_tracked() {
            return;
        }
        let gradients = GradientsParams::from_grads(value.backward(), self.model);
        self.accumulator.accumulate(self.model, gradients);
    }
}

impl<T: Task> Trainer<T> {
    /// Adds up the gradients of a step, over all replicas.
    pub(super) fn gradients(&self, group: &[T::Batch], totals: &[f64]) -> Result<Total, Error> {
        let parts = self.parts(group)?;
        let share = Share::new(totals);
        let mut sum = Sum {
            model: self.model(),
            accumulator: GradientsAccumulator::new(),
            loss: 0.0,
            sums: Vec::new(),
            scale: self.scaler.as_ref().map(|scaler| scaler.scale()),
        };
        match self.task.gather() {
            Some(gather) => self.gathered(gather, group, &parts, &share, &mut sum)?,
            None => {
                // One after another, so that one part's graph is alive.
                for part in self.mine(&parts) {
                    let rows = self.rows(part)?;
                    let pass = self.pass(part.first_row);
                    let loss = self.task.loss(sum.model, rows.as_ref(), &share, &pass);
                    let value = sum.scaled(loss);
                    sum.go_back(&value);
                }
                self.through_blocks()?;
            }
        }
        self.reduced(
            Total {
                gradients: sum.accumulator.grads(),
                loss: sum.loss,
                sums: sum.sums,
            },
            totals,
        )
    }

    /// Rows get the draws that they would get in one batch.
    const fn pass(&self, first_row: u64) -> Pass {
        Pass::training(self.options.seed, self.progress.step)
            .with_precision(self.options.precision)
            .with_first_row(first_row)
    }

    /// The parts that this replica computes.
    fn mine<'p, 'a>(
        &self,
        parts: &'p [Part<'a, T::Batch>],
    ) -> impl Iterator<Item = &'p Part<'a, T::Batch>> {
        let rank = self.rank();
        parts.iter().filter(move |part| part.rank == rank)
    }

    /// Adds up the gradients of a loss over the codes of all rows.
    fn gathered(
        &self,
        gather: &dyn Gather<T::Model, T::Batch>,
        group: &[T::Batch],
        parts: &[Part<'_, T::Batch>],
        share: &Share<'_>,
        sum: &mut Sum<'_, T::Model>,
    ) -> Result<(), Error> {
        let model = sum.model;
        let encode = |model: &T::Model, part: &Part<'_, T::Batch>| -> Result<_, Error> {
            let rows = self.rows(part)?;
            let pass = self.pass(part.first_row);
            Ok(gather.encode(model, rows.as_ref(), share, &pass))
        };
        if let ([part], None) = (parts, &self.collective) {
            // One graph holds all: nothing has to be computed twice.
            let encoded = encode(model, part)?;
            let loss = gather.loss(model, group, encoded.codes, share, &self.pass(0));
            let mut value = sum.scaled(loss);
            if let Some(own) = encoded.loss {
                value = value + sum.scaled(own);
            }
            sum.go_back(&value);
            return Ok(());
        }
        let mine: Vec<_> = self.mine(parts).collect();
        let blocks = self.shards.as_ref().map(|shards| &shards.blocks);
        let (mut codes, mut kept) = (Vec::new(), None);
        if let [part] = mine[..] {
            // Its graph waits for the gradient of its codes: nothing of this replica is computed twice.
            let encoded = encode(model, part)?;
            codes = numbers(encoded.codes.clone());
            kept = Some(encoded);
        } else {
            // Without gradients: Burn keeps what a graph holds until some way back, whoever dropped it, so
            // that all parts would be there at once.
            let still = model.clone().no_grad();
            Self::divide(&self.task, &still, blocks);
            for part in &mine {
                codes.extend(numbers(encode(&still, part)?.codes));
            }
        }
        self.through_blocks()?;
        // Every replica judges all codes.
        blocks.inspect(|blocks| blocks.repeats(true));
        let upstream = self.judge_codes(gather, group, codes, share, sum)?;
        self.through_blocks()?;
        blocks.inspect(|blocks| blocks.repeats(false));
        for part in mine {
            let encoded = kept.take().map_or_else(|| encode(model, part), Ok)?;
            let n_rows = encoded.codes.dims()[0];
            let upstream = upstream.clone().narrow(0, part.first_row as usize, n_rows);
            // Scaled already, as the loss was that the gradient comes from.
            // The gradient of this product is the one that the codes got.
            let mut value = (encoded.codes * upstream).sum();
            if let Some(own) = encoded.loss {
                value = value + sum.scaled(own);
            }
            sum.go_back(&value);
        }
        self.through_blocks()
    }

    /// Takes the loss of all replicas' codes, and returns the codes' gradient.
    fn judge_codes(
        &self,
        gather: &dyn Gather<T::Model, T::Batch>,
        group: &[T::Batch],
        mine: Vec<f32>,
        share: &Share<'_>,
        sum: &mut Sum<'_, T::Model>,
    ) -> Result<Tensor<2>, Error> {
        // Parts lie by rank in the order of their rows.
        let codes = match &self.collective {
            Some(collective) => gather_numbers(&**collective, &mine)
                .map_err(|source| self.collective_error(source))?
                .concat(),
            None => mine,
        };
        let n_rows: usize = group.iter().map(|batch| self.task.n_rows(batch)).sum();
        if n_rows == 0 || !codes.len().is_multiple_of(n_rows) {
            let reason = format!("{} numbers as codes of {n_rows} rows", codes.len());
            return Err(self.collective_error(CollectiveError::Mismatch { reason }));
        }
        let (width, device) = (codes.len() / n_rows, self.device());
        let codes = Tensor::<2>::from_data(TensorData::new(codes, [n_rows, width]), &device);
        // A leaf of a graph of its own: the way back ends here, and goes on in the parts.
        let codes = codes.require_grad();
        let loss = gather.loss(sum.model, group, codes.clone(), share, &self.pass(0));
        if !loss.value.is_tracked() {
            // No code is looked at, a row that is alone in a loss over pairs, say.
            if self.rank() == 0 {
                sum.scaled(loss);
            }
            return Ok(Tensor::zeros([n_rows, width], &device));
        }
        if self.rank() > 0 {
            // Every replica has this loss; the first one counts it.
            let value = match sum.scale {
                Some(scale) => loss.value.mul_scalar(scale),
                None => loss.value,
            };
            return Ok(upstream(&codes, &mut value.backward(), &device));
        }
        let mut all = sum.scaled(loss).backward();
        let upstream = upstream(&codes, &mut all, &device);
        // What the loss itself learns: layers behind the codes.
        let gradients = GradientsParams::from_grads(all, sum.model);
        sum.accumulator.accumulate(sum.model, gradients);
        Ok(upstream)
    }

    /// Where the model is, with gradients.
    pub(super) fn device(&self) -> Device {
        let device = self
            .model()
            .devices()
            .into_iter()
            .next()
            .unwrap_or_default();
        if device.is_autodiff() {
            device
        } else {
            device.autodiff()
        }
    }
}

fn numbers(codes: Tensor<2>) -> Vec<f32> {
    codes.into_data().iter::<f32>().collect()
}

/// The gradient of codes as a constant; zero where the loss does not look at them.
fn upstream(codes: &Tensor<2>, all: &mut burn::tensor::Gradients, device: &Device) -> Tensor<2> {
    match codes.grad_remove(all) {
        Some(gradient) => Tensor::from_inner(gradient),
        None => Tensor::zeros(codes.dims(), device),
    }
}
