//! The command `kato train`: trains a concept hierarchy from text into a knowledge base on the
//! disk, the nodes of a KATO server, or a MongoDB.
//!
//! ```text
//! kato train                                  # this repository's own text
//! kato train corpus.jsonl --kb my-kb       # your own
//! kato train corpus.jsonl --kb my-kb --resume
//! kato train more.jsonl --kb my-kb --add
//! kato train hf://Salesforce/wikitext/wikitext-103-raw-v1 --shuffle 1 --max-rows 100000
//! kato train 0.7*openwebtext 0.3*wikitext   # a mixture of datasets by their keys
//! kato train corpus.jsonl --backend kato:http://127.0.0.1:8000 --run wikitext
//! kato train corpus.jsonl --backend mongodb://127.0.0.1:27017 --run wikitext
//! kato train corpus.jsonl --profile --report run.html     # where does the time go?
//! kato train corpus.jsonl --history runs.db --forecast plan.json
//! ```

mod outcome;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::ignored::by_reason;
use kato_loader::{Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_planner::Forecast;
use kato_prediction::Cancel;
use kato_prediction::disk::BuildOptions;
use kato_runs::{Destination, LoaderStart, RunsError, TrainingRun};
use kato_scheduler::{
    Checkpoint, RunConfiguration, TrainError, TrainingEvent, TrainingOptions, TrainingReport,
    WorkDistribution, Workers,
};

use self::outcome::Outcome;
use crate::byte_size::ByteSize;
use crate::exit::{failed, unless_interrupted};
use crate::forecast::read_forecast;
use crate::history::{HistoryArgs, Recorder, RunFacts};
use crate::indexing::head_options;
use crate::interrupt::{INTERRUPTED, is_interrupted, on_interrupt, set_last_word};
use crate::learning::{LearningArgs, RecordingArgs, leaves_out};
use crate::memory_limit::{default_budget, default_ceiling};
use crate::numbers::share;
use crate::output::{stdout, unless_reader_gone};
use crate::patience::Watch;
use crate::remote;
use crate::repository::sources_or_own_text;
use crate::source::{SOURCE_HELP, SourceArgs, Sources};
use crate::training::destination::DestinationArgs;
use crate::training::errors::ErrorArgs;
use crate::training::profile::{Profile, ProfileArgs};
use crate::training::reporter::{ProgressMode, Reporter};
use crate::training::seconds::seconds;
use crate::training::unbegun;
use crate::{notice, program};

/// Trains a concept hierarchy from text into a knowledge base on the disk, the nodes of a KATO
/// server, or a MongoDB.
///
/// Reads Parquet, and plain text, JSON Lines, CSV and TSV, also compressed, from disk, the
/// Hugging Face Hub, web servers and object stores. A run can be stopped at any moment, even by
/// kill -9, and goes on with --resume to the same result.
///
/// With --json one JSON object on standard output tells the result: samples_processed,
/// samples_attempted, session_documents, held_out_documents, blank_records, short_records,
/// ignored_files, errors, bad_records, failures, retries, stalls, worker_restarts, tokens, dropped,
/// left_out_share, levels, complete, ended, total_time_seconds, tokens_per_sec,
/// rate_samples_per_sec, stage_seconds, starved_share, num_workers, distribution, disk_bytes,
/// peak_memory_bytes and learning_peak_memory_bytes; and where the run has such a thing, server,
/// mongodb, profile, recorded, occurrences, forecast, index and head. docs/training.md says what
/// they mean.
///
/// What was interrupted (exit code 130) goes on with --resume or, where no run had begun, with the
/// same command. Work that is not done within 5 seconds is left to --resume.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    /// What to learn from; see below. Default: this repository's README and docs; with --resume
    /// or --reteach the files of the run.
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    learning: LearningArgs,
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    destination: DestinationArgs,
    /// Go on where an interrupted run ended. Refused where none has begun.
    #[arg(long)]
    resume: bool,
    /// Learn SOURCE after a run that is complete, with the same options: the result is that of
    /// training both. Interrupted, it goes on with --resume, without --add and SOURCE.
    #[arg(long, requires = "sources", conflicts_with_all = ["resume", "reteach"])]
    add: bool,
    /// Learning threads: a number, or auto, which is one per core as far as the memory goes, and into a KATO
    /// server by work-stealing as many as pay. The result is the same for any number.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    workers: Workers,
    /// Which worker learns which document: work-stealing, round-robin or contiguous. The result is
    /// the same.
    #[arg(long, value_name = "HOW", default_value = "work-stealing")]
    distribution: WorkDistribution,
    /// End after this many documents of the corpus.
    // The original's name of it.
    #[arg(long, value_name = "N", alias = "max-samples")]
    max_documents: Option<u64>,
    /// Hold out this share of the documents, chosen by hash, for `kato evaluate`: 0.05 is about
    /// every twentieth.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    hold_out: Option<f64>,
    /// Decides which documents are held out.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "hold_out")]
    seed: u64,
    #[command(flatten)]
    errors: ErrorArgs,
    /// Memory for what is learned and not yet written; the process may take more than twice this.
    /// Default: 256MiB, or a fifth of the memory that the control group allows, where that is less.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::memory)]
    memory: Option<ByteSize>,
    /// Memory of the process above which the run slows down instead of growing. Default: three
    /// fifths of the memory that the control group allows, if it has a limit.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::memory)]
    memory_ceiling: Option<ByteSize>,
    /// Seconds after which the next commit begins: a crash costs the work since the last one.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    commit_interval: Duration,
    /// Print one JSON object with the result to standard output.
    #[arg(long)]
    json: bool,
    /// How progress is shown on standard error. Notices, such as of workers that died, come in any
    /// case.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ProgressMode::Bar)]
    progress: ProgressMode,
    /// Show no progress: as --progress silent.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    history: HistoryArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl Args {
    /// Returns the memory for what is learned and not yet written.
    fn memory(&self) -> u64 {
        self.memory.map_or_else(default_budget, |memory| memory.0)
    }
}

