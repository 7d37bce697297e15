//! Poems made ready for a model: words numbered, vectors found, chunks cut, parts chosen.

use serde::{Deserialize, Serialize};

use crate::chunks::{Chunk, ChunkOptions, chunks_of};
use crate::error::PoetryError;
use crate::poem::Poem;
use crate::split::{PoemSplit, SplitOptions};
use crate::tokens::tokenize;
use crate::vectors::{VectorOptions, VectorReport, WordVectors};
use crate::vocabulary::PoemVocabulary;

/// What poems are made ready with.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CorpusOptions {
    /// How poems are cut into chunks.
    pub chunks: ChunkOptions,
    /// How poems are parted.
    pub split: SplitOptions,
    /// Where word vectors come from.
    pub vectors: VectorOptions,
}

impl CorpusOptions {
    /// Cuts poems so.
    #[must_use]
    pub fn with_chunks(mut self, chunks: ChunkOptions) -> Self {
        self.chunks = chunks;
        self
    }

    /// Parts poems so.
    #[must_use]
    pub fn with_split(mut self, split: SplitOptions) -> Self {
        self.split = split;
        self
    }

    /// Takes word vectors from there.
    #[must_use]
    pub fn with_vectors(mut self, vectors: VectorOptions) -> Self {
        self.vectors = vectors;
        self
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range; the error names it.
    pub fn check(&self) -> Result<(), PoetryError> {
        self.chunks.check()?;
        self.split.check()?;
        self.vectors.check()
    }
}

/// What was counted while poems were made ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusReport {
    /// Poems that were handed over.
    pub n_poems: usize,
    /// Poems of these that were shorter than [`ChunkOptions::min_tokens`], and left out.
    pub n_too_short: usize,
    /// Tokens of the poems that were kept.
    pub n_tokens: usize,
    /// Words of the vocabulary, special tokens left out.
    pub n_words: usize,
    /// Share of the tokens of the validation and test poems that are words outside of the vocabulary.
    pub unseen_share: f64,
    /// How the word vectors were come by.
    pub vectors: VectorReport,
}

/// Poems made ready for training.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Corpus {
    /// All poems, in the order in which they were read.
    pub poems: Vec<Poem>,
    /// Which of them are for what.
    pub split: PoemSplit,
    /// Words and their numbers.
    pub vocabulary: PoemVocabulary,
    /// The vectors of the words.
    pub vectors: WordVectors,
    /// Chunks of the poems for training, in the order of the poems.
    pub train: Vec<Chunk>,
    /// Chunks of the poems for validation.
    pub validation: Vec<Chunk>,
    /// Chunks of the poems for the test.
    pub test: Vec<Chunk>,
    /// What was counted.
    pub report: CorpusReport,
}

impl Corpus {
    /// Makes poems ready: a function of poems and options, the same for any number of threads.
    ///
    /// The vocabulary is that of the training poems where vectors are made, as other words would have
    /// none, and that of all poems where they are read from a file.
    ///
    /// # Errors
    ///
    /// When settings are impossible, when there is no poem for training or none for validation, or
    /// when words lack vectors.
    pub fn prepare(poems: Vec<Poem>, options: &CorpusOptions) -> Result<Self, PoetryError> {
        options.check()?;
        let min_tokens = options.chunks.min_tokens.max(1);
        let lengths: Vec<usize> = poems
            .iter()
            .map(|poem| tokenize(&poem.text).len())
            .collect();
        let kept: Vec<usize> = (0..poems.len())
            .filter(|at| lengths[*at] >= min_tokens)
            .collect();
        let split = split_of(&poems, options);
        if split.train.is_empty() || split.validation.is_empty() {
            return Err(PoetryError::TooFewPoems {
                n_poems: kept.len(),
                min_tokens,
                n_train: split.train.len(),
                n_validation: split.validation.len(),
            });
        }
        let counted = if options.vectors.file.is_some() {
            &kept
        } else {
            &split.train
        };
        let texts = counted.iter().map(|at| poems[*at].text.as_str());
        let vocabulary = PoemVocabulary::from_texts(texts, options.vectors.min_count_in_use());
        let ids: Vec<Vec<u32>> = poems
            .iter()
            .map(|poem| vocabulary.encode(&poem.text))
            .collect();
        let train_ids: Vec<&[u32]> = split.train.iter().map(|at| ids[*at].as_slice()).collect();
        let (vectors, vector_report) =
            WordVectors::prepare(&vocabulary, &train_ids, &options.vectors)?;
        let report = CorpusReport {
            n_poems: poems.len(),
            n_too_short: poems.len() - kept.len(),
            n_tokens: kept.iter().map(|at| lengths[*at]).sum(),
            n_words: vector_report.n_words,
            unseen_share: unseen_share(&split, &ids),
            vectors: vector_report,
        };
        Ok(Self::from_words(
            poems, vocabulary, vectors, report, options,
        ))
    }

    /// Makes poems ready with words and vectors that are known, as [`prepare`](Self::prepare) does.
    #[must_use]
    pub(crate) fn from_words(
        poems: Vec<Poem>,
        vocabulary: PoemVocabulary,
        vectors: WordVectors,
        report: CorpusReport,
        options: &CorpusOptions,
    ) -> Self {
        let ids: Vec<Vec<u32>> = poems
            .iter()
            .map(|poem| vocabulary.encode(&poem.text))
            .collect();
        let split = split_of(&poems, options);
        let cut = |part: &[usize]| -> Vec<Chunk> {
            part.iter()
                .flat_map(|at| chunks_of(*at, &ids[*at], &options.chunks))
                .collect()
        };
        let (train, validation, test) =
            (cut(&split.train), cut(&split.validation), cut(&split.test));
        Self {
            poems,
            split,
            vocabulary,
            vectors,
            train,
            validation,
            test,
            report,
        }
    }
}

/// Parts the poems that are long enough: a function of their texts and the options alone.
pub(crate) fn split_of(poems: &[Poem], options: &CorpusOptions) -> PoemSplit {
    let min_tokens = options.chunks.min_tokens.max(1);
    let is_long_enough = |at: &usize| tokenize(&poems[*at].text).len() >= min_tokens;
    PoemSplit::new((0..poems.len()).filter(is_long_enough), &options.split)
}

/// Returns the share of the tokens outside of training that are the unknown word.
fn unseen_share(split: &PoemSplit, ids: &[Vec<u32>]) -> f64 {
    let unknown = crate::tokens::Special::Unknown.id();
    let held_out = split
        .validation
        .iter()
        .chain(&split.test)
        .flat_map(|at| &ids[*at]);
    let (n_unknown, n_all) = held_out.fold((0_usize, 0_usize), |(n_unknown, n_all), id| {
        (n_unknown + usize::from(*id == unknown), n_all + 1)
    });
    n_unknown as f64 / n_all.max(1) as f64
}
