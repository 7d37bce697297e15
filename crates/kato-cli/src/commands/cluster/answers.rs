//! What the subcommands of `kato cluster` do and answer.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kato_cluster::status::ClusterStatus;
use kato_cluster::{Cluster, GcOptions, GenerationSummary, Plan, PlanGeneration};
use kato_learner::HierarchicalConceptLearner;
use kato_scheduler::{TrainingOptions, Workers};
use serde_json::{Value, json};

use super::Command;
use super::planning::{check_reading, extend_plan, make_plan};
use crate::byte_size::ByteSize;
use crate::exit::bail_as;
use crate::indexing;
use crate::numbers::counted;
use crate::source::SourceArgs;

/// An answer, in words and as JSON.
pub(super) type Answer = (String, Value);

/// Carries a subcommand out and returns its answer.
pub(super) async fn answer_to(
    command: &Command,
    cluster: Cluster,
    scratch: &Path,
) -> Result<Answer> {
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
            // Much larger than the others, which would all be as large.
            Box::pin(learn(cluster, task, *workers, *memory, source, scratch)).await
        }
        Command::Merge {
            level,
            range,
            piece,
            all,
        } => {
            let (cluster, plan) = at_plan(cluster).await?;
            let pieces = merges(&plan, *level, *range, *piece, *all)?;
            merge(&cluster, pieces, scratch).await
        }
        Command::Seal { range, all } => seal(cluster, *range, *all, scratch).await,
        Command::Publish { kb } => publish(&cluster, kb).await,
        Command::Tag { name } => tag(&cluster, name).await,
        Command::Diff { left, right } => diff(&cluster, left, right, scratch).await,
        Command::Status => {
            let status = cluster.status().await?;
            Ok((status_text(&status), serde_json::to_value(status)?))
        }
        Command::Gc {
            dry_run,
            merged_inputs,
        } => gc(&cluster, *dry_run, *merged_inputs).await,
    }
}

/// Does work that blocks, such as the listing of sources that are far away: Ctrl-C is heard meanwhile.
pub(super) async fn on_another_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("a thread ended early")?
}

/// Reads the plan of the generation. The cluster stays at this one, also where somebody extends the
/// plan at this moment.
async fn at_plan(cluster: Cluster) -> Result<(Cluster, Plan)> {
    let plan = cluster.read_plan().await?;
    let cluster = cluster.with_generation(PlanGeneration::Number(plan.generation()));
    Ok((cluster, plan))
}

/// Learns a task.
async fn learn(
    cluster: Cluster,
    task: u32,
    workers: Workers,
    memory: ByteSize,
    source: &SourceArgs,
    scratch: &Path,
) -> Result<Answer> {
    check_reading(source)?;
    let (cluster, plan) = at_plan(cluster).await?;
    let source = source.clone();
    let open = move || Ok((learner(&plan)?, source.again(plan.corpus())?));
    let (learner, corpus) = on_another_thread(open).await?;
    let mut options = TrainingOptions::default();
    options.n_workers = workers;
    options.memory_budget =
        usize::try_from(memory.0).context("--memory is too large for this machine")?;
    let done = cluster
        .learn(task, Arc::new(learner), corpus, &options, scratch, |_| {})
        .await?;
    let (is_now, marker) = (done.by_this_call(), done.into_inner());
    let bytes: u64 = marker.levels.iter().map(|level| level.file.bytes).sum();
    let text = format!(
        "task {task} {}: {}, {}, {}",
        when(is_now),
        counted(marker.counters.documents, "document"),
        counted(marker.counters.tokens, "token"),
        counted(bytes, "byte")
    );
    Ok((text, answer(is_now, &marker)))
}

/// Returns the merges that are asked for, by level and range.
fn merges(
    plan: &Plan,
    level: Option<usize>,
    range: Option<u32>,
    piece: Option<u32>,
    all: bool,
) -> Result<Vec<(usize, u32)>> {
    let ranges = plan.ranges().count();
    Ok(match (all, level, range) {
        (true, ..) => (0..plan.levels())
            .flat_map(|level| (0..ranges).map(move |range| (level, range)))
            .collect(),
        (_, Some(level), Some(range)) => vec![(level, range)],
        _ => {
            let question = "which merge? name it with --level and --range, --piece or --all";
            let piece = number_of(piece, question)?;
            vec![((piece / ranges) as usize, piece % ranges)]
        }
    })
}

/// Merges pieces, one after the other.
async fn merge(cluster: &Cluster, pieces: Vec<(usize, u32)>, scratch: &Path) -> Result<Answer> {
    let (mut lines, mut values) = (Vec::new(), Vec::new());
    for (level, range) in pieces {
        let done = cluster.merge(level, range, scratch).await?;
        let (is_now, marker) = (done.by_this_call(), done.into_inner());
        let patterns = marker.slice.summary.patterns();
        lines.push(format!(
            "level {level}, range {range} {}: {}",
            when(is_now),
            counted(patterns, "pattern")
        ));
        values.push(answer(is_now, &marker));
    }
    Ok((lines.join("\n"), json!({ "merges": values })))
}

/// Seals a range, or all.
async fn seal(cluster: Cluster, range: Option<u32>, all: bool, scratch: &Path) -> Result<Answer> {
    let (cluster, plan) = at_plan(cluster).await?;
    let ranges = match all {
        true => 0..plan.ranges().count(),
        false => {
            let range = number_of(range, "which range? name it with --range or --all")?;
            range..range.saturating_add(1)
        }
    };
    let (mut lines, mut values) = (Vec::new(), Vec::new());
    for range in ranges {
        let done = cluster.seal(range, scratch).await?;
        let (is_now, marker) = (done.by_this_call(), done.into_inner());
        let bytes = marker.segment.bytes;
        let bytes = counted(bytes, "byte");
        lines.push(format!("range {range} {}: {bytes}", when(is_now)));
        values.push(answer(is_now, &marker));
    }
    Ok((lines.join("\n"), json!({ "segments": values })))
}

