//! One file of a corpus: where its bytes come from, the parts that it is cut into, and its records.

mod count;
mod records;
mod rows;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::bad_record::{BadReason, Fault};
use crate::byte_stream::{ByteStream, Decompression, RawBytes};
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::inputs::Named;
use crate::interrupt::Interrupt;
use crate::looks::{HEAD_BYTES, Looks, utf16_of};
use crate::options::{Compression, CorpusOptions, Format, TextUnit};
use crate::own_records::Records;
use crate::records::dealt::Deal;
use crate::records::own::{self, Documents};
use crate::records::parquet::ParquetFile;
#[cfg(feature = "remote")]
use crate::remote::RemoteSource;

/// One file of the corpus.
pub(crate) struct InputFile {
    /// The path as given, separators `/`, without leading `./`.
    pub(crate) name: Arc<str>,
    pub(crate) source: Source,
    /// Number of the input by which it was found: a file of its own, or one of a folder's.
    pub(crate) input: usize,
    /// Bytes on disk when the loader was built; unknown for streams.
    pub(crate) size: Option<u64>,
    /// What the file holds; text where only its bytes will tell.
    format: Format,
    /// How it is compressed; none where only its bytes will tell.
    compression: Option<Compression>,
    certainty: Certainty,
    /// Whether it is UTF-16, once that is known.
    is_utf16: OnceLock<bool>,
    /// Which records are read, where shards share the corpus record by record.
    pub(crate) deal: Option<Deal>,
    /// The footer of a Parquet file, once it was read.
    parquet: Mutex<Option<Arc<ParquetFile>>>,
    /// Where the parts of a table behind the first one begin, once it was cut.
    row_starts: OnceLock<Box<[Mark]>>,
}

/// How it is known what a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    /// The caller says so.
    Told,
    /// Its name says so, or its first bytes have said so.
    Known,
    /// It is not known yet: its first bytes will say so when it is opened.
    Unknown,
}

/// Where the bytes come from.
pub(crate) enum Source {
    /// A regular file, which can be opened again and sought in.
    File(PathBuf),
    /// A pipe or device, opened when its turn comes unless reading ends before.
    Pipe(PathBuf, Interrupt),
    /// A stream that can be taken once.
    Reader(Mutex<Option<Box<dyn Read + Send>>>),
    /// Documents that can be taken once.
    Documents(Mutex<Option<Documents>>),
    /// Records that a program finds by their numbers.
    Records(Arc<dyn Records>),
    /// A file behind a network.
    #[cfg(feature = "remote")]
    Remote(RemoteSource),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Pipe(path, _) => f.debug_tuple("Pipe").field(path).finish(),
            Self::Reader(_) => f.write_str("Reader"),
            Self::Documents(_) => f.write_str("Documents"),
            Self::Records(records) => f.debug_tuple("Records").field(records).finish(),
            #[cfg(feature = "remote")]
            Self::Remote(remote) => f.debug_tuple("Remote").field(remote).finish(),
        }
    }
}

impl InputFile {
    /// Creates a file of which nothing was read yet. What its name stands for matters where the
    /// caller does not say what it is.
    pub(crate) fn new(
        name: String,
        source: Source,
        size: Option<u64>,
        selection: &CorpusOptions,
        named: Named,
    ) -> Self {
        let is_document = matches!(source, Source::Documents(_) | Source::Records(_));
        let certainty = match (selection.format, named.format) {
            // What is a document already has no format.
            _ if is_document => Certainty::Told,
            (Some(_), _) => Certainty::Told,
            (None, Some(_)) => Certainty::Known,
            (None, None) => Certainty::Unknown,
        };
        let compression = selection.compression.or(named.compression);
        Self {
            name: name.into(),
            source,
            input: 0,
            size,
            format: match is_document {
                true => Format::Text,
                false => selection.format.or(named.format).unwrap_or(Format::Text),
            },
            // A name that says what a file holds also says that it is not compressed.
            compression: compression
                .or_else(|| (certainty != Certainty::Unknown).then_some(Compression::None)),
            certainty,
            is_utf16: OnceLock::new(),
            deal: None,
            parquet: Mutex::default(),
            row_starts: OnceLock::new(),
        }
    }

