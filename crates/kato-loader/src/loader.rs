//! The stream of documents over all files.

use std::fmt;
use std::fs::File;
use std::iter::FusedIterator;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bad_record::{BadReason, BadRecord, Fault};
use crate::batch::DocumentBatch;
use crate::builder::{Running, StreamingDatasetLoaderBuilder};
use crate::byte_stream::RawBytes;
use crate::cursor::{Counts, Cursor, Mark};
use crate::document::{Document, DocumentId};
use crate::error::LoadError;
use crate::identity::CorpusIdentity;
use crate::inputs::{InputFile, Listing, Source};
use crate::options::{Compression, Format, OnBadRecord, Selection};
use crate::records::{self, RecordReader, Sink, Step};
use crate::split::Split;

/// Documents beyond a batch's target for which room is kept, so that the last one seldom moves the others.
const BATCH_SLACK_BYTES: usize = 64 << 10;

/// Reads the documents of a corpus of local files, one after the other, in constant memory.
///
/// Two faces: an iterator of [`Document`]s, and [`next_batch`](Self::next_batch), which packs many small documents into one
/// allocation for a worker thread. Both advance the same [`cursor`](Self::cursor). Reading is blocking and on the caller's
/// thread; the loader can be sent to a thread of its own.
///
/// The order is the order of the inputs, within a directory that of the sorted paths, within a file that of the records.
/// Nothing is left out silently: blank and short records are counted, bad ones end the stream or go to the ledger.
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
    files: Vec<InputFile>,
    ignored: Vec<PathBuf>,
    selection: Selection,
    running: Running,
    cursor: Cursor,
    /// Bytes on disk of the files in front of the current one.
    bytes_behind: u64,
    reader: Option<Box<dyn RecordReader>>,
    /// Id of the record being read; reused.
    id: String,
    ledger: Vec<BadRecord>,
    /// An error met behind the documents of a batch already returned.
    pending: Option<LoadError>,
    stopped: bool,
}

