//! The stages of a run, as a profile shows them.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use kato_learner::LearnScratch;
use kato_probe::{NodeProbe, Probe, QueueProbe};

/// Reading documents; its items are documents.
pub const LOAD: &str = "load";
/// Learning them; its items are documents.
pub const LEARN: &str = "learn";
/// Staging what was learned; its items are parts.
pub const STAGE: &str = "stage";
/// Committing what was staged; its items are commits.
pub const COMMIT: &str = "commit";

/// The stages of a run, upstream first. Threads of the loader come before them, as
/// [`kato_loader::DECODE_STAGE`].
pub const STAGES: [&str; 4] = [LOAD, LEARN, STAGE, COMMIT];

/// Number of documents of which one is timed node by node: clocks cost more than short documents do.
const TIMED_DOCUMENTS: u64 = 16;

/// The probes that the workers of a session report to.
#[derive(Debug)]
pub(crate) struct WorkerProbes {
    pub(crate) probe: Probe,
    /// Work that waits in mailboxes.
    pub(crate) mail: QueueProbe,
    /// By level.
    pub(crate) nodes: Vec<NodeProbe>,
    /// Whether documents are timed here; nodes elsewhere are timed by whoever asks them.
    are_timed: bool,
}

impl WorkerProbes {
    /// Creates the probes; `are_here` says whether the nodes are in this process.
    pub(crate) fn new<'a>(
        probe: &Probe,
        node_names: impl Iterator<Item = &'a str>,
        n_workers: usize,
        are_here: bool,
    ) -> Self {
        Self {
            probe: probe.clone(),
            mail: probe.queue("mailboxes", n_workers as u64),
            nodes: node_names.map(|name| probe.node(name)).collect(),
            are_timed: are_here && probe.is_on(),
        }
    }

    /// Decides whether the next document is timed.
    pub(crate) fn prepare(&self, document_idx: u64, scratch: &mut LearnScratch) {
        if self.are_timed {
            // By the number in the corpus: the documents that are timed are the same for any number
            // of workers.
            let clock = document_idx
                .is_multiple_of(TIMED_DOCUMENTS)
                .then_some(now as fn() -> _);
            scratch.time_nodes(clock);
        }
    }

    /// Reports how long the nodes took for a document, if it was timed.
    pub(crate) fn report_times(&self, scratch: &LearnScratch) {
        // Where the document was not timed there are no times, and nothing is reported.
        for (node_idx, (node, time)) in self.nodes.iter().zip(scratch.node_times()).enumerate() {
            node.timed(scratch.plan().calls(node_idx).len() as u64, *time);
        }
    }
}

/// Returns the time since some moment in the past.
fn now() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed()
}