/// What the user is told at once after Ctrl-C.
const STOPPING: &str = "stopping: committing what was learned";

/// The beginning of the last word of a run that was stopped.
const STOPPED: &str = "interrupted; everything committed is safe";

/// The same of a run that was at the end of its corpus by then.
const COMPLETE: &str = "interrupted when all of the corpus was learned and committed";

/// The last word where the run may have been made or not.
const BEGINNING: &str = "interrupted while the run began: give the same command again, with --resume if it asks for that";

/// The beginning of the last word of a run that did not stop in time.
const GIVEN_UP: &str =
    "interrupted, and ended in the middle of its work; everything committed is safe";

/// Exit code with `--fail-on-errors` of a run that is done although documents or records failed.
const FAILED_DOCUMENTS: u8 = 3;

/// Runs `kato train` and returns its exit code.
pub(crate) fn main(args: &mut Args) -> ExitCode {
    // One option for both kinds of errors: records that cannot be read and documents that cannot be
    // learned.
    if args.errors.skip_errors {
        args.source.skip_bad();
    }
    let checked = args.destination.check(args.resume || args.add);
    checked.unwrap_or_else(|error| notice::exit(&error.format(&mut program::subcommand("train"))));
    match run(args) {
        Ok(code) => code,
        Err(error) => unless_interrupted(failed(&error)),
    }
}

