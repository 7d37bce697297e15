//! One pattern with everything below it, as a tree.

use std::collections::HashSet;

use anyhow::Result;
use kato_model::{EmotiveMap, FirstSeen, Metadata, PatternName};
use kato_store::{PatternStore, Trace, TraceChild};
use serde::Serialize;
use serde_json::json;

use super::View;
use super::decode::{Decoder, short};
use super::layout::{dim, heading, one_line, quoted};
use super::overview::count;

/// A pattern, what is known of it, and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatternView {
    /// Its name.
    pub name: PatternName,
    /// The node that holds it.
    pub node: String,
    /// Learn calls.
    pub frequency: u64,
    /// The text that it stands for.
    pub text: String,
    /// Where it was seen first, if that was recorded.
    pub first_seen: Option<FirstSeen>,
    /// The id of the document where it was seen first, if that was recorded.
    pub document: Option<String>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its latest emotives, oldest first.
    pub emotives: Vec<EmotiveMap>,
    /// Its symbols, event after event, oldest first.
    pub events: Vec<Vec<SymbolView>>,
}

/// One symbol of a pattern; as JSON a text is a string and a pattern an object, which has only a name if it is unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SymbolView {
    /// Text: a token, where the pattern was learned from text.
    Text(String),
    /// A pattern of a node below.
    Pattern(Box<PatternView>),
    /// The name of a pattern that no node below holds.
    Unknown {
        /// The name.
        unknown: PatternName,
    },
}

impl PatternView {
    /// Reads where the traced patterns were first seen, and turns their tokens into text.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn of(trace: &Trace, store: &dyn PatternStore, decoder: &Decoder) -> Result<Self> {
        let pattern = trace.pattern();
        let document = match pattern.first_seen {
            Some(first_seen) => store.document(first_seen.sample_idx)?,
            None => None,
        };
        let mut children = trace.children();
        let mut events = Vec::new();
        for event in pattern.symbols_by_event() {
            let mut symbols = Vec::new();
            for child in children.by_ref().take(event.len()) {
                symbols.push(match child {
                    TraceChild::Text(text) => SymbolView::Text(text.to_owned()),
                    TraceChild::Pattern(child) => SymbolView::Pattern(Box::new(Self::of(child, store, decoder)?)),
                    TraceChild::Unknown(unknown) => SymbolView::Unknown { unknown },
                });
            }
            events.push(symbols);
        }
        Ok(Self {
            name: pattern.name,
            node: trace.node().to_owned(),
            frequency: pattern.frequency,
            text: decoder.text(trace.leaves()),
            first_seen: pattern.first_seen,
            document,
            metadata: pattern.metadata.clone(),
            emotives: pattern.emotives.clone().into_maps(),
            events,
        })
    }

    fn first_seen_in_words(&self) -> Option<String> {
        let FirstSeen { sample_idx, token_idx } = self.first_seen?;
        let (sample, token) = (count(sample_idx), count(token_idx));
        Some(match &self.document {
            Some(document) => format!("document {document} (sample {sample}), from token {token}"),
            None => format!("sample {sample}, from token {token}"),
        })
    }
}
