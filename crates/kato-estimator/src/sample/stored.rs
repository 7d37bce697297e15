//! The segments that a run leaves of the documents of a sample: which of its workers takes which text, and when
//! its memory is full.

use serde::{Deserialize, Serialize};

use crate::bytes::LevelContents;

/// Segments that are told apart at most: from more on, a store merges them.
pub(super) const MOST_SEGMENTS: u32 = u64::BITS;

/// What a run without merges leaves of documents that were counted in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// Workers of the run, and the memory of each.
    pub(crate) workers: u64,
    pub(crate) worker_memory: u64,
    /// Every segment with the contents of its levels, bottom up.
    pub(crate) segments: Vec<Vec<LevelContents>>,
    /// Pieces of text of one size that are as many choices of a worker as these.
    pub(super) pieces: f64,
}

impl Stored {
    /// Returns by how much the bytes differ from run to run, as a share: workers take text as they come, and
    /// with it is chosen what several segments hold. `distinct` patterns are held by any.
    pub(crate) fn spread(&self, distinct: f64) -> f64 {
        let levels = self.segments.iter().flatten();
        let held: f64 = levels.map(|level| level.patterns).sum();
        let again = (1.0 - distinct / held.max(1.0)).max(0.0);
        // The deviation of a share of choices between two.
        again / 2.0 / self.pieces.max(1.0).sqrt()
    }
}

/// The workers of a run, each with what it has learned.
#[derive(Debug, Clone)]
pub(super) struct RunWorkers {
    pub(super) memory: u64,
    pub(super) workers: Vec<RunWorker>,
    /// Segments that were begun.
    pub(super) segments: u32,
    /// Sums of the bytes of text that was taken at once, and of their squares.
    taken: [f64; 2],
}

/// A worker of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunWorker {
    /// Bytes of all the text that it has learned.
    text_bytes: u64,
    /// Memory that is not written yet, and the segment that it becomes.
    held: u64,
    segment: Option<u32>,
}

impl RunWorkers {
    /// Creates workers, each with its memory in bytes; `None` where they would leave more segments than are told
    /// apart.
    pub(super) fn new(workers: u64, memory: u64) -> Option<Self> {
        let n = u32::try_from(workers)
            .ok()
            .filter(|&n| n <= MOST_SEGMENTS)?;
        Some(Self {
            memory,
            workers: vec![RunWorker::default(); n.max(1) as usize],
            segments: 0,
            taken: [0.0; 2],
        })
    }

    /// Forgets what was learned.
    pub(super) fn restart(&mut self) {
        self.workers.fill(RunWorker::default());
        self.segments = 0;
        self.taken = [0.0; 2];
    }

    /// Returns how many pieces of one size are as many choices of a worker as those that were taken.
    pub(super) fn pieces(&self) -> f64 {
        let [sum, squares] = self.taken;
        sum * sum / squares.max(1.0)
    }

    /// Gives text to the worker that has learned least, which is the one that waits for it. Returns the
    /// segment that it comes into.
    pub(super) fn take(&mut self, text_bytes: u64, memory: u64) -> u32 {
        let free = self
            .workers
            .iter_mut()
            .min_by_key(|worker| worker.text_bytes);
        // There is a worker at least.
        let Some(worker) = free else { return 0 };
        let text = text_bytes as f64;
        self.taken[0] += text;
        self.taken[1] += text * text;
        let segment = *worker.segment.get_or_insert_with(|| {
            self.segments += 1;
            self.segments - 1
        });
        worker.text_bytes = worker.text_bytes.saturating_add(text_bytes);
        worker.held = worker.held.saturating_add(memory);
        // As it looks whether its memory is full behind each batch.
        if worker.held >= self.memory {
            (worker.held, worker.segment) = (0, None);
        }
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_to_the_worker_that_waits_and_a_full_memory_becomes_a_segment() {
        let mut run = RunWorkers::new(2, 100).unwrap();
        // The first one is busy with a large document meanwhile.
        let segments = [
            (90, 90),
            (10, 40),
            (10, 40),
            (10, 40),
            (10, 5),
            (80, 5),
            (1, 9),
        ];
        let segments = segments.map(|(text_bytes, memory)| run.take(text_bytes, memory));
        assert_eq!(segments, [0, 1, 1, 1, 2, 2, 0]);
        assert_eq!(run.segments, 3);
        assert!((run.pieces() - 211.0 * 211.0 / 14_901.0).abs() < 1e-9);
        assert!(RunWorkers::new(65, 100).is_none());
    }
}
