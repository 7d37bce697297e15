//! What can go wrong, with a way out in every text.

use std::path::PathBuf;

use kato_advice::{ErrorClass, counted};
use kato_embeddings::EmbeddingsError;
use kato_gradient::GradientError;
use kato_loader::LoadError;
use kato_neural::program::HasClass;
use kato_neural::run::RunError;

/// Why poems could not be read, prepared, trained on or rebuilt.
///
/// The text says what is wrong and what to do next; [`class`](Self::class) says the same to a
/// program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoetryError {
    /// A text cannot be read.
    #[error("the text cannot be read")]
    Text {
        /// Why; its advice names settings of the loader.
        #[from]
        source: LoadError,
    },
    /// A JSON file is not an array of poems.
    #[error(
        "`{}`, line {line}: {reason}; a file of poems is `[{{\"title\": …, \"author\": …, \"text\": …}}, …]`, of which only `text` has to be there",
        path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A JSON file is named twice.
    #[error("`{}` is named twice; name it once", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// There are not enough poems to train and to judge.
    #[error(
        "there {} {} of {min_tokens} tokens or more, {n_train} for training and {n_validation} for validation, and each needs one; give more text, or cut it finer with `text.unit`",
        if *n_poems == 1 { "is" } else { "are" },
        counted(*n_poems, "poem")
    )]
    TooFewPoems {
        /// Poems that are long enough.
        n_poems: usize,
        /// Tokens that a poem has at least.
        min_tokens: usize,
        /// Poems for training.
        n_train: usize,
        /// Poems for validation.
        n_validation: usize,
    },
    /// A file of word vectors cannot be read.
    #[error("the word vectors cannot be read")]
    Vectors {
        /// Why.
        #[from]
        source: EmbeddingsError,
    },
    /// Too many words have no vector.
    #[error(
        "`{}` has no vector for {n_missing} of {n_words} words, which stand for {percent:.0} % of the text, among them {}; take vectors of the text's language, allow it with `vectors.max_unknown_share`, or leave out `vectors.file` so that vectors are made from the text",
        path.display(),
        examples.join(", ")
    )]
    UnknownWords {
        /// The file of vectors.
        path: PathBuf,
        /// Words without a vector.
        n_missing: usize,
        /// Words of the text.
        n_words: usize,
        /// Share of the text's words that these stand for, in percent.
        percent: f64,
        /// The most frequent of them.
        examples: Vec<String>,
    },
    /// The text is too small or too uniform to make vectors from.
    #[error(
        "no word vectors can be made from the text: {reason}; give more text, or a file of vectors with `vectors.file`"
    )]
    NoVectors {
        /// What is missing.
        reason: &'static str,
    },
    /// A part of the training has settings that it cannot work with.
    #[error("the training cannot be set up so")]
    Gradient {
        /// Which, and what is possible.
        #[from]
        source: GradientError,
    },
    /// Training failed, or a checkpoint cannot be read or written.
    #[error(transparent)]
    Training {
        /// Why.
        #[from]
        source: kato_neural::Error,
    },
    /// A model whose decoder attends to the text was to rebuild one from a code alone.
    #[error(
        "this model rebuilds a text only from the text itself, as its decoder attends to it; train one with `model.decoder = \"code\"`"
    )]
    NeedsText,
    /// A setting is impossible, a run's folder cannot be used, a file of it is damaged, or another file
    /// cannot be read or written.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl HasClass for PoetryError {
    fn class(&self) -> ErrorClass {
        Self::class(self)
    }
}

impl PoetryError {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Text { source } => source.class(),
            Self::Training { source } => source.class(),
            Self::Run(error) => error.class(),
            Self::Gradient { .. } | Self::NeedsText | Self::Twice { .. } => ErrorClass::Usage,
            Self::Json { .. }
            | Self::TooFewPoems { .. }
            | Self::Vectors { .. }
            | Self::UnknownWords { .. }
            | Self::NoVectors { .. } => ErrorClass::Other,
        }
    }
}
