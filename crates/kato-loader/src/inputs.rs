//! From what the caller names to the ordered list of files.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::LoadError;
use crate::options::{Compression, Format, Selection};
use crate::walk;

/// One thing the caller asked to read.
pub(crate) enum Input {
    /// A file, a directory, a glob, or `-`.
    Path(PathBuf),
    /// A stream with a name.
    Reader(String, Box<dyn Read + Send>),
}

/// One file of the corpus.
#[derive(Debug)]
pub(crate) struct InputFile {
    /// The path as given, separators `/`, without leading `./`.
    pub(crate) name: Arc<str>,
    pub(crate) source: Source,
    /// Bytes on disk when the loader was built; unknown for streams.
    pub(crate) size: Option<u64>,
    pub(crate) format: Format,
    pub(crate) compression: Compression,
}

/// Where the bytes come from. Remote objects would be a further variant.
pub(crate) enum Source {
    /// A regular file, which can be opened again and sought in.
    File(PathBuf),
    /// A pipe or device, opened when its turn comes.
    Pipe(PathBuf),
    /// A stream that can be taken once.
    Reader(Option<Box<dyn Read + Send>>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Pipe(path) => f.debug_tuple("Pipe").field(path).finish(),
            Self::Reader(_) => f.write_str("Reader"),
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Reader(name, _) => f.debug_tuple("Reader").field(name).finish(),
        }
    }
}

/// The files of a corpus, and those a directory held beside them.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<InputFile>,
    pub(crate) ignored: Vec<PathBuf>,
}

/// Lists all files in the order in which they are read.
pub(crate) fn resolve(inputs: Vec<Input>, selection: &Selection) -> Result<Listing, LoadError> {
    if inputs.is_empty() {
        return Err(LoadError::NoInput);
    }
    let mut listing = Listing::default();
    for input in inputs {
        match input {
            Input::Path(path) if path.as_os_str() == "-" => {
                listing.push_reader("-", Box::new(io::stdin()), selection)?;
            }
            Input::Path(path) => listing.push_path(&path, selection)?,
            Input::Reader(name, reader) => listing.push_reader(&name, reader, selection)?,
        }
    }
    listing.check_duplicates()?;
    Ok(listing)
}

impl Listing {
    fn push_reader(
        &mut self,
        name: &str,
        reader: Box<dyn Read + Send>,
        selection: &Selection,
    ) -> Result<(), LoadError> {
        self.push(
            name.to_owned(),
            Source::Reader(Some(reader)),
            None,
            selection,
        )
    }

    fn push_path(&mut self, path: &Path, selection: &Selection) -> Result<(), LoadError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.push_directory(path, selection),
            Ok(metadata) => self.push_file(path, &metadata, selection),
            Err(_) if walk::is_glob(path) => self.push_glob(path, selection),
            Err(source) => Err(input_error(path, source)),
        }
    }

    fn push_directory(&mut self, directory: &Path, selection: &Selection) -> Result<(), LoadError> {
        let before = self.files.len();
        for path in walk::files_below(directory, usize::MAX)? {
            if selection.format.is_none() && known_format(&path).is_none() {
                self.ignored.push(path);
            } else {
                self.push_found(&path, selection)?;
            }
        }
        if self.files.len() == before {
            return Err(LoadError::EmptyDirectory {
                path: name_of(directory),
            });
        }
        Ok(())
    }

    fn push_glob(&mut self, pattern: &Path, selection: &Selection) -> Result<(), LoadError> {
        let matches = walk::matching(pattern)?;
        if matches.is_empty() {
            return Err(LoadError::EmptyGlob {
                pattern: name_of(pattern),
            });
        }
        matches
            .iter()
            .try_for_each(|path| self.push_found(path, selection))
    }

    fn push_found(&mut self, path: &Path, selection: &Selection) -> Result<(), LoadError> {
        let metadata = fs::metadata(path).map_err(|source| input_error(path, source))?;
        self.push_file(path, &metadata, selection)
    }

    fn push_file(
        &mut self,
        path: &Path,
        metadata: &fs::Metadata,
        selection: &Selection,
    ) -> Result<(), LoadError> {
        let (source, size) = if metadata.is_file() {
            (Source::File(path.to_owned()), Some(metadata.len()))
        } else {
            (Source::Pipe(path.to_owned()), None)
        };
        self.push(name_of(path), source, size, selection)
    }

    fn push(
        &mut self,
        name: String,
        source: Source,
        size: Option<u64>,
        selection: &Selection,
    ) -> Result<(), LoadError> {
        let path = Path::new(&name);
        let compression = selection
            .compression
            .unwrap_or_else(|| compression_of(path));
        let format = selection
            .format
            .or_else(|| known_format(path))
            .unwrap_or(Format::Text);
        if format == Format::Parquet {
            let reason = if compression != Compression::None {
                Some("Parquet must not be compressed again; decompress the file first")
            } else if size.is_none() {
                Some("Parquet cannot be read from a stream; store it in a file first")
            } else {
                None
            };
            if let Some(reason) = reason {
                return Err(LoadError::Unsupported { name, reason });
            }
        }
        self.files.push(InputFile {
            name: name.into(),
            source,
            size,
            format,
            compression,
        });
        Ok(())
    }

    fn check_duplicates(&self) -> Result<(), LoadError> {
        let mut seen = HashSet::new();
        for file in &self.files {
            let key = match &file.source {
                Source::File(path) | Source::Pipe(path) => {
                    std::path::absolute(path).unwrap_or_else(|_| path.clone())
                }
                Source::Reader(_) => PathBuf::from(&*file.name),
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

pub(crate) fn input_error(path: &Path, source: io::Error) -> LoadError {
    LoadError::Input {
        input: path.display().to_string(),
        source,
    }
}

/// The path as given, in the form that names it in ids and identities on every system.
fn name_of(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::RootDir => String::new(),
            other => other.as_os_str().to_string_lossy().into_owned(),
        })
        .collect();
    match parts.join("/") {
        name if name.is_empty() => ".".to_owned(),
        name => name,
    }
}

fn compression_of(path: &Path) -> Compression {
    match extension(path).as_deref() {
        Some("gz" | "gzip") => Compression::Gzip,
        Some("zst" | "zstd") => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The format an extension stands for; `None` when it stands for none.
fn known_format(path: &Path) -> Option<Format> {
    let inner = match compression_of(path) {
        Compression::None => path,
        Compression::Gzip | Compression::Zstd => Path::new(path.file_stem()?),
    };
    match extension(inner)?.as_str() {
        "txt" | "text" | "md" | "markdown" | "rst" | "tex" | "log" => Some(Format::Text),
        "jsonl" | "ndjson" | "json" => Some(Format::JsonLines),
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_ascii_lowercase())
}
