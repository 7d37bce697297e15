//! The parts in which a step is computed.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor};

use super::{Task, Trainer};
use crate::Error;
use crate::train::parts::parts;

/// A batch, or some rows of one that does not fit.
#[derive(Debug)]
pub(super) struct Part<'a, B> {
    pub(super) batch: &'a B,
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
    /// Says how the batches of a step are cut such that each part fits.
    pub(super) fn parts<'a>(
        &self,
        group: &'a [T::Batch],
    ) -> Result<Vec<Part<'a, T::Batch>>, Error> {
        let all: Vec<_> = group.iter().flat_map(|batch| self.cut(batch)).collect();
        let n_parts = all.len();
        if n_parts > 1 && !self.options.batch_norm_by_part && has_batch_norm(self.model()) {
            let step = self.progress.step;
            return Err(Error::BatchNorm { step, n_parts });
        }
        Ok(all)
    }

    fn cut<'a>(&self, batch: &'a T::Batch) -> Vec<Part<'a, T::Batch>> {
        let places = match self.options.max_tokens_at_once {
            Some(max) => parts(&self.task.sizes(batch), max),
            None => Vec::new(),
        };
        // A batch that fits is not copied.
        if places.len() < 2 {
            return vec![Part { batch, rows: None }];
        }
        let places = places.into_iter().map(Some);
        places.map(|rows| Part { batch, rows }).collect()
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
                max: self.options.max_tokens_at_once.unwrap_or(usize::MAX),
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
