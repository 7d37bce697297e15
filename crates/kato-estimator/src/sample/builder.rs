//! The builder of a sample, which takes one document at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::counted::Slices;
use super::stored::{MOST_SEGMENTS, RunWorkers};
use super::{CorpusSample, CountedDocuments, DocumentCounter, LevelSample, Stored};
use crate::bytes::LevelContents;
use crate::ratio::Sums;
use crate::repeats::RepeatCounter;
use crate::sketch::TypeSketch;
use crate::{EstimateError, EstimatedHierarchy};

/// Default number of patterns of a level that are counted one by one. Of more, a share chosen by
/// hash stands for all. As many as a table of 2^18 places holds, with one that comes before some go: with
/// more it would double.
pub const DEFAULT_MAX_PATTERNS: usize = (1 << 18) / 8 * 7 - 1;

/// Builder of a sample of a corpus, which takes one document at a time.
///
/// The documents should be drawn at random: the first ones of a corpus are often not like the rest.
/// Memory is bounded: about 200 bytes for each of [`with_max_patterns`](Self::with_max_patterns)
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
#[derive(Debug)]
pub struct SampleBuilder {
    counter: DocumentCounter,
    max_patterns: usize,
    documents: u64,
    text_bytes: u64,
    tokens: u64,
    levels: Vec<LevelBuilder>,
    vocabulary: TypeSketch,
    repeats: RepeatCounter,
    /// The workers of the run that this is counted for.
    run: Option<RunWorkers>,
}

#[derive(Debug, Clone)]
struct LevelBuilder {
    learns: u64,
    calls: TypeSketch,
    windows: TypeSketch,
    by_documents: Sums,
    by_text_bytes: Sums,
    by_tokens: Sums,
}

impl SampleBuilder {
    /// Starts a sample for a hierarchy.
    #[must_use]
    pub fn new(hierarchy: EstimatedHierarchy) -> Self {
        let slices = Arc::new(Slices::new(hierarchy.n_levels()));
        // Levels and vocabulary are made by `with_max_patterns`, which needs the bound for them.
        let builder = Self {
            counter: DocumentCounter::new(hierarchy, true, slices, DEFAULT_MAX_PATTERNS),
            max_patterns: 0,
            documents: 0,
            text_bytes: 0,
            tokens: 0,
            levels: Vec::new(),
            vocabulary: TypeSketch::new(usize::MAX),
            repeats: RepeatCounter::default(),
            run: None,
        };
        builder.with_max_patterns(DEFAULT_MAX_PATTERNS)
    }

    /// Sets the number of patterns of a level that are counted one by one, at least 1,000, and
    /// starts the sample afresh. Default [`DEFAULT_MAX_PATTERNS`].
    #[must_use]
    pub fn with_max_patterns(mut self, max_patterns: usize) -> Self {
        self.max_patterns = max_patterns.max(1_000);
        let level = LevelBuilder {
            learns: 0,
            calls: TypeSketch::new(self.max_patterns),
            windows: TypeSketch::new(self.max_patterns),
            by_documents: Sums::default(),
            by_text_bytes: Sums::default(),
            by_tokens: Sums::default(),
        };
        let DocumentCounter {
            hierarchy,
            has_windows,
            ..
        } = &self.counter;
        let slices = Arc::new(Slices::new(hierarchy.n_levels()));
        self.levels = vec![level; hierarchy.n_levels()];
        self.counter =
            DocumentCounter::new(hierarchy.clone(), *has_windows, slices, self.max_patterns);
        (self.documents, self.text_bytes, self.tokens) = (0, 0, 0);
        self.vocabulary = TypeSketch::new(self.max_patterns);
        self.repeats = RepeatCounter::default();
        if let Some(run) = &mut self.run {
            run.restart();
        }
        self
    }

    /// Sets the workers of the run that these documents are counted for, up to 64, and its memory in bytes, of
    /// which every worker has its part: where documents that repeat each other are neighbours, few
    /// patterns are in several segments of its store.
    #[must_use]
    pub(crate) fn with_run(mut self, workers: u64, memory_budget: u64) -> Self {
        self.run = RunWorkers::new(workers, memory_budget / workers.max(1));
        self
    }

    /// Sets whether the patterns of cuts from every token are counted as well, and starts the sample
    /// afresh. Default: they are.
    ///
    /// Counting takes several times as long with them. Without, a small sample tells less of what
    /// lies beyond it; of a corpus that is counted whole nothing does.
    #[must_use]
    pub fn with_windows(mut self, has_windows: bool) -> Self {
        self.counter.has_windows = has_windows;
        let max_patterns = self.max_patterns;
        self.with_max_patterns(max_patterns)
    }

