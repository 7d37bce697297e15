//! The arguments that decide what is learned of a text, and the learner that they ask for.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use kato_learner::config::{ChunkSpan, Recording, TextMode};
use kato_learner::segment::{Delimiter, Segmentation, TokenLimit};
use kato_learner::{ChunkRule, HierarchicalConceptLearner, LearnerConfig, TailPolicy};

use crate::exit::as_usage;
use crate::numbers::counted;

/// What is recorded with patterns beside what they are.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RecordingArgs {
    /// Record the document and token at which each pattern was first seen, which no KATO server keeps.
    #[arg(long)]
    provenance: bool,
    /// Record metadata with a document's first pattern on every level, as the original does: title
    /// (the document's id), author (`Unknown`) and book_idx (1).
    #[arg(long)]
    metadata: bool,
}

impl RecordingArgs {
    /// Returns what the flags say.
    pub(crate) fn recording(self) -> Recording {
        Recording {
            provenance: self.provenance,
            metadata: self.metadata,
        }
    }
}

/// What is learned of a text.
#[derive(Debug, Clone, Args)]
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
    /// `gpt2`, or the path of a Hugging Face tokenizer.json or of a folder with one.
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
    /// Let chunks reach across paragraphs; blank lines are text then, and no paragraph is too
    /// short.
    #[arg(long)]
    whole_document: bool,
    /// Leave out what another trainer leaves out. With default options every token of a document is
    /// learned, unless it is the only one.
    #[arg(long, value_name = "TRAINER", value_enum)]
    like: Option<Like>,
    /// Leave out and count paragraphs shorter than this many characters. Default: 0, or what --like
    /// says.
    #[arg(long, value_name = "N", conflicts_with = "whole_document")]
    min_paragraph_chars: Option<usize>,
    /// Leave out and count what a paragraph (with --whole-document a section, of pieces a piece) has
    /// beyond this many tokens; 0 learns all. Default: 0, or what --like says.
    #[arg(long, value_name = "N")]
    max_paragraph_tokens: Option<usize>,
    /// What happens to a pattern that is the only one left on its level at the end of a document. A
    /// pattern of the level above needs at least two.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Tail::Drop)]
    tail: Tail,
}

/// A trainer whose limits are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Like {
    /// The original: without paragraphs of fewer than 10 characters or 3 tokens, and without what a
    /// paragraph has beyond 2048 tokens.
    KatoLm,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tail {
    /// It is left out and counted.
    Drop,
    /// It goes up unchanged. One that is alone on the highest level is left out and counted.
    Promote,
}

impl LearningArgs {
    /// Builds the learner.
    ///
    /// # Errors
    ///
    /// When there is no such tokenizer, and for chunk sizes that cannot be.
    pub(crate) fn learner(&self, recording: Recording) -> Result<HierarchicalConceptLearner> {
        let is_path = self.tokenizer.ends_with(".json") || self.tokenizer.starts_with(['/', '.']);
        let path = Path::new(&self.tokenizer);
        if is_path && !path.is_file() && !path.join("tokenizer.json").is_file() {
            bail!(
                "--tokenizer {}: there is no such file, nor a folder with a tokenizer.json",
                self.tokenizer
            );
        }
        let tokenizer = kato_tokenizer::load(&self.tokenizer);
        let tokenizer = tokenizer.with_context(|| format!("--tokenizer {}", self.tokenizer))?;
        let mut builder = HierarchicalConceptLearner::builder(tokenizer)
            .with_chunk_sizes(self.levels.iter().copied());
        let mut mode = self.mode;
        if self.like == Some(Like::KatoLm) {
            builder = builder.like_kato_lm();
            if let TextMode::Chunks { rule } = &mut mode {
                *rule = ChunkRule::original();
            }
        }
        if let Some(chars) = self.min_paragraph_chars {
            builder = builder.with_min_paragraph_chars(chars);
        }
        if let Some(max_tokens) = self.max_paragraph_tokens {
            builder = builder.with_token_limit(match max_tokens {
                0 => TokenLimit::Unlimited,
                max_tokens => TokenLimit::Cut { max_tokens },
            });
        }
        let learner = builder
            .with_text_mode(mode)
            .with_segmentation(self.segmentation)
            .with_chunk_span(if self.whole_document {
                ChunkSpan::Section
            } else {
                ChunkSpan::Paragraph
            })
            .with_tail_policy(match self.tail {
                Tail::Drop => TailPolicy::Drop,
                Tail::Promote => TailPolicy::Promote,
            })
            .with_recording(recording)
            .build()
            .map_err(|error| {
                let levels: Vec<String> = self.levels.iter().map(usize::to_string).collect();
                let given = format!("--levels {}", levels.join(","));
                as_usage(&anyhow!(error).context(given))
            })?;
        Ok(learner)
    }
}

