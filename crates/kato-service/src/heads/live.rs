//! One head over nodes that go on learning.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use kato_head::{Head, HeadBuilder, HeadOptions};
use kato_model::PatternName;
use kato_prediction::Cancel;

use super::feed::Feed;
use crate::ServiceError;
use crate::node::LoadedNode;

/// Patterns between two looks whether anybody waits, and at the memory.
const LOOK_EVERY: usize = 256;

/// Bytes of lessons that may wait for the next question however small the head is.
const MIN_WAITING: usize = 1 << 20;

/// A head, and what its nodes were taught since it last counted.
#[derive(Debug)]
pub(super) struct LiveHead {
    head: Head,
    /// From the lowest up.
    levels: Vec<Level>,
    /// Patterns that two levels hold, of which the upper one had it first. Counted anew for once.
    held_twice: HashSet<PatternName>,
}

/// The patterns that a head counts, with how often each was taught, by level.
pub(crate) type Listing = Vec<Vec<(PatternName, u64)>>;

/// One level.
#[derive(Debug)]
struct Level {
    /// Weak, so that it may leave memory.
    node: Weak<LoadedNode>,
    feed: Arc<Feed>,
}

impl LiveHead {
    /// Counts all patterns of nodes.
    pub(super) fn count(
        nodes: &[Arc<LoadedNode>],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Self, ServiceError> {
        let (mut levels, mut patterns) = (Vec::new(), Vec::new());
        // From the top: what patterns of a level refer to was taught before, so that it is among
        // those of the levels that are looked at later.
        for node in nodes.iter().rev() {
            let gate = node.gate();
            let feed = node.listeners().listen();
            // With the gate in hand: every lesson is in one of the two, and none in both.
            patterns.push(counted(node)?);
            drop(gate);
            levels.push(Level {
                node: Arc::downgrade(node),
                feed,
            });
        }
        levels.reverse();
        patterns.reverse();
        let options = HeadOptions::default().with_levels(nodes.len());
        let mut builder = HeadBuilder::new(options)?;
        for (level, node) in nodes.iter().enumerate() {
            let listed = bytes_of_listing(&patterns[level..]);
            for (idx, (name, frequency)) in std::mem::take(&mut patterns[level]).iter().enumerate()
            {
                if idx % LOOK_EVERY == 0 {
                    cancel.check()?;
                    if builder.heap_bytes().saturating_add(listed) > limit {
                        return Err(ServiceError::HeadMemoryFull { limit });
                    }
                }
                // One by one, so that who learns waits for no more than one.
                let events = node.node().events(name);
                if let Some(events) = events.map_err(|error| node.naming(error))? {
                    builder.add(level, name, &events, *frequency)?;
                }
                // A node that was cleared meanwhile has told so.
            }
        }
        Ok(Self {
            head: builder.finish()?,
            levels,
            held_twice: HashSet::new(),
        })
    }

    pub(super) const fn head(&self) -> &Head {
        &self.head
    }

    /// Returns whether it counts these nodes, as they are in memory now.
    pub(super) fn is_of(&self, nodes: &[Arc<LoadedNode>]) -> bool {
        let same = self.levels.iter().map(|level| level.node.as_ptr());
        same.eq(nodes.iter().map(Arc::as_ptr))
    }

    /// Returns whether its nodes are in memory.
    pub(super) fn is_alive(&self) -> bool {
        let mut levels = self.levels.iter();
        levels.all(|level| level.node.strong_count() > 0)
    }

    /// Returns whether it has counted all that these nodes were taught.
    pub(super) fn is_current(&self, nodes: &[Arc<LoadedNode>]) -> bool {
        self.is_of(nodes) && self.levels.iter().all(|level| level.feed.is_empty())
    }

    /// Returns about how many bytes it takes, with what may wait for it.
    pub(super) fn bytes(&self) -> usize {
        self.head.heap_bytes() + self.levels.len() * self.bytes_waiting()
    }

    /// Returns how many bytes of lessons may wait for each level.
    fn bytes_waiting(&self) -> usize {
        MIN_WAITING.max(self.head.heap_bytes() / 4 / self.levels.len().max(1))
    }

    /// Counts what its nodes were taught since the last time; returns `false` where only counting
    /// anew finds what there is now.
    pub(super) fn catch_up(&mut self, nodes: &[Arc<LoadedNode>]) -> Result<bool, ServiceError> {
        let mut taught = Vec::with_capacity(self.levels.len());
        // From the top, for the same reason as in `count`.
        for level in self.levels.iter().rev() {
            let Some(taken) = level.feed.take() else {
                return Ok(false);
            };
            taught.push(taken);
        }
        for (level, lessons) in taught.iter().rev().enumerate() {
            for events in lessons.iter().flat_map(|lessons| lessons.iter()) {
                if self.changes_what_was_counted(level, &PatternName::of_events(events), nodes)? {
                    return Ok(false);
                }
                let below = |level: usize, name: &PatternName| {
                    let node = &nodes[level];
                    // What is retired counts as never learned, as in `counted`.
                    match node.node().is_retired(name) {
                        true => Ok(None),
                        false => node.node().events(name).map_err(|error| node.naming(error)),
                    }
                };
                self.head.learn(level, events, 1, below)?;
            }
        }
        let waiting = self.bytes_waiting();
        for level in &self.levels {
            level.feed.set_limit(waiting);
        }
        Ok(true)
    }

    /// Counts what its nodes were taught since the last time, and lists all patterns that it counts
    /// then; `None` where only counting anew finds what there is now.
    pub(super) fn list(
        &mut self,
        nodes: &[Arc<LoadedNode>],
    ) -> Result<Option<Listing>, ServiceError> {
        // All gates at once, so that head and listing know the same. In the order of their places in
        // memory: nobody else holds two, and two that list wait for each other at the first.
        let mut sorted: Vec<&Arc<LoadedNode>> = nodes.iter().collect();
        sorted.sort_unstable_by_key(|node| Arc::as_ptr(node));
        let _gates: Vec<_> = sorted.into_iter().map(|node| node.gate()).collect();
        if !self.catch_up(nodes)? {
            return Ok(None);
        }
        let listed = nodes.iter().map(|node| counted(node));
        Ok(Some(listed.collect::<Result<_, _>>()?))
    }

    /// Returns whether a lesson changes what patterns stand for that were counted before.
    fn changes_what_was_counted(
        &mut self,
        level: usize,
        name: &PatternName,
        nodes: &[Arc<LoadedNode>],
    ) -> Result<bool, ServiceError> {
        if self.head.is_missing(level, name) {
            return Ok(true);
        }
        // Names stand for the pattern of the lowest level that holds them. Nothing refers to the
        // uppermost level.
        let between = nodes.len().saturating_sub(1).saturating_sub(level + 1);
        for node in nodes.iter().skip(level + 1).take(between) {
            let frequency = node.node().frequency(name);
            if frequency.map_err(|error| node.naming(error))? > 0 {
                return Ok(self.held_twice.insert(*name));
            }
        }
        Ok(false)
    }
}

/// Returns the patterns of a node that count, with how often each was taught: all but those that are
/// retired, of which the node tells when they change.
fn counted(node: &LoadedNode) -> Result<Vec<(PatternName, u64)>, ServiceError> {
    let frequencies = node.node().frequencies();
    let mut patterns = frequencies.map_err(|error| node.naming(error))?;
    let tombstones = node.node().tombstones();
    if !tombstones.is_empty() {
        patterns.retain(|(name, _)| tombstones.get(name).is_none());
    }
    Ok(patterns)
}

/// Returns the bytes that a listing takes.
pub(crate) fn bytes_of_listing(lists: &[Vec<(PatternName, u64)>]) -> usize {
    lists.iter().map(|list| size_of_val(&list[..])).sum()
}
