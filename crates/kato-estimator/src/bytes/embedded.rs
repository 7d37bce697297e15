//! The size of an embedded store, by its file format (`docs/file-format.md`).

use serde::{Deserialize, Serialize};

use super::LevelContents;
use super::merging::{Written, left_by};

/// The settings of a run on which the size of an embedded store depends beside its patterns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedLayout {
    /// Least number of segments that a commit leaves. A pattern that is learned in two segments is
    /// stored in both, until they are merged. Default 1.
    pub segments: u64,
    /// Memory in which a worker collects what becomes a segment, in bytes; `None`, the default,
    /// where it is as large as needed.
    pub segment_memory: Option<u64>,
    /// Tokens that are learned between two commits; `None`, the default, where one commit takes
    /// all.
    pub commit_tokens: Option<f64>,
    /// Whether that number is only expected, as of a run whose commits come by the clock. Default
    /// `false`.
    pub is_commit_expected: bool,
    /// Mean bytes of the text of a distinct token. Default 7.8, GPT-2's on English text, whose
    /// blank takes two bytes. Of text that is counted whole, its own tokens tell it.
    pub token_text_bytes: f64,
}

impl Default for EmbeddedLayout {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_memory: None,
            commit_tokens: None,
            is_commit_expected: false,
            token_text_bytes: 7.8,
        }
    }
}

/// Patterns of a block of a segment, bytes of the index for each block, and bytes of a name: the
/// SHA-1 of the pattern.
const BLOCK: f64 = 256.0;
const BLOCK_INDEX_BYTES: f64 = 20.0;
const NAME_BYTES: f64 = 20.0;

/// Text that a worker takes at once, in bytes: what the loader hands over by default.
pub(crate) const BATCH_BYTES: f64 = (512 << 10) as f64;

/// Tokens that a worker learns in the ten seconds between two commits, on the machine of
/// `docs/benchmarks.md`.
const COMMIT_TOKENS: f64 = 60e6;
/// Memory that a learn call and each of its symbols take until they are written, in bytes, whether it
/// repeats or not: a name and an end, and a number. The text that taught them is kept as long.
pub(crate) const CALL_MEMORY: f64 = 24.0;
pub(crate) const SYMBOL_MEMORY: f64 = 4.0;

/// Bytes of text for a token, where they are not known: GPT-2's of English.
const TEXT_OF_TOKEN: f64 = 4.4;

/// Factors of the tokens of a commit that are tried where they are only expected: what a machine
/// learns in ten seconds is known that well.
const COMMIT_SPREAD: [f64; 5] = [0.8, 0.9, 1.0, 1.12, 1.25];

/// What a run learns, repeats and all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learned {
    pub(crate) tokens: f64,
    pub(crate) text_bytes: f64,
    /// Memory that all of it would take until it is written, in bytes.
    pub(crate) memory: f64,
}

impl Learned {
    /// Sums up the learn calls of every level, each with its symbols, and the bytes of their text, where
    /// they are known.
    pub(crate) fn of(
        levels: impl IntoIterator<Item = (f64, f64)>,
        text_bytes: Option<f64>,
    ) -> Self {
        let levels: Vec<(f64, f64)> = levels.into_iter().collect();
        // The symbols of level 0 are tokens.
        let tokens = levels.first().map_or(0.0, |(_, symbols)| *symbols);
        let text_bytes = text_bytes.unwrap_or(tokens * TEXT_OF_TOKEN);
        let taken = levels
            .iter()
            .map(|(calls, symbols)| CALL_MEMORY * calls + SYMBOL_MEMORY * symbols);
        Self {
            tokens,
            text_bytes,
            memory: text_bytes + taken.sum::<f64>(),
        }
    }
}

/// The segments that a run leaves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Segments {
    /// Shares of all learn calls that segments hold, each with how many there are.
    pub(crate) groups: Vec<(f64, u64)>,
    /// The same of those that the last commit has merged, whose files are still there.
    pub(crate) behind: Vec<(f64, u64)>,
    /// How often what is learned is written again by merges.
    pub(crate) merged: f64,
}

