//! The learner: documents in, learn calls of every level out.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use kato_model::{
    AttributeLimits, Attributes, BatchSymbol, FirstSeen, LearnBatch, LiteralTable, Metadata, NameScratch, Occurrence,
    PatternName, SymbolTable, name_of_ids, name_of_names,
};
use kato_tokenizer::Tokenizer;

use crate::plan::{Child, DocumentPlan};
use crate::{
    ChunkSpan, HierarchicalNode, LearnError, LearnerBuilder, LearnerConfig, SentenceBoundary, TailPolicy, TextMode,
    chunk_lengths, sentence_ranges,
};

/// A document as the learner sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextDocument<'a> {
    /// Number of the sample in its corpus, from 0; part of provenance.
    pub sample_idx: u64,
    /// The document's id; part of provenance.
    pub id: &'a str,
    /// The text.
    pub text: &'a str,
    /// Metadata for its first patterns, if the learner records metadata; key and value.
    pub metadata: &'a [(&'a str, &'a str)],
}

impl<'a> From<&'a str> for TextDocument<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Learns a hierarchy of patterns from text: tokens into chunks, chunks into patterns, their names into patterns above.
///
/// The learner itself is pure: it computes a document's learn calls ([`plan`](Self::plan)) and counts them into a
/// [`LearnBatch`] ([`learn`](Self::learn)); stores, servers and threads are the caller's. It is cheap to share between
/// threads.
///
/// ```
/// use kato_learner::HierarchicalConceptLearner;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).chunk_sizes([4, 2]).build()?;
/// let mut batch = learner.new_batch();
/// let mut scratch = learner.new_scratch();
/// learner.learn("The cat sat on the mat, and the dog lay there.", &mut batch, &mut scratch)?;
/// assert_eq!(batch.observations(0), 3);
/// assert_eq!(batch.observations(1), 1);
/// # Ok::<(), kato_learner::LearnError>(())
/// ```
#[derive(Debug)]
pub struct HierarchicalConceptLearner {
    config: LearnerConfig,
    tokenizer: Arc<dyn Tokenizer>,
    literals: LiteralTable,
    vocabulary: Arc<SymbolTable>,
}

/// Working memory of a learner; keep one per thread.
#[derive(Debug, Default)]
pub struct LearnScratch {
    plan: DocumentPlan,
    names: NameScratch,
    state: CallState,
    occurrences: [Vec<Occurrence>; 2],
}

impl LearnScratch {
    /// The plan of the latest document.
    #[must_use]
    pub fn plan(&self) -> &DocumentPlan {
        &self.plan
    }
}

/// What lives from one document of a call to the next.
#[derive(Debug, Default)]
struct CallState {
    /// The single name that waits for the next document, by level.
    carried: Vec<Option<PatternName>>,
    /// Levels whose first pattern has had its metadata in this call.
    metadata_sent: Vec<bool>,
}

impl HierarchicalConceptLearner {
    /// Starts building a learner.
    pub fn builder(tokenizer: impl Tokenizer + 'static) -> LearnerBuilder {
        LearnerBuilder::new(Arc::new(tokenizer))
    }

    pub(crate) fn from_parts(config: LearnerConfig, tokenizer: Arc<dyn Tokenizer>) -> Self {
        let vocabulary = tokenizer.vocabulary();
        let symbols = || (0..vocabulary.len() as u32).map(|id| vocabulary.get(id).unwrap_or(""));
        let literals = LiteralTable::new(symbols());
        let vocabulary = Arc::new(symbols().collect::<SymbolTable>());
        Self { config, tokenizer, literals, vocabulary }
    }

