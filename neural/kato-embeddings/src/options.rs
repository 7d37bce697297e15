//! Settings that decide which vectors are read, and the policy for bad lines.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::element::Number;

/// Form of the beginning of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// The first lines decide: two whole numbers and nothing else are a header, unless the second is above 1 and each
    /// line behind them, of which 1,000 are looked at, is a word and one number, as they would be. The default.
    #[default]
    Auto,
    /// No header, as GloVe writes.
    Glove,
    /// A first line `words dimensions`, as word2vec and fastText write.
    Word2Vec,
}

/// Policy for a line that gives no vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnBadLine {
    /// Opening fails with the first one. The default.
    #[default]
    Fail,
    /// It is skipped and listed in the [`Report`](crate::report::Report).
    Skip,
}

/// Everything that decides the vectors of a given file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) vocabulary: Option<HashSet<Box<str>, foldhash::fast::RandomState>>,
    pub(crate) max_words: Option<usize>,
    pub(crate) dims: Option<NonZeroUsize>,
    pub(crate) layout: Layout,
    pub(crate) on_bad_line: OnBadLine,
}

impl Options {
    /// Returns a digest that is equal exactly if the vectors of type `E` are, when read with these
    /// options.
    pub(crate) fn digest<E: Number>(&self) -> [u8; 32] {
        let number = |number: usize| (number as u64).to_le_bytes();
        let mut hasher = blake3::Hasher::new();
        hasher.update(E::NAME.as_bytes());
        // Zero stands for no limit, and a limit of none is 1. Dimensions cannot be zero.
        hasher.update(&number(
            self.max_words.map_or(0, |words| words.saturating_add(1)),
        ));
        hasher.update(&number(self.dims.map_or(0, NonZeroUsize::get)));
        let layout = match self.layout {
            Layout::Auto => 0,
            Layout::Glove => 1,
            Layout::Word2Vec => 2,
        };
        let on_bad_line = match self.on_bad_line {
            OnBadLine::Fail => 0,
            OnBadLine::Skip => 1,
        };
        hasher.update(&[layout, on_bad_line, u8::from(self.vocabulary.is_some())]);
        let mut words: Vec<&str> = self
            .vocabulary
            .iter()
            .flatten()
            .map(AsRef::as_ref)
            .collect();
        // A set has no order, and its iteration has another one in every process.
        words.sort_unstable();
        for word in words {
            // With lengths in front, no two lists of words are hashed alike.
            hasher.update(&number(word.len()));
            hasher.update(word.as_bytes());
        }
        hasher.finalize().into()
    }
}
