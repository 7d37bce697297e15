//! The view of the histogram of frequencies: how many patterns were learned how often.

use anyhow::Result;
use kato_store::statistics::{FrequencyCount, FrequencyStatistics};
use kato_store::{KnowledgeBase, PatternStore};
use serde::Serialize;

use super::View;
use super::layout::{bar, dim, heading};
use super::overview::count;
use crate::numbers::counted;

/// The largest frequency up to which all have a bar each; where there is a larger one, bars stand
/// for ranges.
const SINGLE_BARS: u64 = 12;

/// The histograms of one node or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Histograms {
    /// The nodes, from the bottom of the hierarchy up.
    pub(crate) nodes: Vec<NodeHistogram>,
}

/// The histogram of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NodeHistogram {
    /// Its name.
    pub(crate) node: String,
    /// Every frequency that occurs, with the number of patterns that have it.
    pub(crate) statistics: FrequencyStatistics,
}

/// A bar: patterns with frequencies from `low` to `high`.
struct Bar {
    low: u64,
    high: u64,
    patterns: u64,
}

impl Histograms {
    /// Reads the frequencies of one node or of all.
    ///
    /// `reading` is called with the name of each node before it is read.
    ///
    /// # Errors
    ///
    /// When there is no such node, and when the store cannot be read.
    pub(crate) fn of(
        store: &dyn PatternStore,
        node: Option<&str>,
        mut reading: impl FnMut(&str),
    ) -> Result<Self> {
        let asked = node
            .map(|node| KnowledgeBase::new(store, node))
            .transpose()?;
        let all = KnowledgeBase::all(store);
        let mut nodes = Vec::new();
        for knowledge_base in
            all.filter(|one| asked.is_none_or(|asked| asked.node_idx() == one.node_idx()))
        {
            reading(knowledge_base.name());
            let statistics = knowledge_base.statistics()?;
            nodes.push(NodeHistogram {
                node: knowledge_base.name().to_owned(),
                statistics,
            });
        }
        Ok(Self { nodes })
    }
}

impl View for Histograms {
    fn text(&self, width: usize) -> String {
        let pictures = self
            .nodes
            .iter()
            .map(|node| picture(&node.node, &node.statistics, width));
        pictures.collect::<Vec<_>>().join("\n")
    }
}

