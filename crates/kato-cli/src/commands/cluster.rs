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

mod forecast;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use kato_cluster::{
    Cluster, Completed, CutBy, ExtendOptions, GcOptions, Generation, Plan, PlanOptions, Watch,
};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{Split, StreamingDatasetLoaderBuilder};
use kato_scheduler::{TrainingOptions, Workers};
use kato_store::slice::NameRanges;
use serde_json::{Value, json};
use tokio::sync::Notify;

use self::forecast::ForecastArgs;
use crate::byte_size::ByteSize;
use crate::exit::{bail_as, exit_code};
use crate::interrupt::on_interrupt;
use crate::learning::{LearningArgs, RecordingArgs};
use crate::output::stdout;
use crate::remote;
use crate::source::{SOURCE_HELP, Source, SourceArgs};

/// For tests: the process dies at this moment of a task or a merge.
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
/// A plan is extended by more corpus as often as is wanted: each extension is a generation, which is
/// learned, merged and published likewise, and is what `kato train` makes of all corpora one after
/// the other. Generations stay as they are, and are named by number, digest or tag.
///
/// With --json every answer is one JSON object on standard output. plan: plan (its digest), tasks,
/// ranges, levels, cut; extend: the same, and generation. learn, merge, seal, publish, tag: done, now
/// or before, and the marker. status: what is done, failures, generations, rate and worker seconds
/// left. diff: patterns and learn calls of each level. gc: objects and bytes.
///
/// What has to wait for tasks, merges or seals that are not done ends with exit code 4; where some of
/// them have failed, with 1.
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
    /// Directory for working files: of a task, a merge or a seal at a time. Default: the system's.
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
        /// Learning threads: a number, or auto for one per core.
        #[arg(long, value_name = "N|auto", default_value = "auto")]
        workers: Workers,
        /// Memory for what is learned and not yet written; what does not fit is written in parts, which
        /// are merged in the end.
        #[arg(long, value_name = "SIZE", default_value = "1GiB")]
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
        #[arg(long, value_name = "N", requires = "level")]
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
        /// Directory of the knowledge base, which must not exist.
        #[arg(long, value_name = "DIR")]
        kb: PathBuf,
    },
    /// Tell what a run of some size would take on some numbers of machines: time, bytes, requests and
    /// money, by a simulation of its tasks. Needs no plan.
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

/// What is planned.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct PlanArgs {
    /// What to learn from; see below. Every machine must reach it under the same name.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Tasks: ten for each worker keep all of them busy to the end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// Ranges of names: so many merges of each level may run at once, and so many segments the
    /// knowledge base has.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    ranges: u32,
    /// Cut at positions, for which the corpus is read once, and not into shards. Done by itself
    /// where it is needed: for provenance, metadata, limits and mixtures.
    #[arg(long)]
    by_positions: bool,
    #[command(flatten)]
    learning: LearningArgs,
    #[command(flatten)]
    recording: RecordingArgs,
    /// End after this many documents of the corpus.
    // The original's name of it.
    #[arg(long, value_name = "N", alias = "max-samples")]
    max_documents: Option<u64>,
    /// Hold out this share of the documents, as in `kato train`.
    #[arg(long, value_name = "SHARE")]
    hold_out: Option<f64>,
    /// Decides which documents are held out.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "hold_out")]
    seed: u64,
    #[command(flatten)]
    source: SourceArgs,
}

/// What is added.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
struct ExtendArgs {
    /// What to learn from in addition; see below. It is read as the plan says.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Tasks of what is added.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// Cut at positions, for which what is added is read once, and not into shards.
    #[arg(long)]
    by_positions: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs `kato cluster` and returns its exit code.
pub(crate) fn main(args: &Args) -> ExitCode {
    exit_code(run(args))
}

/// Runs a subcommand and shows its answer.
fn run(args: &Args) -> Result<()> {
    if let Command::Forecast(wanted) = &args.command {
        return forecast::run(wanted, args.json);
    }
    let Some(address) = &args.store else {
        bail_as!(Usage, "where does the plan lie? name it with --store");
    };
    let generation = Generation::from_word(&args.generation);
    if generation != Generation::Last
        && matches!(
            args.command,
            Command::Plan(_) | Command::Extend(_) | Command::Diff { .. } | Command::Gc { .. }
        )
    {
        bail_as!(
            Usage,
            "--generation is for learn, merge, seal, publish, tag and status"
        );
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
            answer = answer_to(&args.command, cluster, &scratch) => answer,
            () = stopping.notified() => bail!(INTERRUPTED),
        }
    });
    // Work on other threads ends soon once nobody waits for it; a read from a network may not.
    runtime.shutdown_timeout(WORK_ENDS);
    let (text, value) = answer?;
    let line = if args.json { value.to_string() } else { text };
    Ok(writeln!(stdout(), "{line}")?)
}

