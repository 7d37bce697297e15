//! Turns what the caller names into the ordered list of files.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::error::LoadError;
use crate::file_identity::FileIdentity;
use crate::file_name::{name_of, path_of};
use crate::ignored::{self, IgnoredFile, IgnoredReason};
use crate::input_file::{InputFile, Source};
use crate::interrupt::Interrupt;
use crate::options::{Compression, CorpusOptions, Format};
use crate::own_records::Records;
use crate::records::own::Documents;
#[cfg(feature = "remote")]
use crate::remote::{self, RemoteSource};
#[cfg(feature = "stream")]
use crate::stream_documents;
use crate::walk;

/// One thing the caller asked to read.
pub(crate) enum Input {
    /// A file, a directory, a glob, or `-`.
    Path(PathBuf),
    /// A stream with a name.
    Reader(String, Box<dyn Read + Send>),
    /// Documents with a name.
    Documents(String, Documents),
    /// Documents of an async stream, with a name.
    #[cfg(feature = "stream")]
    Stream(String, stream_documents::Documents),
    /// Rows of record batches, with a name.
    #[cfg(feature = "arrow")]
    Batches(
        String,
        Box<dyn Iterator<Item = arrow_array::RecordBatch> + Send>,
    ),
    /// Records with a name.
    Records(String, Arc<dyn Records>),
    /// A remote file of a corpus that was listed before.
    #[cfg(feature = "remote")]
    Known(FileIdentity),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "remote")]
            Self::Path(path) if remote::is_location(path) => {
                f.debug_tuple("Path").field(&remote::shown(path)).finish()
            }
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Reader(name, _) => f.debug_tuple("Reader").field(name).finish(),
            Self::Documents(name, _) => f.debug_tuple("Documents").field(name).finish(),
            #[cfg(feature = "stream")]
            Self::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
            #[cfg(feature = "arrow")]
            Self::Batches(name, _) => f.debug_tuple("Batches").field(name).finish(),
            Self::Records(name, _) => f.debug_tuple("Records").field(name).finish(),
            #[cfg(feature = "remote")]
            Self::Known(file) => f.debug_tuple("Known").field(file).finish(),
        }
    }
}

impl From<&FileIdentity> for Input {
    /// Creates the input of a file of a corpus that was listed before.
    fn from(file: &FileIdentity) -> Self {
        #[cfg(feature = "remote")]
        if remote::is_location(Path::new(&file.name)) {
            return Self::Known(file.clone());
        }
        Self::Path(path_of(&file.name))
    }
}

/// The files of a corpus, and those that a directory held beside them.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<InputFile>,
    pub(crate) ignored: Vec<IgnoredFile>,
    interrupt: Interrupt,
}

/// Lists all files in the order in which they are read.
///
/// # Errors
///
/// When there is no input, one cannot be listed or read, or two lead to the same file.
pub(crate) fn resolve(
    inputs: Vec<Input>,
    selection: &CorpusOptions,
    interrupt: &Interrupt,
    #[cfg(feature = "remote")] remote: &remote::Access,
) -> Result<Listing, LoadError> {
    if inputs.is_empty() {
        return Err(LoadError::NoInput);
    }
    let mut listing = Listing {
        interrupt: interrupt.clone(),
        ..Listing::default()
    };
    for (number, input) in inputs.into_iter().enumerate() {
        let before = listing.files.len();
        match input {
            Input::Path(path) if path.as_os_str() == "-" => {
                listing.push_reader("-", interrupt.reading(io::stdin()), selection)?;
            }
            #[cfg(feature = "remote")]
            Input::Path(path) if remote::is_location(&path) => {
                let passed_over = listing.ignored.len();
                for file in remote.list(&path, &mut listing.ignored)? {
                    listing.push_remote(file, selection)?;
                }
                if listing.files.len() == before {
                    return Err(LoadError::EmptyDirectory {
                        path: remote::shown(&path),
                        ignored: ignored::in_words(&listing.ignored[passed_over..]),
                    });
                }
            }
            #[cfg(feature = "remote")]
            Input::Known(file) => listing.push_remote(remote.known(&file), selection)?,
            #[cfg(not(feature = "remote"))]
            Input::Path(path) if path.to_string_lossy().contains("://") => {
                // What may grant access stands behind the scheme.
                let name = name_of(&path);
                let scheme = name.split("://").next().unwrap_or_default();
                return Err(LoadError::Unsupported {
                    name: format!("{scheme}://…"),
                    reason: "this build reads local files only; enable the feature `remote`",
                });
            }
            Input::Path(path) => listing.push_path(&path, selection)?,
            Input::Reader(name, reader) => listing.push_reader(&name, reader, selection)?,
            Input::Documents(name, documents) => {
                listing.push_documents(name, documents, selection)?;
            }
            #[cfg(feature = "stream")]
            Input::Stream(name, documents) => {
                let interrupt = interrupt.clone();
                let documents = stream_documents::Awaited {
                    documents,
                    interrupt,
                };
                listing.push_documents(name, Box::new(documents), selection)?;
            }
            #[cfg(feature = "arrow")]
            Input::Batches(name, batches) => {
                let documents = crate::record_batches::documents(batches, selection);
                listing.push_documents(name, Box::new(documents), selection)?;
            }
            Input::Records(name, records) => {
                // For a forecast of what is left, and for the windows of a shuffle.
                let size = records.n_records().saturating_mul(records.mean_bytes());
                let source = Source::Records(records);
                listing.push(name, source, Some(size), Named::default(), selection)?;
            }
        }
        for file in &mut listing.files[before..] {
            file.input = number;
        }
    }
    listing.check_duplicates()?;
    Ok(listing)
}