impl Segments {
    /// Creates a single one that holds all, as merging leaves it.
    pub(crate) fn one() -> Self {
        Self {
            groups: vec![(1.0, 1)],
            behind: Vec::new(),
            merged: 0.0,
        }
    }

    /// Creates as many as were counted, of about one size.
    pub(crate) fn counted(number: usize) -> Self {
        Self {
            groups: vec![(1.0 / number.max(1) as f64, number as u64)],
            ..Self::one()
        }
    }

    /// Returns their number.
    pub(crate) fn number(&self) -> u64 {
        self.groups.iter().map(|(_, count)| count).sum()
    }
}

impl EmbeddedLayout {
    /// Creates the layout that training with so many workers leaves, before compacting.
    ///
    /// Each commit, one every 60 million tokens of a worker, leaves a segment of each worker, and
    /// more where what was learned does not fit into the memory budget in bytes, of which every
    /// worker has its part.
    #[must_use]
    pub fn of_run(workers: u64, memory_budget: u64) -> Self {
        let segments = workers.max(1);
        Self {
            segments,
            segment_memory: Some(memory_budget / segments),
            // A commit takes what all workers learned meanwhile.
            commit_tokens: Some(COMMIT_TOKENS * segments as f64),
            is_commit_expected: true,
            ..Self::default()
        }
    }

    /// Returns the layout of a run in which workers take text so often: of less than one batch a worker,
    /// some write nothing.
    pub(crate) fn of_batches(self, batches: Option<u64>) -> Self {
        let batches = batches.map_or(u64::MAX, |batches| batches.max(1));
        Self {
            segments: self.segments.min(batches),
            ..self
        }
    }

    /// Returns the segments that a store may have after what was learned, one set for each rate of
    /// commits that is tried; `contents` gives the contents of the levels after a share of all learn
    /// calls.
    pub(crate) fn segments(
        &self,
        learned: Learned,
        contents: impl Fn(f64) -> Vec<LevelContents>,
    ) -> Vec<Segments> {
        let patterns = |share| {
            let levels = contents(share).into_iter();
            levels.map(|level| level.patterns).fold(0.0, f64::max) as u64
        };
        let factors = match self.is_commit_expected {
            true => &COMMIT_SPREAD[..],
            false => &[1.0],
        };
        let sets = factors.iter().map(|factor| {
            let commit = self
                .commit_tokens
                .map_or(1.0, |each| (each * factor / learned.tokens).min(1.0));
            let written = Written {
                commit,
                part: self.part(commit, learned),
                // As many as the store begins on a machine with a thread for each worker.
                merges: (self.segments / 4).max(1) as usize,
            };
            let left = left_by(written, patterns);
            Segments {
                groups: grouped(left.segments),
                behind: grouped(left.behind),
                merged: left.merged,
            }
        });
        let mut sets: Vec<Segments> = sets.collect();
        sets.dedup();
        sets
    }

    /// Returns whether these are the workers and memory of a run that comes to its end before its first
    /// commit is due, also where that is early.
    pub(crate) fn is_of_one_commit(&self, workers: u64, worker_memory: u64, tokens: f64) -> bool {
        let is_late = |each: f64| tokens <= COMMIT_SPREAD[0] * each;
        (self.segments, self.segment_memory) == (workers, Some(worker_memory))
            && self.commit_tokens.is_none_or(is_late)
    }

    /// Returns the share of all learn calls that a worker writes at once, because of a commit or
    /// because its memory is full.
    fn part(&self, commit: f64, learned: Learned) -> f64 {
        let part = commit / self.segments.max(1) as f64;
        let Some(memory) = self.segment_memory else {
            return part;
        };
        // Behind each batch a worker looks whether its memory is full.
        let batch = BATCH_BYTES / learned.text_bytes;
        let batches = memory as f64 / learned.memory / batch;
        part.min(batches.ceil() * batch)
    }

