//! Samples of texts: documents that are tokenized and counted as a learner would learn them.

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch};

use crate::sample::{CountedDocuments, DocumentCounter};
use crate::{CorpusSample, EstimateError, EstimatedHierarchy, SampleBuilder};

/// Counts what a learner would learn of a sample of texts, which it takes one document at a time.
///
/// The documents should be drawn at random. Cutting and tokenizing are the learner's own, so no
/// setting of it has to be known. For documents that are token ids already there is
/// [`SampleBuilder`].
///
/// ```
/// use kato_estimator::TextSampler;
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_tokenizer::Whitespace;
///
/// let words = Whitespace::from_texts(["one two three"]);
/// let learner = HierarchicalConceptLearner::builder(words).with_chunk_sizes([3, 2]).build()?;
/// let mut sample = TextSampler::new(&learner)?;
/// sample.add("one two three three two one\n\none two three")?;
/// let sample = sample.finish()?;
/// assert_eq!(sample.levels[0].learns, 3);
/// assert_eq!(sample.levels[0].frequencies.distinct(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextSampler<'a> {
    counter: TextCounter<'a>,
    sample: SampleBuilder,
}

impl<'a> TextSampler<'a> {
    /// Starts a sample for a learner.
    ///
    /// # Errors
    ///
    /// As [`EstimatedHierarchy::from_config`], for settings of which nothing can be estimated.
    pub fn new(learner: &'a HierarchicalConceptLearner) -> Result<Self, EstimateError> {
        let hierarchy = EstimatedHierarchy::from_config(learner.config())?;
        Ok(Self::of(learner, SampleBuilder::new(hierarchy)))
    }

    /// Sets whether the patterns of cuts from every token are counted as well, and starts the sample
    /// afresh; as [`SampleBuilder::with_windows`].
    #[must_use]
    pub fn with_windows(self, has_windows: bool) -> Self {
        Self::of(self.counter.learner, self.sample.with_windows(has_windows))
    }

    /// Sets the workers of the run, up to 64, and its memory in bytes for what is not yet written: what is
    /// [added](Self::add_counted) at once is learned by one of them. Where documents are added in the
    /// order of the run, the bytes of all that was counted follow from that.
    #[must_use]
    pub fn with_run(self, workers: u64, memory_budget: u64) -> Self {
        Self::of(
            self.counter.learner,
            self.sample.with_run(workers, memory_budget),
        )
    }

    fn of(learner: &'a HierarchicalConceptLearner, sample: SampleBuilder) -> Self {
        Self {
            counter: TextCounter {
                learner,
                scratch: learner.new_scratch(),
                counter: sample.counter(),
            },
            sample,
        }
    }

    /// Adds a document by its text.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; then the sample is as before.
    pub fn add(&mut self, text: &str) -> Result<(), LearnError> {
        self.counter.count(text)?;
        let counted = self.counter.take();
        self.add_counted(counted);
        Ok(())
    }

    /// Returns a counter of documents for this sample, for another thread.
    #[must_use]
    pub fn counter(&self) -> TextCounter<'a> {
        TextCounter {
            learner: self.counter.learner,
            scratch: self.counter.learner.new_scratch(),
            counter: self.sample.counter(),
        }
    }

    /// Adds documents that a [`counter`](Self::counter) of this sample has counted. The result
    /// depends on what is added at once and in which order, and not on threads.
    pub fn add_counted(&mut self, counted: CountedDocuments) {
        let vocabulary = self.counter.learner.tokenizer().vocabulary();
        let bytes = |token| vocabulary.get(token).map_or(0, str::len);
        self.sample.take_in(counted, |token| {
            u32::try_from(bytes(token)).unwrap_or(u32::MAX)
        });
    }

    /// Ends the sample and returns what was counted.
    ///
    /// # Errors
    ///
    /// [`EstimateError::EmptySample`] when no document taught anything.
    pub fn finish(self) -> Result<CorpusSample, EstimateError> {
        self.sample.finish()
    }
}

/// Counts documents for a [`TextSampler`], one of as many as there are threads.
///
/// ```
/// use kato_estimator::TextSampler;
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_tokenizer::Whitespace;
///
/// let words = Whitespace::from_texts(["one two three"]);
/// let learner = HierarchicalConceptLearner::builder(words).with_chunk_sizes([3, 2]).build()?;
/// let mut sample = TextSampler::new(&learner)?.with_windows(false);
/// let mut counter = sample.counter();
/// let counted = std::thread::scope(|scope| {
///     let thread = scope.spawn(move || counter.count("one two three").map(|()| counter.take()));
///     thread.join().expect("counting does not panic")
/// })?;
/// sample.add_counted(counted);
/// assert_eq!(sample.finish()?.levels[0].learns, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextCounter<'a> {
    learner: &'a HierarchicalConceptLearner,
    scratch: LearnScratch,
    counter: DocumentCounter,
}

impl TextCounter<'_> {
    /// Counts a document by its text.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; then all that was counted since the last
    /// [`take`](Self::take) is lost.
    pub fn count(&mut self, text: &str) -> Result<(), LearnError> {
        let counter = &mut self.counter;
        let cut = self
            .learner
            .token_runs(text, &mut self.scratch, |run| counter.paragraph(run));
        match cut {
            Ok(_) => counter.end_text(text),
            // Of what is counted already, nobody can tell what is of this document.
            Err(_) => drop(counter.take()),
        }
        cut.map(drop)
    }

    /// Returns what was counted since the last time.
    pub fn take(&mut self) -> CountedDocuments {
        self.counter.take()
    }
}
