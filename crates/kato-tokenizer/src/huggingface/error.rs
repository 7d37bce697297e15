//! The errors of a definition and of a text.

use thiserror::Error;

use super::limits::{
    IDS_PER_TOKEN, MAX_ADDED, MAX_ADDED_BYTES, MAX_AFFIX_BYTES, MAX_CHARSMAP_BYTES, MAX_FILE_BYTES,
    MAX_NESTING, MAX_STEPS, MAX_TOKEN_BYTES, MAX_TOKENS, MAX_TREE_BYTES, MAX_VALUES, Overrun,
};
use super::regex::RegexError;

/// The error of a file that is no definition of a tokenizer, or none that is supported.
#[derive(Debug, Error)]
pub(super) enum DefinitionError {
    #[error("the file has more than the {MAX_FILE_BYTES} bytes supported")]
    TooLarge,
    #[error("the file holds more than the {MAX_VALUES} values supported")]
    TooManyValues,
    #[error("it is not JSON")]
    Json(#[from] serde_json::Error),
    #[error("format `{0}` is not supported, which are 1.0 and 2.0")]
    Version(String),
    #[error("`{part}` must have a `{field}`: {expected}")]
    Field {
        part: String,
        field: &'static str,
        expected: &'static str,
    },
    #[error("{what} is not supported in `{part}`")]
    Unsupported { part: String, what: String },
    #[error("regular expression `{pattern}` in `{part}`")]
    Regex {
        part: String,
        pattern: String,
        source: RegexError,
    },
    #[error("`model.vocab` is missing or empty")]
    NoVocabulary,
    #[error("token `{0}` has no id that is a number below 2³²")]
    BadId(String),
    #[error(
        "token `{token}` has the id {id}, too far beyond the {tokens} tokens there are: tables would be mostly empty; \
         ids up to {IDS_PER_TOKEN} times the number of tokens are supported"
    )]
    FarId {
        token: String,
        id: u64,
        tokens: usize,
    },
    #[error("tokens `{0}` and `{1}` have the same id")]
    SameId(String, String),
    #[error("there are more than the {MAX_TOKENS} tokens supported")]
    TooManyTokens,
    #[error("a token is {0} bytes long, more than the {MAX_TOKEN_BYTES} supported")]
    LongToken(usize),
    #[error(
        "the tokens have {0} bytes, more than the {MAX_TREE_BYTES} supported for this kind of model"
    )]
    LargeTree(usize),
    #[error(
        "there are more added tokens than supported: {MAX_ADDED}, of {MAX_ADDED_BYTES} bytes together"
    )]
    TooManyAdded,
    #[error("`{part}` has a `{field}` of {len} bytes, more than the {MAX_AFFIX_BYTES} supported")]
    LongText {
        part: String,
        field: &'static str,
        len: usize,
    },
    #[error("`{0}` has more than the {MAX_STEPS} steps supported")]
    TooManySteps(&'static str),
    #[error("`{0}` has sequences nested deeper than the {MAX_NESTING} supported")]
    TooDeep(&'static str),
    #[error(
        "the map of a `Precompiled` normalizer has more than the {MAX_CHARSMAP_BYTES} bytes supported"
    )]
    LargeCharsmap,
    #[error("the map of a `Precompiled` normalizer is damaged")]
    BadCharsmap,
    #[error("merge {0} names `{1}`, which is not in the vocabulary")]
    MergeOfUnknown(usize, String),
    #[error("merge {0} is not two tokens")]
    BadMerge(usize),
    #[error("the added token `{0}` is nothing, or the same as another, once it is normalized")]
    AddedOnceNormalized(String),
    #[error("the added token `{token}` cannot be normalized")]
    AddedNotNormalized { token: String, source: TextError },
}

impl DefinitionError {
    pub(super) fn field(part: &str, field: &'static str, expected: &'static str) -> Self {
        Self::Field {
            part: part.to_owned(),
            field,
            expected,
        }
    }

    pub(super) fn unsupported(part: &str, what: impl Into<String>) -> Self {
        Self::Unsupported {
            part: part.to_owned(),
            what: what.into(),
        }
    }

    pub(super) fn long(part: &str, field: &'static str, len: usize) -> Self {
        Self::LongText {
            part: part.to_owned(),
            field,
            len,
        }
    }
}

/// The error of a text that has no ids.
#[derive(Debug, Error)]
pub(super) enum TextError {
    #[error(transparent)]
    Overrun(#[from] Overrun),
    #[error("`{word}` is unknown to the model, which has no unknown-token: give it one")]
    Unknown { word: String },
    #[error("the map of a `Precompiled` normalizer is damaged")]
    BadCharsmap,
    #[error(
        "an added token consists of blanks that the one before has taken: give one of them other blanks to take"
    )]
    Overlap,
    #[error("it has more than 4 GiB: cut it")]
    TooLong,
}
