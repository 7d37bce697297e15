//! How many documents of a sample hold each pattern, and with which weights these stand for all.

use serde::{Deserialize, Serialize};

use crate::FrequencyCounts;
use crate::ratio::Tilt;

/// Least weight of holders, which longer and shorter documents together may have less of.
const LEAST: f64 = 0.02;

/// How many documents of a sample hold each pattern.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Holders {
    /// Patterns by the number of documents that hold them.
    pub(crate) numbers: FrequencyCounts,
    /// Bytes of text of these documents together, pattern by pattern, by the same number.
    #[serde(default)]
    pub(crate) text_bytes: FrequencyCounts,
    /// Observations that these are worth: the patterns of a document come together, and so do those
    /// that several share.
    pub(crate) independent: f64,
}

impl Holders {
    /// Returns the holders of patterns by their number, each with the weight of its document.
    pub(super) fn weighted(&self, tilt: &Tilt) -> impl Iterator<Item = (u64, f64)> {
        self.numbers.iter().map(|(number, patterns)| {
            let text_bytes = self.text_bytes.of(number) as f64;
            let holders = number as f64 * patterns as f64;
            (number, tilt.of(holders, text_bytes).max(LEAST * holders))
        })
    }

    /// Returns the weights of all holders, as a multiple of their number.
    pub(crate) fn tilted(&self, tilt: &Tilt) -> f64 {
        let all: f64 = self.weighted(tilt).map(|(_, weight)| weight).sum();
        all / self.numbers.observations().max(1) as f64
    }
}

/// How the documents drawn stand for all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighting {
    pub(crate) tilt: Tilt,
    /// Holders of all for one of those drawn and each time as much as is learned.
    pub(crate) held: f64,
}

impl Weighting {
    /// All documents count alike.
    pub(crate) const ALIKE: Self = Self {
        tilt: Tilt::NONE,
        held: 1.0,
    };
}

#[cfg(test)]
mod tests {
    use super::super::Recapture;
    use super::*;
    use crate::Target;
    use crate::ratio::Sums;

    #[test]
    fn what_long_documents_hold_counts_more_where_those_drawn_are_short() {
        // Of each pair of documents, a short one shares all that it holds with the other short ones, and a
        // long one nothing.
        let [short, long] = [100, 300];
        let numbers: FrequencyCounts = [(1, 4_000), (40, 100)].into_iter().collect();
        let text_bytes = [(1, 4_000 * long), (40, 40 * 100 * short)];
        let holders = Holders {
            numbers,
            text_bytes: text_bytes.into_iter().collect(),
            independent: 100.0,
        };
        let mut sums = Sums::default();
        for _ in 0..40 {
            sums.add(short as f64, 100.0);
            sums.add(long as f64, 100.0);
        }
        // 35 of 100 documents are short and not a half of them.
        let tilt = sums.tilt(&Target::samples(1_600).with_text_bytes(1_600 * 230));
        let weighting = Weighting { tilt, held: 1.0 };
        let fit = |weighting| {
            let windows = Holders::default();
            Recapture::fit([&holders, &windows], [0.05, 20.0], 1, weighting, 0.05)
        };
        let [alike, weighted] = [Weighting::ALIKE, weighting].map(|w| fit(w).added(20.0));
        // Of twenty holders in all for one drawn, so many hold something alone, less what was seen of them.
        for (added, alone) in [(alike, 0.5), (weighted, 0.65)] {
            let expected = 20.0 * alone - 0.5;
            assert!((added / expected - 1.0).abs() < 0.03, "{added} {expected}");
        }
    }
}
