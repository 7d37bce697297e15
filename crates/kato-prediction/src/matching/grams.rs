//! Longest common runs of long sequences, by exact names of their grams.
//!
//! A gram is a run of symbols. Grams whose length is a power of two get numbers, equal for equal
//! grams; any other gram is identified by the two, overlapping, that cover it. So two grams of any
//! length are compared in constant time, without a hash that could collide.

use std::hash::Hash;

use foldhash::quality::RandomState;
use hashbrown::{HashMap, HashSet};

use super::blocks::{MatchingBlock, Rectangle};
use crate::cancel::{Cancel, Cancelled};

/// The name of a gram that the other sequence does not have.
const NONE: u32 = u32::MAX;

/// Names of the grams of a pattern and a state.
pub(super) struct GramNames {
    /// Length of the pattern, after which the state begins in the tables.
    n_pattern: usize,
    /// For length 2^k, the name of the gram at every position: pattern first, then state.
    tables: Vec<Vec<u32>>,
}

impl GramNames {
    /// Creates the tables, up to the greatest power of two of which both sequences share a gram.
    pub(super) fn new<T: Eq + Hash>(
        pattern: &[T],
        state: &[T],
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let n_pattern = pattern.len();
        let lengths = (n_pattern, state.len());
        let mut tables = Vec::new();
        let symbol = |position| {
            Some(if position < n_pattern {
                &pattern[position]
            } else {
                &state[position - n_pattern]
            })
        };
        let mut next = table(lengths, symbol, cancel)?;
        let mut half = 1;
        // A gram of double length is the pair of its halves, so names are made from names alone.
        while let Some(names) = next {
            let halves = |position: usize| {
                // A gram may not reach from the pattern into the state.
                let end = if position < n_pattern {
                    n_pattern
                } else {
                    names.len()
                };
                let second = position + half;
                (second < end && names[position] != NONE && names[second] != NONE)
                    .then(|| (names[position], names[second]))
            };
            next = table(lengths, halves, cancel)?;
            tables.push(names);
            half *= 2;
        }
        Ok(Self { n_pattern, tables })
    }

    /// Returns the length of the longest gram that can be named, which no common run exceeds.
    fn longest(&self) -> usize {
        // The first length without a table is a power of two of which no gram is common.
        (1_usize << self.tables.len()) - 1
    }

    /// Returns what identifies a gram of the pattern among those of its length; `None` if the state
    /// does not have it.
    fn pattern_gram(&self, start: usize, len: usize) -> Option<(u32, u32)> {
        // The grams of this power of two at the beginning and at the end cover all of the gram.
        let power = len.ilog2();
        let names = self.tables.get(power as usize)?;
        let name = (names[start], names[start + len - (1 << power)]);
        (name.0 != NONE && name.1 != NONE).then_some(name)
    }

    /// Returns the same for a gram of the state.
    fn state_gram(&self, start: usize, len: usize) -> Option<(u32, u32)> {
        self.pattern_gram(self.n_pattern + start, len)
    }
}

/// Numbers the grams that `key` distinguishes; `None` if no gram is common to pattern and state.
fn table<K: Eq + Hash>(
    (n_pattern, n_state): (usize, usize),
    key: impl Fn(usize) -> Option<K>,
    cancel: &Cancel,
) -> Result<Option<Vec<u32>>, Cancelled> {
    let mut numbers = map();
    let mut names = vec![NONE; n_pattern + n_state];
    let (of_pattern, of_state) = names.split_at_mut(n_pattern);
    // The state first: grams that only the pattern has need no number, as they match nothing.
    for (start, name) in of_state.iter_mut().enumerate() {
        cancel.check()?;
        if let Some(key) = key(n_pattern + start) {
            let number = u32::try_from(numbers.len()).unwrap_or(NONE);
            *name = *numbers.entry(key).or_insert(number);
        }
    }
    let mut any = false;
    for (start, name) in of_pattern.iter_mut().enumerate() {
        cancel.check()?;
        if let Some(number) = key(start).and_then(|key| numbers.get(&key)) {
            (*name, any) = (*number, true);
        }
    }
    Ok(any.then_some(names))
}

/// Finds the rectangle's longest run, the longest right of it if that is equally long, and so on.
pub(super) fn longest_runs(
    names: &GramNames,
    rectangle: Rectangle,
    cancel: &Cancel,
) -> Result<Vec<MatchingBlock>, Cancelled> {
    let Some(len) = longest_len(names, rectangle, cancel)? else {
        return Ok(Vec::new());
    };
    let Rectangle {
        pattern_start,
        pattern_end,
        state_start,
        state_end,
        ..
    } = rectangle;
    // For every gram of the state its first position, and for every position the next one of the
    // same gram. Filled from the end, so that what was first before comes next.
    let mut next = vec![usize::MAX; state_end - state_start];
    let mut first = map();
    for start in (state_start..=state_end - len).rev() {
        cancel.check()?;
        if let Some(name) = names.state_gram(start, len)
            && let Some(later) = first.insert(name, start)
        {
            next[start - state_start] = later;
        }
    }
    let mut runs = Vec::new();
    let (mut pattern_at, mut state_at) = (pattern_start, state_start);
    while pattern_at + len <= pattern_end {
        cancel.check()?;
        if let Some(start) = names
            .pattern_gram(pattern_at, len)
            .and_then(|name| first.get_mut(&name))
        {
            // Positions before `state_at` are never needed again, so the entry moves on for good
            // and every position is passed once in all.
            while *start < state_at {
                *start = next[*start - state_start];
            }
            if *start != usize::MAX {
                runs.push(MatchingBlock {
                    pattern_start: pattern_at,
                    state_start: *start,
                    len,
                });
                state_at = *start + len;
                pattern_at += len;
                continue;
            }
        }
        pattern_at += 1;
    }
    Ok(runs)
}

/// Returns the length of the longest run in the rectangle; `None` if no symbol is common.
fn longest_len(
    names: &GramNames,
    rectangle: Rectangle,
    cancel: &Cancel,
) -> Result<Option<usize>, Cancelled> {
    let mut too_long = names
        .longest()
        .min(rectangle.bound)
        .min(rectangle.pattern_end - rectangle.pattern_start)
        .min(rectangle.state_end - rectangle.state_start)
        + 1;
    // Bisection is allowed, as a run contains runs of all lesser lengths. It begins with growing
    // steps down from the bound, which is often met.
    let (mut found, mut step) = (0, 1);
    while found + 1 < too_long {
        let len = match found {
            0 => too_long.saturating_sub(step).max(1),
            _ => found.midpoint(too_long),
        };
        if has_run(names, rectangle, len, cancel)? {
            found = len;
        } else {
            too_long = len;
        }
        step *= 2;
    }
    Ok((found > 0).then_some(found))
}

/// Returns whether the rectangle has a common run of this length.
fn has_run(
    names: &GramNames,
    rectangle: Rectangle,
    len: usize,
    cancel: &Cancel,
) -> Result<bool, Cancelled> {
    let starts = rectangle.state_start..=rectangle.state_end - len;
    let mut of_state = HashSet::with_hasher(RandomState::default());
    for start in starts {
        cancel.check()?;
        of_state.extend(names.state_gram(start, len));
    }
    for start in rectangle.pattern_start..=rectangle.pattern_end - len {
        cancel.check()?;
        if let Some(name) = names.pattern_gram(start, len)
            && of_state.contains(&name)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates an empty map, keyed at random as symbols come from users.
fn map<K, V>() -> HashMap<K, V, RandomState> {
    HashMap::with_hasher(RandomState::default())
}
