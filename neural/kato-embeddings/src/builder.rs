//! Builder of [`Embeddings`]: what to read, and the reading itself.

use std::fs::File;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use kato_columns::map::Map;

use crate::cache::{self, Origins};
use crate::element::{Element, Number};
use crate::embeddings::Embeddings;
use crate::error::EmbeddingsError;
use crate::options::{Layout, OnBadLine, Options};
use crate::report::{Origin, Report};
use crate::source::SourceIdentity;
use crate::text::{Table, read_text};
use crate::vectors::Vectors;

/// Threads at most.
const MAX_WORKERS: usize = 1024;

/// Builder that opens [`Embeddings`]: see [`Embeddings::builder`].
///
/// # Examples
///
/// A few words of a large file, kept in a cache for the next time:
///
/// ```
/// use kato_embeddings::Embeddings;
/// use kato_embeddings::report::Origin;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("vectors.txt");
/// std::fs::write(&path, "3 2\nking 1 0.5\nqueen 0.75 0.5\nriver -1 0.25\n")?;
/// let open = || {
///     Embeddings::builder(&path)
///         .with_vocabulary(["river", "king", "sea"])
///         .with_cache(folder.path().join("vectors.cache"))
///         .open()
/// };
///
/// assert_eq!(open()?.report().origin, Origin::TextThenCached { refused: None });
/// let embeddings = open()?;
/// assert_eq!(embeddings.report().origin, Origin::Cache);
/// let words: Vec<&str> = embeddings.iter().map(|(word, _)| word).collect();
/// assert_eq!(words, ["king", "river"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddingsBuilder<E = f32> {
    path: PathBuf,
    options: Options,
    workers: Option<usize>,
    dims: Option<usize>,
    cache: Option<PathBuf>,
    element: PhantomData<E>,
}

impl EmbeddingsBuilder {
    /// Creates a builder with the defaults.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            options: Options::default(),
            workers: None,
            dims: None,
            cache: None,
            element: PhantomData,
        }
    }

    /// Keeps numbers as `f64`, as Python's `float()` reads them, in twice the memory.
    ///
    /// Needed where vectors must have the **names** that they have for other clients of a KATO
    /// server: a name is made from the vector's digits as `f64`, up to eight of them after the
    /// decimal point. The text `0.418` is 0.418 for a client that reads doubles, and 0.41800001 if
    /// it was an `f32` in between, which is another name and so another symbol.
    ///
    /// ```
    /// use kato_embeddings::Embeddings;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("vectors.txt");
    /// std::fs::write(&path, "the 0.418\n")?;
    /// let doubles = Embeddings::builder(&path).with_doubles().open()?;
    /// assert_eq!(doubles.get("the"), Some(&[0.418][..]));
    /// let singles = Embeddings::builder(&path).open()?;
    /// assert_ne!(singles.get("the").map(|the| f64::from(the[0])), Some(0.418));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_doubles(self) -> EmbeddingsBuilder<f64> {
        EmbeddingsBuilder {
            path: self.path,
            options: self.options,
            workers: self.workers,
            dims: self.dims,
            cache: self.cache,
            element: PhantomData,
        }
    }
}

