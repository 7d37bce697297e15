//! Cuts a text into delimited segments: sentences, words, word n-grams or paragraphs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::option::UnknownOption;
use super::paragraph::Paragraphs;
use super::whitespace::{is_space, strip, words};

/// The unit into which a text is cut when every segment is learned by itself.
///
/// # Sentences
///
/// A sentence ends behind a run of `.`, `!`, `?` or `…`, with the closing quotes and brackets that
/// follow it, where white space or the end of the text comes next and the next word does not start
/// with a lower-case letter; behind `。`, `！` and `？` no white space is needed. A blank line ends
/// a sentence as well, a single line break does not, so that hard-wrapped text is fine. The
/// punctuation stays with its sentence. Abbreviations before a capital (`Mr. Smith`) do end one:
/// the rule knows no words, which keeps it the same for every language and version. (The original
/// asks NLTK, whose model is English, and falls back to a split that loses the punctuation.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delimiter {
    /// Sentences, by the rule above.
    #[default]
    Sentence,
    /// Words: what stands between white space.
    Word,
    /// Every two consecutive words, joined by a blank; overlapping.
    Bigram,
    /// Every three consecutive words, joined by a blank; overlapping.
    Trigram,
    /// Every four consecutive words, joined by a blank; overlapping.
    #[serde(rename = "4-gram")]
    FourGram,
    /// Every five consecutive words, joined by a blank; overlapping.
    #[serde(rename = "5-gram")]
    FiveGram,
    /// Paragraphs: what stands between blank lines, however short.
    Paragraph,
}

impl Delimiter {
    /// All delimiters, in the order of declaration.
    const ALL: [Self; 7] = [
        Self::Sentence,
        Self::Word,
        Self::Bigram,
        Self::Trigram,
        Self::FourGram,
        Self::FiveGram,
        Self::Paragraph,
    ];
    /// Their names, in the same order.
    const NAMES: &'static [&'static str] = &[
        "sentence",
        "word",
        "bigram",
        "trigram",
        "4-gram",
        "5-gram",
        "paragraph",
    ];

    /// Returns the segments of `text`, in order, stripped and never empty.
    ///
    /// A text of fewer words than an n-gram has yields nothing. **Complexity**: linear; only n-grams
    /// are copied whose words stand apart by something else than one blank.
    ///
    /// ```
    /// use kato_learner::segment::Delimiter;
    ///
    /// let bigrams: Vec<_> = Delimiter::Bigram.segments("to be  or").collect();
    /// assert_eq!(bigrams, ["to be", "be or"]);
    /// ```
    #[must_use]
    pub fn segments(self, text: &str) -> Segments<'_> {
        let cut = match self {
            Self::Sentence => Cut::Sentences {
                // A blank line ends a sentence, so each paragraph is searched by itself. No
                // paragraph is too short for this path.
                paragraphs: Paragraphs::new(text, 0),
                rest: "",
            },
            Self::Word => Cut::words(text, 1),
            Self::Bigram => Cut::words(text, 2),
            Self::Trigram => Cut::words(text, 3),
            Self::FourGram => Cut::words(text, 4),
            Self::FiveGram => Cut::words(text, 5),
            Self::Paragraph => Cut::Paragraphs(Paragraphs::new(text, 0)),
        };
        Segments(cut)
    }
}

impl FromStr for Delimiter {
    type Err = UnknownOption;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::NAMES.iter().position(|&known| known == name);
        found
            .map(|idx| Self::ALL[idx])
            .ok_or_else(|| UnknownOption {
                option: "delimiter",
                given: name.to_owned(),
                expected: Self::NAMES,
            })
    }
}

/// The name that [`FromStr`] accepts.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The discriminants count from 0 in the order of declaration, which is that of `NAMES`.
        f.pad(Self::NAMES[*self as usize])
    }
}

