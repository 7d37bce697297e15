//! Ranges of names: equal parts of all that names can be.

use kato_model::PatternName;
use serde::{Deserialize, Serialize};

/// A number of equal ranges that together hold every name once.
///
/// Names are digests, so the ranges of a large level hold about equally many.
///
/// ```
/// use kato_store::slice::NameRanges;
///
/// let ranges = NameRanges::new(4).expect("four are not none");
/// assert_eq!(ranges.count(), 4);
/// assert!(NameRanges::new(0).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct NameRanges(u32);

impl NameRanges {
    /// Creates so many ranges; `None` for 0.
    #[must_use]
    pub fn new(count: u32) -> Option<Self> {
        (count > 0).then_some(Self(count))
    }

    /// Creates the one range of all names.
    #[must_use]
    pub const fn whole() -> Self {
        Self(1)
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }

    /// Returns the number of the range that holds a name; it never falls from one name to the next.
    pub(crate) fn of(self, name: &PatternName) -> usize {
        // The leading 64 bits as a fraction of all: the product's upper half is below the count.
        let scaled = u128::from(name.leading_u64()) * u128::from(self.0);
        usize::try_from(scaled >> 64).unwrap_or(usize::MAX)
    }
}

impl TryFrom<u32> for NameRanges {
    type Error = &'static str;

    fn try_from(count: u32) -> Result<Self, Self::Error> {
        Self::new(count).ok_or("there is at least one range")
    }
}

impl From<NameRanges> for u32 {
    fn from(ranges: NameRanges) -> Self {
        ranges.0
    }
}
