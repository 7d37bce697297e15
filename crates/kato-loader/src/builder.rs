//! Chooses inputs and options, and opens the loader.

mod order;
mod reading;
mod resume;
mod source;

use std::num::NonZeroUsize;
use std::sync::Arc;

use kato_probe::Probe;

pub use self::reading::DEFAULT_PREFETCH_BYTES;
use self::reading::{DEFAULT_PREFETCH, default_workers};
use crate::cursor::{Cursor, Position};
use crate::dataset::Dataset;
use crate::error::LoadError;
use crate::filter::Filter;
use crate::identity::CorpusIdentity;
use crate::inputs::{self, Input, Listing};
use crate::interrupt::Interrupt;
use crate::loader::StreamingDatasetLoader;
use crate::mixture::{self, Mixing, Mixture, Part};
use crate::options::{CorpusOptions, DEFAULT_LEDGER_CAPACITY, OnBadRecord, StreamOptions};
use crate::order::Shard;
#[cfg(feature = "remote")]
use crate::remote;
use crate::sample::Sample;
use crate::split::Split;
use crate::state::LoaderState;
use crate::workers::Workers;

/// Worker threads at most.
const MAX_WORKERS: usize = 1024;

/// Settings of a [`StreamingDatasetLoader`]; made by [`StreamingDatasetLoader::builder`].
///
/// Inputs are read in the order in which they are added. Nothing is opened before
/// [`build`](Self::build).
#[derive(Debug)]
pub struct StreamingDatasetLoaderBuilder {
    inputs: Vec<Input>,
    mixed: Vec<(f64, Self)>,
    mixing: Mixing,
    pub(crate) selection: CorpusOptions,
    /// Text and id fields of the datasets of a registry among the inputs; `None` where the caller says which to
    /// read.
    pub(crate) text_fields: Option<Vec<String>>,
    pub(crate) id_fields: Option<Vec<Option<String>>>,
    filter: Option<Filter>,
    on_bad_record: OnBadRecord,
    ledger_capacity: usize,
    max_documents: Option<u64>,
    max_records: Option<u64>,
    split: Option<Split>,
    resume_from: Option<Cursor>,
    expected: Option<CorpusIdentity>,
    expected_state: Option<LoaderState>,
    workers: Option<usize>,
    prefetch: NonZeroUsize,
    prefetch_bytes: usize,
    probe: Probe,
    interrupt: Interrupt,
    #[cfg(feature = "remote")]
    remote: remote::Access,
}

impl StreamingDatasetLoader {
    /// Returns a builder for inputs and options.
    #[must_use]
    pub fn builder() -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::new()
    }

    /// Returns a builder with the options of a corpus that was read before, for other inputs.
    #[must_use]
    pub fn builder_like(identity: &CorpusIdentity) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::with_options_of(identity)
    }

    /// Returns a builder with the files and the options of a corpus that was read before, to which
    /// more files may be added.
    #[must_use]
    pub fn builder_with(identity: &CorpusIdentity) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::from_identity(identity)
    }

    /// Returns a builder that reads a corpus again: its files with its options, and no other corpus
    /// in their place.
    ///
    /// Streams are read once only, and a filter must be given again.
    #[must_use]
    pub fn builder_of(identity: &CorpusIdentity) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::from_identity(identity).with_identity(identity.clone())
    }
}

impl StreamingDatasetLoaderBuilder {
    /// Creates a builder without inputs and with all options at their defaults.
    pub(crate) fn new() -> Self {
        Self {
            inputs: Vec::new(),
            mixed: Vec::new(),
            mixing: Mixing::default(),
            selection: CorpusOptions::default(),
            text_fields: Some(Vec::new()),
            id_fields: Some(Vec::new()),
            filter: None,
            on_bad_record: OnBadRecord::default(),
            ledger_capacity: DEFAULT_LEDGER_CAPACITY,
            max_documents: None,
            max_records: None,
            split: None,
            resume_from: None,
            expected: None,
            expected_state: None,
            workers: None,
            prefetch: DEFAULT_PREFETCH,
            prefetch_bytes: DEFAULT_PREFETCH_BYTES,
            probe: Probe::off(),
            interrupt: Interrupt::default(),
            #[cfg(feature = "remote")]
            remote: remote::Access::default(),
        }
    }

    /// Creates a builder with the options of a corpus and without inputs.
    pub(crate) fn with_options_of(identity: &CorpusIdentity) -> Self {
        let mut builder = Self::new();
        builder.selection = identity.selection().clone();
        builder
    }