impl Listing {
    /// Adds a stream.
    fn push_reader(
        &mut self,
        name: &str,
        reader: Box<dyn Read + Send>,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        self.push(
            name.to_owned(),
            Source::Reader(Mutex::new(Some(reader))),
            None,
            Named::by_path(Path::new(name)),
            selection,
        )
    }

    /// Adds documents that come one after the other.
    fn push_documents(
        &mut self,
        name: String,
        documents: Documents,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        let source = Source::Documents(Mutex::new(Some(documents)));
        self.push(name, source, None, Named::default(), selection)
    }

    /// Adds what a path stands for: a file, the files of a directory, or those that match a glob.
    fn push_path(&mut self, path: &Path, selection: &CorpusOptions) -> Result<(), LoadError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.push_directory(path, selection),
            Ok(metadata) => self.push_file(path, &metadata, selection),
            // A name that exists is taken as it is, so files with brackets in their names need no
            // escape.
            Err(_) if walk::is_glob(path) => self.push_glob(path, selection),
            Err(source) => Err(LoadError::input(path, source)),
        }
    }

    /// Adds the files below a directory, sorted by path; those of no known format, and what cannot
    /// be read, are listed as ignored.
    fn push_directory(
        &mut self,
        directory: &Path,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        #[cfg(feature = "remote")]
        if let Some(found) = crate::hub_folder::files(directory)? {
            self.ignored.extend(found.ignored);
            let mut files = found.files.iter();
            return files.try_for_each(|path| self.push_found(path, selection));
        }
        let before = self.files.len();
        let mut found = walk::files_below(directory, usize::MAX)?;
        for path in found.files {
            if selection.format.is_none() && Format::from_path(&path).is_none() {
                let reason = IgnoredReason::UnknownExtension;
                found.ignored.push(IgnoredFile::new(path, reason));
            } else {
                self.push_found(&path, selection)?;
            }
        }
        if self.files.len() == before {
            return Err(LoadError::EmptyDirectory {
                path: name_of(directory),
                ignored: ignored::in_words(&found.ignored),
            });
        }
        found.ignored.sort_by(|a, b| a.path.cmp(&b.path));
        self.ignored.append(&mut found.ignored);
        Ok(())
    }

    /// Adds the files that match a pattern, whatever their extensions.
    fn push_glob(&mut self, pattern: &Path, selection: &CorpusOptions) -> Result<(), LoadError> {
        let mut matches = walk::matching(pattern)?;
        if matches.files.is_empty() {
            return Err(LoadError::EmptyGlob {
                pattern: name_of(pattern),
                ignored: ignored::in_words(&matches.ignored),
            });
        }
        self.ignored.append(&mut matches.ignored);
        matches
            .files
            .iter()
            .try_for_each(|path| self.push_found(path, selection))
    }

    /// Adds a remote file, unless it was found in a folder and has no known format.
    #[cfg(feature = "remote")]
    fn push_remote(
        &mut self,
        file: RemoteSource,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        let (name, size) = (file.name().to_owned(), file.size());
        let named = Named::by_server(&file);
        // What a repository or a bucket holds beside text is not read, like in a directory.
        if selection.format.is_none() && file.is_of_folder() && named.format.is_none() {
            let reason = IgnoredReason::UnknownExtension;
            self.ignored.push(IgnoredFile::new(name, reason));
            return Ok(());
        }
        self.push(name, Source::Remote(file), size, named, selection)
    }

    /// Adds a file that a listing found.
    fn push_found(&mut self, path: &Path, selection: &CorpusOptions) -> Result<(), LoadError> {
        let metadata = fs::metadata(path).map_err(|source| LoadError::input(path, source))?;
        self.push_file(path, &metadata, selection)
    }

    /// Adds a file, or a pipe where it is no regular file.
    fn push_file(
        &mut self,
        path: &Path,
        metadata: &fs::Metadata,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        let (source, size) = if metadata.is_file() {
            (Source::File(path.to_owned()), Some(metadata.len()))
        } else {
            // What is no regular file has no size to check and no position to go back to.
            let pipe = Source::Pipe(path.to_owned(), self.interrupt.clone());
            (pipe, None)
        };
        self.push(name_of(path), source, size, Named::by_path(path), selection)
    }

    /// Adds a file with the format and compression that are chosen, or that its name stands for.
    fn push(
        &mut self,
        name: String,
        source: Source,
        size: Option<u64>,
        named: Named,
        selection: &CorpusOptions,
    ) -> Result<(), LoadError> {
        let mut file = InputFile::new(name, source, size, selection, named);
        // What is neither told nor known by its name is looked at: now where that costs little,
        // since a file that can be sought in may be cut.
        file.settle(selection);
        if cfg!(not(feature = "compression")) && file.is_compressed() {
            return Err(LoadError::Unsupported {
                name: file.name.to_string(),
                reason: "this build reads no compressed files; enable the feature `compression`",
            });
        }
        if file.format() == Format::Parquet {
            let reason = if cfg!(not(feature = "parquet")) {
                Some("this build does not read Parquet; enable the feature `parquet`")
            } else if !file.has_compression(Compression::None) {
                Some("Parquet must not be compressed again; decompress the file first")
            } else if size.is_none() {
                Some("Parquet cannot be read from a stream; store it in a file first")
            } else {
                None
            };
            if let Some(reason) = reason {
                let name = file.name.to_string();
                return Err(LoadError::Unsupported { name, reason });
            }
        }
        self.files.push(file);
        Ok(())
    }

    /// Refuses files that are named twice, whose documents would come twice.
    fn check_duplicates(&self) -> Result<(), LoadError> {
        let mut seen = HashSet::new();
        for file in &self.files {
            // Absolute and not canonical: two links to one file count as two files.
            let key = match &file.source {
                Source::File(path) | Source::Pipe(path, _) => {
                    std::path::absolute(path).unwrap_or_else(|_| path.clone())
                }
                Source::Reader(_) | Source::Documents(_) | Source::Records(_) => {
                    PathBuf::from(&*file.name)
                }
                #[cfg(feature = "remote")]
                Source::Remote(_) => PathBuf::from(&*file.name),
            };
            if !seen.insert(key) {
                return Err(LoadError::DuplicateFile {
                    name: file.name.to_string(),
                });
            }
        }
        Ok(())
    }
}

