//! Knowledge of the nodes: in a file before it is visible, and visible at once.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_model::naming::processor_id;
use kato_protocol::observation::EmotiveMap;

use crate::journal::Journal;
use crate::processor::Processor;
use crate::record::{FILE, Learn, Line, append_emotives};
use crate::values::Generation;

/// Knowledge of all nodes.
#[derive(Debug)]
pub(crate) struct Knowledge {
    generation: Generation,
    nodes: Mutex<HashMap<String, Node>>,
    journal: Journal,
}

/// Node by its processor id, which several node ids may share.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) patterns: HashMap<String, Pattern>,
    /// State that the sessions of the node share in 2025-10.
    pub(crate) processor: Processor,
}

/// Pattern as it was learned so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    pub(crate) events: Vec<Vec<String>>,
    pub(crate) frequency: u64,
    pub(crate) emotives: Vec<EmotiveMap>,
    pub(crate) metadata: BTreeMap<String, Vec<String>>,
    /// Time at which the asynchronous insert is through; `None` if it is.
    visible: Option<Instant>,
}

/// Failure to add emotives to a pattern that has none, which 2025-10 does not survive.
#[derive(Debug)]
pub(crate) struct Clash;

/// Returns the name by which a node is kept.
pub(crate) fn kept_as(node_id: &str) -> String {
    processor_id(node_id, "kato")
}

impl Knowledge {
    /// Opens the knowledge of a directory by learning all lines of its file again.
    pub(crate) fn open(generation: Generation, dir: Option<&Path>) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Line>(dir, FILE)?;
        let mut nodes: HashMap<String, Node> = HashMap::new();
        for line in lines {
            match line {
                Line::Learn(learn) => {
                    let node = nodes.entry(kept_as(&learn.node)).or_default();
                    // Whatever was learned before the restart is visible by now.
                    node.learn(&learn, generation, None);
                }
                Line::ClearAll { node } => drop(nodes.remove(&kept_as(&node))),
            }
        }
        Ok(Self {
            generation,
            nodes: Mutex::new(nodes),
            journal,
        })
    }

    /// Calls `act` with a node, which is made if it is not there.
    pub(crate) fn with<T>(&self, node_id: &str, act: impl FnOnce(&mut Node) -> T) -> T {
        act(self.nodes().entry(kept_as(node_id)).or_default())
    }

    /// Learns: first into the file, then for all to see, although a new pattern only after
    /// `hidden`.
    pub(crate) fn learn(&self, learn: Learn, hidden: Duration) -> Result<(), Clash> {
        let mut nodes = self.nodes();
        let node = nodes.entry(kept_as(&learn.node)).or_default();
        let known = node.patterns.get(&learn.name);
        // MongoDB cannot push to the empty map that such a pattern has in place of a list of
        // emotives. KATO answers 500.
        if self.generation == Generation::October2025
            && known.is_some_and(|pattern| pattern.emotives.is_empty())
            && !learn.emotives.is_empty()
        {
            return Err(Clash);
        }
        // Written under the lock of the nodes, so that the lines are in the order in which they
        // took effect.
        let line = Line::Learn(learn);
        self.journal.append(&line);
        if let Line::Learn(learn) = line {
            let visible = (!hidden.is_zero()).then(|| Instant::now() + hidden);
            node.learn(&learn, self.generation, visible);
        }
        Ok(())
    }

    /// Returns the pattern, if it is visible by now.
    pub(crate) fn pattern(&self, node_id: &str, name: &str) -> Option<Pattern> {
        let nodes = self.nodes();
        let pattern = nodes.get(&kept_as(node_id))?.patterns.get(name)?;
        let visible = pattern.visible.is_none_or(|at| at <= Instant::now());
        visible.then(|| pattern.clone())
    }

    /// Forgets everything of the node, the state of its processor included.
    pub(crate) fn clear_all(&self, node_id: &str) {
        let mut nodes = self.nodes();
        self.journal.append(&Line::ClearAll {
            node: node_id.to_owned(),
        });
        if let Some(node) = nodes.get_mut(&kept_as(node_id)) {
            node.patterns.clear();
            node.processor.clear_all();
        }
    }

    /// Locks the nodes.
    fn nodes(&self) -> MutexGuard<'_, HashMap<String, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    /// Learns one pattern once.
    fn learn(&mut self, learn: &Learn, generation: Generation, visible: Option<Instant>) {
        let pattern = self.patterns.entry(learn.name.clone());
        let pattern = pattern.or_insert_with(|| Pattern {
            events: learn.events.clone(),
            // Only a new pattern is inserted. The frequency of a known one is in Redis, which shows
            // it at once.
            visible,
            ..Pattern::default()
        });
        pattern.frequency += 1;
        append_emotives(&mut pattern.emotives, &learn.emotives, learn.persistence);
        for (key, added) in &learn.metadata {
            let values = pattern.metadata.entry(key.clone()).or_default();
            for value in added {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            if generation == Generation::V3_10 {
                // 3.10 keeps the sorted union, 2025-10 the order of learning.
                values.sort();
            }
        }
    }
}
