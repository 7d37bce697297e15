//! Plans a document: computes its learn calls at every level from its text.

use std::num::NonZeroUsize;
use std::ops::Range;

use kato_model::{NameScratch, PatternName, name_of_ids, name_of_names};

use super::timing::NodeTimes;
use super::{CallState, HierarchicalConceptLearner, LearnScratch, TextDocument};
use crate::plan::{Child, DocumentPlan};
use crate::{
    ChunkSpan, LearnError, SentenceBoundary, TailPolicy, TextMode, chunk_lengths, sentence_ranges,
};

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
        for section in self.config.segmentation.sections(document.text) {
            plan.dropped.heading_chars += section.n_heading_chars() as u64;
            match self.config.chunk_span {
                ChunkSpan::Section => self.plan_text(section.text, section.offset, plan, names)?,
                ChunkSpan::Paragraph => {
                    let mut paragraphs = section.paragraphs(self.config.min_paragraph_chars);
                    for paragraph in paragraphs.by_ref() {
                        self.plan_text(paragraph.text, paragraph.offset, plan, names)?;
                    }
                    // Only an iterator that has reached its end knows everything it left out.
                    plan.dropped.short_paragraphs += paragraphs.dropped().n_paragraphs;
                    plan.dropped.short_paragraph_chars += paragraphs.dropped().n_chars;
                }
            }
        }
        self.plan_levels(plan, names, state, times);
        times.run(None);
        for (node_idx, node) in plan.nodes.iter_mut().enumerate() {
            // Level 0 marks every document, higher levels only the first of a call.
            node.metadata_first = !node.names.is_empty()
                && (node_idx == 0 || !std::mem::replace(&mut state.metadata_sent[node_idx], true));
        }
        Ok(())
    }

    /// Plans level 0 for one run of text, which starts at byte `offset` of the document.
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
                // The builder refuses level 0 with a chunk size below 2, so the fallback is not
                // reached.
                let chunk_size =
                    NonZeroUsize::new(self.config.nodes[0].chunk_size).unwrap_or(NonZeroUsize::MIN);
                let chunks = chunk_lengths(plan.tokens.len() - run, chunk_size, rule);
                plan.dropped.short_run_tokens += chunks.n_dropped() as u64;
                self.push_ranges(run, chunks, plan, names)
            }
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
                self.push_ranges(run, kept.into_iter(), plan, names)
            }
            TextMode::Segments { delimiter } => {
                for segment in delimiter.segments(text) {
                    // Each segment is tokenized by itself, so its first token has no blank before
                    // it. A segment of one token is no pattern and is counted as dropped in
                    // `push_ranges`.
                    let run = self.tokenize(&segment, offset, plan)?;
                    let whole = 0..plan.tokens.len() - run;
                    self.push_ranges(run, std::iter::once(whole), plan, names)?;
                }
                Ok(())
            }
        }
    }

    /// Appends the tokens of a text within the limit and returns where they start.
    fn tokenize(
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
    fn unknown(&self, id: u32) -> LearnError {
        LearnError::UnknownToken {
            id,
            vocabulary: self.vocabulary.len(),
        }
    }

    /// Plans a chunk for each range of the run that starts at `run`, and removes the tokens that
    /// are in none.
    fn push_ranges(
        &self,
        run: usize,
        ranges: impl Iterator<Item = Range<usize>>,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
    ) -> Result<(), LearnError> {
        // Kept chunks are moved together: `plan.tokens` holds exactly the tokens of planned
        // patterns, and provenance counts these. `kept` never passes `start`, as ranges ascend.
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
            .map_err(|unknown| self.unknown(unknown.id))?;
        plan.nodes[0].push_call(name, chunk.end, chunk.start as u32);
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
            let chunk_size = self.config.nodes[node_idx].chunk_size;
            // A chunk size of 1 is the original's oddity: its calls teach nothing.
            // Otherwise chunks need two symbols, and a single name is left to the tail policy.
            let min_children = chunk_size.min(2);
            let mut start = 0;
            while node.children.len() - start >= min_children {
                let end = node.children.len().min(start + chunk_size);
                let name = name_of_children(
                    &node.children[start..end],
                    &node.child_names[start..end],
                    names,
                );
                node.push_call(name, end, node.child_tokens[start]);
                start = end;
            }
            // At most one child is left. It is removed, so that `children` holds exactly the
            // symbols of planned calls; it goes up, waits, or is counted.
            if start < node.children.len()
                && let Some((name, first_token)) = node.pop_child()
            {
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
