//! N-grams by their tokens, with what has to be known of each to smooth them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::discount::Followers;

/// All n-grams, as a tree whose paths are their tokens.
#[derive(Debug)]
pub(super) struct Trie {
    /// What follows the empty context.
    root: ContextCounts,
    /// The n-grams of each order, from 1.
    pub(super) levels: Vec<Level>,
}

/// The n-grams of one order.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// The id of the n-gram without its last token and that token → id.
    ids: HashMap<u64, u32, FixedState>,
    pub(super) nodes: Vec<Node>,
}

/// One n-gram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    /// How often it occurs.
    pub(super) count: u64,
    /// Distinct tokens to its left.
    pub(super) continuation: u32,
    /// What follows it.
    pub(super) followers: ContextCounts,
}

/// What follows a context.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContextCounts {
    /// By occurrences.
    pub(super) raw: Followers,
    /// By distinct tokens to the left of context and follower.
    pub(super) continuation: Followers,
}

impl Trie {
    pub(super) fn new(order: usize) -> Self {
        Self {
            root: ContextCounts::default(),
            levels: (0..order).map(|_| Level::default()).collect(),
        }
    }

    /// Number of n-grams of all orders.
    pub(super) fn len(&self) -> usize {
        self.levels.iter().map(|level| level.nodes.len()).sum()
    }

    /// Counts the n-grams that end at a token. `latest` are the ids of those that end one token before, by order; the new ones
    /// replace what is in `ending`.
    pub(super) fn count(&mut self, token: u32, latest: &[u32], ending: &mut Vec<u32>) {
        ending.clear();
        // Without its last token, an n-gram is one of `latest`, or empty.
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

    /// The id of a context; `None` if it does not occur. The empty one has an id of its own order.
    pub(super) fn find(&self, tokens: &[u32]) -> Option<u32> {
        let mut tokens = tokens.iter().zip(&self.levels);
        tokens.try_fold(0, |context, (&token, level)| level.id(context, token))
    }

    /// The n-gram of a context of `length` tokens and a token.
    pub(super) fn child(&self, context: u32, length: usize, token: u32) -> Option<&Node> {
        let level = &self.levels[length];
        Some(&level.nodes[level.id(context, token)? as usize])
    }

    /// What follows a context of `length` tokens.
    pub(super) fn context(&self, context: u32, length: usize) -> &ContextCounts {
        match length {
            0 => &self.root,
            _ => &self.levels[length - 1].nodes[context as usize].followers,
        }
    }

    fn context_mut(&mut self, context: u32, length: usize) -> &mut ContextCounts {
        match length {
            0 => &mut self.root,
            _ => &mut self.levels[length - 1].nodes[context as usize].followers,
        }
    }
}

impl Level {
    fn id(&self, context: u32, token: u32) -> Option<u32> {
        self.ids.get(&key(context, token)).copied()
    }

    /// The id of an n-gram, and whether it is new.
    fn add(&mut self, context: u32, token: u32) -> (u32, bool) {
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry(key(context, token)).or_insert(next);
        if id == next {
            self.nodes.push(Node::default());
        }
        (id, id == next)
    }
}

fn key(context: u32, token: u32) -> u64 {
    u64::from(context) << 32 | u64::from(token)
}
