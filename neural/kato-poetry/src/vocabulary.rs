//! Words and their numbers.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::tokens::{Special, Token, join, tokenize};

/// Numbers for words: first the special tokens, then words from the most frequent to the rarest,
/// equals in the order of their bytes.
///
/// A word that is not there is looked up in lower case, and is [`Special::Unknown`] if that is not
/// there either.
///
/// ```
/// use kato_poetry::PoemVocabulary;
///
/// let vocabulary = PoemVocabulary::from_texts(["The sea, the sea!", "the sky"], 1);
/// assert_eq!(vocabulary.word(6), Some("sea"));
/// assert_eq!(vocabulary.id("SKY"), vocabulary.id("sky"));
/// assert_eq!(vocabulary.id("shore"), 1);
/// assert_eq!(vocabulary.text(&vocabulary.encode("the Sky")), "the sky");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub struct PoemVocabulary {
    words: Vec<String>,
    counts: Vec<u64>,
    ids: HashMap<String, u32>,
}

/// What is stored of a vocabulary.
#[derive(Clone, Serialize, Deserialize)]
struct Words {
    words: Vec<String>,
    counts: Vec<u64>,
}

impl PoemVocabulary {
    /// Counts the words of texts and numbers those that occur `min_count` times or more.
    #[must_use]
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>, min_count: u64) -> Self {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        let mut n_specials = [0_u64; Special::ALL.len()];
        for text in texts {
            for token in tokenize(text) {
                match token {
                    Token::Word(word) => *counts.entry(word).or_default() += 1,
                    Token::Special(special) => n_specials[special.id() as usize] += 1,
                }
            }
        }
        let mut kept: Vec<(&str, u64)> = Vec::with_capacity(counts.len());
        for (word, count) in counts {
            if count >= min_count {
                kept.push((word, count));
            } else {
                n_specials[Special::Unknown.id() as usize] += count;
            }
        }
        // The map's order is another one in every process: words have to be put into one.
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let specials = Special::ALL.iter().map(|special| special.name());
        let (words, kept_counts): (Vec<&str>, Vec<u64>) =
            specials.zip(n_specials).chain(kept).unzip();
        Self::from_parts(words.into_iter().map(str::to_owned).collect(), kept_counts)
    }

    /// Numbers words in their order.
    fn from_parts(words: Vec<String>, counts: Vec<u64>) -> Self {
        let ids = words.iter().cloned().zip(0..).collect();
        Self { words, counts, ids }
    }

    /// Returns the number of words, special tokens included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether there is nothing but special tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Special::ALL.len()
    }

    /// Returns the word with a number.
    #[must_use]
    pub fn word(&self, id: u32) -> Option<&str> {
        self.words.get(id as usize).map(String::as_str)
    }

    /// Returns all words, by number.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns how often each word occurred, by number.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the number of a word, or of the same word in lower case, or of the unknown word.
    #[must_use]
    pub fn id(&self, word: &str) -> u32 {
        let found = self
            .ids
            .get(word)
            .or_else(|| self.ids.get(&word.to_lowercase()));
        found.copied().unwrap_or(Special::Unknown.id())
    }

    /// Returns the numbers of a poem's tokens.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let tokens = tokenize(text).into_iter();
        tokens
            .map(|token| match token {
                Token::Word(word) => self.id(word),
                Token::Special(special) => special.id(),
            })
            .collect()
    }

    /// Returns the token with a number; one that is not there is the unknown word.
    #[must_use]
    pub fn token(&self, id: u32) -> Token<'_> {
        let special = Special::ALL.get(id as usize).copied();
        match (special, self.word(id)) {
            (None, Some(word)) => Token::Word(word),
            (special, _) => Token::Special(special.unwrap_or(Special::Unknown)),
        }
    }

    /// Returns the text of tokens, as it is read.
    #[must_use]
    pub fn text(&self, ids: &[u32]) -> String {
        join(ids.iter().map(|id| self.token(*id)))
    }
}

impl From<PoemVocabulary> for Words {
    fn from(vocabulary: PoemVocabulary) -> Self {
        let PoemVocabulary { words, counts, .. } = vocabulary;
        Self { words, counts }
    }
}

impl TryFrom<Words> for PoemVocabulary {
    type Error = String;

    fn try_from(stored: Words) -> Result<Self, String> {
        let has_specials = Special::ALL.iter().all(|special| {
            stored
                .words
                .get(special.id() as usize)
                .is_some_and(|word| word == special.name())
        });
        if !has_specials {
            return Err("the special tokens are not its first words".to_owned());
        }
        if stored.words.len() != stored.counts.len() || stored.words.len() > u32::MAX as usize {
            return Err("there are not as many counts as words".to_owned());
        }
        let vocabulary = Self::from_parts(stored.words, stored.counts);
        if vocabulary.ids.len() != vocabulary.words.len() {
            return Err("a word stands in it twice".to_owned());
        }
        Ok(vocabulary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_are_unknown_and_counted_as_such() {
        let vocabulary = PoemVocabulary::from_texts(["b a b c a b\nd"], 2);
        assert_eq!(&vocabulary.words()[6..], ["b", "a"]);
        assert_eq!(vocabulary.counts(), [0, 2, 1, 0, 1, 1, 3, 2]);
        assert_eq!(vocabulary.encode("a d"), [4, 7, 1, 5]);
        assert!(PoemVocabulary::from_texts(["x"], 2).is_empty());
    }

    #[test]
    fn the_stored_form_is_checked() -> Result<(), serde_json::Error> {
        let vocabulary = PoemVocabulary::from_texts(["one two two"], 1);
        let json = serde_json::to_string(&vocabulary)?;
        assert_eq!(serde_json::from_str::<PoemVocabulary>(&json)?, vocabulary);
        let refused = |json: &str| {
            serde_json::from_str::<PoemVocabulary>(json)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(r#"{"words": ["one"], "counts": [1]}"#).contains("special tokens"));
        assert!(refused(&json.replace("\"one\"", "\"two\"")).contains("twice"));
        assert!(refused(&json.replace("[0,", "[")).contains("counts"));
        Ok(())
    }
}
