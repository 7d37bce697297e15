//! The learner, which turns documents into the learn calls of every level.

mod counting;
mod long;
mod open_runs;
mod planning;
mod runs;
mod timing;

use std::sync::Arc;
use std::time::Duration;

use kato_model::batch::Occurrence;
use kato_model::naming::{LiteralTable, NameScratch};
use kato_model::{AttributeLimits, LearnBatch, PatternName, SymbolTable};
use kato_tokenizer::Tokenizer;

use self::timing::NodeTimes;
use crate::plan::DocumentPlan;
use crate::{HierarchicalNode, LearnError, LearnerBuilder, LearnerConfig};

/// A document in the form in which the learner takes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextDocument<'a> {
    /// Number of the document in its corpus, from 0; part of provenance.
    pub document_idx: u64,
    /// The document's id; part of provenance.
    pub id: &'a str,
    /// The text.
    pub text: &'a str,
    /// Metadata for its first patterns, if the learner records metadata; key and value.
    pub metadata: &'a [(&'a str, &'a str)],
}

impl<'a> From<&'a str> for TextDocument<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A learner that turns text into a hierarchy of patterns: tokens into chunks, chunks into
/// patterns, their names into patterns above.
///
/// The learner itself is pure: it computes a document's learn calls ([`plan`](Self::plan)) and
/// counts them into a [`LearnBatch`] ([`learn`](Self::learn)); stores, servers and threads are the
/// caller's. It is cheap to share between threads.
///
/// ```
/// use kato_learner::HierarchicalConceptLearner;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
///     .with_chunk_sizes([4, 2])
///     .build()?;
/// let mut batch = learner.new_batch();
/// let mut scratch = learner.new_scratch();
/// learner.learn("The cat sat on the mat, and the dog lay there.", &mut batch, &mut scratch)?;
/// assert_eq!(batch.learns(0), 3);
/// assert_eq!(batch.learns(1), 1);
/// # Ok::<(), kato_learner::LearnError>(())
/// ```
#[derive(Debug)]
pub struct HierarchicalConceptLearner {
    config: LearnerConfig,
    tokenizer: Arc<dyn Tokenizer>,
    literals: LiteralTable,
    vocabulary: Arc<SymbolTable>,
    /// Whether the vocabulary leaves ids unused. No tokenizer should return one; if it did, a
    /// chunk would be learned with an empty symbol.
    has_unused_ids: bool,
}

/// Working memory of a learner; keep one per thread.
#[derive(Debug, Default)]
pub struct LearnScratch {
    plan: DocumentPlan,
    names: NameScratch,
    state: CallState,
    occurrences: [Vec<Occurrence>; 2],
    /// Occurrences of the level below and of the level that is being counted, in turn.
    times: NodeTimes,
}

impl LearnScratch {
    /// Returns the plan of the latest document. One that was [learned](HierarchicalConceptLearner::learn)
    /// and has a MiB of text or more is learned in blocks: of its plan only what it sums up is left,
    /// and no calls.
    #[must_use]
    pub fn plan(&self) -> &DocumentPlan {
        &self.plan
    }

    /// Starts to add up how long each node's learn calls take, from the next document on, by a
    /// clock that returns the time since any fixed moment; `None` stops it. The learner reads no
    /// other clock.
    pub fn time_nodes(&mut self, clock: Option<fn() -> Duration>) {
        self.times.set_clock(clock);
    }

    /// Returns how long each node's learn calls of the latest document took, from the bottom up:
    /// planning and counting them, and for the lowest node tokenizing as well. Empty when it was
    /// not timed.
    #[must_use]
    pub fn node_times(&self) -> &[Duration] {
        self.times.by_node()
    }
}

/// State that is kept from one document of a call to the next.
#[derive(Debug, Default)]
struct CallState {
    /// The single name that is kept for the next document, by level.
    carried: Vec<Option<PatternName>>,
    /// Levels whose first pattern has had its metadata in this call.
    metadata_sent: Vec<bool>,
}

impl HierarchicalConceptLearner {
    /// Starts to build a learner.
    pub fn builder(tokenizer: impl Tokenizer + 'static) -> LearnerBuilder {
        LearnerBuilder::new(Arc::new(tokenizer))
    }

