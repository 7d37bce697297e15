//! Knowledge of the nodes: in a file before it is visible, and visible at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_model::naming::processor_id;
use kato_protocol::observation::EmotiveValues;

use crate::journal::Journal;
use crate::processor::Processor;
use crate::record::{FILE, Learn, Line, Split, append_emotives};
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
    /// Occurrences of each symbol over all learns, and patterns that hold it, as Redis counts them
    /// in 3.10.
    pub(crate) symbols: BTreeMap<String, (u64, u64)>,
    /// Names of patterns that must not be learned again.
    retired: BTreeSet<String>,
    /// State that the sessions of the node share in 2025-10.
    pub(crate) processor: Processor,
    /// Number of learns, by which uses are told apart.
    learns: u64,
}

/// Pattern as it was learned so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    pub(crate) events: Vec<Vec<String>>,
    /// Rows in the table of patterns; without one nobody sees the pattern.
    pub(crate) rows: u64,
    /// Number of learns; 0 where Redis knows none.
    pub(crate) frequency: u64,
    pub(crate) emotives: Vec<EmotiveValues>,
    pub(crate) metadata: BTreeMap<String, Vec<String>>,
    /// Number of the last learn of the node that touched it.
    used: u64,
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
    /// Opens the knowledge of a directory by doing all lines of its file again, but for what Redis had counted
    /// in so many milliseconds before the last learn.
    pub(crate) fn open(
        generation: Generation,
        dir: Option<&Path>,
        lost_ms: Option<u64>,
    ) -> io::Result<Self> {
        let (journal, lines) = Journal::open::<Line>(dir, FILE)?;
        let mut nodes: HashMap<String, Node> = HashMap::new();
        for line in &lines {
            // Whatever was learned before the restart is visible by now.
            apply(&mut nodes, generation, line, None);
        }
        let knowledge = Self {
            generation,
            nodes: Mutex::new(nodes),
            journal,
        };
        if let Some(lost_ms) = lost_ms {
            knowledge.lose(&lines, lost_ms);
        }
        Ok(knowledge)
    }

    /// Takes from Redis what it had counted last, as a kill does to one that saves every second.
    fn lose(&self, lines: &[Line], lost_ms: u64) {
        if self.generation == Generation::October2025 {
            return;
        }
        let learns = lines.iter().rev().map_while(|line| match line {
            Line::Learn(learn) => Some(learn),
            _ => None,
        });
        let mut learns = learns.peekable();
        let last = learns.peek().map_or(0, |learn| learn.at);
        for learn in learns.take_while(|learn| learn.at + lost_ms > last) {
            let learn = learn.clone();
            self.note(self.nodes(), &Line::Uncount { learn }, Duration::ZERO);
        }
    }

    /// Calls `act` with a node, which is made if it is not there.
    pub(crate) fn with<T>(&self, node_id: &str, act: impl FnOnce(&mut Node) -> T) -> T {
        act(self.nodes().entry(kept_as(node_id)).or_default())
    }

    /// Learns: first into the file, then for all to see, although a new pattern only after
    /// `hidden`.
    pub(crate) fn learn(&self, learn: Learn, hidden: Duration) -> Result<(), Clash> {
        let nodes = self.nodes();
        let node = nodes.get(&kept_as(&learn.node));
        let known = node.and_then(|node| node.patterns.get(&learn.name));
        // MongoDB cannot push to the empty map that such a pattern has in place of a list of
        // emotives. KATO answers 500.
        if self.generation == Generation::October2025
            && known.is_some_and(|pattern| pattern.emotives.is_empty())
            && !learn.emotives.is_empty()
        {
            return Err(Clash);
        }
        self.note(nodes, &Line::Learn(learn), hidden);
        Ok(())
    }

    /// Does the first step of a learn, and returns whether the pattern was new.
    pub(crate) fn begin(&self, learn: Learn, split: Split, hidden: Duration) -> bool {
        let nodes = self.nodes();
        let node = nodes.get(&kept_as(&learn.node));
        let known = node.and_then(|node| node.patterns.get(&learn.name));
        let is_new = known.is_none_or(|pattern| pattern.frequency == 0);
        self.note(nodes, &Line::Begin { learn, split }, hidden);
        is_new
    }

    /// Does the second step of a learn.
    pub(crate) fn end(&self, learn: Learn, split: Split, is_new: bool, hidden: Duration) {
        let line = Line::End {
            learn,
            split,
            is_new,
        };
        self.note(self.nodes(), &line, hidden);
    }

    /// Loses all that is in Redis, which in 2025-10 is nothing but sessions.
    pub(crate) fn flush(&self) {
        if self.generation == Generation::October2025 {
            return;
        }
        self.note(self.nodes(), &Line::Flush, Duration::ZERO);
    }

    /// Loses everything.
    pub(crate) fn empty(&self) {
        self.note(self.nodes(), &Line::Empty, Duration::ZERO);
    }

    /// Evicts a key of Redis as `allkeys-lru` does: of a node, chosen by a number, the frequency
    /// that was used least recently, or now and then its metadata or the counts of all symbols.
    pub(crate) fn evict(&self, number: u64) {
        let nodes = self.nodes();
        let mut names: Vec<&String> = nodes.keys().collect();
        names.sort();
        if self.generation == Generation::October2025 || names.is_empty() {
            return;
        }
        let name = names[number as usize % names.len()].clone();
        let patterns = nodes[&name].patterns.iter();
        let oldest = patterns
            .filter(|(_, pattern)| pattern.frequency > 0)
            .min_by_key(|(name, pattern)| (pattern.used, (*name).clone()));
        let is_rare = number.is_multiple_of(7);
        let pattern = oldest.filter(|_| !is_rare).map(|(name, _)| name.clone());
        let line = Line::Evict {
            node: name,
            pattern,
            is_metadata: number.is_multiple_of(5),
        };
        self.note(nodes, &line, Duration::ZERO);
    }

    /// Writes a line down and does what it says.
    fn note(&self, mut nodes: Nodes<'_>, line: &Line, hidden: Duration) {
        // Under the lock of the nodes, so that the lines are in the order in which they took
        // effect.
        self.journal.append(line);
        let visible = (!hidden.is_zero()).then(|| Instant::now() + hidden);
        apply(&mut nodes, self.generation, line, visible);
    }

    /// Returns the pattern, if it is visible by now.
    pub(crate) fn pattern(&self, node_id: &str, name: &str) -> Option<Pattern> {
        let nodes = self.nodes();
        let pattern = nodes.get(&kept_as(node_id))?.patterns.get(name)?;
        let visible = pattern.visible.is_none_or(|at| at <= Instant::now());
        (visible && pattern.rows > 0).then(|| pattern.clone())
    }

    /// Forgets everything of the node, the state of its processor included.
    pub(crate) fn clear_all(&self, node_id: &str) {
        let line = Line::ClearAll {
            node: node_id.to_owned(),
        };
        self.note(self.nodes(), &line, Duration::ZERO);
    }

    /// Returns whether a pattern of a node is retired.
    pub(crate) fn is_retired(&self, node_id: &str, name: &str) -> bool {
        let nodes = self.nodes();
        let node = nodes.get(&kept_as(node_id));
        node.is_some_and(|node| node.retired.contains(name))
    }

    /// Retires a pattern or takes that back; returns whether that changed anything.
    pub(crate) fn retire(&self, node_id: &str, name: &str, retires: bool) -> bool {
        if self.is_retired(node_id, name) == retires {
            return false;
        }
        let (node, name) = (node_id.to_owned(), name.to_owned());
        let line = match retires {
            true => Line::Retire { node, name },
            false => Line::Unretire { node, name },
        };
        self.note(self.nodes(), &line, Duration::ZERO);
        true
    }

    /// Locks the nodes.
    fn nodes(&self) -> Nodes<'_> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The locked nodes.
