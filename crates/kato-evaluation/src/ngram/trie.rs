//! A tree of n-grams, with the counts that are needed to smooth them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::discount::Followers;

/// All n-grams, as a tree whose paths are their tokens.
#[derive(Debug)]
pub(super) struct Trie {
    /// Counts of the tokens that follow the empty context.
    root: ContextCounts,
    /// The n-grams of each order, from 1.
    pub(super) levels: Vec<Level>,
}

/// The n-grams of one order.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// From the id of the n-gram without its last token, and that token, to the id of the n-gram.
    ids: HashMap<u64, u32, FixedState>,
    pub(super) nodes: Vec<Node>,
}

/// One n-gram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    /// Number of its occurrences.
    pub(super) count: u64,
    /// Number of distinct tokens to its left.
    pub(super) continuation: u32,
    /// Counts of the tokens that follow it.
    pub(super) followers: ContextCounts,
}

/// Counts of the tokens that follow a context.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContextCounts {
    /// By occurrences.
    pub(super) raw: Followers,
    /// By distinct tokens to the left of context and follower.
    pub(super) continuation: Followers,
}

impl Trie {
    /// Creates an empty tree of n-grams of up to `order` tokens.
    pub(super) fn new(order: usize) -> Self {
        Self {
            root: ContextCounts::default(),
            levels: (0..order).map(|_| Level::default()).collect(),
        }
    }

    /// Returns the number of n-grams of all orders.
    pub(super) fn len(&self) -> usize {
        self.levels.iter().map(|level| level.nodes.len()).sum()
    }

    /// Counts the n-grams that end at a token. `latest` are the ids of those that end one token
    /// before, by order; the new ones replace the content of `ending`.
    pub(super) fn count(&mut self, token: u32, latest: &[u32], ending: &mut Vec<u32>) {
        ending.clear();
        // Without its last token, an n-gram is one of `latest`, or empty.
        // At the beginning of a sequence there are fewer of them than orders.
        let contexts = (0..=latest.len()).take(self.levels.len());
        for length in contexts {
            let context = if length == 0 { 0 } else { latest[length - 1] };
            let level = &mut self.levels[length];
            let (id, is_new) = level.add(context, token);
            level.nodes[id as usize].count += 1;
            let followers = &mut self.context_mut(context, length).raw;
            followers.total += 1;
            followers.distinct += u64::from(is_new);
            if is_new && length > 0 {
                // The suffix was counted in the iteration before.
                // Without its first token, it has one more token to its left.
                let suffix = &mut self.levels[length - 1].nodes[ending[length - 1] as usize];
                suffix.continuation += 1;
                let is_first = suffix.continuation == 1;
                let context = if length == 1 { 0 } else { latest[length - 2] };
                let followers = &mut self.context_mut(context, length - 1).continuation;
                followers.total += 1;
                followers.distinct += u64::from(is_first);
            }
            ending.push(id);
        }
    }

    /// Returns the id of a context; `None` if it does not occur. The empty context has the id 0,
    /// which cannot be confused with others, as ids are looked up by order.
    pub(super) fn find(&self, tokens: &[u32]) -> Option<u32> {
        let mut tokens = tokens.iter().zip(&self.levels);
        tokens.try_fold(0, |context, (&token, level)| level.id(context, token))
    }

    /// Returns the n-gram of a context of `length` tokens and a token; `None` if it does not occur.
    pub(super) fn child(&self, context: u32, length: usize, token: u32) -> Option<&Node> {
        let level = &self.levels[length];
        Some(&level.nodes[level.id(context, token)? as usize])
    }

    /// Returns the counts of the tokens that follow a context of `length` tokens.
    pub(super) fn context(&self, context: u32, length: usize) -> &ContextCounts {
        match length {
            0 => &self.root,
            _ => &self.levels[length - 1].nodes[context as usize].followers,
        }
    }

    /// Returns the same counts, to be changed.
    fn context_mut(&mut self, context: u32, length: usize) -> &mut ContextCounts {
        match length {
            0 => &mut self.root,
            _ => &mut self.levels[length - 1].nodes[context as usize].followers,
        }
    }
}

impl Level {
    /// Returns the id of an n-gram; `None` if it does not occur.
    fn id(&self, context: u32, token: u32) -> Option<u32> {
        self.ids.get(&key(context, token)).copied()
    }

    /// Returns the id of an n-gram, which is added if it is new, and whether it was.
    fn add(&mut self, context: u32, token: u32) -> (u32, bool) {
        // The counter keeps the number of n-grams below 2³².
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry(key(context, token)).or_insert(next);
        if id == next {
            self.nodes.push(Node::default());
        }
        (id, id == next)
    }
}

/// Joins the id of a context and a token, 32 bits each, so that no two pairs have the same key.
fn key(context: u32, token: u32) -> u64 {
    u64::from(context) << 32 | u64::from(token)
}