    /// Creates a learner from settings that the builder has checked.
    pub(crate) fn from_parts(config: LearnerConfig, tokenizer: Arc<dyn Tokenizer>) -> Self {
        let vocabulary = tokenizer.vocabulary();
        // Ids have 32 bits, and a vocabulary with more of them cannot be created.
        let ids = 0..vocabulary.len() as u32;
        let has_unused_ids = ids.clone().any(|id| vocabulary.get(id).is_none());
        // An unused id keeps its place, so that those after it keep theirs.
        let symbols = || ids.clone().map(|id| vocabulary.get(id).unwrap_or(""));
        let literals = LiteralTable::new(symbols());
        let vocabulary = Arc::new(symbols().collect::<SymbolTable>());
        Self {
            config,
            tokenizer,
            literals,
            vocabulary,
            has_unused_ids,
        }
    }

    /// Returns the settings that, beside the tokenizer, decide what is learned.
    #[must_use]
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }

    /// Returns the levels, from the bottom up.
    #[must_use]
    pub fn nodes(&self) -> &[HierarchicalNode] {
        &self.config.nodes
    }

    /// Returns the names of the levels, from the bottom up.
    #[must_use]
    pub fn node_names(&self) -> Vec<&str> {
        self.config
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect()
    }

    /// Returns the tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &dyn Tokenizer {
        self.tokenizer.as_ref()
    }

    /// Returns a handle of the tokenizer.
    #[must_use]
    pub fn shared_tokenizer(&self) -> Arc<dyn Tokenizer> {
        Arc::clone(&self.tokenizer)
    }

    /// Creates an empty batch for this hierarchy and vocabulary.
    #[must_use]
    pub fn new_batch(&self) -> LearnBatch {
        // The batch's first literals are the vocabulary, so token ids are literals as they are and
        // no token is looked up by its text. All batches share one table.
        LearnBatch::with_vocabulary(self.config.nodes.len(), Arc::clone(&self.vocabulary))
    }

    /// Creates an empty batch that keeps attributes within a store's limits.
    #[must_use]
    pub fn new_batch_with_limits(&self, limits: AttributeLimits) -> LearnBatch {
        self.new_batch().with_limits(limits)
    }

    /// Creates working memory.
    #[must_use]
    pub fn new_scratch(&self) -> LearnScratch {
        LearnScratch::default()
    }

    /// Learns one document: counts its learn calls into the batch.
    ///
    /// The document is a call of its own, so nothing reaches from one document into the next.
    ///
    /// Memory beside the text: of a document of a MiB or more four bytes for each token, and four for
    /// each pattern of the lowest level, given back while it is counted; what a passage takes to
    /// tokenize; and what is learned, which is the batch's.
    ///
    /// # Errors
    ///
    /// [`LearnError::Tokenize`], [`LearnError::UnknownToken`] and [`LearnError::TooLong`]; then the
    /// batch is as before.
    pub fn learn<'a>(
        &self,
        document: impl Into<TextDocument<'a>>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        let document = document.into();
        if self.is_long(document.text) {
            return self.learn_long(&document, batch, scratch);
        }
        // Counting begins when the whole document is planned, so a text that cannot be tokenized
        // leaves the batch untouched.
        self.plan(&document, scratch)?;
        self.count(&document, batch, scratch);
        Ok(())
    }

    /// Plans several documents in one call, in order, and passes the plan of each to `planned`.
    ///
    /// Under [`TailPolicy::Carry`](crate::TailPolicy::Carry) single names wait for the next document.
    /// Each level above 0 records the metadata of the first document only that teaches it something.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn); `planned` has seen the documents before it.
    pub fn plan_together<'a>(
        &self,
        documents: impl IntoIterator<Item = TextDocument<'a>>,
        scratch: &mut LearnScratch,
        mut planned: impl FnMut(&LearnScratch),
    ) -> Result<(), LearnError> {
        self.begin_call(scratch);
        for document in documents {
            self.plan_next(&document, scratch)?;
            planned(scratch);
        }
        Ok(())
    }

    /// Plans one document as a call of its own; the plan is in the scratch.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn plan<'s>(
        &self,
        document: &TextDocument<'_>,
        scratch: &'s mut LearnScratch,
    ) -> Result<&'s DocumentPlan, LearnError> {
        self.begin_call(scratch);
        self.plan_next(document, scratch)?;
        Ok(&scratch.plan)
    }
}
