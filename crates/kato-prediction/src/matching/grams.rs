//! Longest common runs of long sequences, by exact names of their grams.
//!
//! A gram is a run of symbols. Grams whose length is a power of two get numbers, equal for equal grams; any other gram is
//! told by the two, overlapping, that cover it. So two grams of any length are compared in constant time, without a hash
//! that could collide.

use std::hash::Hash;

use foldhash::quality::RandomState;
use hashbrown::{HashMap, HashSet};

use super::blocks::{MatchingBlock, Rectangle};
use crate::cancel::{Cancel, Cancelled};

/// The name of a gram that the other sequence does not have.
const NONE: u32 = u32::MAX;

/// Names of the grams of a pattern and a state.
pub(super) struct GramNames {
    /// Where the state begins in the tables.
    n_pattern: usize,
    /// For length 2^k the name of the gram at every position: pattern first, then state.
    tables: Vec<Vec<u32>>,
}

impl GramNames {
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
        while let Some(names) = next {
            let halves = |position: usize| {
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

    /// Length of the longest gram that can be named, at least that of the longest common run.
    fn longest(&self) -> usize {
        (1_usize << self.tables.len()) - 1
    }

    /// What tells the gram of the pattern from others of its length; `None` if the state does not have it.
    fn of_pattern(&self, start: usize, len: usize) -> Option<(u32, u32)> {
        let power = len.ilog2();
        let names = self.tables.get(power as usize)?;
        let name = (names[start], names[start + len - (1 << power)]);
        (name.0 != NONE && name.1 != NONE).then_some(name)
    }

    fn of_state(&self, start: usize, len: usize) -> Option<(u32, u32)> {
        self.of_pattern(self.n_pattern + start, len)
    }
}

/// Names for the grams that `key` tells apart, or `None` if no gram is common to pattern and state.
fn table<K: Eq + Hash>(
    (n_pattern, n_state): (usize, usize),
    key: impl Fn(usize) -> Option<K>,
    cancel: &Cancel,
) -> Result<Option<Vec<u32>>, Cancelled> {
    let mut numbers = map();
    let mut names = vec![NONE; n_pattern + n_state];
    let (of_pattern, of_state) = names.split_at_mut(n_pattern);
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

/// The rectangle's longest run, the longest right of it if that is equally long, and so on.
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
    // For every gram of the state where it occurs next, and from there on where again.
    let mut next = vec![usize::MAX; state_end - state_start];
    let mut first = map();
    for start in (state_start..=state_end - len).rev() {
        cancel.check()?;
        if let Some(name) = names.of_state(start, len)
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
            .of_pattern(pattern_at, len)
            .and_then(|name| first.get_mut(&name))
        {
            // What lies behind is never asked for again: the state is walked once in all.
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

/// Length of the longest run in the rectangle.
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
    // Down from the bound in growing steps, since it is often met, then by halves.
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
        of_state.extend(names.of_state(start, len));
    }
    for start in rectangle.pattern_start..=rectangle.pattern_end - len {
        cancel.check()?;
        if let Some(name) = names.of_pattern(start, len)
            && of_state.contains(&name)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn map<K, V>() -> HashMap<K, V, RandomState> {
    HashMap::with_hasher(RandomState::default())
}
