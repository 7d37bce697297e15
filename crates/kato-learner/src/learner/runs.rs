//! The runs of tokens of a text, before level 0 cuts them into chunks.

use super::open_runs::OpenRuns;
use super::{HierarchicalConceptLearner, LearnScratch, TextDocument};
use crate::LearnError;
use crate::config::TextMode;
use crate::plan::PlannedSymbols;

impl HierarchicalConceptLearner {
    /// Passes the runs of tokens that level 0 cuts into chunks to `run`, in the order of the text.
    ///
    /// A run holds the tokens of a paragraph, or of a section where chunks span sections, within
    /// the limit on them, also those that end up in no chunk; with those of its neighbours that are
    /// too short to stand alone, where the rule joins them. Where level 0 learns sentences or
    /// segments, each one that it learns is a run. The scratch is working memory: the plan in it is
    /// lost.
    ///
    /// ```
    /// use kato_learner::HierarchicalConceptLearner;
    /// use kato_tokenizer::Whitespace;
    ///
    /// let words = Whitespace::from_texts(["one two three four five"]);
    /// let learner = HierarchicalConceptLearner::builder(words).with_chunk_sizes([3]).build()?;
    /// let text = "one two three four five\n\ntwo four five";
    /// let mut lengths = Vec::new();
    /// learner.token_runs(text, &mut learner.new_scratch(), |run| lengths.push(run.len()))?;
    /// assert_eq!(lengths, [5, 3]);
    /// # Ok::<(), kato_learner::LearnError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized; `run` may have seen runs before.
    pub fn token_runs(
        &self,
        text: &str,
        scratch: &mut LearnScratch,
        mut run: impl FnMut(&[u32]),
    ) -> Result<(), LearnError> {
        match self.config.text_mode {
            TextMode::Chunks { rule } => {
                let plan = &mut scratch.plan;
                plan.clear(self.config.nodes.len());
                let mut runs = OpenRuns::default();
                self.for_each_passage(text, |text, offset| {
                    self.tokenize(text, offset, plan)?;
                    if let Some(range) = runs.add(plan.tokens.len(), rule)
                        && !range.is_empty()
                    {
                        run(&plan.tokens[range]);
                        plan.tokens = runs.take_open(plan);
                    }
                    Ok(())
                })?;
                match runs.finish() {
                    last if last.is_empty() => {}
                    last => run(&plan.tokens[last]),
                }
            }
            // Pieces are what is planned of them: those that are too short are no runs.
            TextMode::Sentences { .. } | TextMode::Segments { .. } => {
                let plan = self.plan(&TextDocument::from(text), scratch)?;
                for call in plan.calls(0) {
                    if let PlannedSymbols::Tokens(tokens) = call.symbols {
                        run(tokens);
                    }
                }
            }
        }
        Ok(())
    }
}
