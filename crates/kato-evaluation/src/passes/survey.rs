//! The second pass: counts what the documents hold, and what of it the nodes know.

use kato_engine::Node;
use rayon::prelude::*;

use super::Passes;
use crate::document::{Chunk, HeldOutDocument};
use crate::progress::EvaluationPhase;
use crate::report::Coverage;
use crate::{Corpora, EvaluationError, EvaluationOptions};

/// The content of the held-out documents.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) documents: u64,
    pub(crate) failed: u64,
    pub(crate) tokens: u64,
    levels: Vec<Coverage>,
}

impl Survey {
    /// Returns the coverage of a level.
    pub(crate) fn coverage(&self, level: usize) -> Coverage {
        self.levels.get(level).copied().unwrap_or_default()
    }

    /// Returns the number of everything that the levels that are asked could be asked: every chunk,
    /// and every symbol as the next one.
    pub(crate) fn n_questions(&self, options: &EvaluationOptions) -> u64 {
        (0..options.n_asked_levels(self.levels.len()))
            .map(|level| self.n_questions_of(level))
            .sum()
    }

    /// Returns the number of everything that a level could be asked.
    fn n_questions_of(&self, level: usize) -> u64 {
        let coverage = self.coverage(level);
        coverage.known_chunks.of + coverage.unknown_symbols.of
    }

    /// Returns the share of a level's questions that is asked, in `0..=1`.
    ///
    /// By the number of symbols alone: at the lowest level it is the same for any chunk size.
    pub(crate) fn asked_share(&self, level: usize, options: &EvaluationOptions) -> f64 {
        if level >= options.n_asked_levels(self.levels.len()) {
            return 0.0;
        }
        // At least one, so that a level without questions has a share of 1 and not a quotient by
        // zero.
        let symbols = self.coverage(level).unknown_symbols.of.max(1);
        let share = options.max_questions as f64 / symbols as f64;
        share.min(1.0)
    }
}

impl Passes<'_> {
    /// Counts documents, tokens, chunks and symbols, and looks up which of them the nodes know.
    pub(crate) fn survey(&mut self, corpora: &Corpora<'_>) -> Result<Survey, EvaluationError> {
        let mut loader = corpora.held_out()?;
        let mut survey = Survey {
            documents: 0,
            failed: 0,
            tokens: 0,
            levels: vec![Coverage::default(); self.nodes.len()],
        };
        let vocabulary = self.learner.tokenizer().vocabulary();
        let distinct = self.distinct;
        let most = self.options.max_documents.unwrap_or(u64::MAX);
        self.begin_phase();
        loop {
            // Both kinds are documents of the corpus and count against the limit, as in the third
            // pass.
            let limit = most - survey.documents - survey.failed;
            let held_out = |plan: &_| HeldOutDocument::from_plan(plan, vocabulary, distinct);
            let Some(documents) = self.next_planned(&mut loader, limit, held_out)? else {
                break;
            };
            let of_documents: Vec<Vec<Coverage>> = self.threads.install(|| {
                let look_up = |document: &Option<HeldOutDocument>| {
                    let levels = document.iter().flat_map(|document| &document.levels);
                    let levels = levels.zip(&self.nodes);
                    levels
                        .map(|(chunks, node)| coverage(chunks, node))
                        .collect()
                };
                documents
                    .par_iter()
                    .map(look_up)
                    .collect::<Result<_, EvaluationError>>()
            })?;
            for (document, coverages) in documents.iter().zip(of_documents) {
                survey.documents += u64::from(document.is_some());
                survey.failed += u64::from(document.is_none());
                survey.tokens += document
                    .as_ref()
                    .map_or(0, |document| document.tokens.len() as u64);
                for (sum, part) in survey.levels.iter_mut().zip(coverages) {
                    merge(sum, part);
                }
            }
            self.report_bytes(EvaluationPhase::Coverage, &loader)?;
        }
        // Bad records are added at the end: they are no documents and do not use up the limit.
        survey.failed += loader.counts().bad;
        Ok(survey)
    }
}

/// Looks up the chunks of one level of a document.
fn coverage(chunks: &[Chunk], node: &Node) -> Result<Coverage, EvaluationError> {
    let mut coverage = Coverage::default();
    for chunk in chunks {
        coverage.known_chunks.add(node.frequency(&chunk.name)? > 0);
        for symbol in chunk.events.iter().flat_map(|event| event.symbols()) {
            let is_unknown = node.symbol_counts(symbol)?.n_patterns == 0;
            coverage.unknown_symbols.add(is_unknown);
        }
    }
    Ok(coverage)
}

/// Adds the counts of a part.
fn merge(sum: &mut Coverage, part: Coverage) {
    for (sum, part) in [
        (&mut sum.known_chunks, part.known_chunks),
        (&mut sum.unknown_symbols, part.unknown_symbols),
    ] {
        sum.count += part.count;
        sum.of += part.of;
    }
}
