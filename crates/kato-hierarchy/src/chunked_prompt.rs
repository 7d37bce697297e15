//! Cuts a prompt into the chunks that training would have learned.

use std::num::NonZeroUsize;

use kato_learner::ChunkRule;
use kato_learner::chunk::chunk_lengths;
use kato_learner::config::{ChunkSpan, TextMode};
use kato_learner::segment::{SentenceBoundary, sentence_ranges};
use kato_model::PatternName;

use crate::hierarchy::token_event;
use crate::{Hierarchy, HierarchyError, Prompt};

/// A prompt in chunks of tokens.
#[derive(Debug, Default)]
pub(crate) struct ChunkedPrompt {
    /// Chunks that are complete, however the text continues.
    pub(crate) closed: Vec<Vec<String>>,
    /// The tokens after them: the beginning of a chunk.
    pub(crate) open: Vec<String>,
}

impl ChunkedPrompt {
    /// Cuts as training did, except for the end.
    ///
    /// The text may go on, so its last paragraph is never too short and never cut off, and its last
    /// chunk is complete only when no rule could add to it, or when it is a pattern that level 0
    /// learned.
    pub(crate) fn new(hierarchy: &Hierarchy, prompt: Prompt<'_>) -> Result<Self, HierarchyError> {
        let mut chunked = Self::default();
        let runs = match prompt {
            Prompt::Text(text) => runs_of(hierarchy, text)?,
            Prompt::Tokens(tokens) => vec![tokens.to_vec()],
        };
        let n_runs = runs.len();
        for (run_idx, tokens) in runs.into_iter().enumerate() {
            let chunks = chunks_of(hierarchy, tokens, run_idx + 1 == n_runs);
            chunked.closed.extend(chunks.closed);
            // Only the last run leaves a chunk open; the others leave nothing.
            chunked.open = chunks.open;
        }
        chunked.close_known(hierarchy)?;
        Ok(chunked)
    }

    /// Returns all tokens, in order.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &String> {
        self.closed.iter().flatten().chain(&self.open)
    }

    /// Closes the open chunk, or a full one at its beginning, if level 0 learned exactly that.
    fn close_known(&mut self, hierarchy: &Hierarchy) -> Result<(), HierarchyError> {
        // Sentences and segments have no full size: the whole of the open tokens is the only
        // candidate.
        let full = match hierarchy.settings().text_mode {
            TextMode::Chunks { .. } => hierarchy.chunk_size(0),
            TextMode::Sentences { .. } | TextMode::Segments { .. } => self.open.len(),
        };
        // The longer one first: a chunk with a glued remainder includes the full one. A shorter
        // chunk stays open even if it is known, as it may be the beginning of a longer one.
        for length in [self.open.len(), full] {
            if length < full.max(2) || length > self.open.len() {
                continue;
            }
            let events: Vec<_> = self.open[..length].iter().map(|t| token_event(t)).collect();
            if hierarchy.knows(0, &PatternName::of_events(&events))? {
                let rest = self.open.split_off(length);
                self.closed.push(std::mem::replace(&mut self.open, rest));
                break;
            }
        }
        Ok(())
    }
}

