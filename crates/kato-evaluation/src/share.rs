//! A part of a whole, as exact counts.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// A number of things out of a number of things. It is serialised as
/// `{"count": …, "of": …, "share": …}`; `share` is null where there is no whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedShare {
    /// The part.
    pub count: u64,
    /// The whole.
    pub of: u64,
}

impl CountedShare {
    /// Returns the part divided by the whole, in `0..=1`; `None` where there is no whole.
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// Counts one more, which does or does not belong to the part.
    pub(crate) fn add(&mut self, belongs: bool) {
        self.count += u64::from(belongs);
        self.of += 1;
    }
}

impl Serialize for CountedShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut share = serializer.serialize_struct("Share", 3)?;
        share.serialize_field("count", &self.count)?;
        share.serialize_field("of", &self.of)?;
        // Derived from the two counts, for readers that do not compute; `null` instead of a NaN.
        share.serialize_field("share", &self.ratio())?;
        share.end()
    }
}
