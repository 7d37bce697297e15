//! Plans a document: computes its learn calls at every level from its text.

use std::num::NonZeroUsize;
use std::ops::Range;

use kato_model::PatternName;
use kato_model::naming::{NameScratch, name_of_ids, name_of_names};

use super::open_runs::OpenRuns;
use super::timing::NodeTimes;
use super::{CallState, HierarchicalConceptLearner, LearnScratch, TextDocument};
use crate::chunk::{chunk_lengths, name_chunks};
use crate::config::{ChunkSpan, TextMode};
use crate::plan::{Child, DocumentPlan, place};
use crate::segment::{SentenceBoundary, sentence_ranges};
use crate::{ChunkRule, Dropped, LearnError, TailPolicy};

impl HierarchicalConceptLearner {
    /// Begins a call: forgets what earlier documents carried over.
    pub(super) fn begin_call(&self, scratch: &mut LearnScratch) {
        let n_nodes = self.config.nodes.len();
        scratch.state.carried.clear();
        scratch.state.carried.resize(n_nodes, None);
        scratch.state.metadata_sent.clear();
        scratch.state.metadata_sent.resize(n_nodes, false);
    }

    /// Plans the next document of a call; the plan is in the scratch.
    pub(super) fn plan_next(
        &self,
        document: &TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        let LearnScratch {
            plan,
            names,
            state,
            times,
            ..
        } = scratch;
        plan.clear(self.config.nodes.len());
        times.begin(self.config.nodes.len());
        // Tokenizing is part of the lowest node's work, and so is cutting the text.
        times.run(Some(0));
        self.plan_lowest(document.text, plan, names, |_, _| Ok(()))?;
        self.plan_levels(plan, names, state, times);
        times.run(None);
        for (node_idx, node) in plan.nodes.iter_mut().enumerate() {
            // Level 0 marks every document, higher levels only the first of a call.
            node.metadata_first = !node.names.is_empty()
                && (node_idx == 0 || !std::mem::replace(&mut state.metadata_sent[node_idx], true));
        }
        Ok(())
    }

    /// Plans level 0 of a text, and counts what is left out. `behind` is called behind each passage,
    /// with what is not in chunks yet.
    pub(super) fn plan_lowest(
        &self,
        text: &str,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
        mut behind: impl FnMut(&mut DocumentPlan, &mut OpenRuns) -> Result<(), LearnError>,
    ) -> Result<(), LearnError> {
        let mut runs = OpenRuns::default();
        let left_out = self.for_each_passage(text, |text, offset| {
            match self.config.text_mode {
                TextMode::Chunks { rule } => {
                    self.tokenize(text, offset, plan)?;
                    if let Some(run) = runs.add(plan.tokens.len(), rule) {
                        self.plan_run(run, rule, &mut runs.kept, plan, names)?;
                    }
                }
                TextMode::Sentences { .. } | TextMode::Segments { .. } => {
                    self.plan_pieces(text, offset, plan, names)?;
                    runs = OpenRuns::behind(plan.tokens.len());
                }
            }
            behind(plan, &mut runs)
        })?;
        plan.dropped.merge(&left_out);
        if let TextMode::Chunks { rule } = self.config.text_mode {
            let run = runs.finish();
            self.plan_run(run, rule, &mut runs.kept, plan, names)?;
            plan.tokens.truncate(runs.kept);
        }
        Ok(())
    }

    /// Plans the chunks of one run.
    fn plan_run(
        &self,
        run: Range<usize>,
        rule: ChunkRule,
        kept: &mut usize,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        let chunks = chunk_lengths(run.len(), self.chunk_size(0), rule);
        plan.dropped.short_run_tokens += chunks.n_dropped() as u64;
        self.push_ranges(run.start, chunks, kept, plan, names)
    }

    /// Passes every part of a text that chunks do not reach beyond to `passage`, with its position,
    /// in order, and returns what was left out between them.
    pub(super) fn for_each_passage(
        &self,
        text: &str,
        mut passage: impl FnMut(&str, usize) -> Result<(), LearnError>,
    ) -> Result<Dropped, LearnError> {
        let mut dropped = Dropped::default();
        for section in self.config.segmentation.sections(text) {
            dropped.heading_chars += section.n_heading_chars() as u64;
            match self.config.chunk_span {
                ChunkSpan::Section => passage(section.text, section.offset)?,
                ChunkSpan::Paragraph => {
                    let mut paragraphs = section.paragraphs(self.config.min_paragraph_chars);
                    for paragraph in paragraphs.by_ref() {
                        passage(paragraph.text, paragraph.offset)?;
                    }
                    // Only an iterator that has reached its end knows everything it left out.
                    dropped.short_paragraphs += paragraphs.dropped().n_paragraphs;
                    dropped.short_paragraph_chars += paragraphs.dropped().n_chars;
                }
            }
        }
        Ok(dropped)
    }

