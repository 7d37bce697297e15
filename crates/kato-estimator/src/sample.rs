//! Samples of a corpus: what their documents teach, counted in bounded memory.

use serde::{Deserialize, Serialize};

use crate::path::{Paths, hash_token};
use crate::ratio::Sums;
use crate::sketch::TypeSketch;
use crate::{EstimateError, EstimatedHierarchy, FrequencyCounts};

/// Number of groups of documents. Leaving out one after the other shows how far an estimate depends
/// on the documents drawn.
pub(crate) const GROUPS: usize = 8;

/// Default number of patterns of a level that are counted one by one. Of more, a share chosen by
/// hash stands for all.
pub const DEFAULT_MAX_PATTERNS: usize = 1 << 18;

/// Builder of a sample of a corpus, which takes one document at a time.
///
/// The documents should be drawn at random: the first ones of a corpus are often not like the rest.
/// Memory is bounded: about 150 bytes for each of [`with_max_patterns`](Self::with_max_patterns)
/// patterns and level, whatever the size of the sample.
///
/// ```
/// use kato_estimator::{EstimatedHierarchy, SampleBuilder};
///
/// let mut sample = SampleBuilder::new(EstimatedHierarchy::new([3, 2])?);
/// let paragraphs = [vec![1, 2, 3, 4, 5, 6], vec![1, 2, 3]];
/// sample.add(&paragraphs, 40);
/// let sample = sample.finish()?;
/// assert_eq!(sample.levels[0].learns, 3);
/// assert_eq!(sample.levels[0].frequencies.distinct(), 2);
/// assert_eq!(sample.levels[1].learns, 1);
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SampleBuilder {
    hierarchy: EstimatedHierarchy,
    max_patterns: usize,
    documents: u64,
    text_bytes: u64,
    tokens: u64,
    levels: Vec<LevelBuilder>,
    vocabulary: TypeSketch<1>,
    paths: Paths,
}

#[derive(Debug, Clone)]
struct LevelBuilder {
    learn_calls: u64,
    calls: TypeSketch<1>,
    windows: TypeSketch<GROUPS>,
    by_documents: Sums,
    by_text_bytes: Sums,
    by_tokens: Sums,
}

impl SampleBuilder {
    /// Starts a sample for a hierarchy.
    #[must_use]
    pub fn new(hierarchy: EstimatedHierarchy) -> Self {
        // Levels and vocabulary are made by `with_max_patterns`, which needs the bound for them.
        let builder = Self {
            hierarchy,
            max_patterns: 0,
            documents: 0,
            text_bytes: 0,
            tokens: 0,
            levels: Vec::new(),
            vocabulary: TypeSketch::new(usize::MAX),
            paths: Paths::default(),
        };
        builder.with_max_patterns(DEFAULT_MAX_PATTERNS)
    }

    /// Sets the number of patterns of a level that are counted one by one, at least 1,000, and
    /// starts the sample afresh. Default [`DEFAULT_MAX_PATTERNS`].
    #[must_use]
    pub fn with_max_patterns(mut self, max_patterns: usize) -> Self {
        self.max_patterns = max_patterns.max(1_000);
        let level = LevelBuilder {
            learn_calls: 0,
            calls: TypeSketch::new(self.max_patterns),
            windows: TypeSketch::new(self.max_patterns),
            by_documents: Sums::default(),
            by_text_bytes: Sums::default(),
            by_tokens: Sums::default(),
        };
        self.levels = vec![level; self.hierarchy.n_levels()];
        (self.documents, self.text_bytes, self.tokens) = (0, 0, 0);
        self.vocabulary = TypeSketch::new(self.max_patterns);
        self
    }

