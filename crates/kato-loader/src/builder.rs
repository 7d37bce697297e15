//! Chooses inputs and options, and opens the loader.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::identity::CorpusIdentity;
use crate::inputs::{self, Input, InputFile};
use crate::loader::StreamingDatasetLoader;
use crate::options::{
    Compression, DEFAULT_LEDGER_CAPACITY, Format, OnBadRecord, Selection, TextUnit,
};
use crate::split::Split;

/// Settings of a [`StreamingDatasetLoader`]; made by [`StreamingDatasetLoader::builder`].
///
/// Inputs are read in the order in which they are added. Nothing is opened before [`build`](Self::build).
#[derive(Debug)]
pub struct StreamingDatasetLoaderBuilder {
    inputs: Vec<Input>,
    selection: Selection,
    on_bad_record: OnBadRecord,
    ledger_capacity: usize,
    max_documents: Option<u64>,
    split: Option<Split>,
    resume_from: Cursor,
    expected: Option<CorpusIdentity>,
}

/// The settings that do not decide what the documents are.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) on_bad_record: OnBadRecord,
    pub(crate) ledger_capacity: usize,
    pub(crate) max_documents: u64,
    pub(crate) split: Option<Split>,
}

impl StreamingDatasetLoaderBuilder {
    pub(crate) fn new() -> Self {
        Self {
            inputs: Vec::new(),
            selection: Selection::default(),
            on_bad_record: OnBadRecord::default(),
            ledger_capacity: DEFAULT_LEDGER_CAPACITY,
            max_documents: None,
            split: None,
            resume_from: Cursor::default(),
            expected: None,
        }
    }

    pub(crate) fn like(identity: &CorpusIdentity) -> Self {
        let mut builder = Self::new();
        builder.selection = identity.selection().clone();
        builder
    }

    /// Adds a file, a directory, a glob, or `-` for standard input.
    ///
    /// A directory stands for all files below it with a known [`Format`] extension (`.txt`, `.text`, `.md`, `.markdown`,
    /// `.rst`, `.tex`, `.log`, and those of the other formats, each also with `.gz` or `.zst` where text is compressed), sorted
    /// by path; the others are listed by [`ignored_files`](StreamingDatasetLoader::ignored_files). With an explicit format,
    /// all files are taken. Hidden files are not looked at. A name with `*`, `?`, `[` or `{` is a glob unless a file has that
    /// very name; `**` crosses directories.
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
    /// A stream is read once; resuming reads a new one from its beginning and passes over what was read before.
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

    /// What one document is in plain text. Default: the whole file.
    #[must_use]
    pub fn with_text_unit(mut self, unit: TextUnit) -> Self {
        self.selection.text_unit = unit;
        self
    }

    /// The field or column that holds the text. Default: `text`.
    ///
    /// In JSON and Parquet, dots lead into nested objects and structs; a JSON key or CSV column that itself contains the
    /// dots is found too.
    #[must_use]
    pub fn with_text_field(mut self, field: impl Into<String>) -> Self {
        self.selection.text_field = field.into();
        self
    }

    /// The field or column, of text or integers, that names the documents. Default: none, and documents are named
    /// `path#record`. Plain text has no fields and keeps those names. A record without the field is bad.
    #[must_use]
    pub fn with_id_field(mut self, field: impl Into<String>) -> Self {
        self.selection.id_field = Some(field.into());
        self
    }

    /// Skips and counts records whose text, without surrounding white space, is not longer than this many characters.
    /// Default: 0, which leaves only blank ones out.
    #[must_use]
    pub fn with_min_chars(mut self, chars: u64) -> Self {
        self.selection.min_chars = chars;
        self
    }

    /// Ends the stream after this many documents of the corpus, those before a resumed position and those on the other side
    /// of a split included. Default: no limit.
    #[must_use]
    pub fn with_max_documents(mut self, documents: u64) -> Self {
        self.max_documents = Some(documents);
        self
    }

