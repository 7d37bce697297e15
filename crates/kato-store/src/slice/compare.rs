//! Comparing two slices of one level by name.

use std::cmp::Ordering;

use kato_model::AttributeLimits;
use serde::Serialize;

use super::source::SliceSource;
use super::walk::SliceWalk;
use crate::StoreError;

/// What two sides hold of one level, in numbers of patterns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SliceDifference {
    /// Patterns that only the left side holds.
    pub only_left: u64,
    /// Patterns that only the right side holds.
    pub only_right: u64,
    /// Patterns of both whose frequency differs, or whose first sighting or attributes.
    pub changed: u64,
    /// Patterns of both that are equal in everything.
    pub equal: u64,
    /// Learn calls of the left side.
    pub left_learns: u64,
    /// Learn calls of the right side.
    pub right_learns: u64,
}

impl SliceDifference {
    /// Adds what was found in another range.
    pub fn merge(&mut self, other: &Self) {
        self.only_left += other.only_left;
        self.only_right += other.only_right;
        self.changed += other.changed;
        self.equal += other.equal;
        self.left_learns = self.left_learns.saturating_add(other.left_learns);
        self.right_learns = self.right_learns.saturating_add(other.right_learns);
    }
}

/// Compares what slices of one level hold together with what others hold, at most
/// [`MAX_INPUTS`](super::MAX_INPUTS) on each side.
///
/// Memory: a block and the text symbols of each slice.
///
/// # Errors
///
/// [`StoreError::Corrupt`] for an input that is no slice or is damaged, and I/O errors.
pub fn compare(
    left: &[SliceSource],
    right: &[SliceSource],
    limits: &AttributeLimits,
) -> Result<SliceDifference, StoreError> {
    let (mut left, mut right) = (SliceWalk::open(left)?, SliceWalk::open(right)?);
    let mut difference = SliceDifference::default();
    let (mut on_left, mut on_right) = (left.next()?, right.next()?);
    loop {
        let order = match (&on_left, &on_right) {
            (None, None) => return Ok(difference),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => left.cmp(right),
        };
        let counts_left = match order.is_le() {
            true => Some(left.counts(limits)?),
            false => None,
        };
        let counts_right = match order.is_ge() {
            true => Some(right.counts(limits)?),
            false => None,
        };
        let learns = |counts: &Option<(u64, _)>| counts.as_ref().map_or(0, |(learns, _)| *learns);
        difference.merge(&SliceDifference {
            only_left: u64::from(order.is_lt()),
            only_right: u64::from(order.is_gt()),
            changed: u64::from(order.is_eq() && counts_left != counts_right),
            equal: u64::from(order.is_eq() && counts_left == counts_right),
            left_learns: learns(&counts_left),
            right_learns: learns(&counts_right),
        });
        if order.is_le() {
            on_left = left.next()?;
        }
        if order.is_ge() {
            on_right = right.next()?;
        }
    }
}
