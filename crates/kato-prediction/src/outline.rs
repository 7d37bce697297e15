//! How a pattern and the state match, as far as the score needs it: counts instead of symbols.

use crate::SymbolId;
use crate::cancel::{Cancel, Cancelled};
use crate::matching::{MatchingBlock, lcs_length_unless, matching_blocks_unless};
use crate::state::{State, WORD};

/// What is left of the matching blocks when only the score is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Symbols in blocks.
    pub(crate) n_matched: usize,
    pub(crate) n_blocks: usize,
    /// Where the first block begins in the pattern.
    pub(crate) start: usize,
    /// Where the last block ends in the pattern.
    pub(crate) end: usize,
}

impl Outline {
    pub(crate) fn of_blocks(blocks: &[MatchingBlock]) -> Self {
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

/// Compares patterns with one state; holds what is reused from pattern to pattern.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    state: &'a State<'a>,
    /// For every symbol of the pattern its positions in the state.
    rows: Vec<u64>,
    runs: Vec<u64>,
    rectangles: Vec<Rectangle>,
    blocks: Vec<MatchingBlock>,
    /// The pattern at hand, if it or the state is too long for words.
    pattern: Option<Vec<SymbolId>>,
    /// Of a long state the part that matters to the pattern at hand.
    projected: Vec<SymbolId>,
    /// Symbols of the state or its part.
    width: usize,
}

#[derive(Debug, Clone, Copy)]
struct Rectangle {
    pattern: (usize, usize),
    state: (usize, usize),
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(state: &'a State<'a>) -> Self {
        Self {
            state,
            rows: Vec::with_capacity(WORD),
            runs: Vec::with_capacity(WORD),
            rectangles: Vec::new(),
            blocks: Vec::new(),
            pattern: None,
            projected: Vec::new(),
            width: state.len(),
        }
    }

    /// The state, or the part that matters.
    fn observed(&self) -> &[SymbolId] {
        match self.state.len() {
            ..=WORD => &self.state.ids,
            _ => &self.projected,
        }
    }

    /// Takes the next pattern.
    #[inline]
    pub(crate) fn load(&mut self, pattern: &[SymbolId]) {
        self.rows.clear();
        self.pattern = None;
        let is_long = self.state.len() > WORD;
        if is_long {
            self.state.project(pattern, &mut self.projected);
            self.width = self.projected.len();
        }
        if pattern.len() > WORD || self.width > WORD {
            self.pattern = Some(pattern.to_vec());
        } else if is_long {
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

    /// Length of the longest common subsequence with the loaded pattern.
    #[inline]
    pub(crate) fn lcs(&self, cancel: &Cancel) -> Result<usize, Cancelled> {
        if let Some(pattern) = &self.pattern {
            return lcs_length_unless(pattern, self.observed(), cancel);
        }
        // Bit j of `open` is clear where the subsequence of the first j + 1 symbols of the state grew.
        let mut open = u64::MAX;
        for &row in &self.rows {
            let matched = open & row;
            open = open.wrapping_add(matched) | (open - matched);
        }
        let used = u64::MAX >> (WORD - self.width.max(1));
        Ok((!open & used).count_ones() as usize)
    }

    /// The matching blocks of the loaded pattern in outline.
    #[inline]
    pub(crate) fn outline(&mut self, cancel: &Cancel) -> Result<Outline, Cancelled> {
        if let Some(pattern) = &self.pattern {
            let blocks = matching_blocks_unless(pattern, self.observed(), cancel)?;
            return Ok(Outline::of_blocks(&blocks));
        }
        self.find_blocks();
        Ok(Outline::of_blocks(&self.blocks))
    }

    /// The blocks of [`matching_blocks`], by words instead of tables.
    fn find_blocks(&mut self) {
        self.blocks.clear();
        self.rectangles.clear();
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
        if self.blocks.len() < 2 {
            return;
        }
        self.blocks
            .sort_unstable_by_key(|block| block.pattern_start);
        self.blocks.dedup_by(|next, block| {
            let adjacent = block.pattern_start + block.len == next.pattern_start
                && block.state_start + block.len == next.state_start;
            if adjacent {
                block.len += next.len;
            }
            adjacent
        });
    }

    /// The longest common run in a rectangle, the first in the pattern, then the first in the state.
    fn longest_run(&mut self, rectangle: Rectangle) -> Option<MatchingBlock> {
        let Rectangle { pattern, state } = rectangle;
        let window = u64::MAX >> (WORD - (state.1 - state.0)) << state.0;
        let rows = &self.rows[pattern.0..pattern.1];
        self.runs.clear();
        self.runs.extend(rows.iter().map(|row| row & window));
        let mut found = None;
        // In round `len`, bit j of run i says that a common run of that length ends at (i, j).
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
            for idx in (1..rows.len()).rev() {
                self.runs[idx] = self.runs[idx - 1] << 1 & rows[idx] & window;
            }
            self.runs[0] = 0;
        }
        found
    }
}