impl StreamingDatasetLoader {
    /// Starts choosing inputs and options.
    #[must_use]
    pub fn builder() -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::new()
    }

    /// Starts choosing inputs that are to be read with the options of a corpus that was read before.
    #[must_use]
    pub fn builder_like(identity: &CorpusIdentity) -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoaderBuilder::like(identity)
    }

    /// Reads a corpus again: its files with its options, and no other corpus in their place. Streams are read once only.
    #[must_use]
    pub fn builder_of(identity: &CorpusIdentity) -> StreamingDatasetLoaderBuilder {
        let files = identity.files().iter().map(|file| &file.name);
        Self::builder_like(identity)
            .with_inputs(files)
            .expect_identity(identity.clone())
    }

    pub(crate) fn new(
        listing: Listing,
        selection: Selection,
        running: Running,
        cursor: Cursor,
    ) -> Self {
        let done = usize::try_from(cursor.file_index).unwrap_or(usize::MAX);
        let bytes_behind = listing
            .files
            .iter()
            .take(done)
            .filter_map(|file| file.size)
            .sum();
        Self {
            files: listing.files,
            ignored: listing.ignored,
            selection,
            running,
            cursor,
            bytes_behind,
            reader: None,
            id: String::new(),
            ledger: Vec::new(),
            pending: None,
            stopped: false,
        }
    }

    /// The next documents, until their texts reach `target_bytes`; `None` at the end of the corpus.
    ///
    /// Shape: at least one document; the texts are shorter than `target_bytes` without the last document. A target of 256 KiB
    /// to 1 MiB keeps worker threads busy.
    ///
    /// # Errors
    ///
    /// As the iterator: a bad record under [`OnBadRecord::Fail`], or a full ledger. Documents in front of it are returned
    /// first, as a shorter batch. After an error, [`LoadError::Stopped`].
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

    /// The next `n_documents` documents, fewer only at the end of the corpus or before an error. Where batches end depends
    /// on nothing but where they began.
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
        let capacity = target_bytes
            .min(self.selection.record_limit())
            .saturating_add(BATCH_SLACK_BYTES);
        let mut batch = DocumentBatch::new(capacity);
        while batch.is_empty() || !is_full(&batch) {
            match self.advance(batch.text_mut()) {
                Ok(Some(record)) => {
                    let file = &self.files[record.file].name;
                    let index = self.cursor.counts.documents - 1;
                    batch.push(index, file, record.number, &self.id);
                }
                Ok(None) => break,
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            }
        }
        batch.set_cursor(self.cursor);
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// The position behind the last document returned.
    ///
    /// After an error it lies in front of the record that caused it; after the last document, at the end of the corpus.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The side of a split that is read; `None` when all documents are.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        self.running.split
    }

    /// What became of the records so far, those before a resumed position included.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.cursor.counts
    }

    /// Takes the ledger entries written since the last call, in reading order.
    ///
    /// They belong to the documents up to the [`cursor`](Self::cursor): store both together, and a resumed run neither
    /// repeats nor loses an entry.
    pub fn take_bad_records(&mut self) -> Vec<BadRecord> {
        std::mem::take(&mut self.ledger)
    }

    /// What this corpus is, for comparison on resume. Reads up to 1 MiB of every file.
    #[must_use]
    pub fn identity(&self) -> CorpusIdentity {
        CorpusIdentity::of(&self.selection, &self.files)
    }

    /// Files that were found below a directory and left out because their extension stands for no format.
    #[must_use]
    pub fn ignored_files(&self) -> &[PathBuf] {
        &self.ignored
    }

    /// Number of files in the corpus.
    #[must_use]
    pub fn n_files(&self) -> usize {
        self.files.len()
    }

    /// Sum of the file sizes on disk, in bytes; `None` when a stream is among the inputs.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Bytes on disk that lie behind the current position, for a forecast against [`total_bytes`](Self::total_bytes).
    ///
    /// Exact for uncompressed text, a buffer ahead for compressed text, in proportion to the rows for Parquet.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_behind + self.reader.as_ref().map_or(0, |reader| reader.raw_bytes())
    }

    /// Appends the text of the next document; `None` at the end.
    fn advance(&mut self, text: &mut String) -> Result<Option<Record>, LoadError> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if self.stopped {
            return Err(LoadError::Stopped);
        }
        let start = text.len();
        let outcome = self.advance_over_bad(text);
        if outcome.is_err() {
            text.truncate(start);
            self.stopped = true;
        }
        outcome
    }

    fn advance_over_bad(&mut self, text: &mut String) -> Result<Option<Record>, LoadError> {
        let start = text.len();
        while self.cursor.counts.documents < self.running.max_documents {
            let Some(index) = self.current_file() else {
                break;
            };
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => match open(&mut self.files[index], &self.selection, self.cursor.mark) {
                    Ok(reader) => self.reader.insert(reader),
                    Err(fault) => {
                        self.report(index, fault)?;
                        self.next_file(index);
                        continue;
                    }
                },
            };
            text.truncate(start);
            self.id.clear();
            let step = reader.read(&mut Sink {
                text,
                id: &mut self.id,
            });
            let mark = reader.mark();
            match step {
                Step::Record => {
                    self.cursor.mark = mark;
                    if self.keep(&text[start..]) {
                        let index_in_corpus = self.cursor.counts.documents;
                        self.cursor.counts.documents += 1;
                        let split = &self.running.split;
                        if split.is_none_or(|split| split.contains(index_in_corpus)) {
                            return Ok(Some(Record {
                                file: index,
                                number: mark.record,
                            }));
                        }
                    }
                }
                Step::Bad(fault) => {
                    self.report(index, fault)?;
                    self.cursor.mark = mark;
                }
                Step::Broken(fault) => {
                    self.report(index, fault)?;
                    self.next_file(index);
                }
                Step::End => {
                    if let Some(fault) = self.files[index].check_length(mark) {
                        self.report(index, fault)?;
                    }
                    self.next_file(index);
                }
            }
        }
        text.truncate(start);
        Ok(None)
    }

    fn current_file(&self) -> Option<usize> {
        usize::try_from(self.cursor.file_index)
            .ok()
            .filter(|index| *index < self.files.len())
    }

    fn next_file(&mut self, index: usize) {
        let read = self.reader.take().map_or(0, |reader| reader.raw_bytes());
        self.bytes_behind += self.files[index].size.unwrap_or(read);
        self.cursor.file_index += 1;
        self.cursor.mark = Mark::default();
    }

    /// Whether a text becomes a document; counts it if not.
    fn keep(&mut self, text: &str) -> bool {
        let stripped = text.trim_start();
        if stripped.is_empty() {
            self.cursor.counts.blank += 1;
            return false;
        }
        // Counts no further than the minimum: long texts are not walked through.
        let minimum = usize::try_from(self.selection.min_chars).unwrap_or(usize::MAX);
        let long_enough = minimum == 0 || stripped.trim_end().chars().nth(minimum).is_some();
        if !long_enough {
            self.cursor.counts.short += 1;
        }
        long_enough
    }

    fn report(&mut self, index: usize, fault: Fault) -> Result<(), LoadError> {
        // A position that does not exist is the caller's mistake and not a property of the data.
        let fails = self.running.on_bad_record == OnBadRecord::Fail
            || *fault.reason == BadReason::EndsBeforeCursor;
        let (record, cause) = fault.into_record(&self.files[index].name);
        if fails {
            return Err(LoadError::bad_record(record, cause));
        }
        if self.ledger.len() >= self.running.ledger_capacity {
            return Err(LoadError::LedgerFull {
                capacity: self.running.ledger_capacity,
                last: Box::new(record),
            });
        }
        self.cursor.counts.bad += 1;
        self.ledger.push(record);
        Ok(())
    }
}

