//! Tokenizers of a Hugging Face `tokenizer.json`: what is in the file is followed, or refused when it is read.

mod added;
mod charsmap;
mod cut;
mod decoder;
mod definition;
mod error;
mod fields;
mod limits;
mod model;
mod normalizer;
mod pattern;
mod pretokenizer;
mod regex;
mod scripts;
mod trie;
mod words;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use self::added::{Added, Segment};
use self::decoder::Decoder;
use self::error::{DefinitionError, TextError};
use self::limits::{MAX_FILE_BYTES, Work};
use self::model::{Loaded, Model};
use self::normalizer::{Normalizer, Piece};
use self::pretokenizer::PreTokenizer;
use crate::{Family, LoadTokenizerError, TokenizeError, Tokenizer, Vocabulary};

/// A tokenizer read from a Hugging Face `tokenizer.json`, format 1.0 or 2.0. Cloning shares it.
///
/// Needs the feature `huggingface`.
///
/// The crate documentation says what is guaranteed.
#[derive(Clone)]
pub struct HfTokenizer {
    name: Arc<str>,
    family: Family,
    engine: Arc<Engine>,
}

/// Everything that clones of a tokenizer share.
struct Engine {
    added: Added,
    normalizer: Normalizer,
    pre_tokenizer: PreTokenizer,
    model: Model,
    decoder: Decoder,
    vocabulary: Vocabulary,
    fingerprint: String,
    /// Whose words these are in the threads' caches.
    owner: u64,
}

impl HfTokenizer {
    /// Reads a tokenizer from the file at `path`.
    ///
    /// `name` is what [`name`](Tokenizer::name) returns and what decides the [`Family`].
    ///
    /// # Errors
    ///
    /// [`LoadTokenizerError::Read`] and [`LoadTokenizerError::Definition`].
    pub fn from_file(name: &str, path: impl AsRef<Path>) -> Result<Self, LoadTokenizerError> {
        let path = path.as_ref();
        let read = || {
            let mut json = String::new();
            // One byte more than is supported shows that there is more.
            let most = MAX_FILE_BYTES as u64 + 1;
            File::open(path)?.take(most).read_to_string(&mut json)?;
            Ok::<_, io::Error>(json)
        };
        let json = read().map_err(|source| LoadTokenizerError::Read {
            path: path.to_path_buf(),
            source,
        })?;
        Self::from_json(name, &json)
    }

