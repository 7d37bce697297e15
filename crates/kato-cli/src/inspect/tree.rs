//! The view of one pattern with everything below it, as a tree.

use std::collections::HashSet;

use console::measure_text_width;
use kato_model::{FirstSeen, PatternName};
use kato_store::trace::{Trace, TraceChild};
use kato_store::{PatternStore, StoreError};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::View;
use super::decode::{Decoder, short};
use super::layout::{dim, heading, one_line, quoted};
use super::overview::count;
use crate::numbers::counted;
use crate::occurrences::Lessons;

/// A traced pattern with the text of everything below it.
///
/// As JSON it is an object with `name`, `node`, `frequency`, `text`, `first_seen` (`document_idx` and
/// `token_idx`, or `null`), `metadata`, `emotives` and `events`; the uppermost has the `document`
/// of `first_seen` and its `lessons` as well. `events` holds a list of symbols for each event: a string for text,
/// such an object for a pattern, `{"unknown": name}` for a name that no node below holds.
#[derive(Debug)]
pub(crate) struct PatternView<'a> {
    trace: &'a Trace,
    document: Option<String>,
    lessons: Option<Lessons>,
    decoder: &'a Decoder,
}

impl<'a> PatternView<'a> {
    /// Looks up the document in which the pattern was first seen, if that was recorded.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn of(
        trace: &'a Trace,
        lessons: Option<Lessons>,
        store: &dyn PatternStore,
        decoder: &'a Decoder,
    ) -> Result<Self, StoreError> {
        let document = match trace.pattern().first_seen {
            Some(first_seen) => store.document(first_seen.document_idx)?,
            None => None,
        };
        Ok(Self {
            trace,
            document,
            lessons,
            decoder,
        })
    }
}

impl Serialize for PatternView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("document", &self.document)?;
        map.serialize_entry("lessons", &self.lessons)?;
        serialize_pattern::<S>(&mut map, self.trace, self.decoder)?;
        map.end()
    }
}

/// A pattern below another, written as it is met and not collected, because repetition can make a
/// tree of any size.
struct Below<'a>(&'a Trace, &'a Decoder);

impl Serialize for Below<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        serialize_pattern::<S>(&mut map, self.0, self.1)?;
        map.end()
    }
}

/// Writes the entries of a pattern, with everything below it.
fn serialize_pattern<S: Serializer>(
    map: &mut S::SerializeMap,
    trace: &Trace,
    decoder: &Decoder,
) -> Result<(), S::Error> {
    let pattern = trace.pattern();
    let emotives: Vec<_> = pattern
        .emotives
        .entries()
        .iter()
        .map(|entry| &entry.emotives)
        .collect();
    map.serialize_entry("name", &pattern.name)?;
    map.serialize_entry("node", trace.node())?;
    map.serialize_entry("frequency", &pattern.frequency)?;
    map.serialize_entry("text", &decoder.text(trace.leaves()))?;
    map.serialize_entry("first_seen", &pattern.first_seen)?;
    map.serialize_entry("metadata", &pattern.metadata)?;
    map.serialize_entry("emotives", &emotives)?;
    map.serialize_entry("events", &Events(trace, decoder))
}

/// The events of a pattern for programs.
struct Events<'a>(&'a Trace, &'a Decoder);

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The levels below are not looked at yet: each writes itself when its turn comes.
        let events = by_event(self.0);
        let mut list = serializer.serialize_seq(Some(events.len()))?;
        for event in events {
            let symbols = event.into_iter().map(|child| match child {
                TraceChild::Text(text) => SymbolView::Text(text),
                TraceChild::Pattern(child) => SymbolView::Pattern(Below(child, self.1)),
                TraceChild::Unknown(unknown) => SymbolView::Unknown { unknown },
            });
            list.serialize_element(&symbols.collect::<Vec<_>>())?;
        }
        list.end()
    }
}

/// A symbol of an event for programs.
#[derive(Serialize)]
#[serde(untagged)]
enum SymbolView<'a> {
    Text(&'a str),
    Pattern(Below<'a>),
    Unknown { unknown: PatternName },
}

/// Returns the pattern's children by event.
fn by_event(trace: &Trace) -> Vec<Vec<TraceChild<'_>>> {
    let mut children = trace.children();
    let events = trace.pattern().symbols_by_event();
    events
        // The children are those of all events, one after the other.
        .map(|event| children.by_ref().take(event.len()).collect())
        .collect()
}

impl View for PatternView<'_> {
    fn text(&self, width: usize) -> String {
        let pattern = self.trace.pattern();
        let mut text = heading(&pattern.name.prefixed().to_string());
        for (label, line) in self.summary() {
            text += &format!(
                "  {label:<12}{}\n",
                one_line(&line, width.saturating_sub(14))
            );
        }
        text += &format!(
            "  {:<12}{}\n\n",
            "text",
            quoted(
                &self.decoder.text(self.trace.leaves()),
                width.saturating_sub(14)
            )
        );
        text += &self.lessons.as_ref().map(Lessons::text).unwrap_or_default();
        let mut tree = Tree {
            decoder: self.decoder,
            width,
            shown: HashSet::new(),
            text,
        };
        tree.line("", self.trace, "");
        tree.below("", self.trace);
        tree.text
    }
}

