//! Planning a document: its learn calls at every level, from its text.

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
    /// Starts a call: forgets what earlier documents carried over.
    pub(super) fn begin_call(&self, scratch: &mut LearnScratch) {
        let n_nodes = self.config.nodes.len();
        scratch.state.carried.clear();
        scratch.state.carried.resize(n_nodes, None);
        scratch.state.metadata_sent.clear();
        scratch.state.metadata_sent.resize(n_nodes, false);
    }

    /// Plans the next document of a call.
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
                let tokens = plan.tokens[run..].iter();
                let tokens = tokens.map(|&id| self.vocabulary.text(id).ok_or(self.unknown(id)));
                let tokens: Vec<&str> = tokens.collect::<Result<_, _>>()?;
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
        let cut = self.config.token_limit.apply(plan.tokens.len() - run);
        plan.tokens.truncate(run + cut.n_kept);
        plan.dropped.tokens_over_limit += cut.n_dropped as u64;
        // Those beyond the vocabulary's end are found when they are named.
        if self.has_unused_ids {
            let is_unused = |&&id: &&u32| self.vocabulary.text(id) == Some("");
            if let Some(&id) = plan.tokens[run..].iter().find(is_unused) {
                return Err(self.unknown(id));
            }
        }
        Ok(run)
    }

    fn unknown(&self, id: u32) -> LearnError {
        LearnError::UnknownToken {
            id,
            vocabulary: self.vocabulary.len(),
        }
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
            .map_err(|unknown| self.unknown(unknown.id))?;
        plan.nodes[0].push_call(name, chunk.end, chunk.start as u32);
        Ok(())
    }

    /// Plans the levels above 0 from the names below: full chunks, then what is left at the document's end.
    fn plan_levels(
        &self,
        plan: &mut DocumentPlan,
        names: &mut NameScratch,
        state: &mut CallState,
        times: &mut NodeTimes,
    ) {
        let mut promoted: Option<(PatternName, u32)> = None;
        for node_idx in 1..self.config.nodes.len() {
            times.run(Some(node_idx));
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
                let name = name_of_children(
                    &node.children[start..end],
                    &node.child_names[start..end],
                    names,
                );
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
}

fn name_of_children(
    children: &[Child],
    names: &[PatternName],
    scratch: &mut NameScratch,
) -> PatternName {
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
