//! Emotives: the values attached to a pattern, of which the latest few are kept.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// One map of emotive to value.
pub type EmotiveMap = BTreeMap<String, f64>;

/// Number of maps that a pattern keeps when nothing else is configured: KATO's default
/// `PERSISTENCE`.
pub const DEFAULT_PERSISTENCE: NonZeroUsize = NonZeroUsize::new(5).expect("five is not zero");

/// Returns for every key the arithmetic mean over the maps that have it, as predictions show it.
///
/// Shape: every key of any map; empty for no maps. Adds up in the order given.
///
/// # Examples
///
/// ```
/// use kato_model::EmotiveMap;
/// use kato_model::emotives::mean_emotives;
///
/// let maps = [
///     EmotiveMap::from([("joy".to_owned(), 0.25)]),
///     EmotiveMap::from([("joy".to_owned(), 0.75), ("fear".to_owned(), -1.0)]),
/// ];
/// let expected = EmotiveMap::from([("joy".to_owned(), 0.5), ("fear".to_owned(), -1.0)]);
/// assert_eq!(mean_emotives(&maps), expected);
/// ```
pub fn mean_emotives<'a>(maps: impl IntoIterator<Item = &'a EmotiveMap>) -> EmotiveMap {
    let mut totals: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (key, value) in maps.into_iter().flatten() {
        let (sum, count) = totals.entry(key).or_insert((0.0, 0.0));
        *sum += value;
        *count += 1.0;
    }
    totals
        .into_iter()
        .map(|(key, (sum, count))| (key.to_owned(), sum / count))
        .collect()
}

/// Adds a map to running sums, key by key.
///
/// The affinity of patterns and symbols grows in this way with every learn.
///
/// Sums of finite values stay finite: one that leaves the range of numbers stops at its largest or
/// smallest. A value that is not finite shows in the sum, so that stores can refuse it. The order
/// of adding shows in how they are rounded, as it does in all sums of floating-point numbers, and in whether
/// they stop.
///
/// # Examples
///
/// ```
/// use kato_model::EmotiveMap;
/// use kato_model::emotives::add_emotives;
///
/// let mut sums = EmotiveMap::from([("joy".to_owned(), 0.5)]);
/// let more = EmotiveMap::from([("fear".to_owned(), -1.0), ("joy".to_owned(), 0.25)]);
/// add_emotives(&mut sums, &more);
/// assert_eq!(sums, EmotiveMap::from([("fear".to_owned(), -1.0), ("joy".to_owned(), 0.75)]));
/// ```
pub fn add_emotives(sums: &mut EmotiveMap, more: &EmotiveMap) {
    for (key, &value) in more {
        match sums.get_mut(key) {
            // Clamped only where both are finite: the sum has to stay writable as JSON, but a value
            // that is not finite has to stay visible, so that stores can refuse it.
            Some(sum) if sum.is_finite() && value.is_finite() => {
                *sum = (*sum + value).clamp(f64::MIN, f64::MAX);
            }
            Some(sum) => *sum += value,
            None => drop(sums.insert(key.clone(), value)),
        }
    }
}

/// Share of a sum below which what is left of it after a subtraction counts as nothing.
const NOTHING: f64 = 1e-12;

/// Subtracts emotives from sums of them, key by key: takes back what [`add_emotives`] added. What is
/// left within rounding errors is nothing; a key without a sum stays without.
///
/// ```
/// use kato_model::EmotiveMap;
/// use kato_model::emotives::remove_emotives;
///
/// let mut sums = EmotiveMap::from([("fear".to_owned(), -1.0), ("joy".to_owned(), 0.75)]);
/// let less = EmotiveMap::from([("fear".to_owned(), -1.0), ("awe".to_owned(), 2.0)]);
/// remove_emotives(&mut sums, &less);
/// assert_eq!(sums, EmotiveMap::from([("joy".to_owned(), 0.75)]));
/// ```
pub fn remove_emotives(sums: &mut EmotiveMap, less: &EmotiveMap) {
    for (key, &value) in less {
        let Some(sum) = sums.get_mut(key) else {
            continue;
        };
        let left = *sum - value;
        if left.abs() < NOTHING * value.abs().max(1.0) {
            sums.remove(key);
        } else {
            *sum = left.clamp(f64::MIN, f64::MAX);
        }
    }
}