    /// Reads one side of a split and passes over the documents of the other. Default: all documents.
    ///
    /// Passed-over documents count: indices, cursor and [`Counts::documents`](crate::Counts::documents) are those of the whole
    /// corpus, whose identity is the same on both sides.
    #[must_use]
    pub fn with_split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// Largest record, in bytes: a line, a paragraph, a file read whole, a row. Default: 64 MiB.
    ///
    /// A longer one is a bad record and is never held in memory. The loader needs about twice this much in the worst case,
    /// plus one page of a Parquet file.
    #[must_use]
    pub fn with_max_record_bytes(mut self, bytes: u64) -> Self {
        self.selection.max_record_bytes = bytes;
        self
    }

    /// What happens to a record that cannot become a document. Default: [`OnBadRecord::Fail`].
    #[must_use]
    pub fn on_bad_record(mut self, policy: OnBadRecord) -> Self {
        self.on_bad_record = policy;
        self
    }

    /// How many undrained ledger entries end the stream with [`LoadError::LedgerFull`]. Default: 100,000.
    ///
    /// It bounds memory, and it is what stops a run whose every record is skipped because, say, the field's name is wrong.
    #[must_use]
    pub fn with_ledger_capacity(mut self, entries: usize) -> Self {
        self.ledger_capacity = entries;
        self
    }

    /// Continues behind the last document of an earlier run over the same corpus.
    #[must_use]
    pub fn resume_from(mut self, cursor: Cursor) -> Self {
        self.resume_from = cursor;
        self
    }

    /// Refuses to open any corpus but this one, with what differs. Worth having beside [`resume_from`](Self::resume_from):
    /// a position in another corpus may not exist there, which says less.
    #[must_use]
    pub fn expect_identity(mut self, identity: CorpusIdentity) -> Self {
        self.expected = Some(identity);
        self
    }

    /// Lists the files and opens the loader; reading starts with the first document asked for.
    ///
    /// # Errors
    ///
    /// When an input is missing, a glob matches nothing, a directory holds nothing to read, a file is named twice, an option
    /// is out of range, the corpus is not the expected one, or the cursor does not lie in it.
    pub fn build(self) -> Result<StreamingDatasetLoader, LoadError> {
        check_options(&self.selection, self.ledger_capacity)?;
        self.split.as_ref().map_or(Ok(()), Split::check)?;
        let listing = inputs::resolve(self.inputs, &self.selection)?;
        if let Some(expected) = &self.expected {
            let differences = expected.diff(&CorpusIdentity::of(&self.selection, &listing.files));
            if !differences.is_empty() {
                return Err(LoadError::OtherCorpus { differences });
            }
        }
        check_cursor(&self.resume_from, &listing.files)?;
        let running = Running {
            on_bad_record: self.on_bad_record,
            ledger_capacity: self.ledger_capacity,
            max_documents: self.max_documents.unwrap_or(u64::MAX),
            split: self.split,
        };
        Ok(StreamingDatasetLoader::new(
            listing,
            self.selection,
            running,
            self.resume_from,
        ))
    }
}

fn check_options(selection: &Selection, ledger_capacity: usize) -> Result<(), LoadError> {
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

fn check_cursor(cursor: &Cursor, files: &[InputFile]) -> Result<(), LoadError> {
    let invalid = |reason| Err(LoadError::InvalidCursor { reason });
    let index = usize::try_from(cursor.file_index).unwrap_or(usize::MAX);
    let Some(file) = files.get(index) else {
        return match index == files.len() {
            true => Ok(()),
            false => invalid(format!(
                "the position is in file {} of a corpus of {}",
                index.saturating_add(1),
                files.len()
            )),
        };
    };
    match file.size {
        Some(size) if file.is_plain() && cursor.mark.byte_offset > size => invalid(format!(
            "the position is at byte {} of `{}`, which has {size}",
            cursor.mark.byte_offset, file.name
        )),
        _ => Ok(()),
    }
}
