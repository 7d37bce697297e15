//! The size of an embedded store, by its file format (`docs/file-format.md`).

use serde::{Deserialize, Serialize};

use super::LevelContents;

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
    /// Mean bytes of the text of a distinct token. Default 7.8, GPT-2's on English text, whose
    /// blank takes two bytes.
    pub token_text_bytes: f64,
}

impl Default for EmbeddedLayout {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_memory: None,
            commit_tokens: None,
            token_text_bytes: 7.8,
        }
    }
}

/// Patterns of a block of a segment, bytes of the index for each block, and bytes of a name: the
/// SHA-1 of the pattern.
const BLOCK: f64 = 256.0;
const BLOCK_INDEX_BYTES: f64 = 20.0;
const NAME_BYTES: f64 = 20.0;

/// Most segments of a store by default; what would make more merges the smaller ones
/// (`docs/file-format.md`).
const STANDING: u64 = 64;
/// Most equal segments that the likely size is computed with: half way between a store that is
/// about to merge and one that has just merged.
const COUNTED: u64 = 40;
/// Number of equal segments that take as much as those of a store that has merged: the mean over 65 to
/// 5,000 commits of equal size. Right after a merge of all it is 1, and right before one up to 36.
const MERGED: u64 = 10;
/// Most patterns of one node in a merged segment, by default.
const MAX_PATTERNS: f64 = 24_000_000.0;
/// Tokens that a worker learns in the ten seconds between two commits, on the machine of
/// `docs/benchmarks.md`.
const COMMIT_TOKENS: f64 = 60e6;
/// Memory that a pattern and each of its symbols take until they are written, in bytes: the
/// segments of runs with chunk sizes 3, 5 and 15 were within 12 % of that.
const PATTERN_MEMORY: f64 = 64.0;
const SYMBOL_MEMORY: f64 = 4.5;

/// The number of equal segments that stand for a store's segments of many sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segments {
    /// Number as if documents were in random order.
    pub(crate) likely: u64,
    /// Number in random order, right before segments are merged.
    pub(crate) high: u64,
    /// For a store that has merged: the number before its first merge, and the share of all learn
    /// calls until then.
    pub(crate) peak_before_merge: Option<(u64, f64)>,
}