/// Where a document was found.
struct Record {
    /// Index of its file.
    file: usize,
    number: u64,
}

impl Iterator for StreamingDatasetLoader {
    type Item = Result<Document, LoadError>;

    /// The next document. After an error the stream has ended.
    fn next(&mut self) -> Option<Self::Item> {
        let mut text = String::new();
        match self.advance(&mut text) {
            Ok(Some(record)) => {
                let id = match self.id.as_str() {
                    "" => {
                        let file = Arc::clone(&self.files[record.file].name);
                        DocumentId::position(file, record.number)
                    }
                    id => DocumentId::field(id),
                };
                Some(Ok(Document::new(
                    self.cursor.counts.documents - 1,
                    id,
                    text,
                )))
            }
            Ok(None) | Err(LoadError::Stopped) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for StreamingDatasetLoader {}

impl fmt::Debug for StreamingDatasetLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingDatasetLoader")
            .field("n_files", &self.files.len())
            .field("selection", &self.selection)
            .field("running", &self.running)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

fn open(
    file: &mut InputFile,
    selection: &Selection,
    mark: Mark,
) -> Result<Box<dyn RecordReader>, Fault> {
    let raw = match &mut file.source {
        Source::File(path) if file.format == Format::Parquet => {
            return records::open_parquet(path, selection, mark);
        }
        Source::File(path) => RawBytes::File(File::open(path).map_err(Fault::unreadable)?),
        Source::Pipe(path) => {
            RawBytes::Stream(Box::new(File::open(path).map_err(Fault::unreadable)?))
        }
        Source::Reader(reader) => RawBytes::Stream(
            reader
                .take()
                .expect("a file is opened once, and left for good when it fails"),
        ),
    };
    records::open_stream(raw, file.format, file.compression, selection, mark)
}

impl InputFile {
    /// Whether offsets into the documents' bytes are offsets into the file.
    pub(crate) fn is_plain(&self) -> bool {
        self.compression == Compression::None && self.format != Format::Parquet
    }

    /// A file that grew or shrank while it was read did not give the documents its identity promises.
    fn check_length(&self, end: Mark) -> Option<Fault> {
        let expected_bytes = self
            .size
            .filter(|size| self.is_plain() && *size != end.byte_offset)?;
        Some(Fault::of_file(BadReason::Changed {
            expected_bytes,
            found_bytes: end.byte_offset,
        }))
    }
}
