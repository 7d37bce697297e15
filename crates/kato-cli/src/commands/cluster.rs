//! The command `kato cluster`: one knowledge base learned by any number of machines.
//!
//! ```text
//! kato cluster plan --store s3://bucket/plan corpus.jsonl --tasks 1000 --ranges 16
//! kato cluster learn --store s3://bucket/plan --task 17
//! kato cluster merge --store s3://bucket/plan --all
//! kato cluster seal --store s3://bucket/plan --all
//! kato cluster publish --store s3://bucket/plan --kb my-kb
//! kato cluster extend --store s3://bucket/plan more.jsonl --tasks 100
//! ```

mod answers;
mod forecast;
mod planning;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use kato_advice::ErrorClass;
use kato_cluster::{Cluster, ClusterError, PlanGeneration, Watch};
use kato_scheduler::Workers;
use tokio::sync::Notify;

use self::answers::answer_to;
use self::forecast::ForecastArgs;
use self::planning::{ExtendArgs, PlanArgs};
use crate::byte_size::ByteSize;
use crate::exit::{CommandError, bail_as};
use crate::interrupt::on_interrupt;
use crate::output::stdout;
use crate::parents::MissingParents;
use crate::source::SourceArgs;
use crate::writable::refuse_file;

/// For tests: the process dies at this moment of a step.
const ABORT_AT: &str = "KATO_CLUSTER_ABORT_AT";

/// What the user is told of a step that was interrupted.
const INTERRUPTED: &str =
    "interrupted: what has a marker is done, and the same command does the rest";

/// Longest time for which threads are waited for when the command ends.
const WORK_ENDS: Duration = Duration::from_secs(3);

/// Learns one knowledge base on any number of machines, with an object store as the record and any
/// scheduler: Kubernetes, Slurm, GNU parallel, a shell loop.
///
/// In this order: plan once; learn for every task, on any machines at once; merge for every level
/// and range, then seal for every range, likewise; publish wherever the knowledge base is wanted.
/// Each may be killed, run twice or run late: what is done is found done, and the result is that of
/// `kato train`, byte for byte in its export. A scheduler repeats what fails.
///
/// A plan is extended by more corpus: each extension is a generation, which is learned, merged,
/// sealed and published likewise. Generations stay as they are, and are named by number, digest or
/// tag.
///
/// With --json every answer is one JSON object on standard output. plan, extend: done (now or before),
/// generation, plan (its digest), tasks, ranges, levels and cut. learn, publish, tag: done and marker;
/// merge: merges, and seal: segments, lists of such; publish also index, where one was written. status:
/// generation, generations, plan, tasks, tasks_done, tasks_open, tasks_failed, failures, merges,
/// merges_done, ranges, ranges_sealed, documents, tokens, task_bytes, merged_bytes, sealed_bytes,
/// tokens_per_worker_second, worker_seconds_left and published. diff: left, right and levels. gc: objects
/// and bytes. forecast: text_bytes and rows, one for each number of machines.
///
/// What has to wait for tasks, merges or seals ends with exit code 4; where tasks have failed, with
/// 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Where the plan lies: a directory that all machines share, or file://, s3://, gs:// or az://
    /// with a prefix of its own. Settings of stores come from the environment.
    #[arg(
        long,
        value_name = "ADDRESS",
        global = true,
        env = "KATO_CLUSTER_STORE"
    )]
    store: Option<String>,
    /// The generation: its number, a tag, eight or more of the first digits of its digest, `newest`
    /// for the newest that is published, or `last` for the last that is planned.
    #[arg(long, value_name = "GENERATION", global = true, default_value = "last")]
    generation: String,
    /// Directory for working files of a task, a merge, a seal or a diff. Default: the system's.
    #[arg(long, value_name = "DIR", global = true)]
    scratch: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the plan of a corpus. It never changes; the same again is no error.
    Plan(Box<PlanArgs>),
    /// Learn a task.
    Learn {
        /// Number of the task, from 0. Default: that of the scheduler, JOB_COMPLETION_INDEX or
        /// SLURM_ARRAY_TASK_ID.
        #[arg(long, value_name = "N")]
        task: Option<u32>,
        /// Learning threads: a number, or auto for one per core as far as --memory goes.
        #[arg(long, value_name = "N|auto", default_value = "auto")]
        workers: Workers,
        /// Memory for what is learned and not yet written.
        #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = crate::byte_size::memory)]
        memory: ByteSize,
        #[command(flatten)]
        source: Box<SourceArgs>,
    },
    /// Merge a range of a level over all tasks, which must be done.
    Merge {
        /// The level, from 0.
        #[arg(long, value_name = "N", requires = "range", conflicts_with = "piece")]
        level: Option<usize>,
        /// The range, from 0.
        #[arg(long, value_name = "N", requires = "level", conflicts_with = "piece")]
        range: Option<u32>,
        /// Both as one number, level × ranges + range, for schedulers that count. Default: that of
        /// the scheduler, JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID.
        #[arg(long, value_name = "N")]
        piece: Option<u32>,
        /// Merge all that is left, one after the other.
        #[arg(long, conflicts_with_all = ["level", "range", "piece"])]
        all: bool,
    },
    /// Make the segment of a range of all levels, whose merges must be done.
    Seal {
        /// The range, from 0. Default: that of the scheduler, JOB_COMPLETION_INDEX or
        /// SLURM_ARRAY_TASK_ID.
        #[arg(long, value_name = "N")]
        range: Option<u32>,
        /// Seal all that is left, one after the other.
        #[arg(long, conflicts_with = "range")]
        all: bool,
    },
    /// Write the knowledge base into a directory; all ranges must be sealed.
    Publish {
        /// Directory of the knowledge base: a new or an empty one, or that of this very generation.
        #[arg(long, value_name = "DIR", value_parser = crate::knowledge_base::directory())]
        kb: PathBuf,
    },
    /// Tell what a run would take on some numbers of machines: time, bytes, requests and money.
    /// Needs no plan.
    Forecast(ForecastArgs),
    /// Plan the next generation: more corpus behind that of the last, whose tasks must be done. The same
    /// again is no error.
    Extend(Box<ExtendArgs>),
    /// Give a name to a published generation, for good.
    Tag {
        /// The name.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Compare two generations pattern by pattern; both must be merged.
    Diff {
        /// The left one, named as by --generation.
        #[arg(value_name = "LEFT")]
        left: String,
        /// The right one.
        #[arg(value_name = "RIGHT")]
        right: String,
    },
    /// Tell how far the plan is, what failed, and how much work is left.
    Status,
    /// Remove what attempts that lost have left; never a marker, and nothing of unfinished work.
    Gc {
        /// Only tell what would be removed.
        #[arg(long)]
        dry_run: bool,
        /// Remove the slices of tasks as well, where all merges of their level are done.
        #[arg(long)]
        merged_inputs: bool,
    },
}