/// Carries a subcommand out and returns its answer, in words and as JSON.
async fn answer_to(
    command: &Command,
    mut cluster: Cluster,
    scratch: &Path,
) -> Result<(String, Value)> {
    match command {
        Command::Forecast(_) => bail!("a forecast is of no plan"),
        Command::Plan(plan) => make_plan(&cluster, plan).await,
        Command::Extend(extend) => extend_plan(&cluster, extend).await,
        Command::Learn {
            task,
            workers,
            memory,
            source,
        } => {
            let task = number_of(*task, "which task? name it with --task")?;
            check_reading(source)?;
            let plan = cluster.read_plan().await?;
            // It stays this one, also where somebody extends the plan at this moment.
            cluster = cluster.with_generation(Generation::Number(plan.generation()));
            let learner = Arc::new(learner(&plan)?);
            let mut options = TrainingOptions::default();
            options.n_workers = *workers;
            options.memory_budget =
                usize::try_from(memory.0).context("--memory is too large for this machine")?;
            let corpus = source.again(plan.corpus())?;
            let done = cluster
                .learn(task, learner, corpus, &options, scratch, |_| {})
                .await?;
            let (is_now, marker) = (done.by_this_call(), done.into_inner());
            let bytes: u64 = marker.levels.iter().map(|level| level.file.bytes).sum();
            let text = format!(
                "task {task} {}: {} documents, {} tokens, {bytes} bytes",
                when(is_now),
                marker.counters.documents,
                marker.counters.tokens
            );
            Ok((text, answer(is_now, &marker)))
        }
        Command::Merge {
            level,
            range,
            piece,
            all,
        } => {
            let plan = cluster.read_plan().await?;
            cluster = cluster.with_generation(Generation::Number(plan.generation()));
            let ranges = plan.ranges().count();
            let pieces: Vec<(usize, u32)> = match (all, level, range) {
                (true, ..) => (0..plan.levels())
                    .flat_map(|level| (0..ranges).map(move |range| (level, range)))
                    .collect(),
                (_, Some(level), Some(range)) => vec![(*level, *range)],
                _ => {
                    let question =
                        "which merge? name it with --level and --range, --piece or --all";
                    let piece = number_of(*piece, question)?;
                    vec![((piece / ranges) as usize, piece % ranges)]
                }
            };
            let (mut lines, mut values) = (Vec::new(), Vec::new());
            for (level, range) in pieces {
                let done = cluster.merge(level, range, scratch).await?;
                let (is_now, marker) = (done.by_this_call(), done.into_inner());
                let patterns = marker.slice.summary.patterns();
                lines.push(format!(
                    "level {level}, range {range} {}: {patterns} patterns",
                    when(is_now)
                ));
                values.push(answer(is_now, &marker));
            }
            Ok((lines.join("\n"), json!({ "merges": values })))
        }
        Command::Seal { range, all } => {
            let plan = cluster.read_plan().await?;
            cluster = cluster.with_generation(Generation::Number(plan.generation()));
            let ranges = match all {
                true => 0..plan.ranges().count(),
                false => {
                    let range = number_of(*range, "which range? name it with --range or --all")?;
                    range..range.saturating_add(1)
                }
            };
            let (mut lines, mut values) = (Vec::new(), Vec::new());
            for range in ranges {
                let done = cluster.seal(range, scratch).await?;
                let (is_now, marker) = (done.by_this_call(), done.into_inner());
                let bytes = marker.segment.bytes;
                lines.push(format!("range {range} {}: {bytes} bytes", when(is_now)));
                values.push(answer(is_now, &marker));
            }
            Ok((lines.join("\n"), json!({ "segments": values })))
        }
        Command::Publish { kb } => {
            let done = cluster.publish(kb).await?;
            let (is_now, record) = (done.by_this_call(), done.into_inner());
            let levels = record.levels.iter();
            let patterns: u64 = levels.map(|level| level.patterns).sum();
            let text = format!(
                "{}: generation {}, {patterns} patterns of {} documents, {} tokens",
                kb.display(),
                record.generation,
                record.documents,
                record.tokens
            );
            Ok((text, answer(is_now, &record)))
        }
        Command::Tag { name } => {
            let done = cluster.tag(name).await?;
            let (is_now, tag) = (done.by_this_call(), done.into_inner());
            let text = format!("{name} is generation {}, {}", tag.generation, tag.plan);
            Ok((text, answer(is_now, &tag)))
        }
        Command::Diff { left, right } => {
            let sides = (Generation::from_word(left), Generation::from_word(right));
            let difference = cluster.diff(&sides.0, &sides.1, scratch).await?;
            let mut lines = vec![format!(
                "generation {} against {}",
                difference.left, difference.right
            )];
            for level in &difference.levels {
                let patterns = &level.patterns;
                lines.push(format!(
                    "{}: {} patterns only left, {} only right, {} changed, {} equal; {} learn calls left, {} right",
                    level.node,
                    patterns.only_left,
                    patterns.only_right,
                    patterns.changed,
                    patterns.equal,
                    patterns.left_learns,
                    patterns.right_learns
                ));
            }
            Ok((lines.join("\n"), serde_json::to_value(difference)?))
        }
        Command::Status => {
            let status = cluster.status().await?;
            let mut text = format!(
                "generation {}: tasks {} of {} done, merges {} of {} done, ranges {} of {} sealed, {}\n{} documents, {} tokens, {} bytes of tasks, {} bytes merged, {} bytes sealed",
                status.generation,
                status.tasks_done,
                status.tasks,
                status.merges_done,
                status.merges,
                status.ranges_sealed,
                status.ranges,
                match status.published {
                    Some(_) => "published",
                    None => "not published",
                },
                status.documents,
                status.tokens,
                status.task_bytes,
                status.merged_bytes,
                status.sealed_bytes
            );
            if !status.tasks_open.is_empty() {
                text += &format!("\nnot done: tasks {}", status.tasks_open.join(", "));
            }
            if let (Some(rate), Some(left)) =
                (status.tokens_per_worker_second, status.worker_seconds_left)
            {
                text += &format!(
                    "\n{rate:.0} tokens a second and worker, {left:.0} worker seconds of learning left"
                );
            }
            for failure in &status.failures {
                text += &format!("\n{failure}");
            }
            let more = status.tasks_failed - status.failures.len() as u64;
            if more > 0 {
                text += &format!("\nand {more} more tasks have failed");
            }
            for summary in &status.generations {
                let short: String = summary.plan.chars().take(16).collect();
                text += &format!(
                    "\ngeneration {} {short}: {} files, {}",
                    summary.generation,
                    summary.files,
                    match summary.published {
                        true => "published",
                        false => "not published",
                    }
                );
                if !summary.tags.is_empty() {
                    text += &format!(", {}", summary.tags.join(", "));
                }
            }
            Ok((text, serde_json::to_value(status)?))
        }
        Command::Gc {
            dry_run,
            merged_inputs,
        } => {
            let options = GcOptions::default()
                .with_dry_run(*dry_run)
                .with_merged_inputs(*merged_inputs);
            let garbage = cluster.gc(&options).await?;
            let would = if *dry_run { "would remove" } else { "removed" };
            let text = format!(
                "{would} {} objects, {} bytes",
                garbage.objects, garbage.bytes
            );
            Ok((text, serde_json::to_value(garbage)?))
        }
    }
}