/// What a file is by its name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named {
    pub(crate) format: Option<Format>,
    pub(crate) compression: Option<Compression>,
}

impl Named {
    /// Returns what the extensions of a path stand for.
    fn by_path(path: &Path) -> Self {
        Self {
            format: Format::from_path(path),
            compression: Compression::from_path(path),
        }
    }

    /// Returns what a remote file is: by its own name, else by the one that its server gives it,
    /// else by the type that its server says it has.
    #[cfg(feature = "remote")]
    fn by_server(file: &RemoteSource) -> Self {
        let (own, served) = file.names();
        let by_type = || {
            let format = match file.content_type()? {
                "application/jsonl"
                | "application/x-jsonlines"
                | "application/x-ndjson"
                | "application/ndjson"
                | "application/jsonlines" => Format::JsonLines,
                "text/csv" | "application/csv" => Format::Csv,
                "text/tab-separated-values" => Format::Tsv,
                "application/vnd.apache.parquet" | "application/x-parquet" => Format::Parquet,
                // Servers say that anything is plain text, or bytes.
                _ => return None,
            };
            Some(Self {
                format: Some(format),
                compression: None,
            })
        };
        let names = [Some(own), served].into_iter().flatten();
        let mut named = names.map(|name| Self::by_path(Path::new(&name)));
        let by_name = named.find(|named| named.format.is_some() || named.compression.is_some());
        by_name.or_else(by_type).unwrap_or_default()
    }
}
