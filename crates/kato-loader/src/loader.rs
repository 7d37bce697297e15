//! The stream of documents over all files.

use std::fmt;
use std::iter::FusedIterator;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::bad_record::{BadReason, BadRecord, Fault, SkippedExtent};
use crate::batch::DocumentBatch;
use crate::cursor::{Cursor, RecordCounts, RecordKey};
use crate::dataset::{Dataset, Draw, ReadOptions, RecordLocation};
use crate::document::{Document, DocumentId};
use crate::error::LoadError;
use crate::identity::CorpusIdentity;
use crate::ignored::IgnoredFile;
use crate::mixture::{Mixture, Part};
use crate::options::{CorpusOptions, Format, OnBadRecord, StreamOptions};
use crate::records::Sink;
use crate::split::Split;
use crate::state::LoaderState;
use crate::workers::Workers;

/// Room beyond a batch's target, in bytes, so that the last document seldom moves the others.
const BATCH_SLACK_BYTES: usize = 64 << 10;

/// Reads the documents of a corpus, one after the other, in bounded memory.
///
/// It has three forms: an iterator of [`Document`]s; [`next_batch`](Self::next_batch), which packs
/// many small documents into one allocation for a worker thread; and
/// `into_stream`, with the feature `stream`, for async code. All advance the same
/// [`cursor`](Self::cursor). Calls block; with [worker
/// threads](crate::StreamingDatasetLoaderBuilder::with_workers), files are fetched and decoded
/// ahead.
///
/// The order is an [`Order`](crate::Order): sequential order is that of the inputs, within a
/// directory or repository that of the sorted paths, within a file that of the records. Nothing is
/// left out silently: what options leave out is counted, bad records end the stream or go to the
/// ledger.
///
/// # Examples
///
/// ```
/// use kato_loader::{StreamingDatasetLoader, TextUnit};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.jsonl"), "{\"text\": \"first\"}\n{\"text\": \"second\"}\n")?;
/// std::fs::write(folder.path().join("b.txt"), "third\n\nfourth")?;
///
/// let loader = StreamingDatasetLoader::builder()
///     .with_input(folder.path())
///     .with_text_unit(TextUnit::Paragraphs)
///     .build()?;
/// let texts = loader.map(|document| Ok(document?.text)).collect::<Result<Vec<_>, kato_loader::LoadError>>()?;
/// assert_eq!(texts, ["first", "second", "third", "fourth"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StreamingDatasetLoader {
    mixture: Mixture,
    /// Options of the corpus; those of the mixture as a whole where there are several datasets.
    selection: CorpusOptions,
    stream_options: StreamOptions,
    workers: Option<Workers>,
    /// Ends reads that are under way.
    cancel: Cancel,
    counts: RecordCounts,
    /// Id of the record being read; reused.
    id: String,
    ledger: Vec<BadRecord>,
    /// The first bad record, until there is a document: it says why there may be none.
    first_bad: Option<BadRecord>,
    /// An error met behind the documents of a batch already returned.
    pending: Option<LoadError>,
    stopped: bool,
}

impl StreamingDatasetLoader {
    /// Creates a loader at the position of its datasets.
    pub(crate) fn new(
        mixture: Mixture,
        selection: CorpusOptions,
        stream_options: StreamOptions,
        workers: Option<Workers>,
        cancel: Cancel,
        counts: RecordCounts,
    ) -> Self {
        Self {
            mixture,
            selection,
            stream_options,
            workers,
            cancel,
            counts,
            id: String::new(),
            ledger: Vec::new(),
            first_bad: None,
            pending: None,
            stopped: false,
        }
    }

