//! Settings of a run that do not change what is learned.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::StopSignal;

/// Settings of a run. None of them changes what is learned, only how fast and how safely.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrainingOptions {
    /// Threads that learn. Default: one for each core that the process may use.
    pub num_workers: NonZeroUsize,
    /// Text handed to a worker at once, in bytes; less where the memory budget is too small for it. Default 512 KiB.
    pub batch_bytes: usize,
    /// Memory for what was learned and is not written yet, in bytes, over all workers. Default 256 MiB. The process
    /// needs about twice this, and some 100 MB for tokenizer tables and buffers.
    pub memory_budget: usize,
    /// Longest time between commits while documents arrive: a crash loses no more work than this. Default 10 s.
    pub commit_interval: Duration,
    /// Go on after a document that cannot be learned, and count it; otherwise the run ends with its error.
    pub skip_errors: bool,
    /// Where skipped records and documents are listed, as JSON Lines; exactly once each, also over crashes and resumes.
    /// The file is the run's own: what its last commit does not count is cut off when a session begins.
    pub ledger: Option<PathBuf>,
    /// Ends the run early, with everything committed.
    pub stop: StopSignal,
    /// Shortest time between progress events. Default 100 ms.
    pub progress_interval: Duration,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            num_workers: default_workers(),
            batch_bytes: 512 << 10,
            memory_budget: 256 << 20,
            commit_interval: Duration::from_secs(10),
            skip_errors: false,
            ledger: None,
            stop: StopSignal::default(),
            progress_interval: Duration::from_millis(100),
        }
    }
}

/// One worker for each core that the process may use.
#[must_use]
pub fn default_workers() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
