//! The models of a definition: the ids of a word.

mod bpe;
mod unigram;
mod wordpiece;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde_json::Value;

use self::bpe::CharBpe;
use self::unigram::Unigram;
use self::wordpiece::WordPiece;
use super::error::{DefinitionError, TextError};
use super::fields::Fields;
use super::limits::{IDS_PER_TOKEN, MAX_TOKEN_BYTES, MAX_TOKENS, MIN_ID_BOUND, Work};
use crate::bpe::Bpe;

/// Tokens and their ids.
pub(super) type Ids = HashMap<Box<str>, u32, RandomState>;

/// What gives a word its ids.
pub(super) enum Model {
    /// Over the bytes of words, all of which have ids.
    ByteBpe(Box<Bpe>),
    CharBpe(Box<CharBpe>),
    Unigram(Box<Unigram>),
    WordPiece(Box<WordPiece>),
    WordLevel {
        ids: Arc<Ids>,
        unknown: Unknown,
    },
}

/// A model and its tokens.
pub(super) struct Loaded {
    pub(super) model: Model,
    /// The token of each id, nothing where an id is not used.
    pub(super) tokens: Vec<String>,
    /// How many tokens there are as Hugging Face counts them, for the ids of added tokens.
    pub(super) n_tokens: u32,
    /// Tokens of Unigram may be listed more than once; an id of its own is the last one's.
    pub(super) ids: Arc<Ids>,
}

/// What stands for a part of a text that the model does not know.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unknown {
    Id(u32),
    /// There is nothing for it.
    None,
    /// There should be something, which is not in the vocabulary.
    Missing,
}

impl Unknown {
    fn of(token: &str, ids: &Ids) -> Self {
        match ids.get(token) {
            Some(&id) => Self::Id(id),
            None => Self::Missing,
        }
    }

    /// Returns the id that stands for a word, which must have one.
    fn id(self, word: &str) -> Result<u32, TextError> {
        match self {
            Self::Id(id) => Ok(id),
            Self::None | Self::Missing => Err(TextError::Unknown {
                word: word.chars().take(40).collect(),
            }),
        }
    }
}

impl Model {
    /// Reads the model. With `byte_level`, the words are spelled in the byte alphabet.
    pub(super) fn from_json(value: &Value, byte_level: bool) -> Result<Loaded, DefinitionError> {
        let fields = Fields {
            part: "model",
            value,
        };
        let kind = match fields.get("type") {
            Some(_) => fields.kind()?,
            // Old files name no kind; what they hold tells.
            None if fields.get("merges").is_some() => "BPE",
            None if fields.get("continuing_subword_prefix").is_some() => "WordPiece",
            None if fields.get("vocab").is_some_and(Value::is_array) => "Unigram",
            None => "WordLevel",
        };
        let vocab = fields.get("vocab").unwrap_or(&Value::Null);
        if kind == "Unigram" {
            return unigram::from_json(fields, vocab);
        }
        let (ids, tokens) = ids(vocab)?;
        let ids = Arc::new(ids);
        let model = match kind {
            "BPE" => bpe::from_json(fields, &ids, byte_level)?,
            "WordPiece" => Self::WordPiece(Box::new(WordPiece::from_json(fields, &ids)?)),
            "WordLevel" => Self::WordLevel {
                unknown: Unknown::of(fields.text("unk_token")?, &ids),
                ids: Arc::clone(&ids),
            },
            _ => return Err(fields.unknown()),
        };
        Ok(Loaded {
            model,
            tokens,
            n_tokens: u32::try_from(ids.len()).unwrap_or(u32::MAX),
            ids,
        })
    }

    /// Appends the ids of a word.
    pub(super) fn word(
        &self,
        word: &str,
        ids: &mut Vec<u32>,
        work: &mut Work,
    ) -> Result<(), TextError> {
        if u32::try_from(word.len()).is_err() {
            return Err(TextError::TooLong);
        }
        match self {
            Self::ByteBpe(bpe) => {
                let known = bpe.word(word.as_bytes(), ids);
                known.map_err(|_| TextError::Unknown {
                    word: word.chars().take(40).collect(),
                })
            }
            Self::CharBpe(bpe) => bpe.word(word, ids),
            Self::Unigram(unigram) => unigram.word(word, ids, work),
            Self::WordPiece(pieces) => pieces.word(word, ids, work),
            Self::WordLevel {
                ids: known,
                unknown,
            } => {
                ids.push(match known.get(word) {
                    Some(&id) => id,
                    None => unknown.id(word)?,
                });
                Ok(())
            }
        }
    }
}

/// Reads an object of tokens and their ids; returns also the token of each id.
fn ids(vocab: &Value) -> Result<(Ids, Vec<String>), DefinitionError> {
    let entries = vocab.as_object().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or(DefinitionError::NoVocabulary)?;
    check_number(entries.len())?;
    let mut ids = Ids::with_capacity_and_hasher(entries.len(), RandomState::default());
    let mut tokens = Vec::new();
    for (token, id) in entries {
        let start = || token.chars().take(40).collect::<String>();
        let id = id.as_u64().filter(|&id| u32::try_from(id).is_ok());
        let id = id.ok_or_else(|| DefinitionError::BadId(start()))?;
        check_token(token)?;
        if id >= id_bound(entries.len()) {
            return Err(DefinitionError::FarId {
                token: start(),
                id,
                tokens: entries.len(),
            });
        }
        let at = id as usize;
        if tokens.len() <= at {
            tokens.resize(at + 1, String::new());
        }
        if !tokens[at].is_empty() {
            let other = tokens[at].chars().take(40).collect();
            return Err(DefinitionError::SameId(other, start()));
        }
        token.clone_into(&mut tokens[at]);
        ids.insert(token.as_str().into(), id as u32);
    }
    Ok((ids, tokens))
}

/// Returns what the ids of so many tokens are below.
pub(super) fn id_bound(tokens: usize) -> u64 {
    MIN_ID_BOUND.max((tokens as u64).saturating_mul(IDS_PER_TOKEN))
}

fn check_number(tokens: usize) -> Result<(), DefinitionError> {
    if tokens > MAX_TOKENS {
        return Err(DefinitionError::TooManyTokens);
    }
    Ok(())
}

fn check_token(token: &str) -> Result<(), DefinitionError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(DefinitionError::LongToken(token.len()));
    }
    Ok(())
}

/// Returns the ids of the tokens that stand for single bytes, `<0x00>` and so on.
fn byte_tokens(ids: &Ids) -> Box<[Option<u32>; 256]> {
    let mut bytes = Box::new([None; 256]);
    for (byte, id) in (0u8..=255).zip(bytes.iter_mut()) {
        *id = ids.get(format!("<0x{byte:02X}>").as_str()).copied();
    }
    bytes
}
