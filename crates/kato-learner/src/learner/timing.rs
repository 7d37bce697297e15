//! Measures how long the nodes take for a document, by a clock of the caller's.

use std::time::Duration;

/// Time by node; without a clock it does nothing.
#[derive(Debug, Default)]
pub(super) struct NodeTimes {
    clock: Option<fn() -> Duration>,
    by_node: Vec<Duration>,
    /// The node whose time is running, and since when.
    running: Option<(usize, Duration)>,
}

impl NodeTimes {
    /// Sets the clock, or removes it, and forgets what was measured.
    pub(super) fn set_clock(&mut self, clock: Option<fn() -> Duration>) {
        self.clock = clock;
        self.by_node.clear();
        self.running = None;
    }

    /// Begins a document: sets the times of all nodes to zero.
    pub(super) fn begin(&mut self, n_nodes: usize) {
        if self.clock.is_some() {
            self.by_node.clear();
            self.by_node.resize(n_nodes, Duration::ZERO);
        }
    }

    /// Attributes the time from now on to a node; with `None` to no node.
    pub(super) fn run(&mut self, node_idx: Option<usize>) {
        let Some(clock) = self.clock else {
            return;
        };
        let now = clock();
        // A clock that goes backwards adds nothing, as the clock is the caller's and may do so.
        if let Some((running, since)) = self.running.take()
            && let Some(time) = self.by_node.get_mut(running)
        {
            *time += now.saturating_sub(since);
        }
        self.running = node_idx.map(|node_idx| (node_idx, now));
    }

    /// Returns the time of each node, from the bottom up.
    pub(super) fn by_node(&self) -> &[Duration] {
        &self.by_node
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn time_goes_to_the_node_that_runs() {
        static NOW: AtomicU64 = AtomicU64::new(0);
        let wait = |seconds| NOW.fetch_add(seconds, Ordering::Relaxed);
        let mut times = NodeTimes::default();
        times.set_clock(Some(|| Duration::from_secs(NOW.load(Ordering::Relaxed))));
        times.begin(2);
        times.run(Some(0));
        wait(3);
        times.run(Some(1));
        wait(4);
        times.run(None);
        wait(50);
        times.run(Some(0));
        wait(5);
        times.run(None);
        assert_eq!(
            times.by_node(),
            [Duration::from_secs(8), Duration::from_secs(4)]
        );
        times.set_clock(None);
        times.begin(2);
        times.run(Some(0));
        assert!(times.by_node().is_empty());
    }
}
