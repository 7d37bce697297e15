//! Many runs of sorted windows merged into one.

use std::path::Path;

use super::CountsError;
use super::runs::{Run, RunReader, RunWriter};
use crate::trie::{Key, Packing};

/// Runs that are merged at once; each is a file.
const FAN_IN: usize = 128;

/// Merges runs, which are removed, until there are no more than can be merged at once.
pub(super) fn reduce(
    mut runs: Vec<Run>,
    dir: &Path,
    packing: Packing,
    check: &dyn Fn() -> Result<(), CountsError>,
) -> Result<Vec<Run>, CountsError> {
    let mut number = runs.len();
    while runs.len() > FAN_IN {
        // No more than has to be; the oldest first, so that each is written about as often as the others.
        let n_merged = FAN_IN.min(runs.len() - FAN_IN + 1);
        let rest = runs.split_off(n_merged);
        let mut writer = RunWriter::create(dir, number, packing)?;
        number += 1;
        merge(runs, packing, check, |key, times| writer.push(key, times))?;
        runs = rest;
        // Ahead of the last one, which lies in memory.
        runs.insert(runs.len().saturating_sub(1), writer.finish()?);
    }
    Ok(runs)
}

/// Windows between two looks whether it was cancelled.
const CHECK_EVERY: u64 = 1 << 16;

/// Hands over the windows of all runs in their order, each as often as it was learned in all, and removes the
/// runs.
pub(super) fn merge(
    runs: Vec<Run>,
    packing: Packing,
    check: &dyn Fn() -> Result<(), CountsError>,
    mut each: impl FnMut(Key, u32) -> Result<(), CountsError>,
) -> Result<(), CountsError> {
    let readers = runs.into_iter().map(|run| RunReader::open(run, packing));
    let mut merger = Merger::new(readers.collect::<Result<_, CountsError>>()?)?;
    let mut n_seen = 0u64;
    let mut next = merger.next()?;
    while let Some((key, mut times)) = next {
        next = merger.next()?;
        while let Some((other, more)) = next
            && other == key
        {
            times = times.saturating_add(more);
            next = merger.next()?;
        }
        each(key, times)?;
        n_seen += 1;
        if n_seen.is_multiple_of(CHECK_EVERY) {
            check()?;
        }
    }
    for reader in merger.readers {
        reader.remove()?;
    }
    check()
}

/// A tournament of runs: the one whose next window comes first wins.
struct Merger {
    readers: Vec<RunReader>,
    /// Of each run the next window, [`Key::END`] at its end.
    next: Vec<(Key, u32)>,
    /// From 1 on, who lost at each place of the tree; at 0 who has won all.
    losers: Vec<usize>,
}

impl Merger {
    fn new(mut readers: Vec<RunReader>) -> Result<Self, CountsError> {
        let mut next = Vec::with_capacity(readers.len());
        for reader in &mut readers {
            next.push(reader.next()?.unwrap_or((Key::END, 0)));
        }
        let n = readers.len();
        let mut merger = Self {
            losers: vec![usize::MAX; n],
            readers,
            next,
        };
        // Whoever comes to a place first waits there for the other.
        for run in 0..n {
            merger.play(run);
        }
        Ok(merger)
    }

    /// Lets a run play from its place up to the top.
    #[inline]
    fn play(&mut self, run: usize) {
        let (mut winner, mut place) = (run, (run + self.next.len()) / 2);
        while place > 0 {
            let other = self.losers[place];
            if other == usize::MAX {
                self.losers[place] = winner;
                return;
            }
            if self.next[other].0 < self.next[winner].0 {
                self.losers[place] = winner;
                winner = other;
            }
            place /= 2;
        }
        self.losers[0] = winner;
    }

    #[inline]
    fn next(&mut self) -> Result<Option<(Key, u32)>, CountsError> {
        let Some(&winner) = self.losers.first() else {
            return Ok(None);
        };
        let found = self.next[winner];
        if found.0 == Key::END {
            return Ok(None);
        }
        self.next[winner] = self.readers[winner].next()?.unwrap_or((Key::END, 0));
        self.play(winner);
        Ok(Some(found))
    }
}