/// Writes the knowledge base into a directory.
async fn publish(cluster: &Cluster, kb: &Path) -> Result<Answer> {
    let done = cluster.publish(kb).await?;
    let (is_now, record) = (done.by_this_call(), done.into_inner());
    let levels = record.levels.iter();
    let patterns: u64 = levels.map(|level| level.patterns).sum();
    let text = format!(
        "{}: generation {}, {} of {}, {}",
        kb.display(),
        record.generation,
        counted(patterns, "pattern"),
        counted(record.documents, "document"),
        counted(record.tokens, "token")
    );
    let mut value = answer(is_now, &record);
    let dir = kb.to_owned();
    let indexed = on_another_thread(move || Ok(indexing::after(&dir))).await?;
    if let Some(index) = indexed {
        value["index"] = index;
    }
    Ok((text, value))
}

/// Gives a name to the generation.
async fn tag(cluster: &Cluster, name: &str) -> Result<Answer> {
    let done = cluster.tag(name).await?;
    let (is_now, tag) = (done.by_this_call(), done.into_inner());
    let text = format!("{name} is generation {}, {}", tag.generation, tag.plan);
    Ok((text, answer(is_now, &tag)))
}

/// Compares two generations.
async fn diff(cluster: &Cluster, left: &str, right: &str, scratch: &Path) -> Result<Answer> {
    let sides = (
        PlanGeneration::from_word(left),
        PlanGeneration::from_word(right),
    );
    let difference = cluster.diff(&sides.0, &sides.1, scratch).await?;
    let mut lines = vec![format!(
        "generation {} against {}",
        difference.left, difference.right
    )];
    for level in &difference.levels {
        let patterns = &level.patterns;
        lines.push(format!(
            "{}: patterns: {} only left, {} only right, {} changed, {} equal; learn calls: {} left, {} right",
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

/// Removes what attempts that lost have left.
async fn gc(cluster: &Cluster, dry_run: bool, merged_inputs: bool) -> Result<Answer> {
    let options = GcOptions::default()
        .with_dry_run(dry_run)
        .with_merged_inputs(merged_inputs);
    let garbage = cluster.gc(&options).await?;
    let would = if dry_run { "would remove" } else { "removed" };
    let text = format!(
        "{would} {}, {}",
        counted(garbage.objects, "object"),
        counted(garbage.bytes, "byte")
    );
    Ok((text, serde_json::to_value(garbage)?))
}

/// Describes how far a plan is.
fn status_text(status: &ClusterStatus) -> String {
    let mut text = format!(
        "generation {}: tasks {} of {} done, merges {} of {} done, ranges {} of {} sealed, {}\n{}, {}, {} of tasks, {} merged, {} sealed",
        status.generation,
        status.tasks_done,
        status.tasks,
        status.merges_done,
        status.merges,
        status.ranges_sealed,
        status.ranges,
        if_published(status.published.is_some()),
        counted(status.documents, "document"),
        counted(status.tokens, "token"),
        counted(status.task_bytes, "byte"),
        counted(status.merged_bytes, "byte"),
        counted(status.sealed_bytes, "byte")
    );
    if !status.tasks_open.is_empty() {
        text += &format!("\nnot done: tasks {}", status.tasks_open.join(", "));
    }
    if let (Some(rate), Some(left)) = (status.tokens_per_worker_second, status.worker_seconds_left)
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
        text += &generation_text(summary);
    }
    text
}

/// Describes a generation in a line of its own.
fn generation_text(summary: &GenerationSummary) -> String {
    let short: String = summary.plan.chars().take(16).collect();
    let mut text = format!(
        "\ngeneration {} {short}: {}, {}",
        summary.generation,
        counted(summary.files, "file"),
        if_published(summary.published)
    );
    if !summary.tags.is_empty() {
        text += &format!(", {}", summary.tags.join(", "));
    }
    text
}

/// Returns whether a generation is published, in words.
fn if_published(is_published: bool) -> &'static str {
    match is_published {
        true => "published",
        false => "not published",
    }
}

/// Returns the learner of a plan.
fn learner(plan: &Plan) -> Result<HierarchicalConceptLearner> {
    let configuration = plan.configuration();
    let tokenizer = kato_tokenizer::load(&configuration.rules.tokenizer);
    let tokenizer = tokenizer
        .with_context(|| format!("the plan's tokenizer {}", configuration.rules.tokenizer))?;
    let builder = HierarchicalConceptLearner::builder(tokenizer);
    Ok(builder
        .with_config(configuration.rules.learner.clone())
        .build()?)
}

/// Returns the number of a piece of work: as it was named, or as a scheduler has given it to this
/// process.
fn number_of(named: Option<u32>, question: &str) -> Result<u32> {
    if let Some(number) = named {
        return Ok(number);
    }
    for variable in ["JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"] {
        let value = std::env::var(variable).unwrap_or_default();
        if !value.is_empty() {
            let Ok(number) = value.parse() else {
                bail_as!(Usage, "{variable} is {value:?} and no number");
            };
            return Ok(number);
        }
    }
    bail_as!(
        Usage,
        "{question}, or set JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID"
    );
}

/// Returns whether a piece of work was done now or before, in a word.
pub(super) fn when(is_now: bool) -> &'static str {
    if is_now { "now" } else { "before" }
}

/// Returns a marker and whether it was made now or before, as JSON.
fn answer(is_now: bool, marker: &impl serde::Serialize) -> Value {
    json!({"done": when(is_now), "marker": marker})
}