impl<E: Element> EmbeddingsBuilder<E> {
    /// Restricts reading to these words. Called again, it adds words.
    ///
    /// The numbers of other words are mostly counted and not parsed: if one of them is not a number, it
    /// may go unnoticed.
    #[must_use]
    pub fn with_vocabulary<W: AsRef<str>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().into());
        self.options
            .vocabulary
            .get_or_insert_default()
            .extend(words);
        self
    }

    /// Stops reading once this many words are kept: files have the most frequent words first.
    #[must_use]
    pub fn with_max_words(mut self, words: usize) -> Self {
        self.options.max_words = Some(words);
        self
    }

    /// Sets the number of threads that read and search, at most 1,024. Default: as many as the
    /// processor runs at once.
    ///
    /// The results do not depend on it.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets how many numbers a line has. Default: what a header says, or as many as end the first
    /// line.
    #[must_use]
    pub fn with_dims(mut self, dims: usize) -> Self {
        self.dims = Some(dims);
        self
    }

    /// Sets whether there is a header. Default: [`Layout::Auto`].
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.options.layout = layout;
        self
    }

    /// Sets what happens when a line gives no vector. Default: [`OnBadLine::Fail`].
    #[must_use]
    pub fn on_bad_line(mut self, policy: OnBadLine) -> Self {
        self.options.on_bad_line = policy;
        self
    }

    /// Keeps the result in a file, and takes it from there as long as it fits the text and the
    /// options.
    ///
    /// A cache that is damaged, or was made from another text or with other options, is replaced,
    /// so each choice of options needs a file of its own. The file is replaced as a whole, so that
    /// several processes may share it, but nothing else may write to it while it is open. The text
    /// must be there too: it decides whether the cache is valid.
    #[must_use]
    pub fn with_cache(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache = Some(path.into());
        self
    }

    /// Reads the text or its cache.
    ///
    /// The first of equal words is kept. Memory is that of the result and a few MiB a worker.
    ///
    /// # Errors
    ///
    /// When the text cannot be read or is not one of vectors, a line is bad and the policy is to
    /// stop, an option is out of range, or the cache cannot be written.
    pub fn open(mut self) -> Result<Embeddings<E>, EmbeddingsError> {
        let at_least_one = |option: &'static str, number: usize| {
            NonZeroUsize::new(number).ok_or(EmbeddingsError::InvalidOption {
                option,
                reason: "at least 1",
            })
        };
        let workers = match self.workers {
            Some(workers) if workers > MAX_WORKERS => {
                return Err(EmbeddingsError::InvalidOption {
                    option: "with_workers",
                    reason: "at most 1024",
                });
            }
            Some(workers) => at_least_one("with_workers", workers)?,
            None => available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        if let Some(dims) = self.dims {
            self.options.dims = Some(at_least_one("with_dims", dims)?);
        }
        let read = EmbeddingsError::read;
        let file = File::open(&self.path).map_err(read(&self.path))?;
        // Of the open file, not of the path, which may name another file in the meantime.
        let metadata = file.metadata().map_err(read(&self.path))?;
        if !metadata.is_file() {
            return Err(EmbeddingsError::not_vectors(&self.path, "it is not a file"));
        }
        // Mapped even if there is a cache: its fingerprint decides whether the cache is of this
        // text.
        let text = Map::from_file(&self.path, &file).map_err(read(&self.path))?;
        let source = SourceIdentity::of(&metadata, &text);
        let Some(cache) = &self.cache else {
            let table = self.read(&text, &source, workers)?;
            return Ok(of_table(table, Origin::Text, &source, workers));
        };
        let origins = Origins {
            source,
            options: self.options.digest::<E>(),
        };
        let refused = match cache::load::<E>(cache, &origins, workers) {
            Ok(Some(loaded)) => return Ok(of_cache(loaded, &source, workers)),
            Ok(None) => None,
            Err(refusal) => Some(refusal),
        };
        let table = self.read(&text, &source, workers)?;
        cache::save(cache, &table, &origins).map_err(|source| EmbeddingsError::Cache {
            path: cache.clone(),
            source,
        })?;
        Ok(of_table(
            table,
            Origin::TextThenCached { refused },
            &source,
            workers,
        ))
    }

    /// Reads the text, and fails if it was changed meanwhile.
    fn read(
        &self,
        text: &Map,
        source: &SourceIdentity,
        workers: NonZeroUsize,
    ) -> Result<Table<E>, EmbeddingsError> {
        text.advise_sequential();
        let table = read_text(&self.path, text, &self.options, workers)?;
        source.check_unchanged(&self.path)?;
        Ok(table)
    }
}

/// Creates the result from what was read.
fn of_table<E: Number>(
    table: Table<E>,
    origin: Origin,
    source: &SourceIdentity,
    workers: NonZeroUsize,
) -> Embeddings<E> {
    Embeddings {
        dims: table.dims,
        report: Report {
            lines: table.lines,
            kept: table.words.len() as u64,
            duplicates: table.duplicates,
            bad_lines: table.bad_lines,
            bytes: source.bytes,
            origin,
        },
        words: table.words,
        vectors: Vectors::Owned {
            elements: table.elements,
            norms: table.norms,
        },
        workers,
    }
}

/// Creates the result from a cache.
fn of_cache<E: Number>(
    loaded: cache::Loaded,
    source: &SourceIdentity,
    workers: NonZeroUsize,
) -> Embeddings<E> {
    Embeddings {
        dims: loaded.dims,
        report: Report {
            lines: loaded.lines,
            kept: loaded.words.len() as u64,
            duplicates: loaded.duplicates,
            bad_lines: loaded.bad_lines,
            bytes: source.bytes,
            origin: Origin::Cache,
        },
        words: loaded.words,
        vectors: Vectors::Mapped(loaded.vectors),
        workers,
    }
}
