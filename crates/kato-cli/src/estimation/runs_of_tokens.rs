//! The runs of tokens of a document, which level 0 cuts into patterns.

use anyhow::{Result, bail};
use kato_estimator::{ChunkRule, Hierarchy, TailPolicy};
use kato_learner::{
    ChunkSpan, HierarchicalConceptLearner, LearnScratch, PlannedSymbols, TextDocument, TextMode,
};

/// A chunk size beyond any piece of text that is learned as one pattern.
const ANY_LENGTH: usize = u32::MAX as usize;

/// Returns the levels and rules of a learner, as estimates know them.
///
/// Where level 0 learns pieces of text and no chunks, every piece is a run of its own.
///
/// # Errors
///
/// For rules of which nothing can be estimated.
pub(crate) fn hierarchy(learner: &HierarchicalConceptLearner) -> Result<Hierarchy> {
    let config = learner.config();
    let mut chunk_sizes: Vec<usize> = config.nodes.iter().map(|node| node.chunk_size).collect();
    let rule = match config.text_mode {
        TextMode::Chunks { rule } => match rule {
            kato_learner::ChunkRule::Original { min_chunk } => ChunkRule::Original { min_chunk },
            kato_learner::ChunkRule::Bounded { min_chunk } => ChunkRule::Bounded { min_chunk },
            kato_learner::ChunkRule::Plain => ChunkRule::Plain,
        },
        TextMode::Sentences { .. } | TextMode::Segments { .. } => {
            // A chunk size that no piece reaches, with the plain rule, leaves every piece whole. A
            // learner has at least one level.
            chunk_sizes[0] = ANY_LENGTH;
            ChunkRule::Plain
        }
    };
    let tail_policy = match config.tail_policy {
        kato_learner::TailPolicy::Drop => TailPolicy::Drop,
        kato_learner::TailPolicy::Promote => TailPolicy::Promote,
        kato_learner::TailPolicy::Carry => {
            bail!("single names that wait for the next document cannot be estimated")
        }
    };
    Ok(Hierarchy::new(chunk_sizes)?
        .with_rule(rule)
        .with_tail_policy(tail_policy))
}

/// A finder of the runs of tokens, for one document after the other.
#[derive(Debug)]
pub(crate) struct TokenRuns<'a> {
    learner: &'a HierarchicalConceptLearner,
    scratch: LearnScratch,
    runs: Vec<Vec<u32>>,
}

impl<'a> TokenRuns<'a> {
    /// Creates a finder of the runs that this learner has.
    #[must_use]
    pub(crate) fn new(learner: &'a HierarchicalConceptLearner) -> Self {
        Self {
            learner,
            scratch: learner.new_scratch(),
            runs: Vec::new(),
        }
    }

    /// Returns the runs of a document, in order.
    ///
    /// # Errors
    ///
    /// When its text cannot be tokenized.
    pub(crate) fn of(&mut self, text: &str) -> Result<&[Vec<u32>]> {
        self.runs.clear();
        match self.learner.config().text_mode {
            TextMode::Chunks { .. } => self.paragraphs(text)?,
            TextMode::Sentences { .. } | TextMode::Segments { .. } => self.pieces(text)?,
        }
        Ok(&self.runs)
    }

    /// Collects a run for each part of the text that chunks do not reach beyond.
    fn paragraphs(&mut self, text: &str) -> Result<()> {
        let config = self.learner.config();
        for section in config.segmentation.sections(text) {
            match config.chunk_span {
                ChunkSpan::Section => self.push(section.text)?,
                ChunkSpan::Paragraph => {
                    for paragraph in section.paragraphs(config.min_paragraph_chars) {
                        self.push(paragraph.text)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Collects the tokens of a part, as far as the limit on them lets the learner keep them.
    fn push(&mut self, text: &str) -> Result<()> {
        let mut tokens = Vec::new();
        self.learner.tokenizer().encode_into(text, &mut tokens)?;
        // Before the chunks are cut, as in learning: tokens over the limit are in no pattern.
        let cut = self.learner.config().token_limit.apply(tokens.len());
        tokens.truncate(cut.n_kept);
        self.runs.push(tokens);
        Ok(())
    }

    /// Collects a run for each piece that level 0 learns as one pattern.
    fn pieces(&mut self, text: &str) -> Result<()> {
        let document = TextDocument::from(text);
        // The learner's own plan: cutting sentences and pieces is its business, and must not be
        // done differently here.
        let plan = self.learner.plan(&document, &mut self.scratch)?;
        for call in plan.calls(0) {
            if let PlannedSymbols::Tokens(tokens) = call.symbols {
                self.runs.push(tokens.to_vec());
            }
        }
        Ok(())
    }
}
