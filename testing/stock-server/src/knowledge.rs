//! What the nodes know: visible at once, and in a file before it is visible.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_model::processor_id;
use kato_protocol::EmotiveMap;

use crate::journal::Journal;
use crate::processor::Processor;
use crate::record::{FILE, Learn, Line, append_emotives};
use crate::values::Generation;

#[derive(Debug)]
pub(crate) struct Knowledge {
    generation: Generation,
    nodes: Mutex<HashMap<String, Node>>,
    journal: Journal,
}

/// A node by its processor id, which several node ids may share.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) patterns: HashMap<String, Pattern>,
    /// What the sessions of the node share in 2025-10.
    pub(crate) processor: Processor,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    pub(crate) events: Vec<Vec<String>>,
    pub(crate) frequency: u64,
    pub(crate) emotives: Vec<EmotiveMap>,
    pub(crate) metadata: BTreeMap<String, Vec<String>>,
    /// When the asynchronous insert is through.
    visible: Option<Instant>,
}

/// Emotives for a pattern that has none: 2025-10 fails at it.
#[derive(Debug)]
pub(crate) struct Clash;

/// The name by which a node is kept.
pub(crate) fn kept_as(node_id: &str) -> String {
    processor_id(node_id, "kato")
}

impl Knowledge {
    pub(crate) fn open(generation: Generation, dir: Option<&Path>) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Line>(dir, FILE)?;
        let mut nodes: HashMap<String, Node> = HashMap::new();
        for line in lines {
            match line {
                Line::Learn(learn) => {
                    let node = nodes.entry(kept_as(&learn.node)).or_default();
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

    /// Does something with a node, which is made if it is not there.
    pub(crate) fn with<T>(&self, node_id: &str, act: impl FnOnce(&mut Node) -> T) -> T {
        act(self.nodes().entry(kept_as(node_id)).or_default())
    }

    /// Learns: first into the file, then for all to see, though a new pattern not before `hidden`.
    pub(crate) fn learn(&self, learn: Learn, hidden: Duration) -> Result<(), Clash> {
        let mut nodes = self.nodes();
        let node = nodes.entry(kept_as(&learn.node)).or_default();
        let known = node.patterns.get(&learn.name);
        if self.generation == Generation::October2025
            && known.is_some_and(|pattern| pattern.emotives.is_empty())
            && !learn.emotives.is_empty()
        {
            return Err(Clash);
        }
        let line = Line::Learn(learn);
        self.journal.append(&line);
        if let Line::Learn(learn) = line {
            let visible = (!hidden.is_zero()).then(|| Instant::now() + hidden);
            node.learn(&learn, self.generation, visible);
        }
        Ok(())
    }

    /// The pattern, if it can be seen by now.
    pub(crate) fn pattern(&self, node_id: &str, name: &str) -> Option<Pattern> {
        let nodes = self.nodes();
        let pattern = nodes.get(&kept_as(node_id))?.patterns.get(name)?;
        let visible = pattern.visible.is_none_or(|at| at <= Instant::now());
        visible.then(|| pattern.clone())
    }

    /// Forgets everything of the node, its processor's state included.
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

    fn nodes(&self) -> MutexGuard<'_, HashMap<String, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Node {
    fn learn(&mut self, learn: &Learn, generation: Generation, visible: Option<Instant>) {
        let pattern = self.patterns.entry(learn.name.clone());
        let pattern = pattern.or_insert_with(|| Pattern {
            events: learn.events.clone(),
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
                values.sort();
            }
        }
    }
}
