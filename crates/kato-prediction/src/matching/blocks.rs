//! Matching blocks: the longest common run, then the longest ones on either side of it, and so on.

use std::hash::Hash;

use super::grams::{self, GramNames};
use crate::cancel::{Cancel, Cancelled, unwrap_uncancelled};

/// Number of pairs up to which a rectangle is searched pair by pair.
const DIRECT_PAIRS: usize = 4096;

/// Pairs per symbol up to which a long thin rectangle is searched pair by pair, too.
const DIRECT_WIDTH: usize = 16;

/// A run of symbols that pattern and state share: `pattern[pattern_start..][..len]` equals
/// `state[state_start..][..len]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchingBlock {
    /// Index of the first symbol in the pattern.
    pub pattern_start: usize,
    /// Index of the first symbol in the state.
    pub state_start: usize,
    /// Number of symbols, at least 1.
    pub len: usize,
}

impl MatchingBlock {
    /// Returns the index after the last symbol in the pattern.
    #[must_use]
    pub fn pattern_end(&self) -> usize {
        self.pattern_start + self.len
    }

    /// Returns the index after the last symbol in the state.
    #[must_use]
    pub fn state_end(&self) -> usize {
        self.state_start + self.len
    }
}

/// Finds the blocks that pattern and state share: the longest one, then those on either side of it.
///
/// Of the longest common runs the one that starts first in the pattern is taken, of these the one
/// that starts first in the state; then the same is done with what precedes it in both, and with
/// what follows it in both.
///
/// Shape: in order of position, none empty, no two of them adjacent in both sequences; empty if no
/// symbol is shared. This is not a longest common subsequence (see
/// [`lcs_length`](super::lcs_length)), whose length it can only fall short of.
///
/// Complexity: nothing but the result and a stack is allocated while sequences are short. For a
/// symbols against b in general O((a + b) · s · log min(a, b)) time, where s ≤ √(2 · min(a, b))
/// counts different block lengths inside each other, and O((a + b) · log l) memory, where l is the
/// longest block's length.
///
/// ```
/// use kato_prediction::matching::{MatchingBlock, matching_blocks};
/// let blocks = matching_blocks(&["a", "b", "x", "c"], &["a", "b", "c"]);
/// assert_eq!(
///     blocks,
///     [
///         MatchingBlock { pattern_start: 0, state_start: 0, len: 2 },
///         MatchingBlock { pattern_start: 3, state_start: 2, len: 1 },
///     ]
/// );
/// ```
#[must_use]
pub fn matching_blocks<T: Eq + Hash>(pattern: &[T], state: &[T]) -> Vec<MatchingBlock> {
    unwrap_uncancelled(matching_blocks_unless(pattern, state, &Cancel::never()))
}

/// Computes [`matching_blocks`] unless it is cancelled.
pub(crate) fn matching_blocks_unless<T: Eq + Hash>(
    pattern: &[T],
    state: &[T],
    cancel: &Cancel,
) -> Result<Vec<MatchingBlock>, Cancelled> {
    let mut blocks = Blocks(Vec::new());
    let mut names = None;
    // What is left to do, the leftmost last: a stack of its own, as no input may
    // overflow the thread's.
    let mut stack = vec![Step::Search(Rectangle::whole(pattern.len(), state.len()))];
    while let Some(step) = stack.pop() {
        cancel.check()?;
        match step {
            Step::Emit(block) => blocks.push(block),
            Step::Search(rectangle) if rectangle.is_small() => {
                if let Some(block) = longest_run(pattern, state, rectangle) {
                    // In reverse order, since the step pushed last is taken first.
                    stack.push(Step::Search(rectangle.right_of(block)));
                    stack.push(Step::Emit(block));
                    stack.push(Step::Search(rectangle.left_of(block)));
                }
            }
            Step::Search(rectangle) => {
                // Grams of the whole sequences are named once, and only if a rectangle is large.
                let named = match names.take() {
                    Some(named) => named,
                    None => GramNames::new(pattern, state, cancel)?,
                };
                let runs = grams::longest_runs(&named, rectangle, cancel)?;
                push_runs(&mut stack, rectangle, &runs);
                names = Some(named);
            }
        }
    }
    Ok(blocks.0)
}