    /// Returns the chunk size of a level.
    fn chunk_size(&self, node_idx: usize) -> NonZeroUsize {
        // The builder refuses a chunk size of 0, so the fallback is not reached.
        NonZeroUsize::new(self.config.nodes[node_idx].chunk_size).unwrap_or(NonZeroUsize::MIN)
    }

    /// Plans level 0 for one passage of text in sentences or segments; it starts at byte `offset` of
    /// the document.
    fn plan_pieces(
        &self,
        text: &str,
        offset: usize,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        match self.config.text_mode {
            // Planned by runs, which may be longer than a passage.
            TextMode::Chunks { .. } => Ok(()),
            TextMode::Sentences {
                boundary,
                min_tokens,
            } => {
                let run = self.tokenize(text, offset, plan)?;
                let boundary =
                    boundary.unwrap_or_else(|| SentenceBoundary::from(self.tokenizer.family()));
                // Boundaries are found by token text, so ids without a token have to be found
                // before.
                let tokens = plan.tokens[run..].iter();
                let tokens = tokens.map(|&id| self.vocabulary.text(id).ok_or(self.unknown(id)));
                let tokens: Vec<&str> = tokens.collect::<Result<_, _>>()?;
                let mut sentences = sentence_ranges(&tokens, boundary, min_tokens);
                // Collected first: the iterator borrows the tokens that `push_ranges` moves, and
                // its count of dropped sentences is complete only at its end.
                let kept: Vec<_> = sentences.by_ref().collect();
                plan.dropped.short_sentences += sentences.dropped().n_sentences;
                plan.dropped.short_sentence_tokens += sentences.dropped().n_tokens;
                self.push_pieces(run, kept.into_iter(), plan, names)
            }
            TextMode::Segments { delimiter } => {
                let mut is_cut = false;
                for segment in delimiter.segments(text) {
                    is_cut = true;
                    // Each segment is tokenized by itself, so its first token has no blank before
                    // it. A segment of one token is no pattern and is counted as dropped in
                    // `push_ranges`.
                    let run = self.tokenize(&segment, offset, plan)?;
                    let whole = 0..plan.tokens.len() - run;
                    self.push_pieces(run, std::iter::once(whole), plan, names)?;
                }
                if !is_cut && !text.trim().is_empty() {
                    // Fewer words than an n-gram has.
                    let run = self.tokenize(text, offset, plan)?;
                    plan.dropped.short_run_tokens += (plan.tokens.len() - run) as u64;
                    plan.tokens.truncate(run);
                }
                Ok(())
            }
        }
    }

    /// Appends the tokens of a text within the limit and returns where they start.
    pub(super) fn tokenize(
        &self,
        text: &str,
        offset: usize,
        plan: &mut DocumentPlan,
    ) -> Result<usize, LearnError> {
        let run = plan.tokens.len();
        self.tokenizer
            .encode_into(text, &mut plan.tokens)
            .map_err(|source| LearnError::Tokenize { offset, source })?;
        // As in the original, the text is tokenized whole and cut afterwards: only then is the
        // number of tokens over the limit known, which is counted.
        let cut = self.config.token_limit.apply(plan.tokens.len() - run);
        plan.tokens.truncate(run + cut.n_kept);
        plan.dropped.tokens_over_limit += cut.n_dropped as u64;
        check_length(plan.tokens.len())?;
        // Ids beyond the vocabulary's end are found when the chunk is named. An unused id has a
        // fragment there like any other, so it would be named as an empty symbol.
        if self.has_unused_ids {
            let is_unused = |&&id: &&u32| self.vocabulary.text(id) == Some("");
            if let Some(&id) = plan.tokens[run..].iter().find(is_unused) {
                return Err(self.unknown(id));
            }
        }
        Ok(run)
    }

    /// Returns the error for an id that the vocabulary does not name.
    pub(super) fn unknown(&self, id: u32) -> LearnError {
        LearnError::UnknownToken {
            id,
            vocabulary: self.vocabulary.len(),
        }
    }

    /// Plans a chunk for each range of the last run, which starts at `run`, and removes the tokens
    /// that are in none.
    fn push_pieces(
        &self,
        run: usize,
        ranges: impl Iterator<Item = Range<usize>>,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        let mut kept = run;
        self.push_ranges(run, ranges, &mut kept, plan, names)?;
        plan.tokens.truncate(kept);
        Ok(())
    }

