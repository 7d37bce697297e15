//! Knowledge of a server, read from its directory while it runs or afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kato_model::{Event, Metadata, Pattern, PatternRecord};
use kato_protocol::observation::EmotiveMap;

use crate::journal;
use crate::record::{FILE, Learn, Line, append_emotives};

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
    /// Learns since the last clear-all: the sum of all frequencies.
    pub learn_calls: u64,
}

/// Pattern that was learned.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LearnedPattern {
    /// Its events, oldest first.
    pub events: Vec<Vec<String>>,
    /// Number of times that it was learned.
    pub frequency: u64,
    /// The latest emotives, oldest first.
    pub emotives: Vec<EmotiveMap>,
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
        match line {
            Line::Learn(learn) => learned.add(learn),
            Line::ClearAll { node } => drop(learned.nodes.remove(&node)),
        }
    }
    learned
}

impl Learned {
    /// Returns the learns of a node since its last clear-all.
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
        let lines = patterns.into_iter().flat_map(BTreeMap::values);
        lines.map(LearnedPattern::line).collect()
    }

    /// Counts a learn.
    fn add(&mut self, learn: Learn) {
        let node = self.nodes.entry(learn.node.clone()).or_default();
        node.learn_calls += 1;
        let pattern = node.patterns.entry(learn.name.clone()).or_default();
        pattern.events = learn.events;
        pattern.frequency += 1;
        append_emotives(&mut pattern.emotives, &learn.emotives, learn.persistence);
        for (key, values) in learn.metadata {
            pattern.metadata.entry(key).or_default().extend(values);
        }
        self.calls.push(LearnCall {
            node: learn.node,
            name: learn.name,
            session: learn.session,
            request: learn.request,
            at: learn.at,
        });
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
