//! The arguments that decide what is learned of a text, and the learner that they ask for.

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use kato_learner::config::{ChunkSpan, Recording, TextMode};
use kato_learner::segment::{Delimiter, Segmentation, TokenLimit};
use kato_learner::{HierarchicalConceptLearner, TailPolicy};

/// What is learned of a text.
#[derive(Debug, Args)]
pub(crate) struct LearningArgs {
    /// Chunk size of each level, from the bottom up: tokens of a pattern, then patterns of a
    /// pattern.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "5,7,9"
    )]
    levels: Vec<usize>,
    /// `gpt2`, or the path of a Hugging Face tokenizer.json.
    #[arg(long, value_name = "NAME|FILE", default_value = "gpt2")]
    tokenizer: String,
    /// What the lowest level learns as one pattern: chunks (of tokens), sentences (found by their
    /// tokens), or pieces that are cut out of the text before it is tokenized: sentence, word,
    /// bigram, trigram, 4-gram, 5-gram, paragraph.
    #[arg(long, value_name = "MODE", default_value = "chunks", value_parser = text_mode)]
    mode: TextMode,
    /// How a document is cut into sections: simple, article or book.
    #[arg(long, value_name = "KIND", default_value = "simple")]
    segmentation: Segmentation,
    /// Let chunks reach across paragraphs; blank lines are text then, and nothing is too short.
    #[arg(long)]
    whole_document: bool,
    /// Leave out and count paragraphs shorter than this many characters.
    #[arg(long, value_name = "N", default_value_t = 10)]
    min_paragraph_chars: usize,
    /// Leave out and count what a paragraph has beyond this many tokens; 0 learns all.
    #[arg(long, value_name = "N", default_value_t = 2048)]
    max_paragraph_tokens: usize,
    /// What becomes of a pattern that is alone on its level when a document ends: one is too few
    /// for a pattern above.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Tail::Drop)]
    tail: Tail,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tail {
    /// It is left out and counted.
    Drop,
    /// It goes up unchanged, so nothing is left out.
    Promote,
}

impl LearningArgs {
    /// Builds the learner.
    ///
    /// # Errors
    ///
    /// When there is no such tokenizer, and for chunk sizes that cannot be.
    pub(crate) fn learner(&self, recording: Recording) -> Result<HierarchicalConceptLearner> {
        let tokenizer = kato_tokenizer::load(&self.tokenizer);
        let tokenizer = tokenizer.with_context(|| format!("--tokenizer {}", self.tokenizer))?;
        let learner = HierarchicalConceptLearner::builder(tokenizer)
            .with_chunk_sizes(self.levels.iter().copied())
            .with_text_mode(self.mode)
            .with_segmentation(self.segmentation)
            .with_chunk_span(if self.whole_document {
                ChunkSpan::Section
            } else {
                ChunkSpan::Paragraph
            })
            .with_min_paragraph_chars(self.min_paragraph_chars)
            .with_token_limit(match self.max_paragraph_tokens {
                0 => TokenLimit::Unlimited,
                max_tokens => TokenLimit::Cut { max_tokens },
            })
            .with_tail_policy(match self.tail {
                Tail::Drop => TailPolicy::Drop,
                Tail::Promote => TailPolicy::Promote,
            })
            .with_recording(recording)
            .build()?;
        Ok(learner)
    }
}

/// Parses the value of `--mode`.
fn text_mode(name: &str) -> Result<TextMode> {
    Ok(match name {
        "chunks" => TextMode::default(),
        "sentences" => TextMode::sentences(),
        piece => {
            let delimiter = piece
                .parse::<Delimiter>()
                .map_err(|error| anyhow!("neither chunks nor sentences; {error}"))?;
            TextMode::Segments { delimiter }
        }
    })
}