    /// Plans a chunk for each range of the run that starts at `run`, and moves its tokens to `kept`,
    /// which ends behind them.
    fn push_ranges(
        &self,
        run: usize,
        ranges: impl Iterator<Item = Range<usize>>,
        kept: &mut usize,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        // Kept chunks are moved together: `plan.tokens` holds exactly the tokens of planned
        // patterns, and provenance counts these. `kept` never passes `start`, as ranges ascend.
        for range in ranges {
            let (start, end) = (run + range.start, run + range.end);
            if range.len() < 2 {
                plan.dropped.single_token_chunks += range.len() as u64;
                continue;
            }
            if start != *kept {
                plan.tokens.copy_within(start..end, *kept);
            }
            self.push_chunk(*kept..*kept + range.len(), plan, names)?;
            *kept += range.len();
        }
        Ok(())
    }

    /// Plans the learning of one chunk of at least two tokens.
    fn push_chunk(
        &self,
        chunk: Range<usize>,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        if plan.is_unnamed {
            let mut tokens = plan.tokens[chunk.clone()].iter();
            return match tokens.find(|&&id| id as usize >= self.vocabulary.len()) {
                Some(&id) => Err(self.unknown(id)),
                None => {
                    plan.nodes[0].ends.push(place(chunk.end));
                    Ok(())
                }
            };
        }
        let name = name_of_ids(&self.literals, &plan.tokens[chunk.clone()], names)
            .map_err(|unknown| self.unknown(unknown.id))?;
        plan.nodes[0].push_call(name, chunk.end, place(chunk.start));
        Ok(())
    }

    /// Plans the levels above 0 from the names below: full chunks, then what is left at the
    /// document's end.
    fn plan_levels(
        &self,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
        state: &mut CallState,
        times: &mut NodeTimes,
    ) {
        // Levels are complete from the bottom up, so one pass is enough, where the original
        // cascades through all levels after each chunk. Both make the same calls at each level.
        let mut promoted: Option<(PatternName, u32)> = None;
        for node_idx in 1..self.config.nodes.len() {
            times.run(Some(node_idx));
            let (below, above) = plan.nodes.split_at_mut(node_idx);
            let (below, node) = (&below[node_idx - 1], &mut above[0]);
            // The order of symbols decides the pattern's name: first the name from the document
            // before, then the names from below, then a tail from further down, which stands at the
            // document's end.
            if let Some(name) = state.carried[node_idx].take() {
                node.push_child(Child::Foreign(name), name, 0);
            }
            node.push_children_of(below);
            if let Some((name, first_token)) = promoted.take() {
                node.push_child(Child::Foreign(name), name, first_token);
            }
            let chunks = name_chunks(node.children.len(), self.chunk_size(node_idx));
            let has_single = chunks.n_dropped() > 0;
            for Range { start, end } in chunks {
                let name = name_of_children(
                    &node.children[start..end],
                    &node.child_names[start..end],
                    names,
                );
                node.push_call(name, end, node.child_tokens[start]);
            }
            // The single child is removed, so that `children` holds exactly the symbols of planned
            // calls; it goes up, waits, or is counted.
            if has_single && let Some((name, first_token)) = node.pop_child() {
                let is_top = node_idx + 1 == self.config.nodes.len();
                match self.config.tail_policy {
                    TailPolicy::Promote if !is_top => promoted = Some((name, first_token)),
                    // It waits at its own level, and the next document's names of the level below
                    // follow it.
                    TailPolicy::Carry => state.carried[node_idx] = Some(name),
                    // The top level has no level above that a name could be promoted to.
                    TailPolicy::Drop | TailPolicy::Promote => plan.dropped.single_name_tails += 1,
                }
            }
        }
    }
}

/// Refuses a document of more tokens than a plan can number.
pub(super) fn check_length(n_tokens: usize) -> Result<(), LearnError> {
    if u32::try_from(n_tokens).is_ok() {
        return Ok(());
    }
    Err(LearnError::TooLong {
        n_tokens,
        most: u32::MAX,
    })
}

/// Returns the name of the pattern that consists of these children.
fn name_of_children(
    children: &[Child],
    names: &[PatternName],
    scratch: &mut NameScratch,
) -> PatternName {
    // Names alone have a fast path that hashes prepared text. The empty symbol of a chunk of one
    // name is no name, so such chunks, which only comparisons with the original permit, are hashed
    // as text.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Not with a document: its tokens alone would take 16 GiB.
    #[test]
    fn a_document_of_more_tokens_than_can_be_numbered_is_refused() {
        let most = u32::MAX as usize;
        assert!(check_length(0).is_ok() && check_length(most).is_ok());
        let error = check_length(most + 1).unwrap_err();
        assert!(
            matches!(error, LearnError::TooLong { n_tokens, .. } if n_tokens == most + 1),
            "{error:?}"
        );
        let message = error.to_string();
        assert!(message.contains("cut it into several"), "{message}");
    }
}
