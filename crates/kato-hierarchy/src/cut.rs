//! Cutting a prompt into the chunks that training would have learned.

use std::num::NonZeroUsize;

use kato_learner::{
    ChunkRule, ChunkSpan, SentenceBoundary, TextMode, chunk_lengths, sentence_ranges,
};
use kato_model::PatternName;

use crate::hierarchy::token_event;
use crate::{Hierarchy, HierarchyError, Prompt};

/// A prompt in chunks of tokens.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    /// Chunks that are complete, whatever the text goes on with.
    pub(crate) closed: Vec<Vec<String>>,
    /// The tokens after them: the beginning of a chunk.
    pub(crate) open: Vec<String>,
}

impl Cut {
    /// Cuts as training did, but for the end: the text may go on, so its last paragraph is never too short and never cut off,
    /// and its last chunk is complete only when no rule could add to it, or when it is a pattern that level 0 learned.
    pub(crate) fn of(hierarchy: &Hierarchy, prompt: Prompt<'_>) -> Result<Self, HierarchyError> {
        let mut cut = Self::default();
        let runs = match prompt {
            Prompt::Text(text) => runs_of(hierarchy, text)?,
            Prompt::Tokens(tokens) => vec![tokens.to_vec()],
        };
        let n_runs = runs.len();
        for (run_idx, tokens) in runs.into_iter().enumerate() {
            let chunks = chunks_of(hierarchy, tokens, run_idx + 1 == n_runs);
            cut.closed.extend(chunks.closed);
            cut.open = chunks.open;
        }
        cut.close_known(hierarchy);
        Ok(cut)
    }

    /// All tokens, in order.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &String> {
        self.closed.iter().flatten().chain(&self.open)
    }

    /// Closes the open chunk, or a full one at its beginning, if level 0 learned exactly that.
    fn close_known(&mut self, hierarchy: &Hierarchy) {
        let full = match hierarchy.settings().text_mode {
            TextMode::Chunks { .. } => hierarchy.chunk_size(0),
            TextMode::Sentences { .. } | TextMode::Segments { .. } => self.open.len(),
        };
        for length in [self.open.len(), full] {
            if length < full.max(2) || length > self.open.len() {
                continue;
            }
            let events: Vec<_> = self.open[..length].iter().map(|t| token_event(t)).collect();
            if hierarchy.knows(0, &PatternName::of_events(&events)) {
                let rest = self.open.split_off(length);
                self.closed.push(std::mem::replace(&mut self.open, rest));
                return;
            }
        }
    }
}

/// The runs of tokens that no chunk reaches across.
fn runs_of(hierarchy: &Hierarchy, text: &str) -> Result<Vec<Vec<String>>, HierarchyError> {
    let settings = hierarchy.settings();
    let mut texts = Vec::new();
    for section in settings.segmentation.sections(text) {
        match settings.chunk_span {
            ChunkSpan::Section => texts.push(section.text),
            ChunkSpan::Paragraph => {
                texts.extend(section.paragraphs(0).map(|paragraph| paragraph.text));
            }
        }
    }
    let n_texts = texts.len();
    let mut runs = Vec::new();
    for (text_idx, text) in texts.into_iter().enumerate() {
        let is_last = text_idx + 1 == n_texts;
        let is_short = settings.chunk_span == ChunkSpan::Paragraph
            && text.chars().take(settings.min_paragraph_chars).count()
                < settings.min_paragraph_chars;
        if is_short && !is_last {
            continue;
        }
        let mut run = |piece: &str| -> Result<(), HierarchyError> {
            let mut tokens = tokens_of(hierarchy, piece)?;
            if !is_last {
                tokens.truncate(settings.token_limit.apply(tokens.len()).n_kept);
            }
            runs.push(tokens);
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

fn tokens_of(hierarchy: &Hierarchy, text: &str) -> Result<Vec<String>, HierarchyError> {
    let tokenizer = hierarchy.tokenizer();
    let ids = tokenizer.encode(text)?;
    let token = |&id: &u32| tokenizer.vocabulary().get(id).map(str::to_owned);
    Ok(ids.iter().filter_map(token).collect())
}

/// The chunks of one run; its end stays open if it is the last.
fn chunks_of(hierarchy: &Hierarchy, tokens: Vec<String>, is_last: bool) -> Cut {
    let chunk_size = hierarchy.settings().nodes[0].chunk_size;
    let chunk_size = NonZeroUsize::new(chunk_size).unwrap_or(NonZeroUsize::MIN);
    let (ranges, is_full): (Vec<_>, fn(usize, usize) -> bool) = match hierarchy.settings().text_mode
    {
        TextMode::Chunks { rule } => {
            let is_full = match rule {
                ChunkRule::Plain => |length, size| length >= size,
                ChunkRule::Original { .. } | ChunkRule::Bounded { .. } => |_, _| false,
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
            let is_kept = |range: &std::ops::Range<usize>| {
                range.len() >= min_tokens || (is_last && range.end == n_tokens)
            };
            let sentences = sentence_ranges(&tokens, boundary, 0);
            (sentences.filter(is_kept).collect(), |_, _| false)
        }
        // The pieces came as runs of their own.
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
        // Too short for a chunk so far.
        None if is_last => tokens,
        _ => Vec::new(),
    };
    // Nothing is learned from one token.
    closed.retain(|chunk| chunk.len() >= 2);
    Cut { closed, open }
}