/// Trains and shows the result; returns an exit code, as a run that ended well may still be
/// interrupted, or documents or records may have failed.
fn run(args: &Args) -> Result<ExitCode> {
    let probe = args.profile.probe();
    // Before anything is learned, so that a file that cannot be written, or is no history, is found
    // out at once.
    args.profile.check()?;
    let destination = args.destination.destination(&probe)?;
    args.destination.check_files(&destination)?;
    let given = args.history.forecast.as_deref();
    let given = given.map(read_forecast).transpose()?;
    let history = args.history.history.as_deref();
    let mut recorder = history.map(Recorder::open).transpose()?;
    let learner = args.learning.learner(args.recording.recording())?;
    let configuration = RunConfiguration::from_learner(&learner).with_split(split(args));
    if let Some(given) = given.as_ref().filter(|_| !args.resume) {
        let (backend, workers) = (args.destination.kind(), exactly(args.workers));
        // A share that is held out is no part of the rules that a forecast is made for, nor is what is
        // recorded beside patterns, which no forecast can be asked for.
        let mut rules = RunConfiguration::from_learner(&learner);
        rules.rules.learner.recording = Recording::default();
        given.check(&rules, backend, args.memory(), workers)?;
    }
    let mut options = options(args, &destination)?;
    options.probe = probe;
    args.destination
        .check_connections(args.workers, learner.config().nodes.len())?;
    let (begun, ledger) = (args.destination.unbegun(), destination.ledger());
    set_last_word(BEGINNING);
    let (mut run, mut loader) = args.destination.open(
        destination,
        &learner,
        &configuration,
        args.destination.start(args.resume, args.add),
        |position| loader_at(args, position, &options),
    )?;
    // A run in a MongoDB goes on with the list that it has begun, wherever that lies.
    options.ledger = options.ledger.map(|_| run.ledger().to_owned());
    // Until here Ctrl-C ends the process at once.
    let cancel_index = Cancel::new();
    let (stop, cancel) = (options.stop.clone(), cancel_index.clone());
    let given_up = format!("{GIVEN_UP}. {}", go_on(args));
    on_interrupt(STOPPING, given_up, move || {
        stop.stop();
        cancel.cancel();
    });
    let facts = facts(args, &configuration, &loader);
    let ignored = by_reason(loader.ignored_files());
    let is_of_another = given
        .as_ref()
        .is_some_and(|given| given.is_of_another_corpus(&facts));
    if is_of_another {
        notice::say(
            "--forecast was made for another corpus, or one of another size: it is compared, and the history learns nothing of its errors",
        );
    }
    let forecast = match (given, &recorder) {
        (Some(given), _) => Some(given.forecast),
        (None, Some(recorder)) => match recorder.forecast(&facts) {
            Err(error) => {
                unbegun::forget(begun, &ledger, &run);
                return Err(error);
            }
            found => found?,
        },
        (None, None) => None,
    };
    run.foretell(forecast);
    let trained = train(args, &mut run, &mut loader, &learner, &options, forecast);
    let (report, profile) = match trained {
        Err(error) => {
            if is_of_corpus(&error) {
                unbegun::forget(begun, &ledger, &run);
            }
            if args.add {
                unbegun::tell_not_added(&run, is_of_corpus(&error));
            }
            return Err(error);
        }
        trained => trained?,
    };
    // Also of a part of the corpus, where no more was asked for.
    let (mut index, mut head, mut occurrences) = (Ok(None), Ok(None), Ok(None));
    let learning_peak_bytes = kato_probe::process::peak_bytes();
    let mut index_peak_bytes = learning_peak_bytes;
    if !is_interrupted() {
        let options = index_options(args, &report, cancel_index.clone());
        let counts = head_options(options.sort_bytes, cancel_index.clone());
        let destination = &args.destination;
        let mut preparation = destination.prepare(&run, options, counts);
        index = destination.index(preparation.as_mut());
        // Forecasts of memory go so far: not to what is left of the head's counts, nor to the occurrences.
        index_peak_bytes = kato_probe::process::peak_bytes();
        head = destination.head(preparation);
        occurrences = destination.occurrences(&run, &cancel_index);
    }
    let note = args.history.note.as_deref().unwrap_or_default();
    let recorded = recorder
        .as_mut()
        .map(|recorder| {
            let teaching = forecast.as_ref().filter(|_| !is_of_another);
            recorder.record(&facts, teaching, &report, index_peak_bytes, note)
        })
        .transpose()?;
    // A forecast is of a whole run in one session.
    let is_whole = report.complete && report.session_documents == report.documents_processed;
    let outcome = Outcome {
        run: &run,
        report: &report,
        ignored,
        forecast: forecast.filter(|_| is_whole),
        profile,
        learning_peak_bytes,
        index_peak_bytes,
        index: index.as_ref().ok().and_then(Option::as_ref),
        head: head.as_ref().ok().and_then(Option::as_ref),
        occurrences: occurrences.as_ref().ok().and_then(Option::as_ref),
        recorded: recorded.zip(history),
    };
    let result = match args.json {
        true => format!("{}\n", outcome.to_json()?),
        false => outcome.text(),
    };
    // The run is done: a reader that has gone away does not change its exit code.
    unless_reader_gone(stdout().write_all(result.as_bytes()).map_err(Into::into))?;
    // Behind the result: what was learned is told, and on record, whatever became of the files beside it.
    index?;
    head?;
    occurrences?;
    Ok(exit_code(args, &report))
}

/// Returns what goes on with a run that was interrupted: not what the parser refuses beside --resume.
fn go_on(args: &Args) -> String {
    match (args.add, args.destination.reteaches()) {
        (true, _) => "Go on with --resume, without --add and SOURCE.".to_owned(),
        (false, true) => "Go on with --resume, without --reteach.".to_owned(),
        (false, false) => {
            let more = args.destination.going_on();
            format!("Go on with the same command and {more}.")
        }
    }
}