impl Segments {
    /// A single segment.
    pub(crate) const ONE: Self = Self {
        likely: 1,
        high: 1,
        peak_before_merge: None,
    };
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
            ..Self::default()
        }
    }

    /// Returns the segments of a store after so many tokens; `contents` gives the contents of the
    /// levels after a share of all learn calls.
    pub(crate) fn segments(
        &self,
        tokens: f64,
        contents: impl Fn(f64) -> Vec<LevelContents>,
    ) -> Segments {
        let workers = self.segments.max(1);
        let (standing, counted) = (STANDING.max(workers), COUNTED.max(workers));
        let part = self.part(tokens, &contents);
        // The slack keeps rounding of the quotient from adding a segment.
        let parts = (1.0 / part - 1e-9).ceil() as u64;
        // Nothing is merged before the first commit, however many parts that has: it stands as it was
        // written.
        let is_one_commit = self.commit_tokens.is_some_and(|each| tokens <= each);
        if parts > standing && is_one_commit {
            return Segments {
                likely: parts,
                high: parts,
                peak_before_merge: None,
            };
        }
        // No merge yet.
        if parts <= standing {
            return Segments {
                likely: parts.min(counted),
                high: parts,
                peak_before_merge: None,
            };
        }
        let is_mergeable = |segments: u64| {
            let contents = contents(1.0 / segments as f64);
            contents.iter().all(|level| level.patterns <= MAX_PATTERNS)
        };
        // The number grows with the corpus only once segments are too large to be merged further.
        let likely = smallest_satisfying(MERGED.max(workers), is_mergeable);
        Segments {
            likely,
            high: likely.max(standing),
            peak_before_merge: Some(match self.commit_tokens.map(|each| each / tokens) {
                // The first commit has more than stand otherwise.
                Some(commit) if commit > part * standing as f64 => {
                    ((commit / part - 1e-9).ceil() as u64, commit)
                }
                _ => (counted, part * standing as f64),
            }),
        }
    }

    /// Returns the share of all learn calls that a worker writes at once, because of a commit or
    /// because its memory is full.
    fn part(&self, tokens: f64, contents: impl Fn(f64) -> Vec<LevelContents>) -> f64 {
        let commit = match self.commit_tokens {
            Some(each) if tokens > each => each / tokens,
            _ => 1.0,
        };
        let part = commit / self.segments.max(1) as f64;
        let Some(memory) = self.segment_memory else {
            return part;
        };
        let fits = |share: f64| {
            let levels = contents(share).into_iter();
            let taken =
                levels.map(|level| PATTERN_MEMORY * level.patterns + SYMBOL_MEMORY * level.symbols);
            taken.sum::<f64>() <= memory as f64
        };
        if fits(part) {
            return part;
        }
        // More learn calls never take less memory, so the largest share that fits is bisected.
        // Fifty halvings reach the precision of the numbers.
        let (mut low, mut high) = (0.0, part);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
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

/// Returns the least number from `from` on that satisfies a condition which all larger ones
/// satisfy.
fn smallest_satisfying(from: u64, satisfies: impl Fn(u64) -> bool) -> u64 {
    // Doubled until it holds, then bisected. The bound ends the search for a condition that never
    // holds, before doubling overflows.
    let (mut below, mut above) = (from, from);
    while !satisfies(above) && above < u64::MAX / 2 {
        below = above;
        above *= 2;
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if satisfies(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the segments of one level of distinct patterns of 5 symbols, as many as learn calls.
    fn segments(layout: &EmbeddedLayout, patterns: f64) -> Segments {
        layout.segments(patterns * 5.0, |share| {
            vec![LevelContents {
                patterns: patterns * share,
                symbols: patterns * share * 5.0,
                ..LevelContents::default()
            }]
        })
    }

    fn standing(likely: u64) -> Segments {
        Segments {
            likely,
            high: likely,
            peak_before_merge: None,
        }
    }

    #[test]
    fn segments_follow_from_workers_commits_and_memory() {
        assert_eq!(segments(&EmbeddedLayout::default(), 1e9), Segments::ONE);
        let run = EmbeddedLayout::of_run(2, 1 << 40);
        assert_eq!(segments(&run, 1e6), standing(2));
        assert_eq!(segments(&run, 24e6 * 1.5), standing(3), "half a commit");
        let many = EmbeddedLayout::of_run(80, 1 << 40);
        assert_eq!(segments(&many, 1e6), standing(80));
        let little = EmbeddedLayout::of_run(2, 256 << 20);
        assert_eq!(
            segments(&little, 10e6),
            standing(7),
            "128 MiB hold 1.55 million"
        );
    }

    #[test]
    fn what_many_workers_write_before_the_first_commit_stands() {
        let run = EmbeddedLayout::of_run(16, 256 << 20);
        // 16 MiB hold 0.194 million, and a commit 192 million.
        assert_eq!(segments(&run, 20e6), standing(104));
        let merged = segments(&run, 200e6);
        assert_eq!(merged.likely, 16, "the first merge is over");
        let (segments_then, share) = merged.peak_before_merge.unwrap();
        assert!((980..1_000).contains(&segments_then), "{segments_then}");
        assert!((share - 0.96).abs() < 1e-9);
    }

    #[test]
    fn more_segments_than_stand_are_merged_as_far_as_they_may_grow() {
        let run = EmbeddedLayout::of_run(2, 1 << 40);
        let merged = segments(&run, 12e6 * 128.0);
        assert_eq!((merged.likely, merged.high), (64, 64));
        let (segments_then, share) = merged.peak_before_merge.unwrap();
        assert_eq!(segments_then, 40);
        assert!((share - 0.5).abs() < 1e-9);
        assert_eq!(segments(&run, 24e9).likely, 1_000);
    }
}
