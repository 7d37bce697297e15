//! Chooses inputs and options, and opens the loader.

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_probe::Probe;

use crate::cursor::{Cursor, Position};
use crate::dataset::Dataset;
use crate::error::LoadError;
use crate::filter::Filter;
use crate::identity::CorpusIdentity;
use crate::inputs::{self, Input, Listing};
use crate::interrupt::Interrupt;
use crate::loader::StreamingDatasetLoader;
use crate::mixture::{self, Mixing, Mixture, Part, WhenExhausted};
use crate::options::{
    Compression, CorpusOptions, DEFAULT_LEDGER_CAPACITY, Format, OnBadRecord, TextUnit,
};
use crate::order::{Order, Shard};
#[cfg(feature = "remote")]
use crate::remote;
use crate::sample::Sample;
use crate::split::Split;
use crate::state::LoaderState;
use crate::workers::Workers;

/// Decoded text that may wait for the consumer by default, in bytes: 64 MiB.
pub const DEFAULT_PREFETCH_BYTES: usize = 64 << 20;

/// Parts of files that wait for each worker thread by default.
const DEFAULT_PREFETCH: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// Least number of worker threads where files are remote: most of them wait for the network.
const REMOTE_WORKERS: usize = 8;

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

/// The settings that do not decide what the documents are.
#[derive(Debug)]
pub(crate) struct StreamOptions {
    pub(crate) on_bad_record: OnBadRecord,
    pub(crate) ledger_capacity: usize,
    pub(crate) max_documents: u64,
    pub(crate) max_records: u64,
    pub(crate) split: Option<Split>,
    pub(crate) prefetch: NonZeroUsize,
    pub(crate) interrupt: Interrupt,
}

impl StreamingDatasetLoaderBuilder {
    /// Creates a builder without inputs and with all options at their defaults.
    pub(crate) fn new() -> Self {
        Self {
            inputs: Vec::new(),
            mixed: Vec::new(),
            mixing: Mixing::default(),
            selection: CorpusOptions::default(),
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

    /// Adds a file, a directory, a glob, `-` for standard input, or a remote location.
    ///
    /// With the feature `remote`: `hf://DATASET[/CONFIG][@REVISION][:SPLIT]` for a dataset of the
    /// Hugging Face Hub, `https://…` for one file, `s3://BUCKET/KEY`, `gs://…` and `az://…` for
    /// objects or, ending in `/` or as a glob, for all below a prefix. How they are reached is set
    /// by [`with_fetcher`](Self::with_fetcher).
    ///
    /// A directory stands for all files below it with a known [`Format`] extension (`.txt`,
    /// `.text`, `.md`, `.markdown`, `.rst`, `.tex`, `.log`, and those of the other formats, each
    /// also with `.gz` or `.zst` where text is compressed), sorted by path; the others are listed
    /// by [`ignored_files`](StreamingDatasetLoader::ignored_files). With an explicit format, all
    /// files are taken. Hidden files are not looked at. A name with `*`, `?`, `[` or `{` is a glob
    /// unless a file has that very name; `**` crosses directories.
    #[must_use]
    pub fn with_input(mut self, path: impl AsRef<Path>) -> Self {
        self.inputs.push(Input::Path(path.as_ref().to_owned()));
        self
    }

    /// Adds several inputs, as by [`with_input`](Self::with_input).
    #[must_use]
    pub fn with_inputs<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.inputs
            .extend(paths.into_iter().map(|path| Input::Path(path.into())));
        self
    }

    /// Adds a stream under a name, whose extension decides the format like that of a file.
    ///
    /// A stream is read once; resuming reads a new one from its beginning and skips what was
    /// read before.
    #[must_use]
    pub fn with_reader(
        mut self,
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
    ) -> Self {
        self.inputs
            .push(Input::Reader(name.into(), Box::new(reader)));
        self
    }

    /// Mixes in another dataset with a weight, instead of reading inputs of its own.
    ///
    /// Records are drawn from the datasets at random by weight: a function of
    /// [`with_mixing_seed`](Self::with_mixing_seed) and of the record's number in the mixture. A
    /// dataset brings what decides its records: inputs, format, fields, order, sample, minimum and
    /// filter. What concerns the stream as a whole is set on this builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_loader::{StreamingDatasetLoader, TextUnit};
    ///
    /// let dataset = |name: &str, word: &str| {
    ///     StreamingDatasetLoader::builder()
    ///         .with_reader(name, std::io::Cursor::new(format!("{word}\n").repeat(1000)))
    ///         .with_text_unit(TextUnit::Line)
    /// };
    /// let loader = StreamingDatasetLoader::builder()
    ///     .with_mixed(0.9, dataset("prose.txt", "prose"))
    ///     .with_mixed(0.1, dataset("code.txt", "code"))
    ///     .with_mixing_seed(7)
    ///     .with_max_documents(1000)
    ///     .build()?;
    /// let code = loader.filter(|document| document.as_ref().is_ok_and(|document| document.text == "code"));
    /// assert_eq!(code.count(), 112);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn with_mixed(mut self, weight: f64, dataset: Self) -> Self {
        self.mixed.push((weight, dataset));
        self
    }

