//! The view of a few documents of a source.

use anyhow::Result;
use serde::Serialize;

use super::network::Network;
use crate::inspect::View;
use crate::inspect::layout::{dim, one_line};
use crate::numbers::counted;
use crate::remote::Fetcher;
use crate::source::Sources;

/// Documents in the order in which they were read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Documents {
    /// The documents.
    pub(crate) documents: Vec<ShownDocument>,
    /// Cost of reading them over the network; `None` where nothing is remote.
    pub(crate) network: Option<Network>,
    /// Whether the text for people is not cut.
    #[serde(skip)]
    is_full: bool,
}

/// One of the [`Documents`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShownDocument {
    /// Its position among the documents, from 0.
    pub(crate) index: u64,
    /// Its name.
    pub(crate) id: String,
    /// Length in characters.
    pub(crate) characters: u64,
    /// The whole text.
    pub(crate) text: String,
}

impl Documents {
    /// Reads the first `number` documents; for people, texts are cut to a line each unless
    /// `is_full`.
    ///
    /// # Errors
    ///
    /// When the source cannot be read, or is found bad on the way.
    pub(crate) fn read(sources: &Sources, number: usize, is_full: bool) -> Result<Self> {
        let loader = sources.open(sources.builder())?;
        let mut documents = Vec::new();
        for document in loader.take(number) {
            let document = document?;
            documents.push(ShownDocument {
                index: document.index,
                id: document.id.to_string(),
                characters: document.text.chars().count() as u64,
                text: document.text,
            });
        }
        let figures = sources.fetcher().map(Fetcher::figures);
        Ok(Self {
            documents,
            network: figures.map(Network::from),
            is_full,
        })
    }
}

impl View for Documents {
    fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for document in &self.documents {
            let ShownDocument { index, id, .. } = document;
            let length = counted(document.characters, "character");
            let head = format!("{index}  {}  {length}", one_line(id, width));
            text += &format!("{}\n", dim(&head));
            if self.is_full {
                text += &lines(&document.text);
            } else {
                text += &one_line(&document.text, width);
            }
            text.push('\n');
        }
        if self.documents.is_empty() {
            text += "no documents\n";
        }
        if let Some(network) = self.network {
            text += &format!("{}\n", dim(&network.in_words()));
        }
        text
    }
}

/// Returns the whole text, with all control characters but line breaks and tabs escaped.
fn lines(text: &str) -> String {
    // Text from elsewhere must not move the cursor of a terminal or change its colours.
    let mut lines = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            lines.extend(character.escape_default());
        } else {
            lines.push(character);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use console::strip_ansi_codes;

    use super::*;

    fn documents(text: &str, is_full: bool) -> Documents {
        Documents {
            documents: vec![ShownDocument {
                index: 3,
                id: "a.txt#4".to_owned(),
                characters: text.chars().count() as u64,
                text: text.to_owned(),
            }],
            network: None,
            is_full,
        }
    }

    #[test]
    fn texts_are_cut_and_control_characters_escaped() {
        let text = format!("one\ntwo\u{1b}[31m{}", "x".repeat(100));
        let cut = documents(&text, false).text(30);
        let cut = strip_ansi_codes(&cut);
        let lines: Vec<&str> = cut.lines().collect();
        assert_eq!(lines[0], "3  a.txt#4  112 characters");
        assert_eq!(lines[1], r"one\ntwo\u{1b}[31mxxxxxxxxxxx…");

        let full = documents("one\ntwo\u{1b}[31m\tthree", true).text(5);
        assert!(full.ends_with("one\ntwo\\u{1b}[31m\tthree\n"), "{full}");
    }
}
