//! Matching of a pattern and the state as far as the score needs it: counts instead of symbols.

use std::ops::Range;

use crate::SymbolId;
use crate::cancel::{Cancel, Cancelled};
use crate::matching::{MatchingBlock, lcs_length_unless, matching_blocks_unless};
use crate::refine::{Pair, pairs_of};
use crate::state::{State, WORD};

/// A summary of matching blocks that suffices for the score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockSummary {
    /// Number of symbols in blocks.
    pub(crate) n_matched: usize,
    pub(crate) n_blocks: usize,
    /// Where the first block begins in the pattern.
    pub(crate) start: usize,
    /// Where the last block ends in the pattern.
    pub(crate) end: usize,
}

impl BlockSummary {
    /// Summarises blocks that are in order of position.
    pub(crate) fn from_blocks(blocks: &[MatchingBlock]) -> Self {
        Self {
            n_matched: blocks.iter().map(|block| block.len).sum(),
            n_blocks: blocks.len(),
            start: blocks.first().map_or(0, |block| block.pattern_start),
            end: blocks
                .last()
                .map_or(0, |block| block.pattern_start + block.len),
        }
    }
}

/// A comparison of patterns with one state, which reuses its buffers from pattern to pattern.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    state: &'a State<'a>,
    /// For every symbol of the pattern, its positions in the state as bits.
    rows: Vec<u64>,
    /// Common runs of one length, see [`longest_run`](Self::longest_run).
    runs: Vec<u64>,
    /// Rectangles that are still to be searched.
    rectangles: Vec<Rectangle>,
    blocks: Vec<MatchingBlock>,
    /// The current pattern, if it or the state is too long for words.
    pattern: Option<Vec<SymbolId>>,
    /// The part of a long state that matters to the current pattern.
    projected: Vec<SymbolId>,
    /// Where in the state the symbols of that part stand.
    positions: Vec<usize>,
    /// Number of symbols of the state or of its part.
    width: usize,
}

/// Half-open ranges of pattern and state that are searched together.
#[derive(Debug, Clone, Copy)]
struct Rectangle {
    pattern: (usize, usize),
    state: (usize, usize),
}

impl<'a> Matcher<'a> {
    /// Creates a matcher for one state; no pattern is set yet.
    pub(crate) fn new(state: &'a State<'a>) -> Self {
        Self {
            state,
            rows: Vec::with_capacity(WORD),
            runs: Vec::with_capacity(WORD),
            rectangles: Vec::new(),
            blocks: Vec::new(),
            pattern: None,
            projected: Vec::new(),
            positions: Vec::new(),
            width: state.len(),
        }
    }

    /// Returns the state, or of a long one the part that matters to the current pattern.
    fn observed(&self) -> &[SymbolId] {
        match self.state.len() {
            ..=WORD => &self.state.ids,
            _ => &self.projected,
        }
    }

    /// Sets the pattern that is compared next.
    #[inline]
    pub(crate) fn set_pattern(&mut self, pattern: &[SymbolId]) {
        self.rows.clear();
        self.pattern = None;
        let is_long = self.state.len() > WORD;
        if is_long {
            // What the pattern does not hold cannot match, and the rest often fits into a word.
            let (projected, positions) = (&mut self.projected, &mut self.positions);
            self.state.project(pattern, projected, positions);
            self.width = self.projected.len();
        }
        if pattern.len() > WORD || self.width > WORD {
            // `lcs` and `summarize_blocks` fall back to the algorithms for sequences of any length.
            self.pattern = Some(pattern.to_vec());
        } else if is_long {
            // The masks of the state hold positions of the whole state and not of its part.
            let mask = |symbol: &SymbolId| {
                let positions = self.projected.iter().enumerate();
                positions.fold(0, |mask, (at, held)| mask | u64::from(held == symbol) << at)
            };
            self.rows.extend(pattern.iter().map(mask));
        } else {
            let masks = pattern.iter().map(|&symbol| self.state.mask(symbol));
            self.rows.extend(masks);
        }
    }

    /// Returns the length of the longest common subsequence with the current pattern.
    #[inline]
    pub(crate) fn lcs(&self, cancel: &Cancel) -> Result<usize, Cancelled> {
        if let Some(pattern) = &self.pattern {
            return lcs_length_unless(pattern, self.observed(), cancel);
        }
        // The recurrence of `matching::lcs` in a single word: bit j of `open` is clear where the
        // subsequence with the first j + 1 symbols of the state is longer than with the first j.
        let mut open = u64::MAX;
        for &row in &self.rows {
            let matched = open & row;
            // `matched` is a subset of `open`, so the subtraction cannot borrow.
            open = open.wrapping_add(matched) | (open - matched);
        }
        // A part of no symbols matches nothing; `max` keeps the shift below the word's width.
        let used = u64::MAX >> (WORD - self.width.max(1));
        Ok((!open & used).count_ones() as usize)
    }

    /// Finds the matching blocks of the current pattern and summarises them.
    #[inline]
    pub(crate) fn summarize_blocks(&mut self, cancel: &Cancel) -> Result<BlockSummary, Cancelled> {
        if let Some(pattern) = &self.pattern {
            self.blocks = matching_blocks_unless(pattern, self.observed(), cancel)?;
        } else {
            self.find_blocks();
        }
        Ok(BlockSummary::from_blocks(&self.blocks))
    }