/// An iterator over the segments of one text; created by [`Delimiter::segments`].
#[derive(Debug, Clone)]
pub struct Segments<'a>(Cut<'a>);

#[derive(Debug, Clone)]
enum Cut<'a> {
    Sentences {
        paragraphs: Paragraphs<'a>,
        /// What is left of the current paragraph.
        rest: &'a str,
    },
    Words {
        /// Starts with the first word of the next n-gram.
        rest: &'a str,
        n: usize,
    },
    Paragraphs(Paragraphs<'a>),
}

impl<'a> Cut<'a> {
    /// Cuts a text into n-grams of `n` words.
    fn words(text: &'a str, n: usize) -> Self {
        Self::Words {
            rest: strip(text),
            n,
        }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Cut::Sentences { paragraphs, rest } => {
                if rest.is_empty() {
                    *rest = paragraphs.next()?.text;
                }
                // The paragraph is stripped and not empty, so every sentence has at least one
                // character.
                let (sentence, behind) = rest.split_at(sentence_len(rest));
                *rest = behind.trim_start_matches(is_space);
                Some(Cow::Borrowed(sentence))
            }
            Cut::Words { rest, n } => {
                // N-grams overlap, so only the first word is left behind.
                let gram = first_words(rest, *n)?;
                let first = rest.find(is_space).unwrap_or(rest.len());
                *rest = rest[first..].trim_start_matches(is_space);
                Some(gram)
            }
            Cut::Paragraphs(paragraphs) => paragraphs
                .next()
                .map(|paragraph| Cow::Borrowed(paragraph.text)),
        }
    }
}

/// Returns the first `n` words of `text`, which starts with a word, joined by blanks; `None` when
/// there are fewer.
fn first_words(text: &str, n: usize) -> Option<Cow<'_, str>> {
    let mut end = 0;
    let mut is_joined = true;
    for i in 0..n {
        let word = text[end..].trim_start_matches(is_space);
        if word.is_empty() {
            return None;
        }
        let start = text.len() - word.len();
        // The text is borrowed where it already has the form of the n-gram.
        is_joined &= i == 0 || &text[end..start] == " ";
        end = start + word.find(is_space).unwrap_or(word.len());
    }
    let gram = &text[..end];
    if is_joined {
        return Some(Cow::Borrowed(gram));
    }
    Some(Cow::Owned(words(gram).collect::<Vec<_>>().join(" ")))
}

/// Returns the length in bytes of the first sentence of `text`; see [`Delimiter`] for the rule.
fn sentence_len(text: &str) -> usize {
    let mut at = 0;
    while let Some(found) = text[at..].find(is_mark) {
        let marks = at + found;
        let behind = text[marks..].trim_start_matches(is_mark);
        let behind_all = behind.trim_start_matches(is_closing);
        let end = text.len() - behind_all.len();
        let is_wide = text[marks..]
            .chars()
            .take_while(|&c| is_mark(c))
            .any(is_wide_mark);
        // Without white space behind it, as in `3.5`, or before a lower-case letter, as in
        // `e.g. this`, a mark is part of the sentence. The text's end counts as white space.
        let next = behind_all.trim_start_matches(is_space);
        let has_gap = next.len() < behind_all.len() || next.is_empty();
        if is_wide || (has_gap && !next.starts_with(char::is_lowercase)) {
            return end;
        }
        at = end;
    }
    text.len()
}

/// Returns whether a character can end a sentence.
fn is_mark(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_wide_mark(c)
}

