//! Size of an embedded store, from its file format.

use serde::{Deserialize, Serialize};

use super::LevelContents;

/// What decides the size of an embedded store beside its patterns (`docs/file-format.md` has the format).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedLayout {
    /// Segments that a commit leaves, at least. A pattern that is learned in two segments is stored in both, until they are merged.
    /// Default 1.
    pub segments: u64,
    /// Memory in which a worker collects what becomes a segment, in bytes; `None`, the default, where it is as large as needed.
    pub segment_memory: Option<u64>,
    /// Tokens that are learned between two commits; `None`, the default, where one commit takes all.
    pub commit_tokens: Option<f64>,
    /// Mean bytes of the text of a distinct token. Default 7.8, GPT-2's on English text, whose blank takes two bytes.
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

/// Patterns of a block of a segment, and what the index has for each block.
const BLOCK: f64 = 256.0;
const BLOCK_INDEX_BYTES: f64 = 20.0;
const NAME_BYTES: f64 = 20.0;

/// Segments that a store lets stand; before there are more, the smaller half is merged.
const STANDING: u64 = 64;
/// More equal segments than these are counted as these: half way between a store that is about to merge, and one that just did.
const COUNTED: u64 = 40;
/// Equal segments that take as much as those of a store that has merged for long: from 12 right after a merge to 64 right before one.
const MERGED: u64 = 24;
/// Patterns of one node that are not merged with more.
const MAX_PATTERNS: f64 = 24_000_000.0;
/// Tokens that a worker learns in the ten seconds between two commits, on the machine of `docs/benchmarks.md`.
const COMMIT_TOKENS: f64 = 60e6;
/// Memory that a pattern and each of its symbols take until they are written, in bytes: segments of runs with chunk sizes 3, 5 and 15 were
/// within 12 %.
const PATTERN_MEMORY: f64 = 64.0;
const SYMBOL_MEMORY: f64 = 4.5;

/// Into how many equal segments a store is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segments {
    /// As if no pattern were learned in two commits: documents that repeat each other lie near each other.
    pub(crate) low: u64,
    /// As if documents lay in any order.
    pub(crate) likely: u64,
    /// The same, right before segments are merged.
    pub(crate) high: u64,
    /// Where segments were merged: as if so many there were before the first time, and the share of all learn calls until then.
    pub(crate) before_merge: Option<(u64, f64)>,
}

impl Segments {
    /// One of everything.
    pub(crate) const ONE: Self = Self {
        low: 1,
        likely: 1,
        high: 1,
        before_merge: None,
    };
}

impl EmbeddedLayout {
    /// What training with so many workers leaves: a segment of each worker for each commit, one every 60 million tokens of a worker, and more
    /// where what was learned does not fit into the memory budget, of which every worker has its part. Compacting leaves one.
    #[must_use]
    pub fn of_run(workers: u64, memory_budget: u64) -> Self {
        let segments = workers.max(1);
        Self {
            segments,
            segment_memory: Some(memory_budget / segments),
            commit_tokens: Some(COMMIT_TOKENS * segments as f64),
            ..Self::default()
        }
    }

    /// Segments of a store after so many tokens, by the contents that a share of all learn calls makes.
    pub(crate) fn segments(
        &self,
        tokens: f64,
        contents: impl Fn(f64) -> Vec<LevelContents>,
    ) -> Segments {
        let workers = self.segments.max(1);
        let (standing, counted) = (STANDING.max(workers), COUNTED.max(workers));
        let part = self.part(tokens, &contents);
        let parts = (1.0 / part - 1e-9).ceil() as u64;
        if parts <= standing {
            return Segments {
                low: workers.min(parts),
                likely: parts.min(counted),
                high: parts,
                before_merge: None,
            };
        }
        let is_mergeable = |segments: u64| {
            let contents = contents(1.0 / segments as f64);
            contents.iter().all(|level| level.patterns <= MAX_PATTERNS)
        };
        let likely = least(MERGED.max(workers), is_mergeable);
        Segments {
            low: workers,
            likely,
            high: likely.max(standing),
            before_merge: Some((counted, part * standing as f64)),
        }
    }

    /// The share of all learn calls that a worker writes at once: it commits, or its memory is full.
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

    pub(super) fn bytes(&self, level: &LevelContents, below: Option<&LevelContents>) -> f64 {
        if level.patterns < 0.5 {
            return 0.0;
        }
        let literals = if below.is_none() {
            level.distinct_symbols
        } else {
            0.0
        };
        let numbers = below.map_or(0.0, |below| below.patterns) + literals;
        let width = [256.0, 65_536.0, 16_777_216.0]
            .iter()
            .filter(|&&limit| numbers > limit)
            .count()
            + 1;
        let mean_symbols = level.symbols / level.patterns;
        // Length, two flags, seven bits a byte.
        let header = if mean_symbols * 4.0 < 128.0 { 1.0 } else { 2.0 };
        level.patterns * (NAME_BYTES + header)
            + level.repeated
            + level.symbols * width as f64
            + (level.patterns / BLOCK).ceil() * BLOCK_INDEX_BYTES
            + literals * (4.0 + self.token_text_bytes)
    }
}

/// The least number, from this one on, that satisfies what all larger ones do.
fn least(from: u64, satisfies: impl Fn(u64) -> bool) -> u64 {
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

    /// One level of distinct patterns of 5 symbols, as many as there are learn calls.
    fn segments(layout: &EmbeddedLayout, patterns: f64) -> Segments {
        layout.segments(patterns * 5.0, |share| {
            vec![LevelContents {
                patterns: patterns * share,
                symbols: patterns * share * 5.0,
                ..LevelContents::default()
            }]
        })
    }

    fn standing(low: u64, likely: u64) -> Segments {
        Segments {
            low,
            likely,
            high: likely,
            before_merge: None,
        }
    }

    #[test]
    fn segments_follow_from_workers_commits_and_memory() {
        assert_eq!(segments(&EmbeddedLayout::default(), 1e9), Segments::ONE);
        let run = EmbeddedLayout::of_run(2, 1 << 40);
        assert_eq!(segments(&run, 1e6), standing(2, 2));
        assert_eq!(segments(&run, 24e6 * 1.5), standing(2, 3), "half a commit");
        let many = EmbeddedLayout::of_run(80, 1 << 40);
        assert_eq!(segments(&many, 1e6), standing(80, 80));
        let little = EmbeddedLayout::of_run(2, 256 << 20);
        assert_eq!(
            segments(&little, 10e6),
            standing(2, 7),
            "128 MiB hold 1.55 million"
        );
    }

    #[test]
    fn more_segments_than_stand_are_merged_as_far_as_they_may_grow() {
        let run = EmbeddedLayout::of_run(2, 1 << 40);
        let merged = segments(&run, 12e6 * 128.0);
        assert_eq!((merged.low, merged.likely, merged.high), (2, 64, 64));
        let (segments_then, share) = merged.before_merge.unwrap();
        assert_eq!(segments_then, 40);
        assert!((share - 0.5).abs() < 1e-9);
        assert_eq!(segments(&run, 24e9).likely, 1_000);
    }
}