/// Draws the histogram of a node.
fn picture(node: &str, statistics: &FrequencyStatistics, width: usize) -> String {
    if statistics.patterns == 0 {
        return heading(&format!("{node}: no patterns"));
    }
    let patterns = counted(statistics.patterns, "pattern");
    let mut text = heading(&format!("{node}: {patterns} by how often each was learned"));
    let bars = bars(&statistics.histogram);
    let rows: Vec<[String; 3]> = bars
        .iter()
        .map(|bar| bar.labels(statistics.patterns))
        .collect();
    let column = |idx: usize| {
        rows.iter()
            .map(|row| row[idx].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (times, counts, shares) = (column(0), column(1), column(2));
    let most = bars.iter().map(|bar| bar.patterns).max().unwrap_or(0);
    let room = width
        .saturating_sub(times + counts + shares + 8)
        .clamp(8, 60);
    for (bar, [label, patterns, share]) in bars.iter().zip(&rows) {
        let drawn = draw(bar.patterns, most, room);
        text +=
            &format!("  {label:>times$} {drawn:<room$}  {patterns:>counts$}  {share:>shares$}\n");
    }
    text += &format!(
        "  {}\n",
        dim("left: times learned; right: patterns and their share; bars: logarithmic")
    );
    text
}

impl Bar {
    /// Returns the frequencies, the number of patterns and their share of all patterns, as text.
    fn labels(&self, all: u64) -> [String; 3] {
        let times = if self.low == self.high {
            count(self.low)
        } else {
            format!("{}-{}", count(self.low), count(self.high))
        };
        let share = 100.0 * self.patterns as f64 / all.max(1) as f64;
        let share = match share {
            _ if self.patterns == 0 => "0 %".to_owned(),
            share if share < 0.01 => "< 0.01 %".to_owned(),
            share => format!("{share:.2} %"),
        };
        [times, count(self.patterns), share]
    }
}

/// Cuts the frequencies from 1 to the largest into bars.
///
/// There is one for each frequency if they are small, otherwise one for each of the ranges that
/// grow by 1, 2, 5, 10, …
fn bars(histogram: &[FrequencyCount]) -> Vec<Bar> {
    let Some(max) = histogram.last().map(|last| last.frequency) else {
        return Vec::new();
    };
    let mut bars: Vec<Bar> = Vec::new();
    let mut low = 1;
    while low <= max {
        let high = if max <= SINGLE_BARS {
            low
        } else {
            end_of_range(low).min(max)
        };
        let within = histogram
            .iter()
            .filter(|bar| (low..=high).contains(&bar.frequency));
        bars.push(Bar {
            low,
            high,
            patterns: within.map(|bar| bar.patterns).sum(),
        });
        // The largest frequency may be the largest number.
        match high.checked_add(1) {
            Some(next) => low = next,
            None => break,
        }
    }
    bars
}

/// Returns the end of the range that begins at `low`: 1, 2, 3, 4, 5, then 10, 20, 50, 100, …
fn end_of_range(low: u64) -> u64 {
    // Saturating: some multiples of the last power do not fit, and then the largest number ends the
    // range.
    let ends = (0..20).flat_map(|power| {
        [1, 2, 5].map(|digit: u64| digit.saturating_mul(10_u64.saturating_pow(power)))
    });
    match low {
        0..=5 => low,
        _ => ends.into_iter().find(|&end| end >= low).unwrap_or(u64::MAX),
    }
}

/// Draws a bar of up to `room` columns by the logarithm of the count; one pattern is a visible bar,
/// none is no bar.
fn draw(patterns: u64, most: u64, room: usize) -> String {
    // Nearly all patterns were learned once, so that on a linear scale the other bars could not be
    // seen. The logarithm is that of one more, as one pattern must not vanish.
    let height = |patterns: u64| (patterns as f64).ln_1p();
    bar(height(patterns) / height(most.max(1)), room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(histogram: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
        let statistics = FrequencyStatistics::from_histogram(histogram.iter().copied());
        bars(&statistics.histogram)
            .iter()
            .map(|bar| (bar.low, bar.high, bar.patterns))
            .collect()
    }

    #[test]
    fn small_frequencies_have_a_bar_each_gaps_included() {
        assert_eq!(ranges(&[(1, 9), (3, 1)]), [(1, 1, 9), (2, 2, 0), (3, 3, 1)]);
        assert_eq!(ranges(&[]), []);
    }

    #[test]
    fn large_frequencies_share_bars_and_every_pattern_is_in_one() {
        let found = ranges(&[(1, 9), (6, 1), (10, 1), (11, 1), (70, 2)]);
        let expected = [
            (1, 1, 9),
            (2, 2, 0),
            (3, 3, 0),
            (4, 4, 0),
            (5, 5, 0),
            (6, 10, 2),
            (11, 20, 1),
            (21, 50, 0),
            (51, 70, 2),
        ];
        assert_eq!(found, expected);
        let all = ranges(&[(1, 1), (u64::MAX, 1)]);
        assert_eq!(all.iter().map(|(_, _, patterns)| patterns).sum::<u64>(), 2);
        assert_eq!(all.last().map(|bar| bar.1), Some(u64::MAX));
    }

    #[test]
    fn bars_fit_and_none_that_counts_is_invisible() {
        assert_eq!(draw(0, 100, 10), "");
        assert_eq!(draw(100, 100, 10), "██████████");
        assert!(!draw(1, u64::MAX, 8).is_empty());
        assert_eq!(draw(1, 1, 4), "████");
    }
}
