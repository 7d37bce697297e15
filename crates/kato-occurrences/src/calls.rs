//! The learn calls of a unit's text: the one around a span, and whether one is at a place.

use crate::LessonShape;
use crate::unit::Unit;

impl Unit {
    /// Returns the learn call of the lowest level, from one on, that holds a span of a document whole, and
    /// where it begins.
    pub(crate) fn call_around(
        &self,
        lowest: usize,
        from: u64,
        to: u64,
        [start, end]: [u64; 2],
    ) -> Option<(u64, LessonShape)> {
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
            let shape = self.shape(level, first, next);
            if shape.is_call(self.header.promotes) {
                return Some((first, shape));
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

    /// Returns what lies between two borders of a level.
    fn shape(&self, level: usize, first: u64, next: u64) -> LessonShape {
        let mut borders = vec![Vec::new(); level];
        for at in first..next {
            for of_level in borders.iter_mut().take(self.cuts.levels_at(at)) {
                of_level.push((at - first) as u32);
            }
        }
        LessonShape {
            tokens: self.tokens(first, next),
            borders,
        }
    }
}