    /// Creates a builder with the files and the options of a corpus.
    pub(crate) fn from_identity(identity: &CorpusIdentity) -> Self {
        let mut builder = Self::with_options_of(identity);
        match identity.mixed() {
            None => {
                builder.inputs = identity.files().into_iter().map(Input::from).collect();
                builder
            }
            Some(mixed) => {
                builder.mixing = mixed.mixing;
                let parts = mixed.parts.iter();
                builder.mixed = parts
                    .map(|part| (part.weight, Self::from_identity(&part.corpus)))
                    .collect();
                builder
            }
        }
    }

    /// Lists the files and opens the loader; reading starts with the first document asked for.
    ///
    /// For shuffled order, the footers of Parquet files are read, and to their ends the CSV and TSV files
    /// that are [cut](crate::Order). One that cannot be reached is an error under every policy: the order
    /// would be another one.
    ///
    /// # Errors
    ///
    /// When an input is missing, a glob matches nothing, a directory holds nothing to read, a file
    /// is named twice, an option is out of range, the filter of a stored corpus is not given, a
    /// stream is to be shuffled, a remote location cannot be listed, the corpus is not the expected
    /// one, or the cursor does not lie in it.
    pub fn build(mut self) -> Result<StreamingDatasetLoader, LoadError> {
        self.check()?;
        let cursor = self.resume_from.take().unwrap_or_default();
        let parts = self.parts(&cursor)?;
        let n_workers = self.workers.unwrap_or_else(|| default_workers(&parts));
        let mixture = Mixture::new(parts, self.mixing);
        // Before the position is looked at: what differs says more than a position that does not
        // exist.
        self.check_identity(&mixture)?;
        let mut datasets = mixture.parts().iter().map(|part| &part.dataset);
        datasets.try_for_each(Dataset::check_position)?;
        let workers = self.start_workers(n_workers, &mixture)?;
        let stream_options = StreamOptions {
            on_bad_record: self.on_bad_record,
            ledger_capacity: self.ledger_capacity,
            max_documents: self.max_documents.unwrap_or(u64::MAX),
            max_records: self.max_records.unwrap_or(u64::MAX),
            split: self.split,
            prefetch: self.prefetch,
            interrupt: self.interrupt.clone(),
        };
        #[cfg(feature = "remote")]
        let cancel = {
            let (remote, interrupt) = (self.remote, self.interrupt);
            Arc::new(move || {
                interrupt.cancel();
                remote.cancel();
            })
        };
        #[cfg(not(feature = "remote"))]
        let cancel = Arc::new(move || self.interrupt.cancel());
        Ok(StreamingDatasetLoader::new(
            mixture,
            self.selection,
            stream_options,
            workers,
            cancel,
            cursor.counts,
        ))
    }

    /// Opens the datasets, each at its position.
    fn parts(&mut self, cursor: &Cursor) -> Result<Vec<Part>, LoadError> {
        let mixed = std::mem::take(&mut self.mixed);
        let n_datasets = mixed.len().max(1);
        // Checked first, since positions are handed out to the datasets by number.
        if *cursor != Cursor::default() && cursor.others.len() + 1 != n_datasets {
            return Err(LoadError::InvalidCursor {
                reason: format!(
                    "the position is in a mixture of {} datasets, and this one has {n_datasets}",
                    cursor.others.len() + 1
                ),
            });
        }
        let positions: Vec<Position> = mixture::positions(cursor).collect();
        let position = |part: usize| positions.get(part).copied().unwrap_or_default();
        let mut parts = Vec::with_capacity(n_datasets);
        if mixed.is_empty() {
            parts.push(self.part(1.0, position(0))?);
        }
        for (number, (weight, mut dataset)) in mixed.into_iter().enumerate() {
            dataset.check_part(weight)?;
            // Each dataset is cut into the shards of the mixture by itself, so that together they
            // hold each of its records once.
            dataset.selection.shard = self.selection.shard;
            dataset.selection.allows_empty |= self.selection.allows_empty;
            dataset.interrupt = self.interrupt.clone();
            #[cfg(feature = "remote")]
            dataset.remote.inherit(&self.remote);
            parts.push(dataset.part(weight, position(number))?);
        }
        Ok(parts)
    }

