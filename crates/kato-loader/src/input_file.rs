//! One file of a corpus: where its bytes come from, the parts that it is cut into, and its records.

mod records;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bad_record::Fault;
use crate::byte_stream::RawBytes;
use crate::extent::Extent;
use crate::interrupt::Interrupt;
use crate::options::{Compression, CorpusOptions, Format, TextUnit};
use crate::records::parquet::ParquetFile;
#[cfg(feature = "remote")]
use crate::remote::RemoteSource;

/// One file of the corpus.
pub(crate) struct InputFile {
    /// The path as given, separators `/`, without leading `./`.
    pub(crate) name: Arc<str>,
    pub(crate) source: Source,
    /// Bytes on disk when the loader was built; unknown for streams.
    pub(crate) size: Option<u64>,
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    /// The footer of a Parquet file, once it was read.
    parquet: Mutex<Option<Arc<ParquetFile>>>,
}

/// Where the bytes come from.
pub(crate) enum Source {
    /// A regular file, which can be opened again and sought in.
    File(PathBuf),
    /// A pipe or device, opened when its turn comes unless reading ends before.
    Pipe(PathBuf, Interrupt),
    /// A stream that can be taken once.
    Reader(Mutex<Option<Box<dyn Read + Send>>>),
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
            #[cfg(feature = "remote")]
            Self::Remote(remote) => f.debug_tuple("Remote").field(remote).finish(),
        }
    }
}

impl InputFile {
    /// Creates a file of which nothing was read yet.
    pub(crate) fn new(
        name: String,
        source: Source,
        size: Option<u64>,
        format: Format,
        compression: Compression,
    ) -> Self {
        Self {
            name: name.into(),
            source,
            size,
            format,
            compression,
            parquet: Mutex::default(),
        }
    }

    /// Returns whether the file can be read from any byte, and again.
    pub(crate) fn is_seekable(&self) -> bool {
        match &self.source {
            Source::File(_) => true,
            Source::Pipe(..) | Source::Reader(_) => false,
            #[cfg(feature = "remote")]
            Source::Remote(remote) => remote.has_ranges(),
        }
    }

    /// Returns whether the file is behind a network.
    pub(crate) fn is_remote(&self) -> bool {
        match &self.source {
            Source::File(_) | Source::Pipe(..) | Source::Reader(_) => false,
            #[cfg(feature = "remote")]
            Source::Remote(_) => true,
        }
    }

    /// Returns whether the file can be opened more than once.
    pub(crate) fn is_readable_again(&self) -> bool {
        !matches!(self.source, Source::Pipe(..) | Source::Reader(_))
    }

    /// Returns whether offsets into the documents' bytes are offsets into the file.
    pub(crate) fn is_plain(&self) -> bool {
        self.compression == Compression::None && self.format != Format::Parquet
    }

    /// Cuts the file into parts, in order; there is at least one, except for Parquet without rows.
    ///
    /// Parquet is always cut in the same way; files of lines only where parts of them are read out
    /// of turn.
    pub(crate) fn cut(
        &self,
        selection: &CorpusOptions,
        cut_lines: bool,
    ) -> Result<Vec<Extent>, Fault> {
        if self.format == Format::Parquet {
            return Ok(self.parquet(selection)?.extents().to_vec());
        }
        let size = self.size.unwrap_or(0);
        let step = selection.extent_bytes;
        if !(cut_lines && self.has_cuttable_lines(selection)) || size <= step {
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
            // shows from the top.
            Format::Csv | Format::Tsv | Format::Parquet => false,
        };
        is_line && self.compression == Compression::None && self.is_seekable()
    }

    /// Opens the bytes for reading from `offset` on, at first up to `end`: knowing the end saves
    /// requests where files are remote.
    #[cfg_attr(
        not(feature = "remote"),
        expect(unused_variables, reason = "local files are sought in")
    )]
    pub(crate) fn open(&self, offset: u64, end: u64) -> Result<RawBytes, Fault> {
        match &self.source {
            Source::File(path) => {
                let file = File::open(path).map_err(Fault::unreadable)?;
                Ok(RawBytes::File(file))
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
            #[cfg(feature = "remote")]
            Source::Remote(remote) => {
                // Offsets are those of the decompressed bytes, which only decompressing from the
                // top leads to.
                let offset = match self.compression {
                    Compression::None => offset,
                    Compression::Gzip | Compression::Zstd => 0,
                };
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
        let parquet = match &self.source {
            Source::File(path) => ParquetFile::open_local(path, selection)?,
            Source::Pipe(..) | Source::Reader(_) => {
                return Err(Fault::corrupt("Parquet cannot be read as a stream"));
            }
            #[cfg(feature = "remote")]
            Source::Remote(remote) => {
                let remote = remote.parquet().map_err(Fault::unreadable)?;
                ParquetFile::open_remote(remote, selection)?
            }
        };
        let parquet = Arc::new(parquet);
        *self.parquet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&parquet));
        Ok(parquet)
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
