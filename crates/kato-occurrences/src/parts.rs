//! The parts of what no full unit holds, so that it need not be written again whole whenever more is learned.
//!
//! Parts end at the greatest multiples of some sizes, each [`GROWTH`] times the one before: with sizes of 100, 400 and
//! 1,600, some 2,310 places are parts of 1,600, 400, 300 and 10. So parts are few, they are the same in whatever
//! portions the documents come, and most of what is there stays as it is when a little follows.

use std::path::Path;

use crate::Documents;
use crate::header::Header;
use crate::unit::Unit;

/// How many times each size is the one before. Every place is written again some two times for each size before it
/// lies in a full unit; with a larger number there would be fewer parts, and each would be written more often.
const GROWTH: u64 = 4;

/// How many of the smallest size a full unit has.
const SMALLEST_OF_UNIT: usize = 1 << 10;

/// Where parts end.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Numbers of places behind the last full unit: a part ends with the document that fills one of them.
    cuts: Vec<u64>,
    /// Places of the documents so far.
    at: u64,
    ends: bool,
}

impl Parts {
    /// Returns the parts of what these units do not hold; none if it fills a unit.
    pub(crate) fn behind(documents: &Documents, units: &[Header]) -> Self {
        let held = units.iter().map(Header::places_of_documents);
        let held = held.fold(0, u64::saturating_add);
        let left = documents.places.unwrap_or(0).saturating_sub(held);
        let mut cuts = Vec::new();
        // A unit has a place in front of its first document.
        if left.saturating_add(1) < documents.unit_places as u64 {
            let mut size = (documents.unit_places / SMALLEST_OF_UNIT).max(1) as u64;
            while size <= left {
                cuts.push(left / size * size);
                size = size.saturating_mul(GROWTH);
            }
        }
        Self {
            cuts,
            at: 0,
            ends: false,
        }
    }

    /// Appends a document of so many places.
    pub(crate) fn push(&mut self, places: u64) {
        let before = self.at;
        self.at += places;
        self.ends = self.has_cut(before, self.at);
    }

    /// Returns whether a part ends behind the last document.
    pub(crate) const fn ends(&self) -> bool {
        self.ends
    }

    /// Appends a unit, and returns whether it is a part.
    pub(crate) fn take(&mut self, dir: &Path, unit: &Header) -> bool {
        let Ok(last) = Unit::last_places(dir, unit) else {
            return false;
        };
        let end = self.at.saturating_add(unit.places_of_documents());
        let in_front_of_last = end.saturating_sub(last);
        let is_part =
            !self.has_cut(self.at, in_front_of_last) && self.has_cut(in_front_of_last, end);
        if is_part {
            self.at = end;
        }
        is_part
    }

    fn has_cut(&self, after: u64, up_to: u64) -> bool {
        self.cuts.iter().any(|&cut| after < cut && cut <= up_to)
    }
}