type Nodes<'a> = MutexGuard<'a, HashMap<String, Node>>;

/// Does what a line says.
fn apply(
    nodes: &mut HashMap<String, Node>,
    generation: Generation,
    line: &Line,
    visible: Option<Instant>,
) {
    match line {
        Line::Learn(learn) => {
            let node = node(nodes, &learn.node);
            let is_new = node.count(learn);
            node.insert(learn, is_new, visible);
            node.add(learn, is_new, generation);
        }
        Line::Begin { learn, split } => {
            let node = node(nodes, &learn.node);
            let is_new = node.count(learn);
            if *split == Split::BehindRow {
                node.insert(learn, is_new, visible);
            }
        }
        Line::End {
            learn,
            split,
            is_new,
        } => {
            let node = node(nodes, &learn.node);
            if *split == Split::BeforeRow {
                node.insert(learn, *is_new, visible);
            }
            node.add(learn, *is_new, generation);
        }
        Line::Uncount { learn } => node(nodes, &learn.node).uncount(learn),
        Line::Retire { node: id, name } => {
            node(nodes, id).retired.insert(name.clone());
        }
        Line::Unretire { node: id, name } => {
            node(nodes, id).retired.remove(name);
        }
        Line::ClearAll { node: id } => {
            let node = node(nodes, id);
            node.retired.clear();
            node.patterns.clear();
            node.symbols.clear();
            node.processor.clear_all();
        }
        Line::Flush => nodes.values_mut().for_each(Node::flush),
        Line::Empty => nodes.clear(),
        Line::Evict {
            node: id,
            pattern,
            is_metadata,
        } => {
            // It is a node's own name already, which stays as it is.
            let Some(node) = nodes.get_mut(id) else {
                return;
            };
            match pattern {
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

/// Returns a node, which is made if it is not there.
fn node<'a>(nodes: &'a mut HashMap<String, Node>, id: &str) -> &'a mut Node {
    nodes.entry(kept_as(id)).or_default()
}

impl Node {
    /// Counts a learn of a pattern; returns whether the pattern was not counted before.
    fn count(&mut self, learn: &Learn) -> bool {
        self.learns += 1;
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        pattern.frequency += 1;
        pattern.used = self.learns;
        pattern.frequency == 1
    }

    /// Inserts the row of a pattern that is new.
    fn insert(&mut self, learn: &Learn, is_new: bool, visible: Option<Instant>) {
        if !is_new {
            // The frequency of a known pattern is in Redis, which shows it at once.
            return;
        }
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        pattern.events.clone_from(&learn.events);
        pattern.rows += 1;
        pattern.visible = visible;
    }

    /// Adds what comes with a learn, and counts its symbols.
    fn add(&mut self, learn: &Learn, is_new: bool, generation: Generation) {
        count_symbols(&mut self.symbols, learn, is_new);
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        append_emotives(&mut pattern.emotives, &learn.emotives, learn.persistence);
        for (key, added) in &learn.metadata {
            let values = pattern.metadata.entry(key.clone()).or_default();
            for value in added {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            if generation != Generation::October2025 {
                // 3.10 keeps the sorted union, 2025-10 the order of learning.
                values.sort();
            }
        }
    }

    /// Takes a learn back from what Redis counts.
    fn uncount(&mut self, learn: &Learn) {
        let pattern = self.patterns.entry(learn.name.clone()).or_default();
        pattern.frequency = pattern.frequency.saturating_sub(1);
        uncount_symbols(&mut self.symbols, learn, pattern.frequency == 0);
    }

    /// Forgets what Redis holds.
    fn flush(&mut self) {
        self.symbols.clear();
        self.retired.clear();
        for pattern in self.patterns.values_mut() {
            pattern.frequency = 0;
            pattern.emotives.clear();
            pattern.metadata.clear();
        }
        // Without a row there is nothing left of it.
        self.patterns.retain(|_, pattern| pattern.rows > 0);
    }
}

/// Adds a learn to the counts of its symbols.
pub(crate) fn count_symbols(
    symbols: &mut BTreeMap<String, (u64, u64)>,
    learn: &Learn,
    is_new: bool,
) {
    let distinct: BTreeSet<&String> = learn.events.iter().flatten().collect();
    for symbol in learn.events.iter().flatten() {
        symbols.entry(symbol.clone()).or_default().0 += 1;
    }
    for symbol in distinct {
        symbols.entry(symbol.clone()).or_default().1 += u64::from(is_new);
    }
}

/// Takes a learn back from the counts of its symbols.
pub(crate) fn uncount_symbols(
    symbols: &mut BTreeMap<String, (u64, u64)>,
    learn: &Learn,
    was_new: bool,
) {
    let mut counted = BTreeMap::new();
    count_symbols(&mut counted, learn, was_new);
    for (symbol, (occurrences, patterns)) in counted {
        let counts = symbols.entry(symbol).or_default();
        counts.0 = counts.0.saturating_sub(occurrences);
        counts.1 = counts.1.saturating_sub(patterns);
    }
    symbols.retain(|_, counts| counts.0 > 0);
}