    /// Returns whether a match of the blocks that were summarised last might move: whether its symbol is also
    /// between it and the matches beside it, in the pattern or in the state.
    pub(crate) fn has_choice(&self, pattern: &[SymbolId]) -> bool {
        let runs = self.blocks.iter();
        let in_state = runs.map(|block| block.state_start..block.state_end());
        self.has_choice_of_places(pattern, pattern.len())
            || self.state.repeats && repeats_beside(self.observed(), in_state)
    }

    /// Returns whether a match of the blocks that were summarised last might move in the pattern: where none
    /// does, whatever moves in the state, the places that match stay.
    ///
    /// `n_left` symbols of the pattern at most are not matched and in the state all the same.
    #[inline]
    pub(crate) fn has_choice_of_places(&self, pattern: &[SymbolId], n_left: usize) -> bool {
        let runs = self.blocks.iter();
        let in_pattern = runs.map(|block| block.pattern_start..block.pattern_end());
        n_left > 0 && repeats_beside(pattern, in_pattern)
    }

    /// Replaces `pairs` by the matches of the blocks that were summarised last, at their positions in the
    /// whole state.
    pub(crate) fn read_pairs(&self, pairs: &mut Vec<Pair>) {
        pairs.clear();
        pairs.extend(pairs_of(&self.blocks));
        if self.state.len() > WORD {
            for pair in pairs {
                pair.position = self.positions[pair.position];
            }
        }
    }

    /// Finds the blocks of [`matching_blocks`], by words instead of tables.
    fn find_blocks(&mut self) {
        self.blocks.clear();
        self.rectangles.clear();
        // A part of no symbols has no column, and nothing to match.
        if self.width == 0 {
            return;
        }
        self.rectangles.push(Rectangle {
            pattern: (0, self.rows.len()),
            state: (0, self.width),
        });
        while let Some(rectangle) = self.rectangles.pop() {
            let Some(block) = self.longest_run(rectangle) else {
                continue;
            };
            let Rectangle { pattern, state } = rectangle;
            let left = Rectangle {
                pattern: (pattern.0, block.pattern_start),
                state: (state.0, block.state_start),
            };
            let right = Rectangle {
                pattern: (block.pattern_start + block.len, pattern.1),
                state: (block.state_start + block.len, state.1),
            };
            let is_some =
                |part: &Rectangle| part.pattern.0 < part.pattern.1 && part.state.0 < part.state.1;
            self.rectangles
                .extend([left, right].into_iter().filter(is_some));
            self.blocks.push(block);
        }
        // Blocks never cross, as each side of a block is searched on its own: in order of the
        // pattern they are also in order of the state, whatever the order of the rectangles was.
        // Nor do two touch in both sequences: together they were a longer run, found before either.
        self.blocks
            .sort_unstable_by_key(|block| block.pattern_start);
    }

    /// Finds the longest common run in a rectangle that is not empty; of equally long ones the
    /// first in the pattern, then the first in the state.
    fn longest_run(&mut self, rectangle: Rectangle) -> Option<MatchingBlock> {
        let Rectangle { pattern, state } = rectangle;
        // The columns of the rectangle; it has at least one, so the shift is
        // below the word's width.
        let window = u64::MAX >> (WORD - (state.1 - state.0)) << state.0;
        let rows = &self.rows[pattern.0..pattern.1];
        self.runs.clear();
        self.runs.extend(rows.iter().map(|row| row & window));
        let mut found = None;
        // In round `len`, bit j of run i says that a common run of that length ends at (i, j). Runs
        // of one length that end first also begin first, so the first bit of the last round wins.
        for len in 1.. {
            let Some(end) = self.runs.iter().position(|&run| run != 0) else {
                break;
            };
            let state_end = self.runs[end].trailing_zeros() as usize;
            found = Some(MatchingBlock {
                pattern_start: pattern.0 + end + 1 - len,
                state_start: state_end + 1 - len,
                len,
            });
            // Downwards, so that row idx - 1 is still that of the round before.
            for idx in (1..rows.len()).rev() {
                self.runs[idx] = self.runs[idx - 1] << 1 & rows[idx] & window;
            }
            // No longer run ends in the first row, so the loop ends after at most all rows.
            self.runs[0] = 0;
        }
        found
    }
}

/// Returns whether what lies between runs of a side holds the symbol with which the run before it ends or the
/// one after it begins: within a run, nothing lies between two matches.
#[inline]
fn repeats_beside(side: &[SymbolId], runs: impl Iterator<Item = Range<usize>>) -> bool {
    let (mut end, mut last) = (0, None);
    for run in runs {
        let (first, before) = (side[run.start], last.unwrap_or(side[run.start]));
        let gap = &side[end..run.start];
        if gap
            .iter()
            .any(|&symbol| symbol == first || symbol == before)
        {
            return true;
        }
        (end, last) = (run.end, Some(side[run.end - 1]));
    }
    last.is_some_and(|last| side[end..].contains(&last))
}

#[cfg(test)]
mod tests;
