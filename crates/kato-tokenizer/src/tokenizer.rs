//! The contract that every tokenizer fulfils.

use std::fmt;
use std::sync::Arc;

use crate::{Family, TokenizeError, Vocabulary};

/// A tokenizer, which turns text into ids and ids back into text. Object safe; share it as
/// `Arc<dyn Tokenizer>`.
///
/// Encoding is a pure function of the text: the same text gives the same ids on every
/// thread and in every run.
pub trait Tokenizer: Send + Sync + fmt::Debug {
    /// Returns the name that the user gave: `gpt2`, a path, a name.
    fn name(&self) -> &str;

    /// Returns a hexadecimal digest of everything that decides ids and token strings.
    ///
    /// Store it with a run and compare it on resume. Equal fingerprints mean equal results. The
    /// reverse holds per file format: the same tokenizer saved in format 1.0 and in 2.0 differs.
    fn fingerprint(&self) -> &str;

    /// Returns the way in which token strings mark the beginning of a word.
    fn family(&self) -> Family;

    /// Returns the token string of every id.
    fn vocabulary(&self) -> &Vocabulary;

    /// Appends the ids of `text` to `ids`: all of them, and none that the text does not contain.
    ///
    /// Shape: an empty text appends nothing. Every appended id has a token in
    /// [`vocabulary`](Self::vocabulary).
    ///
    /// # Errors
    ///
    /// When the tokenizer has no id for a part of the text, or the text costs more than it may; `ids` is then as
    /// it was before.
    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError>;

    /// Returns the text that `ids` stand for, special tokens included.
    ///
    /// Ids without a token are skipped; bytes that are not UTF-8, as when a character is cut in
    /// two, become U+FFFD.
    fn decode(&self, ids: &[u32]) -> String;

    /// Returns whether `id` is a control token such as `<|endoftext|>`.
    ///
    /// Filter by it before decoding to leave them out. By default no id is one.
    fn is_special(&self, id: u32) -> bool {
        let _ = id;
        false
    }

    /// Returns the ids of `text` in a new vector; see [`encode_into`](Self::encode_into).
    ///
    /// # Errors
    ///
    /// Those of [`encode_into`](Self::encode_into).
    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizeError> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids)?;
        Ok(ids)
    }

    /// Returns the text that token strings stand for.
    ///
    /// A string outside the vocabulary, such as a pattern name, is kept verbatim.
    ///
    /// ```
    /// use kato_tokenizer::{Tokenizer, gpt2};
    /// assert_eq!(gpt2().decode_tokens(&["A", "Ġcat", "PTRN|0a"]), "A catPTRN|0a");
    /// ```
    fn decode_tokens(&self, tokens: &[&str]) -> String {
        let mut text = String::new();
        // Neighbouring tokens are decoded together, because several may share the
        // bytes of one character.
        let mut known = Vec::new();
        for token in tokens {
            match self.vocabulary().id(token) {
                Some(id) => known.push(id),
                None => {
                    text.push_str(&self.decode(&known));
                    known.clear();
                    text.push_str(token);
                }
            }
        }
        text.push_str(&self.decode(&known));
        text
    }
}

impl<T: Tokenizer + ?Sized> Tokenizer for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn fingerprint(&self) -> &str {
        (**self).fingerprint()
    }

    fn family(&self) -> Family {
        (**self).family()
    }

    fn vocabulary(&self) -> &Vocabulary {
        (**self).vocabulary()
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        (**self).encode_into(text, ids)
    }

    fn decode(&self, ids: &[u32]) -> String {
        (**self).decode(ids)
    }

    fn is_special(&self, id: u32) -> bool {
        (**self).is_special(id)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizeError> {
        (**self).encode(text)
    }

    fn decode_tokens(&self, tokens: &[&str]) -> String {
        (**self).decode_tokens(tokens)
    }
}