/// Makes the plan.
async fn make_plan(cluster: &Cluster, args: &PlanArgs) -> Result<(String, Value)> {
    if args.source.skips_bad() {
        bail_as!(
            Usage,
            "a task ends with a record that cannot be read: --on-bad has no other meaning here"
        );
    }
    let learner = args.learning.learner(args.recording.recording())?;
    let mut options = PlanOptions::new(args.tasks);
    options.ranges = NameRanges::new(args.ranges).context("--ranges is at least 1")?;
    options.max_documents = args.max_documents;
    let sources = args.source.resolve(&args.sources)?;
    options.max_records = sources.max_rows();
    if args.by_positions {
        options.cut = CutBy::Positions;
    }
    let mut builder = sources.builder();
    if let Some(share) = args.hold_out {
        builder = builder.with_split(Split::training(share, args.seed));
    }
    if let Some(documents) = args.max_documents {
        builder = builder.with_max_documents(documents);
    }
    let loader = builder.build()?;
    if loader.identity().skips_records() {
        bail_as!(
            Usage,
            "a plan is of the whole corpus from its first row on: --skip is not for it"
        );
    }
    let done = cluster.plan(loader, &learner, &options).await?;
    Ok(planned(done))
}

/// Plans the next generation.
async fn extend_plan(cluster: &Cluster, args: &ExtendArgs) -> Result<(String, Value)> {
    check_reading(&args.source)?;
    let sources = args.source.resolve(&args.sources)?;
    if sources
        .sources()
        .iter()
        .any(|source| source.weight.is_some())
    {
        bail_as!(
            Usage,
            "an extension is read behind the corpus of the plan, and not mixed into it"
        );
    }
    // Also where only the corpus of the plan is fetched.
    let fetcher = match sources.fetcher() {
        Some(fetcher) => Some(fetcher.clone()),
        None => args
            .source
            .fetcher_for(cluster.read_plan().await?.corpus())?,
    };
    let added: Vec<Source> = sources.sources().to_vec();
    let add = move |builder: StreamingDatasetLoaderBuilder| {
        let builder = added
            .iter()
            .fold(builder, |builder, source| source.add_to(builder));
        match &fetcher {
            Some(fetcher) => remote::with_fetcher(builder, fetcher),
            None => builder,
        }
    };
    let mut options = ExtendOptions::new(args.tasks);
    if args.by_positions {
        options.cut = CutBy::Positions;
    }
    let done = cluster.extend(add, &options).await?;
    Ok(planned(done))
}