/// Returns what the settings of a learner leave out of a document, in words; nothing where every
/// token is learned.
pub(crate) fn leaves_out(config: &LearnerConfig) -> Vec<String> {
    let passage = match config.chunk_span {
        ChunkSpan::Paragraph => "paragraph",
        ChunkSpan::Section => "section",
    };
    let mut left_out = Vec::new();
    if config.min_paragraph_chars > 0 && config.chunk_span == ChunkSpan::Paragraph {
        left_out.push(format!(
            "paragraphs of fewer than {}",
            counted(config.min_paragraph_chars, "character")
        ));
    }
    if let TokenLimit::Cut { max_tokens } = config.token_limit {
        let limited = match config.text_mode {
            TextMode::Segments { .. } => "piece",
            TextMode::Chunks { .. } | TextMode::Sentences { .. } => passage,
        };
        left_out.push(format!(
            "what a {limited} has beyond {}",
            counted(max_tokens, "token")
        ));
    }
    if config.segmentation != Segmentation::default() {
        left_out.push("headings".to_owned());
    }
    match config.text_mode {
        TextMode::Chunks { rule } if rule != ChunkRule::default() => {
            left_out.push(format!("{passage}s of too few tokens for a chunk"));
        }
        TextMode::Sentences { min_tokens, .. } if min_tokens > 0 => {
            left_out.push(format!(
                "sentences of fewer than {}",
                counted(min_tokens, "token")
            ));
        }
        TextMode::Segments { delimiter } => {
            left_out.push("pieces of one token".to_owned());
            let whole = [Delimiter::Sentence, Delimiter::Word, Delimiter::Paragraph];
            if !whole.contains(&delimiter) {
                left_out.push(format!("{passage}s of fewer words than a piece has"));
            }
        }
        TextMode::Chunks { .. } | TextMode::Sentences { .. } => {}
    }
    left_out
}

/// Values of `--mode`.
const MODES: [&str; 9] = [
    "chunks",
    "sentences",
    "sentence",
    "word",
    "bigram",
    "trigram",
    "4-gram",
    "5-gram",
    "paragraph",
];
/// Values of `--segmentation`.
const SEGMENTATIONS: [&str; 3] = ["simple", "article", "book"];

impl LearningArgs {
    /// Returns the chunk size of each level.
    #[must_use]
    pub(crate) fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// Returns the same with other chunk sizes.
    #[must_use]
    pub(crate) fn with_levels(mut self, levels: &[usize]) -> Self {
        self.levels = levels.to_vec();
        self
    }

    /// Returns flags that ask for the same.
    #[must_use]
    pub(crate) fn to_flags(&self) -> Vec<String> {
        let levels: Vec<String> = self.levels.iter().map(usize::to_string).collect();
        let mode = MODES
            .iter()
            .find(|name| text_mode(name).is_ok_and(|mode| mode == self.mode));
        let is_this = |name: &&&str| {
            name.parse::<Segmentation>()
                .is_ok_and(|s| s == self.segmentation)
        };
        let segmentation = SEGMENTATIONS.iter().find(is_this);
        let (mode, segmentation) = (mode.unwrap_or(&"chunks"), segmentation.unwrap_or(&"simple"));
        let mut flags = vec!["--levels".to_owned(), levels.join(",")];
        let mut add = |flag: &str, value: String, default: &str| {
            if value != default {
                flags.extend([flag.to_owned(), value]);
            }
        };
        add("--tokenizer", self.tokenizer.clone(), "gpt2");
        add("--mode", (*mode).to_owned(), "chunks");
        add("--segmentation", (*segmentation).to_owned(), "simple");
        if self.like == Some(Like::KatoLm) {
            add("--like", "kato-lm".to_owned(), "");
        }
        if let Some(chars) = self.min_paragraph_chars {
            add("--min-paragraph-chars", chars.to_string(), "");
        }
        if let Some(tokens) = self.max_paragraph_tokens {
            add("--max-paragraph-tokens", tokens.to_string(), "");
        }
        if matches!(self.tail, Tail::Promote) {
            flags.extend(["--tail".to_owned(), "promote".to_owned()]);
        }
        if self.whole_document {
            flags.push("--whole-document".to_owned());
        }
        flags
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        args: LearningArgs,
    }

    fn parsed(flags: &[String]) -> LearningArgs {
        let words = ["program".to_owned()]
            .into_iter()
            .chain(flags.iter().cloned());
        Program::try_parse_from(words).unwrap().args
    }

    #[test]
    fn flags_ask_for_the_same_again() {
        let lines = [
            "--levels 5,7,9",
            "--levels 8 --tokenizer tokenizer.json --tail promote --whole-document",
            "--levels 4,3 --segmentation book --min-paragraph-chars 0 --max-paragraph-tokens 0",
            "--levels 4,3 --like kato-lm --min-paragraph-chars 5",
        ];
        let modes = MODES.map(|mode| format!("--levels 5 --mode {mode}"));
        for line in lines.into_iter().map(str::to_owned).chain(modes) {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let flags = parsed(&words).to_flags();
            assert_eq!(
                format!("{:?}", parsed(&flags)),
                format!("{:?}", parsed(&words)),
                "{line}"
            );
        }
        let plain = parsed(&[]).to_flags();
        assert_eq!(plain, ["--levels", "5,7,9"]);
    }

    #[test]
    fn what_is_left_out_is_told_of_what_the_text_is_cut_into() {
        let pieces = "what a piece has beyond 9 tokens; pieces of one token";
        for (line, told) in [
            ("", "what a paragraph has beyond 9 tokens"),
            ("--whole-document", "what a section has beyond 9 tokens"),
            (
                "--whole-document --like kato-lm",
                "what a section has beyond 9 tokens; sections of too few tokens for a chunk",
            ),
            (
                "--whole-document --mode sentences",
                "what a section has beyond 9 tokens; sentences of fewer than 3 tokens",
            ),
            ("--mode sentence", pieces),
            (
                "--mode bigram",
                &format!("{pieces}; paragraphs of fewer words than a piece has"),
            ),
            (
                "--mode bigram --whole-document",
                &format!("{pieces}; sections of fewer words than a piece has"),
            ),
        ] {
            let line = format!("--max-paragraph-tokens 9 {line}");
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let learner = parsed(&words).learner(Recording::default()).unwrap();
            assert_eq!(leaves_out(learner.config()).join("; "), told, "{line}");
        }
    }
}