    /// Returns the next documents, until their texts reach `target_bytes`, or `None` at the end of
    /// the corpus or at a limit.
    ///
    /// Shape: at least one document; the texts are shorter than `target_bytes` without the last
    /// document. A target of 256 KiB to 1 MiB keeps worker threads busy, such as
    /// [`DEFAULT_BATCH_BYTES`](crate::DEFAULT_BATCH_BYTES).
    ///
    /// # Errors
    ///
    /// As the iterator: a bad record under [`OnBadRecord::Fail`], or a full ledger. Documents in
    /// front of it are returned first, as a shorter batch. After an error, [`LoadError::Stopped`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_loader::{StreamingDatasetLoader, TextUnit};
    ///
    /// let mut loader = StreamingDatasetLoader::builder()
    ///     .with_reader("words.txt", "one\ntwo\nthree\n".as_bytes())
    ///     .with_text_unit(TextUnit::Line)
    ///     .build()?;
    /// let batch = loader.next_batch(6)?.expect("two words fill six bytes");
    /// let texts: Vec<_> = batch.iter().map(|document| document.text).collect();
    /// assert_eq!(texts, ["one", "two"]);
    /// assert_eq!(batch.cursor().documents(), 2);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    pub fn next_batch(&mut self, target_bytes: usize) -> Result<Option<DocumentBatch>, LoadError> {
        self.fill(target_bytes, |batch| batch.text_bytes() >= target_bytes)
    }

    /// Returns the next `n_documents` documents, fewer only at the end of the corpus, at a limit or
    /// before an error.
    ///
    /// Where batches end depends on nothing but where they began.
    ///
    /// # Errors
    ///
    /// As [`next_batch`](Self::next_batch).
    pub fn next_documents(
        &mut self,
        n_documents: NonZeroUsize,
    ) -> Result<Option<DocumentBatch>, LoadError> {
        self.fill(0, |batch| batch.len() >= n_documents.get())
    }

    /// Reads at least one document, and more until the batch is full.
    fn fill(
        &mut self,
        target_bytes: usize,
        is_full: impl Fn(&DocumentBatch) -> bool,
    ) -> Result<Option<DocumentBatch>, LoadError> {
        // A huge target, such as "all that is left", must not be allocated in advance: the buffer
        // grows with the texts.
        let capacity = target_bytes
            .min(self.selection.record_limit())
            .saturating_add(BATCH_SLACK_BYTES);
        let mut batch = DocumentBatch::new(capacity);
        while batch.is_empty() || !is_full(&batch) {
            match self.advance(batch.text_mut()) {
                Ok(Some(found)) => {
                    let index = self.counts.documents - 1;
                    let file = self.mixture.file(found.part, found.record.file);
                    batch.push(index, &file.name, found.record.place, &self.id);
                }
                Ok(None) => break,
                // Documents in front of an error are returned first; the error comes with the next
                // call.
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            }
        }
        batch.set_cursor(self.cursor());
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Returns the position behind the last document returned.
    ///
    /// After an error it lies in front of the record that caused it; once the end of the corpus was
    /// found, there.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.mixture.cursor(self.counts)
    }

    /// Returns the position at the end of the corpus without reading up to it; nothing is counted in
    /// it.
    #[must_use]
    pub fn end(&self) -> Cursor {
        self.mixture.end()
    }

    /// Returns the position together with hashes of the corpus: all that is needed to go on, in a
    /// few integers and two hashes.
    ///
    /// Reads up to 1 MiB of every local file, as [`identity`](Self::identity) does.
    #[must_use]
    pub fn state(&self) -> LoaderState {
        LoaderState::new(&self.identity(), self.cursor())
    }

    /// Returns whether every record lies behind the position.
    ///
    /// True once the end was found, not yet with the last document; a limit on documents or records
    /// exhausts nothing.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.mixture.is_exhausted()
    }

    /// Returns the side of a split that is read, or `None` when all documents are.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        self.stream_options.split
    }

    /// Returns what became of the records so far, those before a resumed position included.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        self.counts
    }

    /// Takes the ledger entries written since the last call, in reading order.
    ///
    /// They belong to the documents up to the [`cursor`](Self::cursor): store both together, and a
    /// resumed run neither repeats nor loses an entry. One exception: in shuffled order, a stretch
    /// that could not be reached has no place in the order, and a resumed run that meets it again
    /// enters it again.
    pub fn take_bad_records(&mut self) -> Vec<BadRecord> {
        std::mem::take(&mut self.ledger)
    }

    /// Returns what this corpus is, for comparison on resume. Reads up to 1 MiB of every local
    /// file.
    #[must_use]
    pub fn identity(&self) -> CorpusIdentity {
        CorpusIdentity::new(&self.selection, &self.mixture)
    }

    /// Returns what was found in a directory, a repository or a bucket and is not read, with the
    /// reason.
    #[must_use]
    pub fn ignored_files(&self) -> Vec<&IgnoredFile> {
        let parts = self.mixture.parts().iter();
        parts.flat_map(|part| &part.dataset.ignored).collect()
    }

    /// Returns whether a file of the corpus has a format, or may have it: what neither its name nor a caller
    /// says of a stream is known only when it is read. Documents and records of a program have none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_loader::{Format, StreamingDatasetLoader};
    ///
    /// let loader = StreamingDatasetLoader::builder().with_reader("a.csv", "text\none\n".as_bytes()).build()?;
    /// assert!(loader.may_hold(Format::Csv));
    /// assert!(!loader.may_hold(Format::Text));
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn may_hold(&self, format: Format) -> bool {
        let parts = self.mixture.parts().iter();
        let mut files = parts.flat_map(|part| part.dataset.corpus.files.iter());
        files.any(|file| file.may_be(format))
    }

    /// Returns the number of files in the corpus.
    #[must_use]
    pub fn n_files(&self) -> usize {
        let parts = self.mixture.parts().iter();
        parts.map(|part| part.dataset.corpus.files.len()).sum()
    }

    /// Returns the sum of the file sizes, in bytes, or `None` when that of one is not known, as of
    /// a stream.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        let parts = self.mixture.parts().iter();
        parts.map(|part| part.dataset.total_bytes()).sum()
    }

    /// Returns how many bytes of the files lie behind the current position, for a forecast against
    /// [`total_bytes`](Self::total_bytes).
    ///
    /// Exact for uncompressed text, what has been read ahead for compressed text and with worker
    /// threads, in proportion to the rows for Parquet and to the text in shuffled order.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        let parts = self.mixture.parts().iter();
        parts.map(|part| part.dataset.bytes_read()).sum()
    }

    /// Returns the number of records where the files state it, or `None` where only reading them
    /// would tell.
    ///
    /// Parquet states it, in its footers, which are fetched for it.
    ///
    /// # Errors
    ///
    /// [`LoadError::BadRecord`] when a footer cannot be read.
    pub fn count_rows(&self) -> Result<Option<u64>, LoadError> {
        self.counted(Dataset::count_rows)
    }

    /// Returns the number of records where the files state it, or where it takes at most so many bytes of them to
    /// count the ends of their lines, and `None` where only decoding them would tell.
    ///
    /// Parquet states it, and a text file that is one document. Lines are counted in files that are not
    /// compressed, of JSON Lines and of text that is read by line; blank ones count, too.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("tales.jsonl");
    /// std::fs::write(&path, "{\"text\": \"one\"}\n{\"text\": \"another\"}")?;
    /// let loader = StreamingDatasetLoader::builder().with_input(&path).build()?;
    /// assert_eq!(loader.count_records(1_000)?, Some(2));
    /// assert_eq!(loader.count_records(10)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LoadError::BadRecord`] when a file cannot be read.
    pub fn count_records(&self, most_bytes: u64) -> Result<Option<u64>, LoadError> {
        self.counted(|dataset| dataset.count_records(most_bytes))
    }

    /// Returns the sum over the parts of the mixture, where all tell it.
    fn counted(
        &self,
        count: impl Fn(&Dataset) -> Result<Option<u64>, (usize, Fault)>,
    ) -> Result<Option<u64>, LoadError> {
        let mut records = Some(0_u64);
        for part in self.mixture.parts() {
            let counted = count(&part.dataset).map_err(|(file, fault)| {
                let (record, cause) = fault.into_record(&part.dataset.corpus.files[file].name);
                LoadError::bad_record(record, cause)
            })?;
            records = records
                .zip(counted)
                .map(|(all, more)| all.saturating_add(more));
        }
        Ok(records)
    }

    /// Returns a function that ends reading, from any thread: what waits for a network, a pipe or
    /// standard input gives up within a fraction of a second, and the stream ends with
    /// [`LoadError::Interrupted`] behind what was read before. The
    /// [`cursor`](Self::cursor) is where another loader goes on.
    ///
    /// A stream of the caller, given as a reader, cannot be given up while it waits.
    ///
    /// ```
    /// use kato_loader::{LoadError, StreamingDatasetLoader};
    ///
    /// let mut loader = StreamingDatasetLoader::builder()
    ///     .with_reader("tale.txt", "It was the best of times.".as_bytes())
    ///     .build()?;
    /// let interrupt = loader.interrupter();
    /// interrupt();
    /// assert!(matches!(loader.next(), Some(Err(LoadError::Interrupted))));
    /// # Ok::<(), LoadError>(())
    /// ```
    pub fn interrupter(&self) -> impl Fn() + Send + Sync + use<> {
        let interrupt = self.stream_options.interrupt.clone();
        let cancel = self.canceller();
        move || {
            // In this order: a read that is cancelled is looked at as one that was interrupted.
            interrupt.interrupt();
            cancel();
        }
    }

    /// Returns a function that ends reads under way, from any thread.
    pub(crate) fn canceller(&self) -> Cancel {
        Arc::clone(&self.cancel)
    }

    /// Appends the text of the next document, and returns where it was found; `None` at the end.
    fn advance(&mut self, text: &mut String) -> Result<Option<FoundDocument>, LoadError> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if self.stopped {
            return Err(LoadError::Stopped);
        }
        let start = text.len();
        // Set in advance, so that the stream has also ended when a filter or a reader of the caller
        // panics.
        self.stopped = true;
        let outcome = self.advance_over_bad(text);
        self.stopped = outcome.is_err();
        if self.stopped {
            text.truncate(start);
        }
        outcome
    }

    /// Draws records until one becomes a document, and counts what becomes of the others.
    fn advance_over_bad(&mut self, text: &mut String) -> Result<Option<FoundDocument>, LoadError> {
        let start = text.len();
        // The limit counts from behind the records that are skipped at the beginning.
        let last_record = self
            .stream_options
            .max_records
            .saturating_add(self.selection.skip_records);
        while self.counts.documents < self.stream_options.max_documents
            && self.counts.records < last_record
        {
            if self.stream_options.interrupt.is_interrupted() {
                return Err(LoadError::Interrupted);
            }
            if self.skip_records()? {
                continue;
            }
            // What the record before left behind was not kept.
            text.truncate(start);
            self.id.clear();
            let mut sink = Sink {
                text,
                id: &mut self.id,
            };
            let is_passing = self.counts.records < self.selection.skip_records;
            let skips_files = self.stream_options.on_bad_record == OnBadRecord::SkipFile;
            let options = ReadOptions {
                // Records that are skipped have no consequences: where they need not be decoded, it
                // is not even found that they are bad.
                skips_files: skips_files && !is_passing,
                prefetch: self.stream_options.prefetch.get(),
            };
            let (part, draw) = self.mixture.draw(
                self.counts.records,
                self.workers.as_mut(),
                options,
                &mut sink,
            );
            match draw {
                Draw::End => {
                    self.check_documents()?;
                    break;
                }
                Draw::Bad { file, fault } => {
                    let lost = fault.lost.n_records();
                    if self.is_within_skipped(&fault) {
                        self.counts.passed_over += lost;
                    } else {
                        // Before the position moves: when this ends the stream, the cursor stays in
                        // front of the record.
                        self.report(part, file, fault)?;
                    }
                    // All that was lost counts as met, where its number is known: limits go by the
                    // same numbers whether or not the records can be read.
                    self.counts.records += lost;
                    self.mixture.accept(part);
                }
                Draw::Record(record) => {
                    self.counts.records += 1;
                    self.mixture.accept(part);
                    if self.keep(part, record, &text[start..]) {
                        return Ok(Some(FoundDocument { part, record }));
                    }
                }
            }
        }
        text.truncate(start);
        Ok(None)
    }

    /// Refuses a corpus that has ended without a document, unless an option has left some out.
    fn check_documents(&self) -> Result<(), LoadError> {
        let counts = &self.counts;
        let left_out = [
            counts.passed_over,
            counts.not_sampled,
            counts.short,
            counts.filtered,
        ];
        if counts.documents > 0 || self.selection.allows_empty {
            return Ok(());
        }
        if let Some(shard) = self.selection.shard {
            // What it met and could not use is counted, and may be better in another shard.
            return match counts.records {
                0 => Err(LoadError::EmptyShard {
                    index: shard.index(),
                    count: shard.count(),
                }),
                _ => Ok(()),
            };
        }
        match left_out.into_iter().any(|records| records > 0) {
            true => Ok(()),
            false => Err(LoadError::NoDocuments {
                n_records: counts.records,
                n_blank: counts.blank,
                n_bad: counts.bad,
                first_bad: self.first_bad.clone().map(Box::new),
            }),
        }
    }

    /// Moves the position over records that are to be skipped and need not be decoded; returns
    /// false when there are none.
    fn skip_records(&mut self) -> Result<bool, LoadError> {
        let left = self
            .selection
            .skip_records
            .saturating_sub(self.counts.records);
        if left == 0 {
            return Ok(false);
        }
        match self.mixture.skip_records(left) {
            Ok(passed) => {
                self.counts.records += passed;
                self.counts.passed_over += passed;
                Ok(passed > 0)
            }
            // The same fault is met again, and reported, when the record is drawn.
            Err(_) => Ok(false),
        }
    }

    /// Returns whether everything that a fault stands for is among the records that are skipped,
    /// whatever they hold.
    fn is_within_skipped(&self, fault: &Fault) -> bool {
        let end = self.counts.records.saturating_add(fault.lost.n_records());
        // A fault of unknown extent may reach beyond the records to be skipped.
        let is_counted = matches!(
            fault.lost,
            SkippedExtent::Record | SkippedExtent::Records(_)
        );
        is_counted && !fault.is_transient() && end <= self.selection.skip_records
    }

    /// Returns whether a record is yielded as a document, and counts what becomes of it.
    fn keep(&mut self, part: usize, record: RecordLocation, text: &str) -> bool {
        let counts = &mut self.counts;
        if counts.records <= self.selection.skip_records {
            counts.passed_over += 1;
            return false;
        }
        let Part {
            dataset, filter, ..
        } = &self.mixture.parts()[part];
        let selection = &dataset.corpus.selection;
        // Samples and splits go by where the record lies, and so choose the same ones in every
        // order, on every shard and after every interruption.
        let key = RecordKey::new(record.file, record.mark);
        if selection.sample.is_some_and(|sample| !sample.contains(key)) {
            counts.not_sampled += 1;
            return false;
        }
        let stripped = text.trim_start();
        if stripped.is_empty() {
            counts.blank += 1;
            return false;
        }
        // Counts no further than the minimum: long texts are not walked through. As in the original
        // loader, a text must be longer than the limit and not just as long.
        let minimum = usize::try_from(selection.min_chars).unwrap_or(usize::MAX);
        if minimum > 0 && stripped.trim_end().chars().nth(minimum).is_none() {
            counts.short += 1;
            return false;
        }
        if filter.as_ref().is_some_and(|filter| !filter.keeps(text)) {
            counts.filtered += 1;
            return false;
        }
        // Documents of the other side count, too: an index is that of the whole corpus, whichever
        // side is read.
        counts.documents += 1;
        let split = &self.stream_options.split;
        split.is_none_or(|split| split.contains_record(key))
    }

    /// Enters a fault into the ledger, or returns it as an error.
    fn report(&mut self, part: usize, file: usize, fault: Fault) -> Result<(), LoadError> {
        if self.stream_options.interrupt.is_asked() {
            // The record may be bad only because reading was given up. If it is bad all the same,
            // the resumed run meets it again.
            return Err(LoadError::Interrupted);
        }
        // A position that does not exist is the caller's mistake and not a property of the data.
        let fails = self.stream_options.on_bad_record == OnBadRecord::Fail
            || *fault.reason == BadReason::EndsBeforeCursor;
        let (record, cause) = fault.into_record(&self.mixture.file(part, file).name);
        if fails {
            return Err(LoadError::bad_record(record, cause));
        }
        // Refused before it is counted, so that the cursor in front of the record agrees with the
        // ledger.
        if self.ledger.len() >= self.stream_options.ledger_capacity {
            return Err(LoadError::LedgerFull {
                capacity: self.stream_options.ledger_capacity,
                last: Box::new(record),
            });
        }
        self.counts.bad += 1;
        if self.counts.documents == 0 && self.first_bad.is_none() {
            self.first_bad = Some(record.clone());
        }
        self.ledger.push(record);
        Ok(())
    }
}

