//! Knowledge of a server, read from its directory while it runs or afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kato_model::{Event, Metadata, Pattern, PatternRecord};
use kato_protocol::observation::EmotiveValues;

use crate::journal;
use crate::knowledge::{count_symbols, kept_as, uncount_symbols};
use crate::record::{FILE, Learn, Line, Split, append_emotives};

/// Knowledge of the servers that have used a directory.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Learned {
    /// Nodes, by node id as clients gave it.
    pub nodes: BTreeMap<String, LearnedNode>,
    /// All learns, in order; also those that a clear-all has undone.
    pub calls: Vec<LearnCall>,
}

/// Knowledge of a node.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LearnedNode {
    /// Patterns by name, without `PTRN|`.
    pub patterns: BTreeMap<String, LearnedPattern>,
    /// Sum of the frequencies of all patterns that can be seen.
    pub learn_calls: u64,
    /// Occurrences of each symbol over all learns, and patterns that hold it, as `GET
    /// /symbols/stats` tells in 3.10.
    pub symbols: BTreeMap<String, (u64, u64)>,
}

/// Pattern that was learned.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LearnedPattern {
    /// Its events, oldest first.
    pub events: Vec<Vec<String>>,
    /// Rows in the table of patterns: 0 for one that a learn torn in two has left, which nobody
    /// sees.
    pub rows: u64,
    /// Number of times that it was learned; 0 where that is lost.
    pub frequency: u64,
    /// The latest emotives, oldest first.
    pub emotives: Vec<EmotiveValues>,
    /// Values of each key, as Python writes them.
    pub metadata: BTreeMap<String, BTreeSet<String>>,
}

/// Single learn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LearnCall {
    /// The node id.
    pub node: String,
    /// The pattern, without `PTRN|`.
    pub name: String,
    /// The session.
    pub session: String,
    /// Number of the request, as in [`requests`](crate::requests).
    pub request: u64,
    /// Time, in milliseconds since 1970.
    pub at: u64,
}

/// Reads what the servers on a directory have learned; nothing if there was none. A torn last line
/// does not count.
///
/// # Panics
///
/// When the file cannot be read.
#[must_use]
pub fn learned(dir: &Path) -> Learned {
    let (lines, _) = journal::read(&dir.join(FILE)).expect("the file of a server can be read");
    let mut learned = Learned::default();
    for line in lines {
        learned.apply(line);
    }
    for node in learned.nodes.values_mut() {
        let seen = node.patterns.values().filter(|pattern| pattern.rows > 0);
        node.learn_calls = seen.map(|pattern| pattern.frequency).sum();
    }
    learned
}

impl Learned {
    /// Returns the learns of a node that can be seen.
    #[must_use]
    pub fn learn_calls(&self, node_id: &str) -> u64 {
        self.nodes.get(node_id).map_or(0, |node| node.learn_calls)
    }

    /// Returns the learns of all nodes.
    #[must_use]
    pub fn total_learn_calls(&self) -> u64 {
        self.nodes.values().map(|node| node.learn_calls).sum()
    }

    /// Returns how many learns each request has caused, by the request's number.
    #[must_use]
    pub fn calls_by_request(&self) -> BTreeMap<u64, usize> {
        let mut counts = BTreeMap::new();
        for call in &self.calls {
            *counts.entry(call.request).or_default() += 1;
        }
        counts
    }

    /// Returns the node's patterns as `kato_store::KnowledgeBase::export` writes the same
    /// knowledge: a line of JSON each, in name order. Empty for a node that has learned nothing.
    ///
    /// # Panics
    ///
    /// When an emotive is no finite number.
    #[must_use]
    pub fn export(&self, node_id: &str) -> String {
        let patterns = self.nodes.get(node_id).map(|node| &node.patterns);
        let seen = patterns.into_iter().flat_map(BTreeMap::values);
        let seen = seen.filter(|pattern| pattern.rows > 0);
        seen.map(LearnedPattern::line).collect()
    }

