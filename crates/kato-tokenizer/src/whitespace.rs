//! A tokenizer whose tokens are the words between blanks.

use sha1::{Digest as _, Sha1};

use crate::{Family, TokenizeError, Tokenizer, Vocabulary};

/// A tokenizer that splits at Unicode white space and knows exactly the words it was built from.
///
/// The list of words is closed because ids must keep their meaning: a table that grew while
/// encoding would give different ids to different threads.
///
/// ```
/// use kato_tokenizer::{Tokenizer, Whitespace};
/// let tokenizer = Whitespace::from_texts(["b a", "a c"]);
/// assert_eq!(tokenizer.encode("a b\n c")?, [1, 0, 2]);
/// assert_eq!(tokenizer.decode(&[1, 0, 2]), "a b c");
/// # Ok::<(), kato_tokenizer::TokenizeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Whitespace {
    vocabulary: Vocabulary,
    fingerprint: String,
}

impl Whitespace {
    /// Creates a tokenizer that knows every word of these texts; ids in the order
    /// of first appearance.
    pub fn from_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for text in texts {
            for word in text.as_ref().split_whitespace() {
                if known.insert(word.to_owned()) {
                    words.push(word.to_owned());
                }
            }
        }
        // Names the kind of tokenizer and the version of this form, so that no other kind and no
        // later form has the same fingerprint.
        let mut hasher = Sha1::new_with_prefix(b"kato whitespace 2");
        for word in &words {
            // A word holds no blank, so a blank separates without ambiguity.
            hasher.update(b" ");
            hasher.update(word.as_bytes());
        }
        let digest = hasher.finalize();
        let fingerprint = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            vocabulary: Vocabulary::from_tokens(words),
            fingerprint,
        }
    }
}

impl Tokenizer for Whitespace {
    fn name(&self) -> &str {
        "whitespace"
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        let before = ids.len();
        for word in text.split_whitespace() {
            let Some(id) = self.vocabulary.id(word) else {
                // The contract: an error leaves `ids` as it was.
                ids.truncate(before);
                return Err(TokenizeError::UnknownWord {
                    word: word.to_owned(),
                });
            };
            ids.push(id);
        }
        Ok(())
    }

    fn decode(&self, ids: &[u32]) -> String {
        let words: Vec<&str> = ids
            .iter()
            .filter_map(|&id| self.vocabulary.get(id))
            .collect();
        words.join(" ")
    }

    fn decode_tokens(&self, tokens: &[&str]) -> String {
        tokens.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_an_error_that_leaves_the_ids_alone() {
        let tokenizer = Whitespace::from_texts(["a b"]);
        let mut ids = vec![7];
        let error = tokenizer.encode_into("a x b", &mut ids).unwrap_err();
        assert!(matches!(error, TokenizeError::UnknownWord { word } if word == "x"));
        assert_eq!(ids, [7]);
    }

    #[test]
    fn the_fingerprint_depends_on_words_and_their_order() {
        let of = |text| Whitespace::from_texts([text]).fingerprint().to_owned();
        assert_eq!(of("a b a"), of(" a\tb"));
        assert_ne!(of("a b"), of("b a"));
        assert_ne!(of("ab"), of("a b"));
    }
}
