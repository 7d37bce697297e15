//! Settings of a run that do not change what is learned.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use kato_probe::Probe;

use crate::failure::FailurePolicy;
use crate::{StopSignal, WorkDistribution, Workers};

/// The settings of a run. None of them changes what a document teaches, only how fast and how safely.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrainingOptions {
    /// Threads that learn. Default: [`Workers::Auto`].
    pub n_workers: Workers,
    /// Which worker learns which document. Default: [`WorkDistribution::WorkStealing`].
    pub distribution: WorkDistribution,
    /// Text handed to a worker at once, in bytes; less where the memory budget is too small for
    /// it; not used where the backend asks for [numbers of documents](crate::backend::WorkSize), as that
    /// of a KATO server does. Default 512 KiB.
    pub batch_bytes: usize,
    /// Memory for what was learned and is not written yet, with its texts, in bytes, over all
    /// workers. Default 256 MiB. The process needs about twice this, and some 100 MB for tokenizer
    /// tables and buffers; beside it about six times the text of large documents, those of an
    /// eighth of this and more, and of 4 MiB at least. Once these have more than half of this together,
    /// they are learned one at a time.
    pub memory_budget: usize,
    /// Memory that the process has for itself, in bytes, above which the run slows down: what is
    /// learned is written at once, and one worker works at a time until there is less. Files that
    /// are mapped do not count where the system tells them apart. Default: none.
    pub memory_ceiling: Option<u64>,
    /// Time after which the next commit begins while documents arrive: a crash loses the work since
    /// the last one. Default 10 s.
    pub commit_interval: Duration,
    /// The policy for documents that cannot be learned and workers that die. Default: the run ends
    /// with the first such document.
    pub failures: FailurePolicy,
    /// Time without progress of a worker after which it is reported as stalled, with what it waits
    /// for. Default 120 s.
    pub stall_timeout: Duration,
    /// The action when a worker stalls. Default: it is reported, and the run goes on.
    pub on_stall: OnStall,
    /// Where skipped records and documents are listed, as JSON Lines; once each, also over crashes
    /// and resumes, but for the exception of
    /// [`take_bad_records`](kato_loader::StreamingDatasetLoader::take_bad_records). The file is the
    /// run's own: what its last commit does not count is cut off when a session begins.
    pub ledger: Option<PathBuf>,
    /// Ends the run early, with everything committed that is done in time.
    pub stop: StopSignal,
    /// Longest time after a stop for which work that was handed out is waited for. What is not done
    /// by then is not committed, and is done again when the run is resumed. Default 2 s.
    pub stop_grace: Duration,
    /// Shortest time between progress events, but for the last, which comes when the documents are done.
    /// Default 100 ms.
    pub progress_interval: Duration,
    /// An observer of what the threads of the run are doing, by the stages in
    /// [`STAGES`](crate::stages::STAGES). Default: off.
    pub probe: Probe,
}

/// The action of a run when a worker stalls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnStall {
    /// The event [`TrainingEvent::Stalled`](crate::TrainingEvent::Stalled), and nothing else: a
    /// slow server is not a dead one.
    #[default]
    Report,
    /// The run ends with [`TrainError::Stalled`](crate::TrainError::Stalled); what was committed is
    /// safe.
    End,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            n_workers: Workers::Auto,
            distribution: WorkDistribution::default(),
            batch_bytes: kato_loader::DEFAULT_BATCH_BYTES,
            memory_budget: 256 << 20,
            memory_ceiling: None,
            commit_interval: Duration::from_secs(10),
            failures: FailurePolicy::default(),
            stall_timeout: Duration::from_secs(120),
            on_stall: OnStall::default(),
            ledger: None,
            stop: StopSignal::default(),
            stop_grace: Duration::from_secs(2),
            progress_interval: Duration::from_millis(100),
            probe: Probe::off(),
        }
    }
}

/// Returns the number of cores that the process may use; 1 where the system does not say.
pub(crate) fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