/// Refuses what would let a task, or an extension, be read otherwise than its plan says.
fn check_reading(source: &SourceArgs) -> Result<()> {
    if source.skips_bad() || source.says_how_to_read() {
        bail_as!(
            Usage,
            "the plan says what is read and how: a task is all of its records, and one that cannot be read ends it"
        );
    }
    Ok(())
}

/// Returns the answer of a plan.
fn planned(done: Completed<Plan>) -> (String, Value) {
    let (is_now, plan) = (done.by_this_call(), done.into_inner());
    let cut = match plan.is_cut_by_shards() {
        true => "shards",
        false => "positions",
    };
    let merges = plan.levels() as u64 * u64::from(plan.ranges().count());
    let text = format!(
        "planned generation {} {}: {} tasks by {cut}, {merges} merges",
        plan.generation(),
        when(is_now),
        plan.tasks()
    );
    let value = json!({
        "done": when(is_now),
        "generation": plan.generation(),
        "plan": plan.digest(),
        "tasks": plan.tasks(),
        "ranges": plan.ranges().count(),
        "levels": plan.levels(),
        "cut": cut,
    });
    (text, value)
}

/// Returns the learner of a plan.
fn learner(plan: &Plan) -> Result<HierarchicalConceptLearner> {
    let configuration = plan.configuration();
    let tokenizer = kato_tokenizer::load(&configuration.tokenizer);
    let tokenizer =
        tokenizer.with_context(|| format!("the plan's tokenizer {}", configuration.tokenizer))?;
    let builder = HierarchicalConceptLearner::builder(tokenizer);
    Ok(builder.with_config(configuration.learner.clone()).build()?)
}

/// Returns the number of a piece of work: as it was named, or as a scheduler has given it to this
/// process.
fn number_of(named: Option<u32>, question: &str) -> Result<u32> {
    if let Some(number) = named {
        return Ok(number);
    }
    for variable in ["JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"] {
        if let Ok(value) = std::env::var(variable) {
            return value
                .parse()
                .with_context(|| format!("{variable} is {value:?} and no number"));
        }
    }
    bail_as!(
        Usage,
        "{question}, or set JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID"
    );
}

/// Returns who did a piece of work, in words.
fn when(is_now: bool) -> &'static str {
    if is_now { "now" } else { "before" }
}

/// Returns a marker with who did it, as JSON.
fn answer(is_now: bool, marker: &impl serde::Serialize) -> Value {
    json!({"done": when(is_now), "marker": marker})
}
