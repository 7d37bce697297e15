//! The options of `kato train` for documents that fail and workers that stall.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use kato_scheduler::failure::{FailurePolicy, OnFailure};
use kato_scheduler::{OnStall, TrainingOptions};

use crate::training::seconds::seconds;

/// What happens when something fails.
#[derive(Debug, Args)]
pub(crate) struct ErrorArgs {
    /// Skip what cannot be read or learned, and list it, instead of ending with an error. For
    /// embedded the list is errors.jsonl in the directory of the knowledge base.
    #[arg(long)]
    pub(crate) skip_errors: bool,
    /// End the run when more than this many documents and records have failed in this session.
    #[arg(long, value_name = "N", requires = "skip_errors")]
    max_errors: Option<u64>,
    /// End with exit code 3 when documents or records failed, although the run is done.
    #[arg(long, requires = "skip_errors")]
    pub(crate) fail_on_errors: bool,
    /// Attempts at a document that takes a worker down, the first included; into a stock server one.
    #[arg(long, value_name = "N", default_value = "2")]
    attempts: NonZeroU32,
    /// Workers that may die and be replaced before the run ends; into a stock server none.
    #[arg(long, value_name = "N", default_value_t = 16)]
    worker_restarts: u32,
    /// Seconds without progress of a worker before it is told as stalled, with what it waits for.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    stall_timeout: Duration,
    /// End the run when a worker stalls.
    #[arg(long)]
    end_on_stall: bool,
}

impl ErrorArgs {
    /// Sets these options on those of a training.
    pub(crate) fn apply(&self, options: &mut TrainingOptions) {
        options.failures = FailurePolicy {
            on_failure: match self.skip_errors {
                true => OnFailure::Skip,
                false => OnFailure::End,
            },
            attempts: self.attempts,
            most_failures: self.max_errors,
            worker_restarts: self.worker_restarts,
        };
        options.stall_timeout = self.stall_timeout;
        options.on_stall = match self.end_on_stall {
            true => OnStall::End,
            false => OnStall::Report,
        };
    }
}
