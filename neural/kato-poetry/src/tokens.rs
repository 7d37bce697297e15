//! Cuts a text into words and breaks, and joins them again.

use unicode_segmentation::UnicodeSegmentation;

/// A part of a poem.
///
/// Words are the segments between the word boundaries of Unicode (UAX #29) that are not white space:
/// case, digits, scripts and punctuation are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token<'a> {
    /// A word, a number, or a mark of punctuation.
    Word(&'a str),
    /// One of the signs that stand for no text.
    Special(Special),
}

/// A sign that stands for no text, or for no text in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Special {
    /// What fills a short chunk up; masked everywhere.
    Pad = 0,
    /// A word outside of the vocabulary.
    Unknown = 1,
    /// The end of a line inside a stanza.
    LineBreak = 2,
    /// The end of a stanza, but the last.
    StanzaBreak = 3,
    /// The beginning of a poem.
    PoemStart = 4,
    /// The end of a poem.
    PoemEnd = 5,
}

impl Special {
    /// All of them, by their ids.
    pub const ALL: [Self; 6] = [
        Self::Pad,
        Self::Unknown,
        Self::LineBreak,
        Self::StanzaBreak,
        Self::PoemStart,
        Self::PoemEnd,
    ];

    /// Returns its id in every vocabulary.
    #[must_use]
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// Returns its name, which no word of a text can have, as `<` is a word of its own.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pad => "<PAD>",
            Self::Unknown => "<UNK>",
            Self::LineBreak => "<LINE_BREAK>",
            Self::StanzaBreak => "<STANZA_BREAK>",
            Self::PoemStart => "<POEM_START>",
            Self::PoemEnd => "<POEM_END>",
        }
    }
}

/// Returns the tokens of a poem, from [`Special::PoemStart`] to [`Special::PoemEnd`]. Blank lines at
/// its ends are passed over, and several in a row part stanzas once.
///
/// ```
/// use kato_poetry::tokens::{Special, Token, tokenize};
///
/// let words = tokenize("'Tis 3,000 miles\n\nto Élan!");
/// let names: Vec<&str> = words
///     .iter()
///     .map(|token| match token {
///         Token::Word(word) => word,
///         Token::Special(special) => special.name(),
///     })
///     .collect();
/// assert_eq!(
///     names.join(" "),
///     "<POEM_START> ' Tis 3,000 miles <STANZA_BREAK> to Élan ! <POEM_END>"
/// );
/// ```
#[must_use]
pub fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = vec![Token::Special(Special::PoemStart)];
    // The break that is due before the next word, so that none stands at the end.
    let mut due: Option<Special> = None;
    for line in text.lines() {
        let words = line
            .split_word_bounds()
            .filter(|word| !word.trim().is_empty());
        let mut words = words.map(Token::Word).peekable();
        if words.peek().is_none() {
            due = due.map(|_| Special::StanzaBreak);
            continue;
        }
        tokens.extend(due.map(Token::Special));
        tokens.extend(words);
        due = Some(Special::LineBreak);
    }
    tokens.push(Token::Special(Special::PoemEnd));
    tokens
}

/// Joins words and the names of special tokens to a text that can be read: breaks become line
/// breaks, the ends of a poem nothing, and no blank stands before a closing mark.
#[must_use]
pub fn join<'a>(tokens: impl IntoIterator<Item = Token<'a>>) -> String {
    let mut text = String::new();
    let mut opens = false;
    for token in tokens {
        let word = match token {
            Token::Special(Special::Pad | Special::PoemStart | Special::PoemEnd) => continue,
            Token::Special(Special::LineBreak) => {
                text.push('\n');
                continue;
            }
            Token::Special(Special::StanzaBreak) => {
                text.push_str("\n\n");
                continue;
            }
            Token::Special(Special::Unknown) => Special::Unknown.name(),
            Token::Word(word) => word,
        };
        let begins_line = text.is_empty() || text.ends_with('\n');
        if !begins_line && !opens && !closes(word) {
            text.push(' ');
        }
        text.push_str(word);
        opens = matches!(word, "(" | "[" | "“" | "‘" | "¿" | "¡");
    }
    text
}

/// Returns whether a mark follows a word without a blank.
fn closes(word: &str) -> bool {
    matches!(
        word,
        "," | "." | ";" | ":" | "!" | "?" | ")" | "]" | "”" | "’" | "…"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_stand_between_lines_and_stanzas_only() {
        let breaks = |text: &str| -> Vec<Special> {
            let tokens = tokenize(text).into_iter();
            tokens
                .filter_map(|token| match token {
                    Token::Special(special) => Some(special),
                    Token::Word(_) => None,
                })
                .collect()
        };
        use Special::{LineBreak, PoemEnd, PoemStart, StanzaBreak};
        assert_eq!(breaks(""), [PoemStart, PoemEnd]);
        assert_eq!(breaks("\n\na\n"), [PoemStart, PoemEnd]);
        assert_eq!(
            breaks("a\nb\r\nc"),
            [PoemStart, LineBreak, LineBreak, PoemEnd]
        );
        assert_eq!(breaks("a\n \n\n\nb\n\n"), [PoemStart, StanzaBreak, PoemEnd]);
    }

    #[test]
    fn a_text_comes_back_as_it_is_read() {
        for text in [
            "O, what a rogue (and slave)!\nAm I?",
            "One\n\nTwo: three.",
            "don't I'll",
        ] {
            assert_eq!(join(tokenize(text)), text);
        }
        // White space is not kept.
        assert_eq!(join(tokenize("  a   b \n")), "a b");
    }

    #[test]
    fn ids_are_positions() {
        for (index, special) in Special::ALL.into_iter().enumerate() {
            assert_eq!(special.id() as usize, index);
            // No text has it as a word.
            assert!(tokenize(special.name()).len() > 3);
        }
    }
}