/// A function that ends reads under way, over the network or from a pipe.
pub(crate) type Cancel = Arc<dyn Fn() + Send + Sync>;

/// Where a document was found.
struct FoundDocument {
    /// Index of its dataset.
    part: usize,
    record: RecordLocation,
}

impl Iterator for StreamingDatasetLoader {
    type Item = Result<Document, LoadError>;

    /// Returns the next document. After an error the stream has ended.
    fn next(&mut self) -> Option<Self::Item> {
        let mut text = String::new();
        match self.advance(&mut text) {
            Ok(Some(FoundDocument { part, record })) => {
                let id = match self.id.as_str() {
                    "" => {
                        let file = Arc::clone(&self.mixture.file(part, record.file).name);
                        DocumentId::position(file, record.place)
                    }
                    id => DocumentId::field(id),
                };
                Some(Ok(Document::numbered(self.counts.documents - 1, id, text)))
            }
            Ok(None) | Err(LoadError::Stopped) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for StreamingDatasetLoader {}

impl Drop for StreamingDatasetLoader {
    fn drop(&mut self) {
        // Before the fields are dropped: the worker threads are waited for, and must not be waiting
        // for a network in turn.
        (self.cancel)();
    }
}

impl fmt::Debug for StreamingDatasetLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingDatasetLoader")
            .field("n_files", &self.n_files())
            .field("selection", &self.selection)
            .field("stream_options", &self.stream_options)
            .field("cursor", &self.cursor())
            .finish_non_exhaustive()
    }
}