/// Returns the runs of tokens that no chunk reaches across.
fn runs_of(hierarchy: &Hierarchy, text: &str) -> Result<Vec<Vec<String>>, HierarchyError> {
    let settings = hierarchy.settings();
    let mut texts = Vec::new();
    for section in settings.segmentation.sections(text) {
        match settings.chunk_span {
            ChunkSpan::Section => texts.push(section.text),
            ChunkSpan::Paragraph => {
                // Without a minimum, because the last paragraph counts however short it is. The
                // others are checked against the minimum below.
                texts.extend(section.paragraphs(0).map(|paragraph| paragraph.text));
            }
        }
    }
    let n_texts = texts.len();
    let mut runs: Vec<Vec<String>> = Vec::new();
    for (text_idx, text) in texts.into_iter().enumerate() {
        let is_last = text_idx + 1 == n_texts;
        let is_short = settings.chunk_span == ChunkSpan::Paragraph
            // Counting stops at the minimum, so a long paragraph is not read to its end.
            && text.chars().take(settings.min_paragraph_chars).count()
                < settings.min_paragraph_chars;
        if is_short && !is_last {
            continue;
        }
        let joins = |run: &Vec<String>| match settings.text_mode {
            TextMode::Chunks { rule } => rule.joins(run.len()),
            TextMode::Sentences { .. } | TextMode::Segments { .. } => false,
        };
        let mut run = |piece: &str| -> Result<(), HierarchyError> {
            let mut tokens = tokens_of(hierarchy, piece)?;
            // Training would cut a long paragraph off, but then generation would continue from a
            // place that is not the prompt's end.
            if !is_last {
                tokens.truncate(settings.token_limit.apply(tokens.len()).n_kept);
            }
            match runs.last_mut() {
                // As in training, what is too short stands in front of what follows.
                Some(last) if joins(last) => last.extend(tokens),
                _ => runs.push(tokens),
            }
            Ok(())
        };
        match settings.text_mode {
            TextMode::Chunks { .. } | TextMode::Sentences { .. } => run(text)?,
            TextMode::Segments { delimiter } => {
                for piece in delimiter.segments(text) {
                    run(&piece)?;
                }
            }
        }
    }
    Ok(runs)
}

/// Returns the tokens of a text as strings.
fn tokens_of(hierarchy: &Hierarchy, text: &str) -> Result<Vec<String>, HierarchyError> {
    let tokenizer = hierarchy.tokenizer();
    let ids = tokenizer.encode(text)?;
    let vocabulary = tokenizer.vocabulary();
    // Left out, it would make chunks of what stands on both sides of it, which no document holds.
    let token = |id: u32| match vocabulary.get(id) {
        Some(token) => Ok(token.to_owned()),
        None => Err(HierarchyError::UnknownToken {
            id,
            vocabulary: vocabulary.len(),
        }),
    };
    ids.into_iter().map(token).collect()
}

/// Cuts one run into chunks; its end stays open if it is the last run.
fn chunks_of(hierarchy: &Hierarchy, tokens: Vec<String>, is_last: bool) -> ChunkedPrompt {
    let chunk_size = hierarchy.settings().nodes[0].chunk_size;
    // Settings that no builder has checked can hold a size of 0.
    let chunk_size = NonZeroUsize::new(chunk_size).unwrap_or(NonZeroUsize::MIN);
    let (ranges, is_full): (Vec<_>, fn(usize, usize) -> bool) = match hierarchy.settings().text_mode
    {
        TextMode::Chunks { rule } => {
            let is_full = match rule {
                ChunkRule::Plain => |length, size| length >= size,
                // A short remainder may still be glued to a chunk of any size.
                ChunkRule::Original { .. }
                | ChunkRule::Joined { .. }
                | ChunkRule::Bounded { .. } => |_, _| false,
            };
            (
                chunk_lengths(tokens.len(), chunk_size, rule).collect(),
                is_full,
            )
        }
        TextMode::Sentences {
            boundary,
            min_tokens,
        } => {
            let family = hierarchy.tokenizer().family();
            let boundary = boundary.unwrap_or_else(|| SentenceBoundary::from(family));
            let n_tokens = tokens.len();
            // The last sentence may go on, so it is not too short yet.
            let is_kept = |range: &std::ops::Range<usize>| {
                range.len() >= min_tokens || (is_last && range.end == n_tokens)
            };
            // The minimum is applied here and not by the function, for the sake of the last
            // sentence.
            let sentences = sentence_ranges(&tokens, boundary, 0);
            (sentences.filter(is_kept).collect(), |_, _| false)
        }
        // The segments came as runs of their own.
        TextMode::Segments { .. } => {
            let whole = std::iter::once(0..tokens.len());
            (whole.collect(), |_, _| false)
        }
    };
    let mut closed: Vec<Vec<String>> = ranges
        .iter()
        .map(|range| tokens[range.clone()].to_vec())
        .collect();
    let open = match closed.last() {
        Some(last) if is_last && !is_full(last.len(), chunk_size.get()) => {
            closed.pop().unwrap_or_default()
        }
        // The run is too short for a chunk so far.
        None if is_last => tokens,
        _ => Vec::new(),
    };
    // Nothing is learned from one token.
    closed.retain(|chunk| chunk.len() >= 2);
    ChunkedPrompt { closed, open }
}