/// A step of the search that is still to be done.
enum Step {
    /// Searches a rectangle for its longest run.
    Search(Rectangle),
    /// Appends a block that was found to the result.
    Emit(MatchingBlock),
}

/// Ranges of pattern and state that are searched together.
#[derive(Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) pattern_start: usize,
    pub(super) pattern_end: usize,
    pub(super) state_start: usize,
    pub(super) state_end: usize,
    /// No run inside is longer than this.
    pub(super) bound: usize,
}

impl Rectangle {
    fn whole(pattern_len: usize, state_len: usize) -> Self {
        Self {
            pattern_start: 0,
            pattern_end: pattern_len,
            state_start: 0,
            state_end: state_len,
            bound: pattern_len.min(state_len),
        }
    }

    /// Returns whether the rectangle is searched pair by pair.
    fn is_small(&self) -> bool {
        let (width, height) = (
            self.pattern_end - self.pattern_start,
            self.state_end - self.state_start,
        );
        let pairs = width.saturating_mul(height);
        pairs <= DIRECT_PAIRS || pairs <= DIRECT_WIDTH.saturating_mul(width + height)
    }

    /// Returns what precedes a longest run. Another run of its length there would have been
    /// found in its place.
    fn left_of(&self, block: MatchingBlock) -> Self {
        Self {
            pattern_end: block.pattern_start,
            state_end: block.state_start,
            bound: block.len - 1,
            ..*self
        }
    }

    /// Returns what follows a longest run, where others of its length may be.
    fn right_of(&self, block: MatchingBlock) -> Self {
        Self {
            pattern_start: block.pattern_end(),
            state_start: block.state_end(),
            bound: block.len,
            ..*self
        }
    }
}

/// Pushes the steps into which its equally long runs, from left to right, divide a rectangle.
fn push_runs(stack: &mut Vec<Step>, rectangle: Rectangle, runs: &[MatchingBlock]) {
    let Some(last) = runs.last() else { return };
    let first = stack.len();
    let mut rest = rectangle;
    for &run in runs {
        stack.push(Step::Search(rest.left_of(run)));
        stack.push(Step::Emit(run));
        rest = rest.right_of(run);
    }
    // There is no run of this length left, or it would be among `runs`.
    rest.bound = last.len - 1;
    stack.push(Step::Search(rest));
    // The step pushed last is taken first, and that must be the leftmost.
    stack[first..].reverse();
}

/// Finds the longest run in a rectangle; of equally long ones the first in the pattern,
/// then in the state.
fn longest_run<T: Eq>(pattern: &[T], state: &[T], rectangle: Rectangle) -> Option<MatchingBlock> {
    let pattern_part = &pattern[rectangle.pattern_start..rectangle.pattern_end];
    let state_part = &state[rectangle.state_start..rectangle.state_end];
    let bound = rectangle
        .bound
        .min(pattern_part.len())
        .min(state_part.len());
    let (mut start, mut longest) = ((0, 0), 0);
    for (i, symbol) in pattern_part.iter().enumerate() {
        if longest == bound || pattern_part.len() - i <= longest {
            break;
        }
        // From here on, runs are too short even if they reach the end.
        for j in 0..state_part.len() - longest.min(state_part.len()) {
            // Only where a run starts, so that no run is walked twice.
            let is_start = i == 0 || j == 0 || pattern_part[i - 1] != state_part[j - 1];
            if state_part[j] != *symbol || !is_start {
                continue;
            }
            let run = pattern_part[i..]
                .iter()
                .zip(&state_part[j..])
                .take_while(|(a, b)| a == b)
                .count();
            if run > longest {
                (start, longest) = ((i, j), run);
            }
        }
    }
    (longest > 0).then(|| MatchingBlock {
        pattern_start: rectangle.pattern_start + start.0,
        state_start: rectangle.state_start + start.1,
        len: longest,
    })
}

/// Blocks in order of position, adjacent ones merged.
struct Blocks(Vec<MatchingBlock>);

impl Blocks {
    /// Appends a block that follows all others, or joins it to the last one if they touch.
    fn push(&mut self, block: MatchingBlock) {
        if let Some(last) = self.0.last_mut()
            && last.pattern_end() == block.pattern_start
            && last.state_end() == block.state_start
        {
            last.len += block.len;
        } else {
            self.0.push(block);
        }
    }
}