impl PatternView<'_> {
    /// Returns the lines about the pattern, each with its label.
    fn summary(&self) -> Vec<(&str, String)> {
        let pattern = self.trace.pattern();
        let mut lines = vec![
            ("node", self.trace.node().to_owned()),
            ("frequency", count(pattern.frequency)),
        ];
        if let Some(FirstSeen {
            document_idx,
            token_idx,
        }) = pattern.first_seen
        {
            let document = self.document.as_ref();
            let document = document
                .map(|document| format!(" ({document})"))
                .unwrap_or_default();
            lines.push((
                "first seen",
                format!("document {document_idx}{document}, token {token_idx}"),
            ));
        }
        for (key, values) in pattern.metadata.iter() {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            lines.push(("metadata", format!("{key}: {}", values.join(", "))));
        }
        for entry in pattern.emotives.entries() {
            let emotives: Vec<String> = entry
                .emotives
                .iter()
                .map(|(emotive, value)| format!("{emotive} {value}"))
                .collect();
            lines.push(("emotives", emotives.join(", ")));
        }
        lines
    }
}

/// A tree on its way to text. What is below a pattern is drawn once: where it occurs again it is one line.
struct Tree<'a> {
    decoder: &'a Decoder,
    width: usize,
    shown: HashSet<PatternName>,
    text: String,
}

/// The kinds of branches.
enum Branch<'a> {
    /// Text symbols that stand side by side.
    Tokens(Vec<&'a str>),
    Pattern(&'a Trace),
    Unknown(PatternName),
    /// An event of another number of symbols than one.
    Event(Vec<TraceChild<'a>>),
}

impl Tree<'_> {
    /// Draws the branches below a pattern.
    fn below(&mut self, indent: &str, trace: &Trace) {
        let mut branches = Vec::new();
        for event in by_event(trace) {
            match event.as_slice() {
                // An event of one symbol, as in all text, is shown as that symbol.
                &[child] => push(&mut branches, child),
                _ => branches.push(Branch::Event(event)),
            }
        }
        self.branches(indent, branches);
    }

    /// Draws branches at one depth, and what is below them.
    fn branches(&mut self, indent: &str, branches: Vec<Branch<'_>>) {
        let n_branches = branches.len();
        for (idx, branch) in branches.into_iter().enumerate() {
            let is_last = idx + 1 == n_branches;
            let (fork, below) = if is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let (fork, below) = (format!("{indent}{fork}"), format!("{indent}{below}"));
            match branch {
                Branch::Tokens(tokens) => self.tokens(&fork, &below, &tokens),
                Branch::Unknown(name) => {
                    self.text +=
                        &format!("{fork}{}  unknown: no node below holds it\n", short(&name));
                }
                Branch::Pattern(child) if self.shown.contains(&child.pattern().name) => {
                    self.line(&fork, child, "  (as above)");
                }
                Branch::Pattern(child) => {
                    self.line(&fork, child, "");
                    self.below(&below, child);
                }
                Branch::Event(children) => {
                    self.text +=
                        &format!("{fork}one event of {}\n", counted(children.len(), "symbol"));
                    let mut branches = Vec::new();
                    for child in children {
                        push(&mut branches, child);
                    }
                    self.branches(&below, branches);
                }
            }
        }
    }

    /// Draws the line of a pattern.
    fn line(&mut self, fork: &str, trace: &Trace, note: &str) {
        let pattern = trace.pattern();
        self.shown.insert(pattern.name);
        let facts = format!(
            "{} {} ×{}",
            short(&pattern.name),
            trace.node(),
            count(pattern.frequency)
        );
        let taken =
            measure_text_width(fork) + measure_text_width(&facts) + measure_text_width(note) + 2;
        let text = quoted(
            &self.decoder.text(trace.leaves()),
            self.width.saturating_sub(taken),
        );
        self.text += &format!("{fork}{}  {text}{note}\n", dim(&facts));
    }

    /// Draws tokens as they are stored, on as many lines as they need.
    fn tokens(&mut self, fork: &str, below: &str, tokens: &[&str]) {
        // Deep in the tree there may be no room left; a long line is better than one token a line.
        let room = self.width.saturating_sub(measure_text_width(fork)).max(16);
        let mut line = String::new();
        let mut fork = fork;
        for token in tokens {
            let token = label(token);
            if !line.is_empty() && measure_text_width(&line) + measure_text_width(&token) + 1 > room
            {
                self.text += &format!("{fork}{line}\n");
                fork = below;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += &token;
        }
        self.text += &format!("{fork}{line}\n");
    }
}

/// Adds a child to the branches; text goes to the tokens before it, if there are any.
fn push<'a>(branches: &mut Vec<Branch<'a>>, child: TraceChild<'a>) {
    match child {
        TraceChild::Text(token) => match branches.last_mut() {
            Some(Branch::Tokens(tokens)) => tokens.push(token),
            _ => branches.push(Branch::Tokens(vec![token])),
        },
        TraceChild::Pattern(trace) => branches.push(Branch::Pattern(trace)),
        TraceChild::Unknown(name) => branches.push(Branch::Unknown(name)),
    }
}

/// Returns a token as it is stored, in quotes where it would run into its neighbours.
fn label(token: &str) -> String {
    if token.is_empty() || token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        format!("{token:?}")
    } else {
        token.to_owned()
    }
}