    /// Adds a document: the token ids of its paragraphs, without what the learner drops, and the
    /// bytes of its text.
    ///
    /// Level 0 cuts every paragraph by the hierarchy's rule. Text that is cut otherwise, into
    /// sentences say, is given as one paragraph for each piece, with a hierarchy of the learner's
    /// settings, or a chunk size at level 0 that no piece exceeds.
    /// [`TextSampler`](crate::TextSampler) does all that.
    pub fn add<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], text_bytes: u64) {
        // From 1, as 0 is no document in a sketch. In turns, so that groups are equally large.
        let document = self.documents + 1;
        let group = (document % GROUPS as u64) as usize;
        let tokens: u64 = paragraphs
            .iter()
            .map(|paragraph| paragraph.as_ref().len() as u64)
            .sum();
        let mut learned = vec![0u64; self.levels.len()];
        let (levels, vocabulary) = (&mut self.levels, &mut self.vocabulary);
        self.paths.calls(
            &self.hierarchy,
            paragraphs,
            |level, name, tokens, n_symbols| {
                if let (Some(builder), Some(learned)) =
                    (levels.get_mut(level), learned.get_mut(level))
                {
                    // One group: the jackknife goes over the windows.
                    builder.calls.add(name, document, 0, n_symbols);
                    *learned += 1;
                }
                // Given at level 0 only. Tokens that no pattern holds are in no dictionary.
                for &token in tokens {
                    vocabulary.add(hash_token(token), document, 0, 1);
                }
            },
        );
        self.paths
            .windows(&self.hierarchy, paragraphs, |level, name, n_symbols| {
                if let Some(builder) = levels.get_mut(level) {
                    builder.windows.add(name, document, group, n_symbols);
                }
            });
        for (builder, &learned) in levels.iter_mut().zip(&learned) {
            builder.learn_calls += learned;
            // All three, because the unit of the target is known only when an estimate is asked
            // for.
            builder.by_documents.add(1.0, learned as f64);
            builder.by_text_bytes.add(text_bytes as f64, learned as f64);
            builder.by_tokens.add(tokens as f64, learned as f64);
        }
        self.documents += 1;
        self.text_bytes = self.text_bytes.saturating_add(text_bytes);
        self.tokens += tokens;
    }

    /// Ends the sample and returns what was counted.
    ///
    /// # Errors
    ///
    /// [`EstimateError::EmptySample`] when no document taught anything.
    pub fn finish(self) -> Result<CorpusSample, EstimateError> {
        if self
            .levels
            .first()
            .is_none_or(|level| level.learn_calls == 0)
        {
            return Err(EstimateError::EmptySample);
        }
        let levels = self.levels.iter().map(LevelBuilder::finish);
        Ok(CorpusSample {
            documents: self.documents,
            text_bytes: self.text_bytes,
            tokens: self.tokens,
            levels: levels.collect(),
            vocabulary: self.vocabulary.frequencies(None),
            hierarchy: self.hierarchy,
        })
    }
}

impl LevelBuilder {
    /// Returns the sums of the level.
    fn finish(&self) -> LevelSample {
        LevelSample {
            learns: self.learn_calls,
            frequencies: self.calls.frequencies(None),
            is_exact: self.calls.is_exact(),
            symbols_per_pattern: self.calls.mean_symbols(),
            first_in_document: self.calls.first_share(),
            windows: Windows {
                all: self.windows.frequencies(None),
                once_a_document: self.windows.once_a_document(),
                without: (0..GROUPS)
                    .map(|group| self.windows.frequencies(Some(group)))
                    .collect(),
            },
            by_documents: self.by_documents,
            by_text_bytes: self.by_text_bytes,
            by_tokens: self.by_tokens,
        }
    }
}

/// What the documents of a sample teach, made by [`SampleBuilder`]. It is small, whatever the size
/// of the sample, and can be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusSample {
    /// The hierarchy that was counted for.
    pub hierarchy: EstimatedHierarchy,
    /// Documents.
    pub documents: u64,
    /// Bytes of their text.
    pub text_bytes: u64,
    /// Tokens of their paragraphs.
    pub tokens: u64,
    /// The levels, bottom up.
    pub levels: Vec<LevelSample>,
    /// Frequencies of the tokens that are part of a pattern.
    pub vocabulary: FrequencyCounts,
}

/// A level of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelSample {
    /// Learn calls; exact.
    pub learns: u64,
    /// Frequencies of the patterns.
    pub frequencies: FrequencyCounts,
    /// Whether every pattern was counted. If not, the frequencies are scaled from a share of the
    /// patterns.
    pub is_exact: bool,
    /// Mean symbols of a distinct pattern.
    pub symbols_per_pattern: f64,
    /// Share of learn calls whose pattern was not learned from the same document before.
    pub first_in_document: f64,
    pub(crate) windows: Windows,
    pub(crate) by_documents: Sums,
    pub(crate) by_text_bytes: Sums,
    pub(crate) by_tokens: Sums,
}

/// The patterns that cuts from every token of the sample would learn.
///
/// A sample of n tokens holds n / (chunk size) chunks, and nearly n windows of that length. The
/// place of the cut is mostly chance, so windows repeat as often as chunks do, and they are as many
/// as the chunks of a sample several times as large.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Windows {
    /// Every window.
    pub(crate) all: FrequencyCounts,
    /// Every window once a document: repeats within a document come with it, and do not become
    /// more frequent with more documents.
    pub(crate) once_a_document: FrequencyCounts,
    /// Every window, without each of the groups of documents in turn.
    pub(crate) without: Vec<FrequencyCounts>,
}