    /// Does what a line says.
    fn apply(&mut self, line: Line) {
        match line {
            Line::Learn(learn) => {
                let node = self.node(&learn);
                let is_new = node.count(&learn);
                node.insert(&learn, is_new);
                node.add(&learn, is_new);
                self.note(learn);
            }
            Line::Begin { learn, split } => {
                let node = self.node(&learn);
                let is_new = node.count(&learn);
                if split == Split::BehindRow {
                    node.insert(&learn, is_new);
                }
                self.note(learn);
            }
            Line::End {
                learn,
                split,
                is_new,
            } => {
                let node = self.node(&learn);
                if split == Split::BeforeRow {
                    node.insert(&learn, is_new);
                }
                node.add(&learn, is_new);
            }
            Line::Uncount { learn } => {
                let node = self.node(&learn);
                let pattern = node.patterns.entry(learn.name.clone()).or_default();
                pattern.frequency = pattern.frequency.saturating_sub(1);
                uncount_symbols(&mut node.symbols, &learn, pattern.frequency == 0);
            }
            // What is retired stays learned.
            Line::Retire { .. } | Line::Unretire { .. } => {}
            Line::ClearAll { node } => drop(self.nodes.remove(&node)),
            Line::Empty => self.nodes.clear(),
            Line::Flush => {
                for node in self.nodes.values_mut() {
                    node.symbols.clear();
                    node.patterns.retain(|_, pattern| pattern.rows > 0);
                    for pattern in node.patterns.values_mut() {
                        pattern.frequency = 0;
                        pattern.emotives.clear();
                        pattern.metadata.clear();
                    }
                }
            }
            Line::Evict {
                node: kept,
                pattern,
                is_metadata,
            } => {
                let of_key = |(id, _): &(&String, &mut LearnedNode)| kept_as(id) == kept;
                for (_, node) in self.nodes.iter_mut().filter(of_key) {
                    match &pattern {
                        None => node.symbols.clear(),
                        Some(name) => {
                            let pattern = node.patterns.get_mut(name);
                            pattern.into_iter().for_each(|pattern| match is_metadata {
                                true => pattern.metadata.clear(),
                                false => pattern.frequency = 0,
                            });
                        }
                    }
                }
            }
        }
    }

    /// Returns the node of a learn.
    fn node(&mut self, learn: &Learn) -> &mut LearnedNode {
        self.nodes.entry(learn.node.clone()).or_default()
    }

    /// Lists a learn.
    fn note(&mut self, learn: Learn) {
        self.calls.push(LearnCall {
            node: learn.node,
            name: learn.name,
            session: learn.session,
            request: learn.request,
            at: learn.at,
        });
    }
}

impl LearnedNode {
    /// Counts a learn of a pattern; returns whether it was not counted before.
    fn count(&mut self, learn: &Learn) -> bool {
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        pattern.frequency += 1;
        pattern.frequency == 1
    }

    /// Inserts the row of a pattern that is new.
    fn insert(&mut self, learn: &Learn, is_new: bool) {
        if is_new {
            let pattern = self.patterns.entry(learn.name.clone()).or_default();
            pattern.events.clone_from(&learn.events);
            pattern.rows += 1;
        }
    }

    /// Adds what comes with a learn, and counts its symbols.
    fn add(&mut self, learn: &Learn, is_new: bool) {
        count_symbols(&mut self.symbols, learn, is_new);
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        append_emotives(&mut pattern.emotives, &learn.emotives, learn.persistence);
        for (key, values) in &learn.metadata {
            let known = pattern.metadata.entry(key.clone()).or_default();
            known.extend(values.iter().cloned());
        }
    }
}

impl LearnedPattern {
    /// Returns the pattern's line.
    fn line(&self) -> String {
        let mut metadata = Metadata::default();
        for (key, values) in &self.metadata {
            for value in values {
                metadata.insert_text(key, value.clone(), None);
            }
        }
        // As they were learned: sorting again could give them another name.
        let events = self.events.iter().cloned();
        let record = PatternRecord {
            pattern: Pattern::new(events.map(Event::in_given_order).collect()),
            frequency: self.frequency,
            emotives: self.emotives.clone(),
            metadata,
        };
        let line = record.to_json().expect("emotives are finite numbers");
        format!("{line}\n")
    }
}
