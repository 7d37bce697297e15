//! Samples of texts: documents that are tokenized and counted as a learner would learn them.

use kato_learner::{HierarchicalConceptLearner, LearnError, LearnScratch};

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
    learner: &'a HierarchicalConceptLearner,
    scratch: LearnScratch,
    runs: Vec<Vec<u32>>,
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
        Ok(Self {
            learner,
            scratch: learner.new_scratch(),
            runs: Vec::new(),
            sample: SampleBuilder::new(hierarchy),
        })
    }

    /// Adds a document by its text.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; then the sample is as before.
    pub fn add(&mut self, text: &str) -> Result<(), LearnError> {
        self.runs.clear();
        let runs = &mut self.runs;
        self.learner
            .token_runs(text, &mut self.scratch, |run| runs.push(run.to_vec()))?;
        self.sample.add(&self.runs, text.len() as u64);
        Ok(())
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