    /// Returns the bytes of a level of one segment, given the level below in the same segment.
    pub(super) fn bytes(&self, level: &LevelContents, below: Option<&LevelContents>) -> f64 {
        // A fraction of a pattern is no pattern, and the mean below divides by them.
        if level.patterns < 0.5 {
            return 0.0;
        }
        // Above level 0 symbols are names of patterns below, which are numbered and not spelt out.
        let literals = if below.is_none() {
            level.distinct_symbols
        } else {
            0.0
        };
        // All numbers of a level have the width of its largest: 256 fit into one byte, and so on.
        let numbers = below.map_or(0.0, |below| below.patterns) + literals;
        let width = [256.0, 65_536.0, 16_777_216.0]
            .iter()
            .filter(|&&limit| numbers > limit)
            .count()
            + 1;
        let mean_symbols = level.symbols / level.patterns;
        // The number of symbols and two flags in one number of seven bits a byte, which has a
        // second byte from 128 on.
        let header = if mean_symbols * 4.0 < 128.0 { 1.0 } else { 2.0 };
        // A frequency above 1 is written out, nearly always in one byte. The dictionary has a
        // length of four bytes and the text for each literal.
        level.patterns * (NAME_BYTES + header)
            + level.repeated
            + level.symbols * width as f64
            + (level.patterns / BLOCK).ceil() * BLOCK_INDEX_BYTES
            + literals * (4.0 + self.token_text_bytes)
    }
}

/// Counts segments of the same size, as near as matters.
fn grouped(mut shares: Vec<f64>) -> Vec<(f64, u64)> {
    shares.sort_by(f64::total_cmp);
    let mut groups: Vec<(f64, u64)> = Vec::new();
    for share in shares {
        match groups.last_mut() {
            Some((same, count)) if share - *same <= 1e-6 * share => *count += 1,
            _ => groups.push((share, 1)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of segments of one level of distinct patterns of 5 symbols, as many as learn
    /// calls: the fewest and the most.
    fn segments(layout: &EmbeddedLayout, patterns: f64) -> (u64, u64) {
        let learned = Learned::of([(patterns, patterns * 5.0)], None);
        let sets = layout.segments(learned, |share| {
            vec![LevelContents {
                patterns: patterns * share,
                symbols: patterns * share * 5.0,
                ..LevelContents::default()
            }]
        });
        let numbers: Vec<u64> = sets.iter().map(Segments::number).collect();
        let ends = [numbers.iter().min(), numbers.iter().max()];
        (*ends[0].unwrap(), *ends[1].unwrap())
    }

    #[test]
    fn segments_follow_from_workers_commits_and_memory() {
        assert_eq!(segments(&EmbeddedLayout::default(), 1e9), (1, 1));
        let run = EmbeddedLayout::of_run(2, 1 << 40);
        assert_eq!(segments(&run, 1e6), (2, 2));
        // A commit and a half, or a little more or less.
        assert_eq!(segments(&run, 24e6 * 1.5), (3, 4));
        let many = EmbeddedLayout::of_run(80, 1 << 40);
        assert_eq!(segments(&many, 1e6), (80, 80));
        let little = EmbeddedLayout::of_run(2, 256 << 20);
        assert_eq!(segments(&little, 10e6), (5, 5), "128 MiB hold 2.03 million");
    }

    #[test]
    fn what_repeats_fills_the_memory_as_well() {
        let run = EmbeddedLayout::of_run(1, 128 << 20);
        // 2.03 million learn calls fill it, of however few patterns.
        let learned = Learned::of([(9e6, 45e6)], None);
        let sets = run.segments(learned, |_| vec![LevelContents::default()]);
        assert_eq!(sets[0].number(), 5);
    }

    #[test]
    fn workers_without_a_batch_write_no_segment() {
        let run = EmbeddedLayout::of_run(8, 1 << 40);
        for (batches, expected) in [(None, 8), (Some(3), 3), (Some(0), 1), (Some(100), 8)] {
            let layout = run.of_batches(batches);
            assert_eq!(segments(&layout, 1e5), (expected, expected), "{batches:?}");
        }
    }

    #[test]
    fn what_many_workers_write_before_the_first_commit_stands() {
        let run = EmbeddedLayout::of_run(16, 256 << 20);
        // 16 MiB hold 11 batches, 0.262 million, and a commit 192 million.
        assert_eq!(segments(&run, 20e6), (77, 77));
        // Four merges of a hundred parts are done by the next commit.
        let (fewest, most) = segments(&run, 250e6);
        assert!(300 < fewest && most < 1_000, "{fewest} {most}");
    }
}