/// Returns the exit code of a run that ended well; says so if it was interrupted.
fn exit_code(args: &Args, report: &TrainingReport) -> ExitCode {
    if is_interrupted() {
        notice::say(last_word(args, report.complete));
        return ExitCode::from(INTERRUPTED);
    }
    if args.errors.fail_on_errors && report.errors > 0 {
        return ExitCode::from(FAILED_DOCUMENTS);
    }
    ExitCode::SUCCESS
}

/// Returns what is said at the end of a run that was interrupted.
fn last_word(args: &Args, is_complete: bool) -> String {
    match (is_complete, args.destination.kind()) {
        (false, _) => format!("{STOPPED}. {}", go_on(args)),
        // Resuming finds out what of it is missing.
        (true, "embedded") => format!(
            "{COMPLETE}; an index, or other files beside it, may be missing. {}",
            go_on(args)
        ),
        (true, _) => COMPLETE.to_owned(),
    }
}

/// Returns the loader at a position of the run.
fn loader_at(
    args: &Args,
    position: LoaderStart<'_>,
    options: &TrainingOptions,
) -> Result<StreamingDatasetLoader> {
    let run = match position {
        LoaderStart::Beginning => None,
        LoaderStart::After { corpus, .. } => Checkpoint::from_json(corpus)?,
    };
    let builder = match run {
        // Without sources the run's own files are read again, at the revisions that they had.
        // With sources the corpus is opened again, and the checkpoint refuses another one.
        Some(run) if args.sources.is_empty() => limited(args, args.source.again(&run.corpus)?),
        Some(run) if args.add => match args.source.fetcher_for(&run.corpus)? {
            Some(fetcher) => remote::with_fetcher(loader(args)?, &fetcher),
            None => loader(args)?,
        },
        _ => loader(args)?,
    };
    let stop = options.stop.clone();
    let builder = builder
        .with_interrupt(move || stop.is_stopped())
        .with_probe(options.probe.clone());
    let loader = match args.add {
        true => position.loader_behind(builder)?,
        false => position.loader(builder)?,
    };
    args.source.check_used(&loader)?;
    Ok(loader)
}

/// Trains, shows progress, and takes the profile if one is asked for.
fn train(
    args: &Args,
    run: &mut TrainingRun,
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    options: &TrainingOptions,
    forecast: Option<Forecast>,
) -> Result<(TrainingReport, Option<Profile>)> {
    let mut reporter = Reporter::new(match args.quiet {
        true => ProgressMode::Silent,
        false => args.progress,
    })
    .with_forecast(forecast);
    announce_left_out(learner);
    let mut profiling = args
        .profile
        .start(&options.probe, Path::new(&run.place()))?;
    let watch = Watch::new(reporter.voice());
    let waited_for = match args.destination.kind() {
        "embedded" => "waiting for more of the corpus",
        _ => "waiting for more of the corpus, or for the server",
    };
    watch.note(waited_for);
    let on_event = |event| {
        watch.note(match &event {
            TrainingEvent::Counting => "counting distinct patterns",
            _ => waited_for,
        });
        reporter.show(&event);
        if let Some(profiling) = &mut profiling {
            profiling.note(&event);
        }
    };
    let report = run.train(loader, learner, options, on_event);
    reporter.finish();
    // Also for a run that failed, so that its reports are written. The error of the run comes
    // first, then that of the profile.
    let profile = profiling.map(|profiling| profiling.finish(report.as_ref().ok()));
    Ok((report?, profile.transpose()?))
}

