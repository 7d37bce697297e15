//! The plans of a cluster: what `kato cluster plan` and `extend` take, and do.

use std::path::PathBuf;

use anyhow::{Context, Result};
use indicatif::HumanBytes;
use kato_cluster::{Cluster, Completed, CutBy, ExtendOptions, Plan, PlanOptions};
use kato_learner::HierarchicalConceptLearner as Learner;
use kato_loader::{Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_store::slice::NameRanges;
use serde_json::json;

use super::answers::{Answer, on_another_thread, when};
use crate::exit::bail_as;
use crate::learning::{LearningArgs, RecordingArgs};
use crate::numbers::{counted, share};
use crate::patience::patiently;
use crate::remote;
use crate::source::{SOURCE_HELP, Source, SourceArgs, Sources};

/// Bytes of files for each task below which fewer tasks are told to do as well.
const SMALL_TASK: u64 = 1 << 20;

/// What is planned.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(super) struct PlanArgs {
    /// What to learn from; see below, all but standard input. Every machine must reach it under the same name.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Tasks: ten for each worker keep all of them busy to the end.
    #[arg(long, value_name = "N", value_parser = crate::numbers::from_one::<u32>)]
    tasks: u32,
    /// Ranges of names: so many merges of each level may run at once, and so many segments the
    /// knowledge base has.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::numbers::from_one::<u32>)]
    ranges: u32,
    /// Cut at positions, for which the corpus is read once, and not into shards. Done by itself
    /// where it is needed.
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
    #[arg(long, value_name = "SHARE", value_parser = share)]
    hold_out: Option<f64>,
    /// Decides which documents are held out.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "hold_out")]
    seed: u64,
    #[command(flatten)]
    source: SourceArgs,
}

/// What is added.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(super) struct ExtendArgs {
    /// What to learn from in addition; see below, all but standard input and mixtures. It is read as the plan says.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Tasks of what is added.
    #[arg(long, value_name = "N", value_parser = crate::numbers::from_one::<u32>)]
    tasks: u32,
    /// Cut at positions, for which what is added is read once, and not into shards.
    #[arg(long)]
    by_positions: bool,
    #[command(flatten)]
    source: SourceArgs,
}

impl PlanArgs {
    /// Returns the learner, the opened corpus, and the most records that are read of it.
    fn open(&self) -> Result<(Learner, StreamingDatasetLoader, Option<u64>)> {
        let learner = self.learning.learner(self.recording.recording())?;
        let sources = self.source.resolve(&self.sources)?;
        refuse_stdin(&sources)?;
        let mut builder = sources.builder();
        if let Some(share) = self.hold_out {
            builder = builder.with_split(Split::training(share, self.seed));
        }
        if let Some(documents) = self.max_documents {
            builder = builder.with_max_documents(documents);
        }
        let loader = patiently("waiting for the sources to be opened", || {
            sources.open(builder)
        })?;
        Ok((learner, loader, sources.max_rows()))
    }
}

/// Makes the plan.
pub(super) async fn make_plan(cluster: &Cluster, args: &PlanArgs) -> Result<Answer> {
    if args.source.skips_bad() {
        bail_as!(
            Usage,
            "a task ends with a record that cannot be read: --on-bad has no other meaning here"
        );
    }
    let owned = args.clone();
    let (learner, loader, max_records) = on_another_thread(move || owned.open()).await?;
    let mut options = PlanOptions::new(args.tasks);
    options.ranges = NameRanges::new(args.ranges).context("--ranges is at least 1")?;
    options.max_documents = args.max_documents;
    options.max_records = max_records;
    if args.by_positions {
        options.cut = CutBy::Positions;
    }
    if loader.identity().skips_records() {
        bail_as!(
            Usage,
            "a plan is of the whole corpus from its first row on: --skip is not for it"
        );
    }
    let bytes = loader.total_bytes();
    let done = cluster.plan(loader, &learner, &options).await?;
    let (mut text, value) = planned(done);
    if let Some(bytes) = bytes
        && bytes / u64::from(args.tasks) < SMALL_TASK
    {
        // Of a cut into shards, how many documents a task has is known only when it has been learned.
        text += &format!(
            "\n{} of {} in all: some may be without a document, and fewer do as well",
            counted(args.tasks, "task"),
            HumanBytes(bytes)
        );
    }
    Ok((text, value))
}

/// Plans the next generation.
pub(super) async fn extend_plan(cluster: &Cluster, args: &ExtendArgs) -> Result<Answer> {
    check_reading(&args.source)?;
    let owned = args.clone();
    let sources = on_another_thread(move || owned.source.resolve(&owned.sources)).await?;
    refuse_stdin(&sources)?;
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
    // Also where only the corpus of the plan is fetched. The plan may be the one that is made again here.
    let fetcher = match sources.fetcher() {
        Some(fetcher) => Some(fetcher.clone()),
        None => args
            .source
            .fetcher_for(cluster.last_made().await?.corpus())?,
    };
    let (added, reading) = (sources.sources().to_vec(), args.source.clone());
    let add = move |builder: StreamingDatasetLoaderBuilder| {
        let builder = reading.apply_to_reading(builder);
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

/// Refuses a corpus that is gone once the plan is made, before it is read.
fn refuse_stdin(sources: &Sources) -> Result<()> {
    if sources.sources().iter().any(Source::is_stdin) {
        bail_as!(
            Usage,
            "no machine can read standard input again for its task: write it to a file that all of them reach, and name that"
        );
    }
    Ok(())
}

/// Refuses what would let a task, or an extension, be read otherwise than its plan says.
pub(super) fn check_reading(source: &SourceArgs) -> Result<()> {
    if source.skips_bad() || source.says_how_to_read() {
        bail_as!(
            Usage,
            "leave out options that say what is read and how: the plan says it; a task is all of its records, and one that cannot be read ends it"
        );
    }
    Ok(())
}

/// Returns the answer of a plan.
fn planned(done: Completed<Plan>) -> Answer {
    let (is_now, plan) = (done.by_this_call(), done.into_inner());
    let cut = match plan.is_cut_by_shards() {
        true => "shards",
        false => "positions",
    };
    let merges = plan.levels() as u64 * u64::from(plan.ranges().count());
    let text = format!(
        "planned generation {} {}: {} by {cut}, {}",
        plan.generation(),
        when(is_now),
        counted(plan.tasks(), "task"),
        counted(merges, "merge")
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