    /// Adds a document: the token ids of its paragraphs, without what the learner drops, and the
    /// bytes of its text.
    ///
    /// Level 0 cuts every paragraph by the hierarchy's rule. Text that is cut otherwise, into
    /// sentences say, is given as one paragraph for each piece, with a hierarchy of the learner's
    /// settings, or a chunk size at level 0 that no piece exceeds.
    /// [`TextSampler`](crate::TextSampler) does all that.
    pub fn add<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], text_bytes: u64) {
        self.counter.count_tokens(paragraphs, text_bytes);
        let counted = self.counter.take();
        // Tokens without their texts.
        self.take_in(counted, |_| 0);
    }

    /// Returns what counts documents for this sample, on another thread if it is wanted.
    pub(crate) fn counter(&self) -> DocumentCounter {
        self.counter.clone()
    }

    /// Takes in documents that were counted for this sample; `text_bytes` gives those of a token, 0 where they are
    /// not known.
    pub(crate) fn take_in(&mut self, counted: CountedDocuments, text_bytes: impl Fn(u32) -> u32) {
        if let Some(run) = &mut self.run {
            let of_text = counted.documents.iter().map(|document| document.text_bytes);
            let text = of_text.fold(0, u64::saturating_add);
            let segment = run.take(text, text.saturating_add(counted.memory(self.levels.len())));
            let calls = self.levels.iter_mut().map(|level| &mut level.calls);
            let all = calls.chain([&mut self.vocabulary]);
            all.for_each(|sketch| sketch.set_segment(segment));
        }
        // Of a large document only what is in these was counted.
        for (level, &shift) in self.levels.iter_mut().zip(&counted.call_slices) {
            level.calls.narrow(shift);
        }
        for (level, &shift) in self.levels.iter_mut().zip(&counted.window_slices) {
            level.windows.narrow(shift);
        }
        let (mut calls, mut windows) = (0, 0);
        let learned = counted.learned.chunks(self.levels.len().max(1));
        for (document, learned) in counted.documents.iter().zip(learned) {
            // From 1, as 0 is no document in a sketch.
            let number = self.documents + 1;
            let repeats = &mut self.repeats.documents;
            repeats.add(document.hash, document.text_bytes, None);
            for seen in &counted.calls[calls..document.calls_end] {
                if let Some(level) = self.levels.get_mut(seen.level as usize) {
                    level
                        .calls
                        .add(seen.name, seen.times, number, seen.n_symbols);
                }
            }
            for seen in &counted.windows[windows..document.windows_end] {
                if let Some(level) = self.levels.get_mut(seen.level as usize) {
                    level
                        .windows
                        .add(seen.name, seen.times, number, seen.n_symbols);
                }
            }
            (calls, windows) = (document.calls_end, document.windows_end);
            let (bytes, tokens) = (document.text_bytes as f64, document.tokens as f64);
            for (builder, &learned) in self.levels.iter_mut().zip(learned) {
                builder.learns += learned;
                // All three, because the unit of the target is known only when an estimate is asked
                // for.
                builder.by_documents.add(1.0, learned as f64);
                builder.by_text_bytes.add(bytes, learned as f64);
                builder.by_tokens.add(tokens, learned as f64);
            }
            self.documents += 1;
            self.text_bytes = self.text_bytes.saturating_add(document.text_bytes);
            self.tokens += document.tokens;
        }
        for (&hash, seen) in &counted.vocabulary {
            let bytes = text_bytes(seen.token);
            self.vocabulary.add(hash, seen.times, self.documents, bytes);
        }
        for (hash, bytes) in counted.paragraphs {
            self.repeats.paragraphs.add(hash, bytes, None);
        }
        for (hash, bytes) in counted.lines {
            self.repeats.lines.add(hash, bytes, None);
        }
        self.publish_slices();
    }

    /// Returns the segments that the run leaves; `None` where it is not known, or would merge them.
    fn stored(&self) -> Option<Stored> {
        let run = self.run.as_ref();
        let run = run.filter(|run| (1..=MOST_SEGMENTS).contains(&run.segments))?;
        let mut segments = vec![Vec::new(); run.segments as usize];
        // The symbols of level 0 are tokens, and those of each other level patterns below.
        let mut symbols = self.vocabulary.held(run.segments);
        for level in &self.levels {
            let held = level.calls.held(run.segments);
            for ((segment, held), below) in segments.iter_mut().zip(&held).zip(&symbols) {
                segment.push(LevelContents {
                    patterns: held.patterns as f64,
                    repeated: held.repeated as f64,
                    symbols: held.symbols as f64,
                    distinct_symbols: below.patterns as f64,
                });
            }
            symbols = held;
        }
        Some(Stored {
            workers: run.workers.len() as u64,
            worker_memory: run.memory,
            pieces: run.pieces(),
            segments,
        })
    }

    /// Tells those that count what they may leave out.
    fn publish_slices(&self) {
        let slices = &self.counter.slices;
        let told = slices.calls.iter().zip(&slices.windows);
        for (level, (calls, windows)) in self.levels.iter().zip(told) {
            calls.fetch_max(level.calls.shift(), Ordering::Relaxed);
            windows.fetch_max(level.windows.shift(), Ordering::Relaxed);
        }
    }

    /// Ends the sample and returns what was counted.
    ///
    /// # Errors
    ///
    /// [`EstimateError::EmptySample`] when no document taught anything.
    pub fn finish(self) -> Result<CorpusSample, EstimateError> {
        if self.levels.first().is_none_or(|level| level.learns == 0) {
            return Err(EstimateError::EmptySample);
        }
        let levels = self.levels.iter().map(LevelBuilder::finish);
        Ok(CorpusSample {
            stored: self.stored(),
            documents: self.documents,
            text_bytes: self.text_bytes,
            tokens: self.tokens,
            levels: levels.collect(),
            vocabulary: self.vocabulary.frequencies(),
            // What a token is made of is its text.
            token_text_bytes: Some(self.vocabulary.mean_symbols()).filter(|bytes| *bytes > 0.0),
            repeats: self.repeats.repeats(),
            drawn: self.repeats.documents.times(),
            hierarchy: self.counter.hierarchy,
        })
    }
}

impl LevelBuilder {
    /// Returns the sums of the level.
    fn finish(&self) -> LevelSample {
        LevelSample {
            learns: self.learns,
            frequencies: self.calls.frequencies(),
            is_exact: self.calls.shift() == 0,
            symbols_per_pattern: self.calls.mean_symbols(),
            first_in_document: self.calls.first_share(),
            slice_error: self.calls.relative_error(),
            holders: self.calls.holders(),
            windows: self.windows.holders(),
            by_documents: self.by_documents,
            by_text_bytes: self.by_text_bytes,
            by_tokens: self.by_tokens,
        }
    }
}