    /// Starts the threads that decode ahead; `None` without any.
    fn start_workers(
        &self,
        number: usize,
        mixture: &Mixture,
    ) -> Result<Option<Workers>, LoadError> {
        if number == 0 {
            return Ok(None);
        }
        let parts = mixture.parts().iter();
        let mut files = parts.flat_map(|part| part.dataset.corpus.files.iter());
        // A stream of the caller may never end, and cannot be interrupted: then the threads are left
        // behind.
        let join_on_drop = files.all(|file| file.is_readable_again());
        Workers::start(number, self.prefetch_bytes, join_on_drop, &self.probe).map(Some)
    }

    /// Lists the files of one dataset and opens it at its position.
    fn part(&mut self, weight: f64, position: Position) -> Result<Part, LoadError> {
        let listing: Listing = inputs::resolve(
            std::mem::take(&mut self.inputs),
            &self.selection,
            &self.interrupt,
            #[cfg(feature = "remote")]
            &self.remote,
        )?;
        Ok(Part {
            dataset: Dataset::new(listing, self.selection.clone(), position)?,
            filter: self.filter.clone(),
            weight,
        })
    }

    /// Refuses options that no corpus can be read with.
    fn check(&self) -> Result<(), LoadError> {
        check_options(&self.selection, self.ledger_capacity)?;
        // One of them would be read by the field of another.
        for (is_agreed, reason) in [
            (
                self.text_fields.as_deref().is_none_or(are_same),
                "the datasets differ in the field that holds the text: name it with `with_text_field`, or mix \
                 them with `with_mixed`",
            ),
            (
                self.id_fields.as_deref().is_none_or(are_same),
                "the datasets differ in the field that names the documents: name it with `with_id_field`, or mix \
                 them with `with_mixed`",
            ),
        ] {
            if !is_agreed {
                return Err(LoadError::InvalidOption {
                    option: "with_dataset",
                    reason,
                });
            }
        }
        self.selection.order.check()?;
        self.selection.shard.map_or(Ok(()), Shard::check)?;
        self.selection
            .sample
            .as_ref()
            .map_or(Ok(()), Sample::check)?;
        self.split.as_ref().map_or(Ok(()), Split::check)?;
        if self.workers.is_some_and(|workers| workers > MAX_WORKERS) {
            return Err(LoadError::InvalidOption {
                option: "with_workers",
                reason: "at most 1024 threads",
            });
        }
        if !self.mixed.is_empty() && !self.inputs.is_empty() {
            return Err(LoadError::InvalidOption {
                option: "with_mixed",
                reason: "a mixture has no inputs beside its datasets; mix the inputs in as a dataset",
            });
        }
        match &self.selection.filter {
            // Options of a stored corpus name its filter, which is code and could not be stored.
            Some(name) if self.filter.is_none() => {
                Err(LoadError::FilterMissing { name: name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses what cannot be set on one dataset of a mixture.
    fn check_part(&self, weight: f64) -> Result<(), LoadError> {
        self.check()?;
        let invalid = |reason| {
            Err(LoadError::InvalidOption {
                option: "with_mixed",
                reason,
            })
        };
        if !(weight > 0.0 && weight.is_finite()) {
            return invalid("a weight must be more than 0");
        }
        if !self.mixed.is_empty() {
            return invalid("a mixture cannot be mixed again; mix its datasets");
        }
        let concerns_stream = self.resume_from.is_some()
            || self.split.is_some()
            || self.max_documents.is_some()
            || self.max_records.is_some()
            || self.selection.skip_records > 0
            || self.selection.shard.is_some();
        if concerns_stream {
            return invalid(
                "position, split, shard, skipping and limits concern the stream; set them on the mixture",
            );
        }
        Ok(())
    }
}

/// Returns whether all are equal.
fn are_same<T: PartialEq>(items: &[T]) -> bool {
    items.windows(2).all(|pair| pair[0] == pair[1])
}

/// Refuses options that have no meaning for any input.
fn check_options(selection: &CorpusOptions, ledger_capacity: usize) -> Result<(), LoadError> {
    let invalid = |option, reason| Err(LoadError::InvalidOption { option, reason });
    if selection.max_record_bytes == 0 {
        return invalid("with_max_record_bytes", "at least 1 byte is needed");
    }
    if selection.text_field.is_empty() {
        return invalid("with_text_field", "a field needs a name");
    }
    if selection.id_field.as_ref().is_some_and(String::is_empty) {
        return invalid("with_id_field", "a field needs a name");
    }
    if ledger_capacity == 0 {
        return invalid("with_ledger_capacity", "at least 1 entry is needed");
    }
    Ok(())
}
