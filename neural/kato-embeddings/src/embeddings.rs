//! The main type of the crate: words and their vectors.

use std::iter::FusedIterator;
use std::num::NonZeroUsize;
use std::path::Path;

use crate::builder::EmbeddingsBuilder;
use crate::cosine::norm;
use crate::element::Element;
use crate::error::QueryError;
use crate::nearest::{Candidate, Neighbour, Searched, nearest};
use crate::report::Report;
use crate::vectors::Vectors;
use crate::words::Words;

/// Words with a vector each, all of one dimension, in the order of their file.
///
/// Elements are `f32`, or `f64` when opened [with doubles](EmbeddingsBuilder::with_doubles). Shared
/// between threads by reference. When opened from a cache, the vectors stay in the mapped file:
/// only what is looked at takes memory. Should somebody write to that file, searches that notice it fail, and the vectors
/// themselves, which are borrowed from it, are what was written.
///
/// # Examples
///
/// ```
/// use kato_embeddings::Embeddings;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("vectors.txt");
/// std::fs::write(&path, "king 1 0.5\nqueen 0.75 0.5\nriver -1 0.25\n")?;
///
/// let embeddings = Embeddings::builder(&path).open()?;
/// assert_eq!((embeddings.len(), embeddings.dims()), (3, 2));
/// assert_eq!(embeddings.get("king"), Some(&[1.0, 0.5][..]));
///
/// let nearest = embeddings.nearest_to("king", 1)?;
/// assert_eq!(nearest[0].word, "queen");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Embeddings<E = f32> {
    pub(crate) dims: usize,
    pub(crate) words: Words,
    pub(crate) vectors: Vectors<E>,
    pub(crate) report: Report,
    pub(crate) workers: NonZeroUsize,
}

impl Embeddings {
    /// Creates a builder that opens a file of vectors in GloVe's or word2vec's text form, plain or
    /// compressed with gzip or Zstandard.
    ///
    /// The file is mapped into memory while it is read: [`open`](EmbeddingsBuilder::open) fails where it
    /// is changed meanwhile. On other systems than Linux one that is cut off meanwhile ends the process.
    pub fn builder(path: impl AsRef<Path>) -> EmbeddingsBuilder {
        EmbeddingsBuilder::new(path.as_ref())
    }
}

impl<E: Element> Embeddings<E> {
    /// Returns the number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there are no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements of each vector; at least 1.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Returns the vector of a word.
    ///
    /// **Complexity**: O(1), beside the word's length.
    #[must_use]
    pub fn get(&self, word: &str) -> Option<&[E]> {
        self.vector(self.index_of(word)?)
    }

    /// Returns the number of a word, from 0 in the order of the file.
    #[must_use]
    pub fn index_of(&self, word: &str) -> Option<usize> {
        self.words.index_of(word)
    }

    /// Returns the word of a number; `None` from [`len`](Self::len) on.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<&str> {
        self.words.word(index)
    }

    /// Returns the vector of a number; `None` from [`len`](Self::len) on.
    #[must_use]
    pub fn vector(&self, index: usize) -> Option<&[E]> {
        // The index is the caller's, and may be any.
        let start = index.checked_mul(self.dims)?;
        self.matrix().get(start..)?.get(..self.dims)
    }

    /// Returns all vectors, one behind the other.
    ///
    /// **Shape**: [`len`](Self::len) × [`dims`](Self::dims), by rows.
    #[must_use]
    pub fn matrix(&self) -> &[E] {
        self.vectors.elements()
    }

    /// Returns the Euclidean length of every vector, in the order of the words.
    #[must_use]
    pub fn norms(&self) -> &[f64] {
        self.vectors.norms()
    }

    /// Returns the words with their vectors, in the order of the file.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[E])> + FusedIterator {
        let vectors = self.matrix().chunks_exact(self.dims);
        let words = 0..self.len();
        // Every number below the length has a word, so that the default never appears.
        words
            .zip(vectors)
            .map(|(index, vector)| (self.word(index).unwrap_or_default(), vector))
    }

    /// Returns the `k` words whose vectors have the smallest angle with `vector`, nearest first, of
    /// equally near ones the earlier in the file. All words if there are fewer.
    ///
    /// The search is exact, and its result has the same bits for any number of workers.
    /// **Formula**: a·b / (|a|·|b|), summed in `f64`; 0 where a vector is all zero. **Complexity**:
    /// O(`len` · `dims`), shared by the workers.
    ///
    /// # Errors
    ///
    /// When `vector` has another dimension, or elements that are not finite;
    /// [`QueryError::CacheChanged`].
    pub fn nearest(&self, vector: &[E], k: usize) -> Result<Vec<Neighbour<'_>>, QueryError> {
        if vector.len() != self.dims {
            return Err(QueryError::Dims {
                found: vector.len(),
                expected: self.dims,
            });
        }
        // It would make every similarity NaN.
        if let Some(element_idx) = vector.iter().position(|element| !element.is_finite()) {
            return Err(QueryError::NotFinite { element_idx });
        }
        self.search(vector, norm(vector), k, None)
    }

    /// Returns the `k` words nearest to a word, itself left out; otherwise as
    /// [`nearest`](Self::nearest).
    ///
    /// # Errors
    ///
    /// When the word has no vector; [`QueryError::CacheChanged`].
    pub fn nearest_to(&self, word: &str, k: usize) -> Result<Vec<Neighbour<'_>>, QueryError> {
        let found = self
            .index_of(word)
            .and_then(|index| Some((index, self.vector(index)?, *self.norms().get(index)?)));
        let (index, vector, norm) = found.ok_or_else(|| QueryError::UnknownWord {
            word: word.to_owned(),
        })?;
        self.search(vector, norm, k, Some(index))
    }

    /// Returns the nearest words to a vector with this norm, without the word of number `except`.
    fn search(
        &self,
        vector: &[E],
        norm: f64,
        k: usize,
        except: Option<usize>,
    ) -> Result<Vec<Neighbour<'_>>, QueryError> {
        let searched = Searched {
            dims: self.dims,
            elements: self.matrix(),
            norms: self.norms(),
        };
        let neighbour = |Candidate { index, similarity }| Neighbour {
            index,
            word: self.word(index).unwrap_or_default(),
            similarity,
        };
        let found = nearest(searched, vector, norm, k, except, self.workers);
        // At the end: what was read until now counts.
        match self.vectors.have_changed() {
            true => Err(QueryError::CacheChanged),
            false => Ok(found.into_iter().map(neighbour).collect()),
        }
    }

    /// Returns what opening the file has found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}