/// Returns the one map that KATO's MongoDB generation learns from an observation's accumulated
/// maps.
///
/// It is [`mean_emotives`] without the keys whose mean is exactly 0.
///
/// The map is learned even when no key is left.
pub fn learned_mean<'a>(maps: impl IntoIterator<Item = &'a EmotiveMap>) -> EmotiveMap {
    let mut mean = mean_emotives(maps);
    mean.retain(|_, value| *value != 0.0);
    mean
}

/// One learned map with its place in the order of learning.
#[derive(Debug, Clone, PartialEq)]
pub struct EmotiveEntry {
    /// Position at which the map was learned, compared from left to right: for example the number
    /// of the sample, then the place within.
    pub position: (u64, u64),
    /// The map.
    pub emotives: EmotiveMap,
}

impl EmotiveEntry {
    /// Compares two entries by position, and those of one position by content, so that no order of
    /// merging shows.
    fn order(&self, other: &Self) -> Ordering {
        let by_content = || {
            let values = |(key, value): (&String, &f64),
                          (other_key, other_value): (&String, &f64)| {
                // `total_cmp` gives NaN and the two zeros a place as well: entries that compare
                // equal are equal to the last bit.
                key.cmp(other_key)
                    .then_with(|| value.total_cmp(other_value))
            };
            let mut pairs = self
                .emotives
                .iter()
                .zip(&other.emotives)
                .map(|(left, right)| values(left, right));
            pairs
                .find(|order| order.is_ne())
                .unwrap_or_else(|| self.emotives.len().cmp(&other.emotives.len()))
        };
        self.position.cmp(&other.position).then_with(by_content)
    }
}

/// The last maps that a pattern learned, oldest first.
///
/// KATO appends on every learn and keeps the last P maps (P is the *persistence*). Here every map
/// carries the position at which it was learned, so windows learned apart can be merged in any
/// order and grouping: with one P throughout, [`merge`](Self::merge) is commutative and associative
/// and gives the window that learning in order of position gives. Give every map its own position;
/// maps that share one are ordered by content.
///
/// # Examples
///
/// ```
/// use kato_model::EmotiveMap;
/// use kato_model::emotives::{EmotiveWindow, DEFAULT_PERSISTENCE};
///
/// let map = |value| EmotiveMap::from([("joy".to_owned(), value)]);
/// let (mut early, mut late) = (EmotiveWindow::default(), EmotiveWindow::default());
/// late.learn((2, 0), map(1.0), DEFAULT_PERSISTENCE);
/// early.learn((1, 0), map(0.0), DEFAULT_PERSISTENCE);
/// late.merge(early, DEFAULT_PERSISTENCE);
/// assert_eq!(late.into_maps(), [map(0.0), map(1.0)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmotiveWindow {
    /// Ascending in the total order of entries.
    entries: Vec<EmotiveEntry>,
}

impl EmotiveWindow {
    /// Adds a map learned at a position and keeps the latest `persistence` maps.
    pub fn learn(&mut self, position: (u64, u64), emotives: EmotiveMap, persistence: NonZeroUsize) {
        let entry = EmotiveEntry { position, emotives };
        let idx = self
            .entries
            .partition_point(|held| held.order(&entry).is_lt());
        self.entries.insert(idx, entry);
        self.keep_latest(persistence);
    }

    /// Adds all maps of another window and keeps the latest `persistence` maps.
    pub fn merge(&mut self, other: Self, persistence: NonZeroUsize) {
        // Sorted anew rather than merged: a window holds a handful of maps.
        self.entries.extend(other.entries);
        self.entries.sort_by(EmotiveEntry::order);
        self.keep_latest(persistence);
    }

    /// Returns the maps with their positions, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EmotiveEntry] {
        &self.entries
    }

    /// Returns whether nothing was learned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the mean over the window, as predictions show it.
    #[must_use]
    pub fn mean(&self) -> EmotiveMap {
        mean_emotives(self.entries.iter().map(|entry| &entry.emotives))
    }

    /// Returns the maps alone, oldest first, as a pattern record holds them.
    #[must_use]
    pub fn into_maps(self) -> Vec<EmotiveMap> {
        self.entries
            .into_iter()
            .map(|entry| entry.emotives)
            .collect()
    }

    /// Drops the oldest maps beyond the persistence.
    fn keep_latest(&mut self, persistence: NonZeroUsize) {
        let surplus = self.entries.len().saturating_sub(persistence.get());
        self.entries.drain(..surplus);
    }
}
