//! The result of a generation: spans of tokens, and where each comes from.

use std::fmt;
use std::ops::Range;

use kato_model::PatternName;
use kato_prediction::Prediction;
use serde::Serialize;

use crate::Source;

/// The degree to which a pattern agrees with what it continues; later is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Something matches, but not the end of the state: the future is that of similar text. Only
    /// right after the prompt.
    Loose,
    /// The end of the state matches.
    Continues,
    /// Pattern and state agree event for event from the beginning of both.
    Exact,
}

/// One pattern on the path from the tokens up to the pattern whose future was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PatternLink {
    /// Its level.
    pub level: usize,
    /// Its name.
    pub pattern: PatternName,
}

/// A piece of a span: the tokens that one pattern stands for, or the end of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SpanPiece {
    /// The level that holds the pattern.
    pub level: usize,
    /// The pattern.
    pub pattern: PatternName,
    /// Its tokens among those of the span.
    pub tokens: Range<usize>,
    /// Their text, which may be the end of the pattern's: what was there before it is no part.
    pub text: String,
    /// Place where the pattern was first seen, if that was recorded.
    pub source: Option<Source>,
}

/// Tokens that one step added, with the reason.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GeneratedSpan {
    /// The tokens; never empty.
    pub tokens: Vec<String>,
    /// Their text.
    pub text: String,
    /// The level whose future was taken.
    pub level: usize,
    /// The prediction: name, metrics, and the pattern in past, present and future. As it was
    /// predicted: where the pattern agrees with the state from the beginning, the tokens are what
    /// follows there.
    pub prediction: Prediction,
    /// The fit of the worst pattern of [`chain`](Self::chain) with the text.
    pub fit: Fit,
    /// Mean of the ranking metric over the predictions on the path.
    pub score: f64,
    /// Number of choices from which this one was chosen.
    pub n_choices: usize,
    /// Whether nothing continued the text, so that its last tokens alone were searched.
    pub is_bridge: bool,
    /// The patterns that the text is in the middle of, from the lowest level up to the pattern whose
    /// future was taken.
    pub chain: Vec<PatternLink>,
    /// The patterns that the tokens stand for, in order; together they are all tokens.
    pub parts: Vec<SpanPiece>,
    /// Place where the pattern whose future was taken was first seen, if that was recorded.
    pub source: Option<Source>,
}

/// The reason why a generation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GenerationEnd {
    /// The limit on the number of tokens was reached.
    MaxTokens,
    /// This stop text was generated.
    StopText(String),
    /// The patterns that the text follows end here, and no level knows what comes after them.
    Learned,
    /// Nothing that was learned continues the text.
    NoAnswer,
    /// A state came back.
    Repetition,
    /// The next tokens are those of a pattern that no level holds.
    UnknownPattern(PatternName),
    /// A node or the store could not be read; the last item of the generator is the error.
    Unreadable,
}

impl fmt::Display for GenerationEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxTokens => f.write_str("as many tokens as were asked for"),
            Self::StopText(text) => write!(f, "the stop text {text:?}"),
            Self::Learned => f.write_str("what was learned ends here"),
            Self::NoAnswer => f.write_str("nothing that was learned continues this"),
            Self::Repetition => f.write_str("it would repeat itself"),
            Self::Unreadable => f.write_str("a node could not be read"),
            Self::UnknownPattern(name) => {
                write!(f, "the next pattern, {name}, is not in the knowledge base")
            }
        }
    }
}

/// A finished generation. Empty is a legal answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The tokens of the prompt that belong to a chunk or the beginning of one.
    pub prompt_tokens: Vec<String>,
    /// The tokens generated.
    pub tokens: Vec<String>,
    /// Their text.
    pub text: String,
    /// The text of prompt and answer. Blank lines between paragraphs are not in it, unless chunks
    /// reach across paragraphs: otherwise no level learns them.
    pub whole_text: String,
    /// The steps.
    pub spans: Vec<GeneratedSpan>,
    /// The reason why it ended.
    pub end: GenerationEnd,
}
