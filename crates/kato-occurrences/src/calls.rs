//! The learn calls of a unit's text: the one around a span, and whether one is at a place.

use crate::unit::Unit;
use crate::{LessonShape, shape};

/// A learn call around a span: where it begins, where what follows it does, and the borders of the levels below.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) borders: Vec<Vec<u32>>,
}

impl Unit {
    /// Returns the learn call of the lowest level, from one on, that holds a span of a document whole.
    pub(crate) fn call_around(
        &self,
        lowest: usize,
        from: u64,
        to: u64,
        [start, end]: [u64; 2],
    ) -> Option<Around> {
        let mut first = from;
        for level in lowest..self.cuts.n_levels() {
            // The borders of a level are borders of those below, so the search goes on from there.
            while self.cuts.levels_at(first) <= level {
                first = first.checked_sub(1).filter(|&first| first >= start)?;
            }
            let next = (first + 1..=end).find(|&at| self.cuts.levels_at(at) > level)?;
            if next < to {
                // It crosses a border of this level.
                continue;
            }
            let borders = self.borders(level, first, next);
            if shape::is_call(&borders, (next - first) as u32, self.header.promotes) {
                return Some(Around {
                    first,
                    next,
                    borders,
                });
            }
        }
        None
    }

    /// Returns whether a learn call of this shape is at a place that holds its tokens.
    pub(crate) fn is_lesson(&self, place: u64, shape: &LessonShape) -> bool {
        let level = shape.level();
        let end = place + shape.tokens.len() as u64;
        if level >= self.cuts.n_levels()
            || self.cuts.levels_at(place) <= level
            || self.cuts.levels_at(end) <= level
        {
            return false;
        }
        let mut below: Vec<_> = shape
            .borders
            .iter()
            .map(|at| at.iter().peekable())
            .collect();
        for offset in 0..shape.tokens.len() as u32 {
            let levels = self.cuts.levels_at(place + u64::from(offset));
            // No other call of its level begins within it.
            if offset > 0 && levels > level {
                return false;
            }
            for (of_level, borders) in below.iter_mut().enumerate() {
                if borders.next_if_eq(&&offset).is_some() != (of_level < levels) {
                    return false;
                }
            }
        }
        true
    }

    /// Returns the borders of the levels below between two of a level.
    fn borders(&self, level: usize, first: u64, next: u64) -> Vec<Vec<u32>> {
        let mut borders = vec![Vec::new(); level];
        for at in first..next {
            for of_level in borders.iter_mut().take(self.cuts.levels_at(at)) {
                of_level.push((at - first) as u32);
            }
        }
        borders
    }
}
