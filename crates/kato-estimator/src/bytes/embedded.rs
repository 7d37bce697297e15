//! Size of an embedded store, from its file format.

use serde::{Deserialize, Serialize};

use super::LevelContents;

/// What decides the size of an embedded store beside its patterns (`docs/file-format.md` has the format).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedLayout {
    /// Segments of the store, at least. A pattern that is learned in two segments is stored in both, until they are merged. Default 1.
    pub segments: u64,
    /// Memory in which a worker collects what becomes a segment, in bytes; `None`, the default, where it is as large as needed.
    pub segment_memory: Option<u64>,
    /// Mean bytes of the text of a distinct token. Default 7.8, GPT-2's on English text, whose blank takes two bytes.
    pub token_text_bytes: f64,
}

impl Default for EmbeddedLayout {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_memory: None,
            token_text_bytes: 7.8,
        }
    }
}

/// Patterns of a block of a segment, and what the index has for each block.
const BLOCK: f64 = 256.0;
const BLOCK_INDEX_BYTES: f64 = 20.0;
const NAME_BYTES: f64 = 20.0;

/// Segments that a store lets stand before it merges some.
const MAX_SEGMENTS: u64 = 64;
/// Memory that a pattern and each of its symbols take until they are written, in bytes: segments of runs with chunk sizes 3, 5 and 15 were
/// within 12 %.
const PATTERN_MEMORY: f64 = 64.0;
const SYMBOL_MEMORY: f64 = 4.5;

impl EmbeddedLayout {
    /// What training with so many workers leaves: a segment for each, and more where what was learned does not fit into the memory budget,
    /// of which every worker has its part. A run of many commits leaves more, up to 64; compacting leaves one.
    #[must_use]
    pub fn of_run(workers: u64, memory_budget: u64) -> Self {
        let segments = workers.clamp(1, MAX_SEGMENTS);
        Self {
            segments,
            segment_memory: Some(memory_budget / segments),
            ..Self::default()
        }
    }

    /// Segments of a store, by the contents that each of so many equal ones has.
    pub(crate) fn n_segments(&self, contents: impl Fn(u64) -> Vec<LevelContents>) -> u64 {
        let least = self.segments.max(1);
        let Some(memory) = self.segment_memory else {
            return least;
        };
        let fits = |segments: &u64| {
            let taken = contents(*segments);
            let taken = taken
                .iter()
                .map(|level| PATTERN_MEMORY * level.patterns + SYMBOL_MEMORY * level.symbols);
            taken.sum::<f64>() <= memory as f64
        };
        (least..MAX_SEGMENTS)
            .find(fits)
            .unwrap_or(MAX_SEGMENTS.max(least))
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