/// Returns whether a character is a mark of scripts that put no blank between sentences.
fn is_wide_mark(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

/// Returns whether a character closes a quotation or bracket and so stays with its sentence.
fn is_closing(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(delimiter: Delimiter, text: &str, expected: &[&str]) {
        assert_eq!(
            delimiter.segments(text).collect::<Vec<_>>(),
            expected,
            "{delimiter}"
        );
    }

    #[test]
    fn sentences_keep_their_punctuation() {
        let check = |text, expected: &[_]| check(Delimiter::Sentence, text, expected);
        check("", &[]);
        check(" \n ", &[]);
        check("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]);
        check(
            "Really?! Yes… \"No.\" (So.) End.",
            &["Really?!", "Yes…", "\"No.\"", "(So.)", "End."],
        );
        check(
            "A line\nthat wraps. The next\none.",
            &["A line\nthat wraps.", "The next\none."],
        );
        check("Title\n\nText goes on", &["Title", "Text goes on"]);
        check(
            "It cost 3.50 at a.b.c today.",
            &["It cost 3.50 at a.b.c today."],
        );
        check(
            "Apples, pears etc. are fruit. So is it",
            &["Apples, pears etc. are fruit.", "So is it"],
        );
        check("Mr. Smith left", &["Mr.", "Smith left"]);
        check(
            "punctuation apart . Next one !",
            &["punctuation apart .", "Next one !"],
        );
        check("一。二！三", &["一。", "二！", "三"]);
        check("...", &["..."]);
    }

    #[test]
    fn words_and_their_windows() {
        let text = " a b\n c\u{a0}d e f ";
        check(Delimiter::Word, text, &["a", "b", "c", "d", "e", "f"]);
        check(
            Delimiter::Bigram,
            text,
            &["a b", "b c", "c d", "d e", "e f"],
        );
        check(
            Delimiter::Trigram,
            text,
            &["a b c", "b c d", "c d e", "d e f"],
        );
        check(
            Delimiter::FourGram,
            text,
            &["a b c d", "b c d e", "c d e f"],
        );
        check(Delimiter::FiveGram, text, &["a b c d e", "b c d e f"]);
        check(Delimiter::FiveGram, "a b c d", &[]);
        check(Delimiter::Word, "", &[]);
        check(Delimiter::Bigram, "", &[]);
    }

    #[test]
    fn single_blanks_need_no_copy() {
        assert!(
            Delimiter::Trigram
                .segments("a b c d")
                .all(|segment| matches!(segment, Cow::Borrowed(_)))
        );
    }

    #[test]
    fn paragraphs_are_kept_however_short() {
        check(Delimiter::Paragraph, " a \n \n\nb\nc\n", &["a", "b\nc"]);
    }

    #[test]
    fn names_parse_and_print() {
        for delimiter in Delimiter::ALL {
            assert_eq!(delimiter.to_string().parse(), Ok(delimiter));
            let json = serde_json::to_string(&delimiter).unwrap();
            assert_eq!(json, format!("\"{delimiter}\""));
        }
        let error = "Line".parse::<Delimiter>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown delimiter `Line`: expected one of sentence, word, bigram, trigram, 4-gram, 5-gram, paragraph"
        );
    }

    proptest! {
        #[test]
        fn windows_are_those_of_the_word_list(text in "[ab\u{e9}]{0,2}([ \n\u{1c}]{1,2}[ab\u{e9}.]{1,3}){0,9}", n in 1..=5usize) {
            let delimiter = [Delimiter::Word, Delimiter::Bigram, Delimiter::Trigram, Delimiter::FourGram, Delimiter::FiveGram][n - 1];
            let words: Vec<_> = words(&text).collect();
            let expected: Vec<_> = words.windows(n).map(|window| window.join(" ")).collect();
            prop_assert_eq!(delimiter.segments(&text).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn sentences_lose_white_space_only(text in "([ab.!?…。\"')A]|[ \n]){0,60}") {
            let visible = |text: &str| text.chars().filter(|&c| !is_space(c)).collect::<String>();
            let segments: Vec<_> = Delimiter::Sentence.segments(&text).collect();
            prop_assert_eq!(visible(&segments.concat()), visible(&text));
            prop_assert!(segments.iter().all(|segment| !segment.is_empty() && strip(segment) == segment));
        }
    }
}