/// Returns whether a run ended by what is in its corpus: it could not be read, or not be learned. What ended by
/// something else, such as a full disk, goes on with --resume when that is mended.
fn is_of_corpus(error: &Error) -> bool {
    let error = match error.downcast_ref() {
        Some(RunsError::Train(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    matches!(
        error,
        Some(
            TrainError::Load(_)
                | TrainError::Learn { .. }
                | TrainError::WorkerDied { .. }
                | TrainError::TooManyFailures { .. }
        )
    )
}

/// Says at the beginning what the options leave out of every document; how much that is, the summary
/// says.
fn announce_left_out(learner: &HierarchicalConceptLearner) {
    let left_out = leaves_out(learner.config());
    if !left_out.is_empty() {
        let left_out = left_out.join("; ");
        notice::say(format_args!("not learned, as the options say: {left_out}"));
    }
}

/// Returns the options of writing the index of a run.
fn index_options(args: &Args, report: &TrainingReport, cancel: Cancel) -> BuildOptions {
    BuildOptions::default()
        .with_sort_bytes(ByteSize(args.memory()).in_memory())
        .with_threads(NonZeroUsize::new(report.n_workers).unwrap_or(NonZeroUsize::MIN))
        .with_cancel(cancel)
}

/// Returns what a run is trained with, for its record.
fn facts(
    args: &Args,
    configuration: &RunConfiguration,
    loader: &StreamingDatasetLoader,
) -> RunFacts {
    let facts = RunFacts::new(
        configuration,
        &loader.identity(),
        &args.sources,
        args.memory(),
    );
    let facts = match exactly(args.workers) {
        Some(workers) => facts.with_workers(workers),
        None => facts,
    };
    RunFacts {
        backend: args.destination.kind(),
        batch: args.destination.batch(),
        is_part: args.max_documents.is_some()
            || args.hold_out.is_some()
            || args.source.reads_a_part(),
        ..facts
    }
}

/// Returns the workers where a number was given.
fn exactly(workers: Workers) -> Option<NonZeroUsize> {
    match workers {
        Workers::Exactly(workers) => Some(workers),
        Workers::Auto => None,
    }
}

/// Returns the options of the training.
fn options(args: &Args, destination: &Destination) -> Result<TrainingOptions> {
    let mut options = TrainingOptions::default();
    options.n_workers = args.workers;
    options.distribution = args.distribution;
    options.memory_budget =
        usize::try_from(args.memory()).context("--memory is too large for this machine")?;
    let ceiling = args.memory_ceiling.map(|ceiling| ceiling.0);
    options.memory_ceiling = ceiling.or_else(default_ceiling);
    options.commit_interval = args.commit_interval;
    args.errors.apply(&mut options);
    // Where a bad record ends the run there is nothing to list.
    options.ledger = args.source.skips_bad().then(|| destination.ledger());
    Ok(options)
}

/// Returns the side of the documents that is learned; `None` without --hold-out, when all are.
fn split(args: &Args) -> Option<Split> {
    let share = args.hold_out?;
    Some(Split::training(share, args.seed))
}

/// Recognises the sources, or the repository's own text where none is named.
fn sources(args: &Args) -> Result<Sources> {
    args.source.resolve(&sources_or_own_text(&args.sources)?)
}

/// Returns the builder of a loader at the first document.
fn loader(args: &Args) -> Result<StreamingDatasetLoaderBuilder> {
    Ok(limited(args, sources(args)?.builder()))
}

/// Limits a loader to the documents that are to be learned.
fn limited(
    args: &Args,
    mut builder: StreamingDatasetLoaderBuilder,
) -> StreamingDatasetLoaderBuilder {
    if let Some(split) = split(args) {
        builder = builder.with_split(split);
    }
    if let Some(max_documents) = args.max_documents {
        builder = builder.with_max_documents(max_documents);
    }
    builder
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_goes_on_is_what_the_parser_takes() {
        for (line, expected) in [
            ("train a.txt", "the same command and --resume."),
            ("train a.txt --add", "--resume, without --add and SOURCE."),
            (
                "train --reteach a --run b --backend kato:http://localhost",
                "--resume, without --reteach.",
            ),
        ] {
            let program = Program::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(
                go_on(&program.args),
                format!("Go on with {expected}"),
                "{line}"
            );
        }
        assert!(Program::try_parse_from(["train", "a.txt", "--add", "--resume"]).is_err());
    }

    #[test]
    fn what_is_said_after_a_stop_is_true_of_a_run_that_is_complete() {
        let said = |line: &str, is_complete| {
            let program = Program::try_parse_from(line.split(' ')).unwrap();
            last_word(&program.args, is_complete)
        };
        let server = "train a.txt --run b --backend kato:http://localhost";
        for (line, is_complete, begins, goes_on) in [
            (
                "train a.txt",
                false,
                "interrupted; everything committed",
                true,
            ),
            (
                "train a.txt",
                true,
                "interrupted when all of the corpus was learned",
                true,
            ),
            (server, false, "interrupted; everything committed", true),
            (
                server,
                true,
                "interrupted when all of the corpus was learned",
                false,
            ),
        ] {
            let said = said(line, is_complete);
            assert!(said.starts_with(begins), "{said}");
            assert_eq!(said.contains("Go on with"), goes_on, "{said}");
        }
    }
}