    /// What decides what is learned, beside the tokenizer.
    #[must_use]
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }

    /// The levels, from the bottom up.
    #[must_use]
    pub fn nodes(&self) -> &[HierarchicalNode] {
        &self.config.nodes
    }

    /// Names of the levels, from the bottom up.
    #[must_use]
    pub fn node_names(&self) -> Vec<&str> {
        self.config.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &dyn Tokenizer {
        self.tokenizer.as_ref()
    }

    /// An empty batch for this hierarchy and vocabulary.
    #[must_use]
    pub fn new_batch(&self) -> LearnBatch {
        LearnBatch::with_vocabulary(self.config.nodes.len(), Arc::clone(&self.vocabulary))
    }

    /// An empty batch that keeps attributes within a store's limits.
    #[must_use]
    pub fn new_batch_with_limits(&self, limits: AttributeLimits) -> LearnBatch {
        self.new_batch().with_limits(limits)
    }

    /// Fresh working memory.
    #[must_use]
    pub fn new_scratch(&self) -> LearnScratch {
        LearnScratch::default()
    }

    /// Learns one document: its learn calls are counted into the batch. The document is a call of its own, so nothing
    /// reaches from one document into the next.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; then the batch is as before.
    pub fn learn<'a>(
        &self,
        document: impl Into<TextDocument<'a>>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        let document = document.into();
        self.plan(&document, scratch)?;
        self.count(&document, batch, scratch);
        Ok(())
    }

    /// Learns several documents in one call, in order: under [`TailPolicy::Carry`] single names wait for the next
    /// document, and levels above 0 carry the metadata of the call's first document only.
    ///
    /// # Errors
    ///
    /// When a text cannot be tokenized; then the batch holds the documents before it.
    pub fn learn_together<'a>(
        &self,
        documents: impl IntoIterator<Item = TextDocument<'a>>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        self.begin_call(scratch);
        for document in documents {
            self.plan_next(&document, scratch)?;
            self.count(&document, batch, scratch);
        }
        Ok(())
    }

    /// Plans several documents in one call, as [`learn_together`](Self::learn_together) would learn them, and shows
    /// `planned` the plan of each.
    ///
    /// # Errors
    ///
    /// When a text cannot be tokenized; `planned` has seen the documents before it.
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
    /// When the text cannot be tokenized.
    pub fn plan<'s>(
        &self,
        document: &TextDocument<'_>,
        scratch: &'s mut LearnScratch,
    ) -> Result<&'s DocumentPlan, LearnError> {
        self.begin_call(scratch);
        self.plan_next(document, scratch)?;
        Ok(&scratch.plan)
    }

    /// Starts a call: forgets what earlier documents carried over.
    fn begin_call(&self, scratch: &mut LearnScratch) {
        let n_nodes = self.config.nodes.len();
        scratch.state.carried.clear();
        scratch.state.carried.resize(n_nodes, None);
        scratch.state.metadata_sent.clear();
        scratch.state.metadata_sent.resize(n_nodes, false);
    }

    /// Plans the next document of a call.
    fn plan_next(&self, document: &TextDocument<'_>, scratch: &mut LearnScratch) -> Result<(), LearnError> {
        let LearnScratch { plan, names, state, .. } = scratch;
        plan.clear(self.config.nodes.len());
        for section in self.config.segmentation.sections(document.text) {
            plan.dropped.heading_chars += section.n_heading_chars() as u64;
            match self.config.chunk_span {
                ChunkSpan::Section => self.plan_text(section.text, section.offset, plan, names)?,
                ChunkSpan::Paragraph => {
                    let mut paragraphs = section.paragraphs(self.config.min_paragraph_chars);
                    for paragraph in paragraphs.by_ref() {
                        self.plan_text(paragraph.text, paragraph.offset, plan, names)?;
                    }
                    plan.dropped.short_paragraphs += paragraphs.dropped().n_paragraphs;
                    plan.dropped.short_paragraph_chars += paragraphs.dropped().n_chars;
                }
            }
        }
        self.plan_levels(plan, names, state);
        for (node_idx, node) in plan.nodes.iter_mut().enumerate() {
            // Level 0 marks every document, higher levels only the first of a call.
            node.metadata_first =
                !node.names.is_empty() && (node_idx == 0 || !std::mem::replace(&mut state.metadata_sent[node_idx], true));
        }
        Ok(())
    }

    /// Plans level 0 for one run of text.
    fn plan_text(
        &self,
        text: &str,
        offset: usize,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        match self.config.text_mode {
            TextMode::Chunks { rule } => {
                let run = self.tokenize(text, offset, plan)?;
                let chunk_size = NonZeroUsize::new(self.config.nodes[0].chunk_size).unwrap_or(NonZeroUsize::MIN);
                let chunks = chunk_lengths(plan.tokens.len() - run, chunk_size, rule);
                plan.dropped.short_run_tokens += chunks.n_dropped() as u64;
                self.push_ranges(run, chunks, plan, names)
            }
            TextMode::Sentences { boundary, min_tokens } => {
                let run = self.tokenize(text, offset, plan)?;
                let boundary = boundary.unwrap_or_else(|| SentenceBoundary::from(self.tokenizer.family()));
                let tokens: Vec<&str> =
                    plan.tokens[run..].iter().map(|&id| self.vocabulary.text(id).unwrap_or("")).collect();
                let mut sentences = sentence_ranges(&tokens, boundary, min_tokens);
                let kept: Vec<_> = sentences.by_ref().collect();
                plan.dropped.short_sentences += sentences.dropped().n_sentences;
                plan.dropped.short_sentence_tokens += sentences.dropped().n_tokens;
                self.push_ranges(run, kept.into_iter(), plan, names)
            }
            TextMode::Segments { delimiter } => {
                for segment in delimiter.segments(text) {
                    let run = self.tokenize(&segment, offset, plan)?;
                    let whole = 0..plan.tokens.len() - run;
                    self.push_ranges(run, std::iter::once(whole), plan, names)?;
                }
                Ok(())
            }
        }
    }

    /// Appends the tokens of a text within the limit and returns where they start.
    fn tokenize(&self, text: &str, offset: usize, plan: &mut DocumentPlan) -> Result<usize, LearnError> {
        let run = plan.tokens.len();
        self.tokenizer
            .encode_into(text, &mut plan.tokens)
            .map_err(|source| LearnError::Tokenize { offset, source })?;
        let cut = self.config.token_limit.apply(plan.tokens.len() - run);
        plan.tokens.truncate(run + cut.n_kept);
        plan.dropped.tokens_over_limit += cut.n_dropped as u64;
        Ok(run)
    }

    /// Plans a chunk for each range of the run that starts at `run`, and removes the tokens that are in none.
    fn push_ranges(
        &self,
        run: usize,
        ranges: impl Iterator<Item = Range<usize>>,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        let mut kept = run;
        for range in ranges {
            let (start, end) = (run + range.start, run + range.end);
            if range.len() < 2 {
                plan.dropped.single_token_chunks += range.len() as u64;
                continue;
            }
            if start != kept {
                plan.tokens.copy_within(start..end, kept);
            }
            self.push_chunk(kept..kept + range.len(), plan, names)?;
            kept += range.len();
        }
        plan.tokens.truncate(kept);
        Ok(())
    }

    /// Plans the learning of one chunk of at least two tokens.
    fn push_chunk(
        &self,
        chunk: Range<usize>,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        let name = name_of_ids(&self.literals, &plan.tokens[chunk.clone()], names)
            .map_err(|unknown| LearnError::UnknownToken { id: unknown.id, vocabulary: unknown.table_len })?;
        plan.nodes[0].push_call(name, chunk.end, chunk.start as u32);
        Ok(())
    }

    /// Plans the levels above 0 from the names below: full chunks, then what is left at the document's end.
    fn plan_levels(&self, plan: &mut DocumentPlan, names: &mut NameScratch, state: &mut CallState) {
        let mut promoted: Option<(PatternName, u32)> = None;
        for node_idx in 1..self.config.nodes.len() {
            let (below, above) = plan.nodes.split_at_mut(node_idx);
            let (below, node) = (&below[node_idx - 1], &mut above[0]);
            if let Some(name) = state.carried[node_idx].take() {
                node.push_child(Child::Foreign(name), name, 0);
            }
            node.push_children_of(below);
            if let Some((name, first_token)) = promoted.take() {
                node.push_child(Child::Foreign(name), name, first_token);
            }
            let chunk_size = self.config.nodes[node_idx].chunk_size;
            // A chunk size of 1 is the original's oddity: its calls teach nothing.
            let min_children = chunk_size.min(2);
            let mut start = 0;
            while node.children.len() - start >= min_children {
                let end = node.children.len().min(start + chunk_size);
                let name = name_of_children(&node.children[start..end], &node.child_names[start..end], names);
                node.push_call(name, end, node.child_tokens[start]);
                start = end;
            }
            if start < node.children.len()
                && let Some((name, first_token)) = node.pop_child()
            {
                let is_top = node_idx + 1 == self.config.nodes.len();
                match self.config.tail_policy {
                    TailPolicy::Promote if !is_top => promoted = Some((name, first_token)),
                    TailPolicy::Carry => state.carried[node_idx] = Some(name),
                    TailPolicy::Drop | TailPolicy::Promote => plan.dropped.single_name_tails += 1,
                }
            }
        }
    }

    /// Counts the plan in the scratch into a batch.
    fn count(&self, document: &TextDocument<'_>, batch: &mut LearnBatch, scratch: &mut LearnScratch) {
        let LearnScratch { plan, occurrences: [below, learned], .. } = scratch;
        if self.config.recording.provenance {
            batch.record_document(document.sample_idx, document.id);
        }
        below.clear();
        for (node_idx, node) in plan.nodes.iter().enumerate() {
            learned.clear();
            for call_idx in 0..node.names.len() {
                let range = node.symbol_range(call_idx);
                if range.len() < 2 {
                    // Nothing is learned from one symbol, and nothing above refers to it.
                    learned.extend(learned.last().copied().or(below.last().copied()));
                    continue;
                }
                let name = node.names[call_idx];
                let occurrence = if node_idx == 0 {
                    batch.learn_tokens(name, &plan.tokens[range])
                } else {
                    learn_children(batch, node_idx, name, &node.children[range], below)
                };
                if self.config.recording.provenance {
                    let token_idx = u64::from(node.first_tokens[call_idx]);
                    let seen = FirstSeen { sample_idx: document.sample_idx, token_idx };
                    batch.record_first_seen(node_idx, occurrence, seen);
                }
                if self.config.recording.metadata && node.metadata_first && call_idx == 0 {
                    batch.attach(node_idx, occurrence, metadata_attributes(document.metadata));
                }
                learned.push(occurrence);
            }
            std::mem::swap(below, learned);
        }
    }
}

