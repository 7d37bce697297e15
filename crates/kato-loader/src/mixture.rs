//! Draws records from one dataset, or from several that are mixed by weight.

use serde::{Deserialize, Serialize};

use crate::bad_record::Fault;
use crate::cursor::{Cursor, Position, RecordCounts};
use crate::dataset::{Dataset, Draw, ReadOptions};
use crate::filter::Filter;
use crate::input_file::InputFile;
use crate::permutation::hash;
use crate::records::Sink;
use crate::workers::Workers;

/// What a mixture does when one of its datasets has no further record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhenExhausted {
    /// The others go on by their weights, and every record of every dataset comes exactly once. The
    /// default.
    #[default]
    Continue,
    /// The stream ends, and the proportions hold to its end.
    Stop,
}

/// How datasets are mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mixing {
    pub(crate) seed: u64,
    pub(crate) when_exhausted: WhenExhausted,
}

impl Mixing {
    /// Returns the text that stands for it in the hashes of stored states: it never changes.
    pub(crate) fn stored_text(self) -> String {
        let when_exhausted = match self.when_exhausted {
            WhenExhausted::Continue => "Continue",
            WhenExhausted::Stop => "Stop",
        };
        let seed = self.seed;
        format!("Mixing {{ seed: {seed}, when_exhausted: {when_exhausted} }}")
    }
}

/// One dataset of a mixture.
pub(crate) struct Part {
    pub(crate) dataset: Dataset,
    pub(crate) filter: Option<Filter>,
    pub(crate) weight: f64,
}

/// Datasets from which the next record is drawn.
///
/// Which dataset gives the record with a given number is a function of the seed and that number: a
/// hash, as a share of all weights. When that dataset is exhausted, the others are asked in the
/// same way. So nothing but the positions in the datasets must be stored.
pub(crate) struct Mixture {
    parts: Vec<Part>,
    pub(crate) mixing: Mixing,
}

impl Mixture {
    pub(crate) fn new(parts: Vec<Part>, mixing: Mixing) -> Self {
        Self { parts, mixing }
    }

    /// Returns the datasets.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns a file by the index of its dataset and its own.
    pub(crate) fn file(&self, part: usize, file: usize) -> &InputFile {
        &self.parts[part].dataset.corpus.files[file]
    }

    /// Returns the positions in all datasets, together with `counts`.
    pub(crate) fn cursor(&self, counts: RecordCounts) -> Cursor {
        let mut positions = self.parts.iter().map(|part| part.dataset.position());
        Cursor {
            position: positions.next().unwrap_or_default(),
            others: positions.collect(),
            counts,
        }
    }

    /// Returns the positions at the ends of all datasets, with nothing counted.
    pub(crate) fn end(&self) -> Cursor {
        let mut positions = self.parts.iter().map(|part| part.dataset.end());
        Cursor {
            position: positions.next().unwrap_or_default(),
            others: positions.collect(),
            counts: RecordCounts::default(),
        }
    }

    /// Returns whether there is no further record.
    pub(crate) fn is_exhausted(&self) -> bool {
        let mut parts = self.parts.iter();
        match self.mixing.when_exhausted {
            WhenExhausted::Continue => parts.all(|part| part.dataset.is_exhausted()),
            WhenExhausted::Stop => parts.any(|part| part.dataset.is_exhausted()),
        }
    }

    /// Draws the record with the given number; returns with it the index of its dataset.
    pub(crate) fn draw(
        &mut self,
        number: u64,
        mut workers: Option<&mut Workers>,
        options: ReadOptions,
        sink: &mut Sink<'_>,
    ) -> (usize, Draw) {
        // Without a mixture no hash is needed for each record.
        if let [part] = self.parts.as_mut_slice() {
            return (0, part.dataset.draw(workers, options, sink));
        }
        let mut asked = vec![false; self.parts.len()];
        for attempt in 0..self.parts.len() as u64 {
            let part = self.choose(number, attempt, &asked);
            asked[part] = true;
            let dataset = &mut self.parts[part].dataset;
            match dataset.draw(workers.as_deref_mut(), options, sink) {
                // The attempt is part of the hash, so the next choice among the others is
                // independent of this one.
                Draw::End if self.mixing.when_exhausted == WhenExhausted::Continue => {}
                draw => return (part, draw),
            }
        }
        (0, Draw::End)
    }

    /// Moves the position of a dataset behind what was drawn from it.
    pub(crate) fn accept(&mut self, part: usize) {
        self.parts[part].dataset.accept();
    }

    /// Moves the position over records without decoding them; returns how many. None in a mixture,
    /// where the dataset of every record has to be chosen.
    pub(crate) fn skip_records(&mut self, records: u64) -> Result<u64, (usize, Fault)> {
        match self.parts.as_mut_slice() {
            [part] => part.dataset.skip_records(records),
            _ => Ok(0),
        }
    }

    /// Returns the index of one of the datasets that were not asked yet.
    fn choose(&self, number: u64, attempt: u64, asked: &[bool]) -> usize {
        let left = || {
            let parts = self.parts.iter().enumerate();
            parts.filter(|(part, _)| !asked[*part])
        };
        let total: f64 = left().map(|(_, part)| part.weight).sum();
        let share = hash([self.mixing.seed, number, attempt]) as f64 / 2f64.powi(64);
        let mut below = share * total;
        // Rounding may leave a remainder behind the last weight: then the last dataset is chosen.
        let mut chosen = 0;
        for (part, Part { weight, .. }) in left() {
            chosen = part;
            if below < *weight {
                break;
            }
            below -= weight;
        }
        chosen
    }
}

/// Returns the positions that a cursor holds, one for each dataset.
pub(crate) fn positions(cursor: &Cursor) -> impl Iterator<Item = Position> {
    std::iter::once(cursor.position).chain(cursor.others.iter().copied())
}
