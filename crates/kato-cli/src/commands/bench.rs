//! The command `kato bench`: how training scales with the number of workers, for each backend.
//!
//! ```text
//! kato bench                                       # this repository's text, embedded
//! kato bench corpus.jsonl --max-documents 20000
//! kato bench corpus.jsonl --backends embedded,kato:http://127.0.0.1:8000,mongodb://127.0.0.1:27017
//! ```

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use kato_learner::HierarchicalConceptLearner;
use kato_scheduler::WorkDistribution;

use crate::bench_workers::{Bench, MeasuredBackend, Table};
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::machine;
use crate::repository::sources_or_own_text;

/// Measures how training scales with the number of workers, per backend.
///
/// Trains the same documents again and again, each time into a run of its own, whose knowledge is
/// removed afterwards: for every backend and every number of workers, in turn, so that a slow
/// moment of the machine meets all of them. The table has documents per second (median over the
/// repetitions, smallest and largest), speed-up against the first number of workers, and
/// efficiency: the speed-up, divided by how many times the workers there are.
///
/// Every repetition's knowledge is compared with that of the first: the same learn calls on every
/// level, and distinct patterns where the backend counts them, or it is an error.
///
/// With --json the result is one JSON object on standard output: cores, documents, distribution, and
/// rows, each with backend, workers, documents_per_sec, slowest, fastest, speed_up and efficiency (1
/// is ideal).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files to learn from. Default: this repository's README and docs.
    #[arg(value_name = "SOURCE")]
    inputs: Vec<PathBuf>,
    /// Documents of each measurement at most.
    #[arg(long, alias = "samples", value_name = "N", default_value_t = 10_000, value_parser = crate::numbers::from_one::<u64>)]
    max_documents: u64,
    /// Numbers of workers.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,2,4,8",
        value_parser = machine::parse_threads
    )]
    workers: Vec<NonZeroUsize>,
    /// Backends: embedded (in a temporary directory), kato:URL, mongodb:URI (mongodb alone takes
    /// the URI from KATO_MONGODB_URI).
    #[arg(
        long,
        value_name = "BACKEND,…",
        value_delimiter = ',',
        default_value = "embedded"
    )]
    backends: Vec<MeasuredBackend>,
    /// Which worker learns which document: work-stealing, round-robin or contiguous.
    #[arg(long, value_name = "HOW", default_value = "work-stealing")]
    distribution: WorkDistribution,
    /// Measurements of each.
    #[arg(long, value_name = "N", default_value = "3")]
    repeat: NonZeroUsize,
    /// Chunk size of each level.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "5,7,9"
    )]
    levels: Vec<usize>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Measures all backends and shows the table.
pub(crate) fn run(args: &Args) -> Result<()> {
    // From here on Ctrl-C ends a measurement in an orderly way, which removes its run from the
    // backend.
    let stop = stop_on_interrupt();
    let inputs = sources_or_own_text(&args.inputs)?;
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes(args.levels.iter().copied())
        .build()?;
    let bench = Bench {
        learner,
        inputs,
        documents: args.max_documents,
        distribution: args.distribution,
        stop,
    };
    let table = Table::measure(&bench, &args.backends, &args.workers, args.repeat)?;
    show(&table, args.json)
}