    /// Sets the seed that decides from which dataset of a mixture each record comes. Default: 0.
    #[must_use]
    pub fn with_mixing_seed(mut self, seed: u64) -> Self {
        self.mixing.seed = seed;
        self
    }

    /// Sets what a mixture does when one of its datasets ends. Default:
    /// [`WhenExhausted::Continue`].
    #[must_use]
    pub fn when_exhausted(mut self, policy: WhenExhausted) -> Self {
        self.mixing.when_exhausted = policy;
        self
    }

    /// Sets the order in which records are read. Default: [`Order::Sequential`].
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.selection.order = order;
        self
    }

    /// Reads one of several parts that together hold every record once. Default: all records.
    ///
    /// Each shard is a stream of its own, with its own cursor; a cursor of one shard is not one of
    /// another.
    #[must_use]
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.selection.shard = Some(shard);
        self
    }

    /// Reads a random share of the records. Default: all.
    #[must_use]
    pub fn with_sample(mut self, sample: Sample) -> Self {
        self.selection.sample = Some(sample);
        self
    }

    /// Skips and counts records whose text a function refuses.
    ///
    /// Its name stands for it in the corpus' identity, so a stored position is not continued under
    /// another filter.
    #[must_use]
    pub fn with_filter(
        mut self,
        name: impl Into<String>,
        keeps: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let filter = Filter::new(name.into(), keeps);
        self.selection.filter = Some(filter.name().to_owned());
        self.filter = Some(filter);
        self
    }

    /// Skips the first records of the order, whatever they hold. Default: 0.
    ///
    /// Parquet is not decoded for it, other files are.
    #[must_use]
    pub fn with_skip_records(mut self, records: u64) -> Self {
        self.selection.skip_records = records;
        self
    }

    /// Ends the stream after this many records of the order, whether or not they become documents.
    /// Default: no limit.
    ///
    /// Records skipped at the beginning are not among them.
    #[must_use]
    pub fn with_max_records(mut self, records: u64) -> Self {
        self.max_records = Some(records);
        self
    }

    /// Sets the number of threads that fetch and decode files ahead of their turn; 0 reads on the
    /// caller's thread.
    ///
    /// They live as long as the loader. Default: 0 for local files in sequential order, one for
    /// each core in shuffled order, and where files are remote one for each core but at least 8.
    ///
    /// The documents and their order are the same for any number.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets how many parts of files, of about 8 MiB of text, are queued for each worker thread.
    /// Default: 2.
    #[must_use]
    pub fn with_prefetch(mut self, parts: NonZeroUsize) -> Self {
        self.prefetch = parts;
        self
    }

    /// Sets how much decoded text may wait for the consumer, in bytes. Default: 64 MiB.
    ///
    /// It bounds memory when the consumer is slower than the source; a small budget slows reading
    /// down and never stops it.
    #[must_use]
    pub fn with_prefetch_bytes(mut self, bytes: usize) -> Self {
        self.prefetch_bytes = bytes;
        self
    }

    /// Sets the probe that records what the loader's threads are doing, as the stage
    /// [`DECODE_STAGE`](crate::DECODE_STAGE). Default: none.
    #[must_use]
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Sets how remote inputs are reached: endpoint, token, retries, timeouts, cache. Default:
    /// public access without a cache.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: kato_fetch::Fetcher) -> Self {
        self.remote = remote::Access::with_fetcher(fetcher);
        self
    }

    /// Reads all inputs in one format, whatever their extensions. Default: by extension.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.selection.format = Some(format);
        self
    }

    /// Decompresses all inputs in one way, whatever their extensions. Default: by extension.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.selection.compression = Some(compression);
        self
    }

    /// Sets what one document is in plain text. Default: the whole file.
    #[must_use]
    pub fn with_text_unit(mut self, unit: TextUnit) -> Self {
        self.selection.text_unit = unit;
        self
    }

    /// Sets the field or column that holds the text. Default: `text`.
    ///
    /// In JSON and Parquet, dots lead into nested objects and structs; a JSON key or CSV column
    /// that itself contains the dots is found too.
    #[must_use]
    pub fn with_text_field(mut self, field: impl Into<String>) -> Self {
        self.selection.text_field = field.into();
        self
    }

    /// Sets the field or column, of text or integers, that names the documents. Default: none, and
    /// documents are named `path#record`.
    ///
    /// Plain text has no fields and keeps those names. A record without the field is bad.
    #[must_use]
    pub fn with_id_field(mut self, field: impl Into<String>) -> Self {
        self.selection.id_field = Some(field.into());
        self
    }

    /// Skips and counts records whose text, without surrounding white space, is not longer than
    /// this many characters. Default: 0, which leaves only blank ones out.
    #[must_use]
    pub fn with_min_chars(mut self, chars: u64) -> Self {
        self.selection.min_chars = chars;
        self
    }

    /// Ends the stream after this many documents of the corpus, those before a resumed position and
    /// those on the other side of a split included. Default: no limit.
    #[must_use]
    pub fn with_max_documents(mut self, documents: u64) -> Self {
        self.max_documents = Some(documents);
        self
    }

    /// Reads one side of a split and leaves out the documents of the other. Default: all documents.
    ///
    /// Documents that are left out count: indices, cursor and
    /// [`Counts::documents`](crate::Counts::documents) are those of the whole corpus, whose
    /// identity is the same on both sides.
    #[must_use]
    pub fn with_split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// Sets the size of the largest record, in bytes: a line, a paragraph, a file read whole, a
    /// row. Default: 64 MiB.
    ///
    /// A longer one is a bad record and is never held in memory. The loader needs about twice this
    /// much in the worst case, plus one page of a Parquet file.
    #[must_use]
    pub fn with_max_record_bytes(mut self, bytes: u64) -> Self {
        self.selection.max_record_bytes = bytes;
        self
    }

    /// Sets what happens to a record that cannot become a document. Default: [`OnBadRecord::Fail`].
    #[must_use]
    pub fn on_bad_record(mut self, policy: OnBadRecord) -> Self {
        self.on_bad_record = policy;
        self
    }

    /// Sets how many undrained ledger entries end the stream with [`LoadError::LedgerFull`].
    /// Default: 100,000.
    ///
    /// It bounds memory, and it is what stops a run whose every record is skipped because, say, the
    /// field's name is wrong.
    #[must_use]
    pub fn with_ledger_capacity(mut self, entries: usize) -> Self {
        self.ledger_capacity = entries;
        self
    }

    /// Sets a function that says whether reading is to end, as when a user has interrupted the
    /// program.
    ///
    /// It is asked some times a second while the loader waits for somebody to write into a named
    /// pipe, and when a record is bad. Once it returns true there, the stream ends with
    /// [`LoadError::Interrupted`].
    #[must_use]
    pub fn with_interrupt(
        mut self,
        is_interrupted: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.interrupt = Interrupt::new(is_interrupted);
        self
    }

    /// Continues behind the last document of an earlier run over the same corpus.
    #[must_use]
    pub fn resume_from(mut self, cursor: Cursor) -> Self {
        self.resume_from = Some(cursor);
        self
    }

    /// Continues where a stored state was taken, and refuses any other corpus and other options.
    #[must_use]
    pub fn resume(mut self, state: LoaderState) -> Self {
        self.resume_from = Some(state.cursor().clone());
        self.expected_state = Some(state);
        self
    }

    /// Refuses to open any corpus but this one, with what differs.
    ///
    /// Worth having beside [`resume_from`](Self::resume_from): a position in another corpus may not
    /// exist there, which says less.
    #[must_use]
    pub fn expect_identity(mut self, identity: CorpusIdentity) -> Self {
        self.expected = Some(identity);
        self
    }

    /// Lists the files and opens the loader; reading starts with the first document asked for.
    ///
    /// For shuffled order, the footers of Parquet files are read. One that cannot be reached is an
    /// error under every policy: the order would be another one.
    ///
    /// # Errors
    ///
    /// When an input is missing, a glob matches nothing, a directory holds nothing to read, a file
    /// is named twice, an option is out of range, a remote location cannot be listed, the corpus is
    /// not the expected one, or the cursor does not lie in it.
    pub fn build(mut self) -> Result<StreamingDatasetLoader, LoadError> {
        self.check()?;
        let cursor = self.resume_from.take().unwrap_or_default();
        let mixed = std::mem::take(&mut self.mixed);
        let n_datasets = mixed.len().max(1);
        // Checked first, since positions are handed out to the datasets by number.
        if cursor != Cursor::default() && cursor.others.len() + 1 != n_datasets {
            return Err(LoadError::InvalidCursor {
                reason: format!(
                    "the position is in a mixture of {} datasets, and this one has {n_datasets}",
                    cursor.others.len() + 1
                ),
            });
        }
        let positions: Vec<Position> = mixture::positions(&cursor).collect();
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
            dataset.interrupt = self.interrupt.clone();
            #[cfg(feature = "remote")]
            dataset.remote.inherit(&self.remote);
            parts.push(dataset.part(weight, position(number))?);
        }
        let n_workers = self.workers.unwrap_or_else(|| default_workers(&parts));
        let mixture = Mixture::new(parts, self.mixing);
        // Before the position is looked at: what differs says more than a position that does not
        // exist.
        self.check_identity(&mixture)?;
        let mut datasets = mixture.parts().iter().map(|part| &part.dataset);
        datasets.try_for_each(Dataset::check_position)?;
        let workers = match n_workers {
            0 => None,
            number => {
                let mut files = mixture
                    .parts()
                    .iter()
                    .flat_map(|part| part.dataset.corpus.files.iter());
                // A stream of the caller may never end, and cannot be interrupted: then the threads
                // are left behind.
                let join_on_drop = files.all(|file| file.is_readable_again());
                Some(Workers::start(
                    number,
                    self.prefetch_bytes,
                    join_on_drop,
                    &self.probe,
                )?)
            }
        };
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
        self.selection.order.check()?;
        self.selection.shard.map_or(Ok(()), Shard::check)?;
        self.selection
            .sample
            .as_ref()
            .map_or(Ok(()), Sample::check)?;
        self.split.as_ref().map_or(Ok(()), Split::check)?;
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

    /// Refuses a corpus that is not the expected one.
    fn check_identity(&self, mixture: &Mixture) -> Result<(), LoadError> {
        // The identity is only worked out where it is compared: it reads from every file.
        if self.expected.is_none() && self.expected_state.is_none() {
            return Ok(());
        }
        let identity = CorpusIdentity::new(&self.selection, mixture);
        let by_identity = self
            .expected
            .iter()
            .flat_map(|expected| expected.diff(&identity));
        let mut differences: Vec<String> = by_identity.collect();
        // The state only knows that something differs; where the identity has named it, that would
        // say the same again.
        if let Some(state) = self
            .expected_state
            .as_ref()
            .filter(|_| differences.is_empty())
        {
            differences = state.diff(&identity);
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(LoadError::OtherCorpus { differences }),
        }
    }
}

/// Returns as many threads as pay, for when no number was asked for.
fn default_workers(parts: &[Part]) -> usize {
    let corpora = || parts.iter().map(|part| &part.dataset.corpus);
    let mut files = corpora().flat_map(|corpus| corpus.files.iter());
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if files.any(|file| file.is_remote()) {
        cores().max(REMOTE_WORKERS)
    } else if corpora().any(|corpus| corpus.selection.order != Order::Sequential) {
        // A whole window has to be decoded before its first document can be returned.
        cores()
    } else {
        0
    }
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