fn learn_children(
    batch: &mut LearnBatch,
    node_idx: usize,
    name: PatternName,
    children: &[Child],
    below: &[Occurrence],
) -> Occurrence {
    let is_below = |child: &Child| matches!(child, Child::Below(_));
    if children.iter().all(is_below) {
        let symbols = children.iter().filter_map(|child| match child {
            Child::Below(idx) => Some(BatchSymbol::Child(below[*idx as usize])),
            Child::Foreign(_) | Child::Empty => None,
        });
        return batch.learn(node_idx, name, symbols);
    }
    let symbols: Vec<BatchSymbol> = children
        .iter()
        .map(|child| match child {
            Child::Below(idx) => BatchSymbol::Child(below[*idx as usize]),
            Child::Foreign(name) => BatchSymbol::Literal(batch.literal(&name.prefixed().to_string())),
            Child::Empty => BatchSymbol::Literal(batch.literal("")),
        })
        .collect();
    batch.learn(node_idx, name, symbols)
}

fn name_of_children(children: &[Child], names: &[PatternName], scratch: &mut NameScratch) -> PatternName {
    if !children.contains(&Child::Empty) {
        return name_of_names(names, scratch);
    }
    let symbols: Vec<[String; 1]> = children
        .iter()
        .zip(names)
        .map(|(child, name)| match child {
            Child::Empty => [String::new()],
            Child::Below(_) | Child::Foreign(_) => [name.prefixed().to_string()],
        })
        .collect();
    PatternName::of_events(&symbols)
}

fn metadata_attributes(pairs: &[(&str, &str)]) -> Attributes {
    let mut metadata = Metadata::default();
    for (key, value) in pairs {
        metadata.insert_text(key, (*value).to_owned(), None);
    }
    Attributes { metadata, ..Attributes::default() }
}