/// Runs a subcommand and shows its answer.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Command::Forecast(wanted) = &args.command {
        return forecast::run(wanted, args.json);
    }
    let Some(address) = &args.store else {
        bail_as!(Usage, "where does the plan lie? name it with --store");
    };
    let generation = PlanGeneration::from_word(&args.generation);
    let folder = Path::new(address);
    let is_new = !address.contains("://") && !folder.exists();
    let above = MissingParents::of(folder);
    refuse_file("--store", folder)?;
    let not_planned = || CommandError {
        class: ErrorClass::Other,
        text: format!(
            "--store {address} holds no plan: make one with `kato cluster plan`, or check the address"
        ),
    };
    if is_new && !matches!(args.command, Command::Plan(_)) {
        return Err(not_planned().into());
    }
    let mut cluster = Cluster::open(address)?.with_generation(generation);
    if let Ok(moment) = std::env::var(ABORT_AT) {
        cluster = cluster.with_watch(Watch::new(move |at| {
            if format!("{at:?}").eq_ignore_ascii_case(&moment) {
                std::process::abort();
            }
        }));
    }
    let scratch = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    let stop = Arc::new(Notify::new());
    let stopping = Arc::clone(&stop);
    // Only to clear away working files: nothing counts before its marker is there.
    on_interrupt("stopping", INTERRUPTED, move || stop.notify_one());
    let answer = runtime.block_on(async {
        tokio::select! {
            answer = answer_to(&args.command, cluster, &scratch) => answer.map_err(|error| {
                match error.downcast_ref() {
                    Some(ClusterError::NotPlanned) => not_planned().into(),
                    _ => error,
                }
            }),
            () = stopping.notified() => bail!(INTERRUPTED),
        }
    });
    // Work on other threads ends soon once nobody waits for it; a read from a network may not.
    runtime.shutdown_timeout(WORK_ENDS);
    if is_new && answer.is_err() {
        // Where nothing was planned the folder does not stay, nor does that of trials. What is not empty does:
        // it may be of another who plans.
        drop(fs::remove_dir(folder.join("probe")));
        if fs::remove_dir(folder).is_ok() {
            above.remove();
        }
    }
    let (text, value) = answer?;
    let line = if args.json { value.to_string() } else { text };
    Ok(writeln!(stdout(), "{line}")?)
}
