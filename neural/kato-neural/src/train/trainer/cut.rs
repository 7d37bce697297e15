//! The parts in which a step is computed.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor};

use super::{Task, Trainer};
use crate::Error;
use crate::train::parts::{parts, shares};

/// A batch, or some rows of one that does not fit.
#[derive(Debug)]
pub(super) struct Part<'a, B> {
    batch: &'a B,
    /// The replica that computes it.
    pub(super) rank: usize,
    /// The number of its first row in the step.
    pub(super) first_row: u64,
    /// None where it is all of them.
    rows: Option<Range<usize>>,
}

/// A batch as a part has it: borrowed whole, or cut out.
pub(super) enum Rows<'a, B> {
    Whole(&'a B),
    Cut(B),
}

impl<B> AsRef<B> for Rows<'_, B> {
    fn as_ref(&self) -> &B {
        match self {
            Self::Whole(batch) => batch,
            Self::Cut(batch) => batch,
        }
    }
}

impl<T: Task> Trainer<T> {
    /// Says how the batches of a step are shared by replicas, and cut such that each part fits.
    pub(super) fn parts<'a>(
        &self,
        group: &'a [T::Batch],
    ) -> Result<Vec<Part<'a, T::Batch>>, Error> {
        // Counted in the whole step: replicas share tokens, not batches.
        let sizes: Vec<_> = group.iter().map(|batch| self.task.sizes(batch)).collect();
        let total = sizes.iter().flatten().sum();
        let (mut all, mut first_row, mut before) = (Vec::new(), 0, 0);
        for (batch, sizes) in group.iter().zip(&sizes) {
            for (rank, rows) in shares(sizes, before, total, self.n_ranks()) {
                self.cut(batch, sizes, first_row, (rank, rows), &mut all);
            }
            first_row += sizes.len() as u64;
            before += sizes.iter().sum::<usize>();
        }
        let n_parts = all.len();
        // Replicas would even have different statistics afterwards.
        let is_allowed = self.options.batch_norm_by_part && self.n_ranks() == 1;
        if n_parts > 1 && !is_allowed && has_batch_norm(self.model()) {
            let step = self.progress.step;
            return Err(Error::BatchNorm { step, n_parts });
        }
        Ok(all)
    }

    fn cut<'a>(
        &self,
        batch: &'a T::Batch,
        sizes: &[usize],
        first_row: u64,
        (rank, rows): (usize, Range<usize>),
        all: &mut Vec<Part<'a, T::Batch>>,
    ) {
        let max = self.options.max_tokens_at_once.unwrap_or(usize::MAX);
        for part in parts(&sizes[rows.clone()], max) {
            let part = rows.start + part.start..rows.start + part.end;
            // A batch that is whole is not copied.
            let is_whole = part.len() == sizes.len();
            all.push(Part {
                batch,
                rank,
                first_row: first_row + part.start as u64,
                rows: (!is_whole).then_some(part),
            });
        }
    }

    /// Takes a part out of its batch: one at a time, as it is a copy.
    pub(super) fn rows<'a>(&self, part: &Part<'a, T::Batch>) -> Result<Rows<'a, T::Batch>, Error> {
        let batch = part.batch;
        let Some(rows) = part.rows.clone() else {
            return Ok(Rows::Whole(batch));
        };
        let cut = self.task.part(batch, rows).ok_or_else(|| {
            let sizes = self.task.sizes(batch);
            Error::Uncut {
                step: self.progress.step,
                n_tokens: sizes.len() * sizes.iter().max().copied().unwrap_or(0),
            }
        })?;
        Ok(Rows::Cut(cut))
    }
}

/// Whether statistics of a batch are part of the model's function.
fn has_batch_norm<M: Module>(model: &M) -> bool {
    struct Finder(bool);
    impl ModuleVisitor for Finder {
        fn enter_module(&mut self, _name: &str, container_type: &str) {
            // Burn's own layer has the same name.
            self.0 |= container_type == "Struct:BatchNorm";
        }
    }
    let mut finder = Finder(false);
    model.visit(&mut finder);
    finder.0
}
