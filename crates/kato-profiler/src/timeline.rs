//! A run over time in bounded memory: when it is full, neighbours are merged.

use serde::{Deserialize, Serialize};

pub use crate::point::{Level, StagePoint, StageTimes, TimelinePoint};

/// What happened, point by point. All points but the last stand for the same number of snapshots,
/// one at first. When the timeline is full, each two neighbours are merged, so a run of any length
/// has no more points than the capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Most points that it holds.
    capacity: usize,
    /// Snapshots that a point stands for; the last one may be of fewer.
    snapshots_per_point: u64,
    /// Snapshots in the last point.
    in_last: u64,
    /// The points, oldest first.
    points: Vec<TimelinePoint>,
}

impl Timeline {
    /// Creates an empty timeline of so many points, at least 2.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            // An even number, so that merging in pairs leaves no point over.
            capacity: capacity.max(2) & !1,
            snapshots_per_point: 1,
            in_last: 0,
            points: Vec::new(),
        }
    }

    /// Returns the points, oldest first.
    #[must_use]
    pub fn points(&self) -> &[TimelinePoint] {
        &self.points
    }

    /// Returns the number of snapshots that a point stands for; the last one may be of fewer.
    #[must_use]
    pub fn snapshots_per_point(&self) -> u64 {
        self.snapshots_per_point
    }

    /// Returns at most `most` points that describe the same in coarser steps.
    #[must_use]
    pub fn reduced(&self, most: usize) -> Vec<TimelinePoint> {
        let step = self.points.len().div_ceil(most.max(1)).max(1);
        self.points.chunks(step).filter_map(merge_points).collect()
    }

    /// Appends what happened since the last point.
    pub(crate) fn push(&mut self, point: TimelinePoint) {
        if let Some(last) = self.points.last_mut()
            && self.in_last < self.snapshots_per_point
        {
            last.merge(&point);
            self.in_last += 1;
            return;
        }
        // Every point is complete here: an incomplete one would have taken the new one in. After
        // merging, all stand for twice as many snapshots.
        if self.points.len() == self.capacity {
            self.points = self.points.chunks(2).filter_map(merge_points).collect();
            self.snapshots_per_point *= 2;
        }
        self.points.push(point);
        self.in_last = 1;
    }
}

/// Merges neighbouring points into one; `None` without points.
fn merge_points(points: &[TimelinePoint]) -> Option<TimelinePoint> {
    let (first, rest) = points.split_first()?;
    let mut merged = first.clone();
    for point in rest {
        merged.merge(point);
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::point::Level;

    fn point(at: usize, rss: f64, bytes: u64) -> TimelinePoint {
        TimelinePoint {
            start_seconds: at as f64,
            seconds: 1.0,
            process_rss: Some(Level::from_value(rss)),
            disk_written_bytes: Some(bytes),
            ..TimelinePoint::default()
        }
    }

    #[test]
    fn a_million_snapshots_stay_within_the_capacity_and_lose_no_byte() {
        let mut timeline = Timeline::new(4096);
        for at in 0..1_000_000 {
            timeline.push(point(at, at as f64, 3));
        }
        let points = timeline.points();
        assert!((2048..=4096).contains(&points.len()), "{}", points.len());
        assert_eq!(timeline.snapshots_per_point(), 256);
        let bytes: u64 = points.iter().filter_map(|p| p.disk_written_bytes).sum();
        assert_eq!(bytes, 3_000_000);
        let seconds: f64 = points.iter().map(|p| p.seconds).sum();
        assert!((seconds - 1e6).abs() < 1e-6);
        let greatest = points.iter().filter_map(|p| p.process_rss).map(|l| l.max);
        assert_eq!(greatest.fold(0.0, f64::max), 999_999.0);
    }

    proptest! {
        #[test]
        fn merging_keeps_sums_means_and_extremes(rss in proptest::collection::vec(0.0f64..1e12, 1..300), capacity in 2usize..40) {
            let mut timeline = Timeline::new(capacity);
            for (at, rss) in rss.iter().enumerate() {
                timeline.push(point(at, *rss, at as u64));
            }
            let points = timeline.points();
            prop_assert!(points.len() <= capacity);
            prop_assert_eq!(points.iter().filter_map(|p| p.disk_written_bytes).sum::<u64>(), (0..rss.len() as u64).sum::<u64>());
            let levels: Vec<_> = points.iter().filter_map(|p| Some((p.process_rss?, p.seconds))).collect();
            let mean = levels.iter().map(|(l, s)| l.mean * s).sum::<f64>() / rss.len() as f64;
            let exact = rss.iter().sum::<f64>() / rss.len() as f64;
            prop_assert!((mean - exact).abs() <= 1e-9 * exact.max(1.0));
            let min = levels.iter().map(|(l, _)| l.min).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(min, rss.iter().copied().fold(f64::INFINITY, f64::min));
        }

        #[test]
        fn points_follow_each_other_without_a_gap(n in 1usize..500) {
            let mut timeline = Timeline::new(16);
            for at in 0..n {
                timeline.push(point(at, 0.0, 0));
            }
            let mut end = 0.0;
            for point in timeline.points() {
                prop_assert_eq!(point.start_seconds, end);
                end += point.seconds;
            }
            prop_assert_eq!(end, n as f64);
        }
    }

    #[test]
    fn a_level_that_is_missing_once_is_that_of_the_rest() {
        let mut a = point(0, 5.0, 1);
        a.merge(&TimelinePoint::default());
        assert_eq!(a.process_rss, Some(Level::from_value(5.0)));
    }
}