    /// Returns what the file holds; text where only its bytes will tell, when it is opened.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Returns whether the file has a format, or only its bytes will tell; what is no file has none.
    pub(crate) fn may_be(&self, format: Format) -> bool {
        let is_document = matches!(self.source, Source::Documents(_) | Source::Records(_));
        let is_open = self.certainty == Certainty::Unknown;
        !is_document && (is_open || self.format == format)
    }

    /// Returns whether records are found by their numbers, which count from the beginning of the file.
    pub(crate) fn is_numbered(&self) -> bool {
        self.format == Format::Parquet || matches!(self.source, Source::Records(_))
    }

    /// Returns the number of records of a file whose records are found by their numbers.
    pub(crate) fn n_records(&self, selection: &CorpusOptions) -> Result<u64, Fault> {
        match &self.source {
            Source::Records(records) => Ok(records.n_records()),
            _ => Ok(self.parquet(selection)?.n_rows()),
        }
    }

    /// Returns whether the file is known to be compressed in a way.
    pub(crate) fn has_compression(&self, compression: Compression) -> bool {
        self.compression == Some(compression)
    }

    /// Returns whether the file is known to be compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compression
            .is_some_and(|kind| kind != Compression::None)
    }

    /// Finds out what a file holds whose name does not say so, if it can be opened again. What it
    /// is not read as, or cannot be opened, is reported when its turn comes.
    pub(crate) fn settle(&mut self, selection: &CorpusOptions) {
        if self.certainty != Certainty::Unknown || !self.is_readable_again() {
            return;
        }
        let (format, compression) = match self.looks(self.how(selection), selection) {
            Ok((Some(Looks::Records(format @ (Format::JsonLines | Format::Parquet))), how)) => {
                (format, how)
            }
            Ok((Some(Looks::Text | Looks::Utf16(_)), how)) => (Format::Text, how),
            _ => return,
        };
        (self.format, self.compression) = (format, Some(compression));
        self.certainty = Certainty::Known;
    }

    /// Opens the file and returns what its first bytes look like, and how it is compressed.
    fn looks(
        &self,
        how: Decompression,
        selection: &CorpusOptions,
    ) -> Result<(Option<Looks>, Compression), Fault> {
        let mut stream = ByteStream::open(self.open(0, HEAD_BYTES as u64)?, how, 0)?;
        Ok((
            stream.looks(&selection.text_field, false)?,
            stream.compression(),
        ))
    }

    /// Returns how the bytes are to be decompressed.
    fn how(&self, selection: &CorpusOptions) -> Decompression {
        Decompression {
            kind: self.compression,
            max_window_bytes: selection.max_window_bytes,
        }
    }

    /// Returns whether the file is to be read as plain text, and nobody has said so outright: rows of
    /// a table are no lines of text then, and tags are no words.
    fn may_be_else(&self) -> bool {
        self.certainty != Certainty::Told && self.format == Format::Text
    }

    /// Returns the format of a file that looks like something, or why it is not read as what it was
    /// to be.
    fn agreed(&self, looks: Looks) -> Result<Format, Fault> {
        let is_meant = match (self.certainty, looks) {
            (_, Looks::Empty | Looks::Text | Looks::Utf16(_)) => true,
            // Text that was said to be something is that, whatever it looks like.
            (Certainty::Told, Looks::Foreign(foreign)) => foreign.is_text,
            (Certainty::Told, Looks::Records(Format::Parquet) | Looks::Compressed(_)) => false,
            (Certainty::Told, _) => true,
            // Prose may have as many tabs in every line.
            (Certainty::Known, Looks::Rows) => true,
            (Certainty::Known, Looks::Records(found)) => found == self.format,
            (Certainty::Unknown, Looks::Records(Format::JsonLines)) => {
                return Ok(Format::JsonLines);
            }
            _ => false,
        };
        let read_as = match self.certainty {
            Certainty::Unknown => "plain text, as nothing says what it is",
            _ => self.format.name(),
        };
        match is_meant {
            true => Ok(self.format),
            false => Err(Fault::looks_like(read_as, looks)),
        }
    }

    /// Returns whether the file can be read from any byte, and again.
    pub(crate) fn is_seekable(&self) -> bool {
        match &self.source {
            Source::File(_) | Source::Records(_) => true,
            Source::Pipe(..) | Source::Reader(_) | Source::Documents(_) => false,
            #[cfg(feature = "remote")]
            Source::Remote(remote) => remote.has_ranges(),
        }
    }

    /// Returns whether the file is behind a network.
    pub(crate) fn is_remote(&self) -> bool {
        match &self.source {
            Source::File(_)
            | Source::Pipe(..)
            | Source::Reader(_)
            | Source::Documents(_)
            | Source::Records(_) => false,
            #[cfg(feature = "remote")]
            Source::Remote(_) => true,
        }
    }

    /// Returns whether the file can be opened more than once.
    pub(crate) fn is_readable_again(&self) -> bool {
        !matches!(
            self.source,
            Source::Pipe(..) | Source::Reader(_) | Source::Documents(_)
        )
    }

    /// Returns whether offsets into the documents' bytes are offsets into the file.
    pub(crate) fn is_plain(&self) -> bool {
        self.has_compression(Compression::None)
            && !self.is_numbered()
            && !matches!(self.source, Source::Documents(_))
            && !self.is_utf16()
    }

    /// Returns whether the file is UTF-16, whose text has other offsets. Looks at the first bytes
    /// where it was not read yet; what cannot be looked at is reported when it is read.
    fn is_utf16(&self) -> bool {
        *self.is_utf16.get_or_init(|| {
            let mut mark = [0; 2];
            let mut read = || match &self.source {
                Source::File(path) => File::open(path)?.read_exact(&mut mark),
                // Documents are text already.
                Source::Pipe(..)
                | Source::Reader(_)
                | Source::Documents(_)
                | Source::Records(_) => Ok(()),
                #[cfg(feature = "remote")]
                Source::Remote(remote) => remote.open(0, 2)?.read_exact(&mut mark),
            };
            read().is_ok() && utf16_of(&mark).is_some()
        })
    }

    /// Cuts the file into parts, in order; there is at least one, except for Parquet without rows.
    ///
    /// Parquet is always cut in the same way; files of lines and of rows only where parts of them are
    /// read out of turn.
    pub(crate) fn cut(
        &self,
        selection: &CorpusOptions,
        cut_lines: bool,
    ) -> Result<Vec<Extent>, Fault> {
        if let Source::Records(records) = &self.source {
            return Ok(own::cut(&**records, selection.extent_bytes));
        }
        if self.format == Format::Parquet {
            return Ok(self.parquet(selection)?.extents().to_vec());
        }
        let size = self.size.unwrap_or(0);
        let step = selection.extent_bytes;
        if self.has_cuttable_rows(selection, size) && !self.is_utf16() {
            return self.cut_rows(selection, size);
        }
        let can_cut = cut_lines && self.has_cuttable_lines(selection) && self.deal.is_none();
        if !can_cut || size <= step || self.is_utf16() {
            return Ok(vec![Extent::whole(size)]);
        }
        // Cut at multiples of the step and not at line breaks, which would have to be looked for:
        // each part is the lines that begin in it.
        let mut extents: Vec<_> = (0..size.div_ceil(step))
            .map(|number| Extent {
                start: number * step,
                end: (number + 1) * step,
                records: None,
                text_bytes: step,
            })
            .collect();
        if let Some(last) = extents.last_mut() {
            last.text_bytes = size - last.start;
            // A file that has grown must be read to its end, where the change is noticed.
            last.end = u64::MAX;
        }
        Ok(extents)
    }

    /// Returns whether records of the file can be found from any byte: where each is a line, and a
    /// line break ends it wherever it stands.
    pub(crate) fn has_cuttable_lines(&self, selection: &CorpusOptions) -> bool {
        let is_line = match self.format {
            Format::JsonLines => true,
            Format::Text => selection.text_unit == TextUnit::Line,
            // A quoted field of CSV may hold line breaks, and whether a break is in quotes only
            // shows from the top: see `cut_rows`.
            Format::Csv | Format::Tsv | Format::Parquet => false,
        };
        is_line
            && !self.is_numbered()
            && self.has_compression(Compression::None)
            && self.is_seekable()
    }

    /// Returns whether the file can be cut into parts of any size.
    pub(crate) fn can_be_cut(&self, selection: &CorpusOptions) -> bool {
        matches!(self.source, Source::Records(_)) || self.has_cuttable_lines(selection)
    }

    /// Opens the bytes for reading from `offset` on, at first up to `end`: knowing the end saves
    /// requests where files are remote.
    #[cfg_attr(
        not(feature = "remote"),
        expect(unused_variables, reason = "local files are sought in")
    )]
    fn open(&self, offset: u64, end: u64) -> Result<RawBytes, Fault> {
        // Offsets are those of the decompressed bytes, and of the text, which only reading from the
        // top leads to. At the top that is seen anyway.
        let is_plain = offset == 0 || self.is_plain();
        match &self.source {
            Source::File(path) => {
                let file = File::open(path).map_err(Fault::unreadable)?;
                Ok(match is_plain {
                    true => RawBytes::File(file),
                    false => RawBytes::Stream(Box::new(file)),
                })
            }
            Source::Pipe(path, interrupt) => {
                let pipe = interrupt.open(path).map_err(Fault::unreadable)?;
                Ok(RawBytes::Stream(interrupt.reading(pipe)))
            }
            Source::Reader(reader) => {
                let taken = reader.lock().unwrap_or_else(PoisonError::into_inner).take();
                let gone = || io::Error::other("a stream can be read once only");
                Ok(RawBytes::Stream(
                    taken.ok_or_else(|| Fault::unreadable(gone()))?,
                ))
            }
            Source::Documents(_) | Source::Records(_) => {
                Err(Fault::corrupt("documents are not read as bytes"))
            }
            #[cfg(feature = "remote")]
            Source::Remote(remote) => {
                let offset = if is_plain { offset } else { 0 };
                let bytes = remote.open(offset, end).map_err(Fault::unreadable)?;
                Ok(RawBytes::Tail(bytes, offset))
            }
        }
    }

    /// Returns the footer of a Parquet file, which is read when it is first asked for.
    pub(crate) fn parquet(&self, selection: &CorpusOptions) -> Result<Arc<ParquetFile>, Fault> {
        // The lock is not held while reading: two threads may read the same footer, and neither
        // waits for the other.
        if let Some(parquet) = self.known_parquet() {
            return Ok(parquet);
        }
        let opened = match &self.source {
            Source::File(path) => ParquetFile::open_local(path, selection),
            Source::Pipe(..) | Source::Reader(_) | Source::Documents(_) | Source::Records(_) => {
                return Err(Fault::corrupt("Parquet cannot be read as a stream"));
            }
            #[cfg(feature = "remote")]
            Source::Remote(remote) => remote
                .parquet()
                .map_err(Fault::unreadable)
                .and_then(|remote| ParquetFile::open_remote(remote, selection)),
        };
        // What has no footer may be something else than its name says.
        let parquet = opened.map_err(|fault| self.explained(fault, selection))?;
        let parquet = Arc::new(parquet);
        *self.parquet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&parquet));
        Ok(parquet)
    }

    /// Returns a fault of a file that was read as Parquet, or that it looks like something else.
    fn explained(&self, fault: Fault, selection: &CorpusOptions) -> Fault {
        if !matches!(*fault.reason, BadReason::Corrupt { .. }) {
            return fault;
        }
        let how = Decompression {
            kind: Some(Compression::None),
            ..self.how(selection)
        };
        match self.looks(how, selection) {
            Ok((Some(looks), _))
                if !matches!(looks, Looks::Empty | Looks::Records(Format::Parquet)) =>
            {
                Fault::looks_like(Format::Parquet.name(), looks)
            }
            _ => fault,
        }
    }

    /// Returns the footer, if it was read and not forgotten.
    fn known_parquet(&self) -> Option<Arc<ParquetFile>> {
        self.parquet
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Drops the footer once the file was read: a corpus may have many files.
    pub(crate) fn forget_parquet(&self) {
        *self.parquet.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