    /// Creates a tokenizer from the text of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// [`LoadTokenizerError::Definition`] when the text is not such a file, is larger than it may be, or asks for something that
    /// is not supported, such as dropout: the source says what.
    pub fn from_json(name: &str, json: &str) -> Result<Self, LoadTokenizerError> {
        let engine = Engine::new(json).map_err(|source| LoadTokenizerError::Definition {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
        Ok(Self {
            name: name.into(),
            family: Family::from_name(name),
            engine: Arc::new(engine),
        })
    }

    /// Sets the family, where the name leads to a wrong one.
    #[must_use]
    pub fn with_family(self, family: Family) -> Self {
        Self { family, ..self }
    }
}

impl Engine {
    /// Reads a definition.
    fn new(json: &str) -> Result<Self, DefinitionError> {
        let mut value = definition::parse(json)?;
        let fingerprint = definition::fingerprint(&value);
        let is_2 = value["version"] == "2.0";
        let part = |name: &str| value.get(name).unwrap_or(&Value::Null);
        let normalizer = Normalizer::from_json(part("normalizer"))?;
        let mut pre_tokenizer = PreTokenizer::from_json(part("pre_tokenizer"), is_2)?;
        let mut decoder = Decoder::from_json(part("decoder"))?;
        // Format 2.0 has no pre-tokenizer for the byte alphabet, but says it of the model.
        if is_2 && value["model"]["byte_level"] == true {
            pre_tokenizer.push_byte_level();
        }
        let is_byte_level = pre_tokenizer.is_byte_level();
        if is_byte_level && decoder.is_empty() {
            decoder = Decoder::byte_level();
        }
        // The text of the model is not needed beside what is read from it.
        let model = value.get_mut("model").map(Value::take).unwrap_or_default();
        let Loaded {
            model,
            mut tokens,
            n_tokens,
            ids,
        } = Model::from_json(&model, is_byte_level)?;
        pre_tokenizer.raw_bytes = matches!(model, Model::ByteBpe(_));
        let list = value.get("added_tokens").unwrap_or(&Value::Null);
        let id_of = |token: &str| ids.get(token).copied();
        let added = Added::from_json(list, &normalizer, n_tokens, id_of)?;
        for (&id, (token, _)) in &added.tokens {
            let at = id as usize;
            if tokens.len() <= at {
                tokens.resize(at + 1, String::new());
            }
            // An added token of its own must not have the id of another one.
            if !tokens[at].is_empty() && id_of(&tokens[at]) == Some(id) && added.is_new(id) {
                return Err(DefinitionError::SameId(tokens[at].clone(), token.clone()));
            }
            tokens[at].clone_from(token);
        }
        Ok(Self {
            added,
            normalizer,
            pre_tokenizer,
            model,
            decoder,
            vocabulary: Vocabulary::from_tokens(tokens),
            fingerprint,
            owner: words::new_owner(),
        })
    }

    /// Appends the ids of a text.
    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TextError> {
        let mut work = Work::of(text.len());
        if u32::try_from(text.len()).is_err() {
            return Err(TextError::TooLong);
        }
        self.added.split(text, false, |segment| match segment {
            Segment::Token(id) => {
                ids.push(id);
                Ok(())
            }
            Segment::Text(start, end) => {
                let text = &text[start..end];
                let first = if start == 0 {
                    text.chars().next().map_or(0, char::len_utf8)
                } else {
                    0
                };
                let piece = Piece { text, first };
                self.normalizer.normalize(piece, &mut work, |piece, work| {
                    self.added.split(piece.text, true, |segment| match segment {
                        Segment::Token(id) => {
                            ids.push(id);
                            Ok(())
                        }
                        Segment::Text(start, end) => self.words(piece.part(start, end), ids, work),
                    })
                })
            }
        })
    }

    /// Appends the ids of the words of a text without added tokens.
    fn words(
        &self,
        piece: Piece<'_>,
        ids: &mut Vec<u32>,
        work: &mut Work,
    ) -> Result<(), TextError> {
        self.pre_tokenizer.split(piece, work, &mut |word, work| {
            words::append(self.owner, word, ids, |ids| {
                self.model.word(word, ids, work)
            })
        })
    }
}

impl Tokenizer for HfTokenizer {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> &str {
        &self.engine.fingerprint
    }

    fn family(&self) -> Family {
        self.family
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.engine.vocabulary
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        let before = ids.len();
        self.engine.encode_into(text, ids).map_err(|source| {
            ids.truncate(before);
            let bytes = text.len();
            match source {
                TextError::Overrun(budget) => TokenizeError::Overrun {
                    bytes,
                    source: Box::new(budget),
                },
                source => TokenizeError::Engine {
                    bytes,
                    source: Box::new(source),
                },
            }
        })
    }

    fn decode(&self, ids: &[u32]) -> String {
        let engine = &self.engine;
        let tokens = ids.iter().filter_map(|&id| engine.vocabulary.get(id));
        let decoded = engine
            .decoder
            .decode(tokens.clone().map(str::to_owned).collect());
        // A decoder that cannot undo these still leaves its tokens to show.
        decoded.unwrap_or_else(|_| tokens.collect())
    }

    fn is_special(&self, id: u32) -> bool {
        let token = self.engine.added.tokens.get(&id);
        token.is_some_and(|&(_, special)| special)
    }
}

impl fmt::Debug for HfTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HfTokenizer")
            .field("name", &self.name)
            .field("family", &self.family)
            .field("fingerprint", &self.engine.fingerprint)
            .field("vocabulary", &self.engine.vocabulary)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
