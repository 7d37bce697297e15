//! The command `kato estimate`: estimates what a run will store before it is started.
//!
//! ```text
//! kato estimate corpus.jsonl                           # all of it, counted where that takes no 10 s
//! kato estimate corpus.jsonl --documents 1000000
//! kato estimate wikitext --documents 1800000 --levels 8,8,8 --plot plots
//! kato estimate --from-run my-kb --documents 1000000     # a finished run instead of a sample
//! ```

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use kato_estimator::{Calibration, EstimateError, StorageEstimator, Target};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_planner::{Forecast, Forecaster};
use kato_scheduler::{RunConfiguration, StopSignal};

use crate::byte_size::ByteSize;
use crate::estimation::{Engine, Estimate, Law, Observed, Wish, from_runs, look_at, run_record};
use crate::exit::bail_as;
use crate::history::{ForetellArgs, RunFacts};
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::learning::LearningArgs;
use crate::machine::{self, threads};
use crate::memory_limit::default_budget;
use crate::meter::Meter;
use crate::numbers::share;
use crate::planning::usual_index;
use crate::repository::sources_or_own_text;
use crate::source::{SOURCE_HELP, SourceArgs, is_stdin, shown};
use crate::writable::check_directory;

/// Estimates what a run will store before it is started: learn calls, distinct patterns and bytes
/// of every level, with intervals.
///
/// Reads the corpus for as long as --for says, and counts what it teaches by the rules of training.
/// What was not read is inferred; the intervals are to hold the truth in 90 of 100 cases. A target
/// that is too many times the sample is refused: look at more documents, or --force it.
///
/// Give --max-documents for an answer that comes out the same again.
///
/// With --json the result is one JSON object on standard output: made_for (settings and corpus of
/// the run), observed (what was looked at), target, extrapolation (how many times that it is),
/// engine, level_estimates, total_learns, total_patterns and bytes, each figure with value, low,
/// high and method; merged (the share that the store writes once more), correction (by --history),
/// index_bytes and schema.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    /// The corpus; see below. Default: this repository's README and docs.
    #[arg(value_name = "SOURCE", conflicts_with = "from_run")]
    sources: Vec<PathBuf>,
    /// Documents of the run. Default: all of the corpus; with --from-run they must be given.
    #[arg(long = "documents", alias = "samples", value_name = "N")]
    samples: Option<NonZeroU64>,
    /// Size of the run's text, for a closer estimate than by --documents.
    #[arg(long, value_name = "SIZE", conflicts_with = "from_run", value_parser = crate::byte_size::above_zero)]
    text_size: Option<ByteSize>,
    /// Read so long; small files may be read to their end.
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "10s",
        value_parser = crate::numbers::time,
        conflicts_with = "from_run"
    )]
    time: Duration,
    /// Look at so many documents of the corpus at most, however long that takes.
    #[arg(
        long = "max-documents",
        alias = "look-at",
        value_name = "N",
        conflicts_with = "from_run"
    )]
    look_at: Option<NonZeroU64>,
    /// Decides which documents those are, unless --shuffle does. From standard input they are the first.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with_all = ["from_run", "shuffle"]
    )]
    seed: u64,
    /// Estimate from a finished run instead, named by the directory of its knowledge base; can be
    /// given several times, for runs with the same levels and rules.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["history", "LearningArgs", "SourceArgs"])]
    from_run: Vec<PathBuf>,
    #[command(flatten)]
    learning: LearningArgs,
    /// The store whose bytes are told.
    #[arg(long, value_name = "STORE", value_enum, default_value_t = Engine::Embedded)]
    engine: Engine,
    /// Learning threads of the run. Default: one per core.
    #[arg(long, value_name = "N|auto", value_parser = machine::parse_threads)]
    workers: Option<NonZeroUsize>,
    /// The run's memory for what is not yet written. Default as that of `kato train`.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::memory)]
    memory: Option<ByteSize>,
    /// For embedded: the size after its parts are merged into one, the least that it can be.
    #[arg(long, conflicts_with = "history")]
    compact: bool,
    /// How distinct patterns are estimated.
    #[arg(long, value_name = "LAW", value_enum, default_value_t = Law::Ensemble)]
    model: Law,
    /// Share of cases in which the intervals are to hold the truth.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = share, conflicts_with = "history")]
    confidence: f64,
    /// Estimate however far the target is from what was looked at.
    #[arg(long)]
    force: bool,
    /// Write plots of growth, frequencies, repeats and bytes, as SVG, into this directory.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// The knowledge base that the run has become: the plots show what it learned, too.
    #[arg(long, value_name = "DIR", requires = "plot")]
    kb: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    foretell: ForetellArgs,
    #[command(flatten)]
    source: SourceArgs,
}

/// Estimates, and shows the estimate.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let stop = &stop_on_interrupt();
    let learner = args.learning.learner(Recording::default())?;
    if let Some(dir) = &args.plot {
        check_directory("--plot", dir)?;
    }
    args.foretell.check()?;
    let truth = args.kb.as_deref().map(run_record).transpose()?;
    let is_sampled = args.from_run.is_empty();
    let asked = asked(args);
    let (calibration, observed, corpus, facts) = match is_sampled {
        true => from_sample(args, &learner, stop)?,
        false => {
            let calibration = from_runs(&args.from_run)?;
            let observed = Observed::of_runs(&calibration);
            (calibration, observed, None, None)
        }
    };
    let Some(target) = asked.or(corpus) else {
        match is_sampled {
            true => bail_as!(
                Usage,
                "{} does not tell how large it is, and was not read to its end: read longer with --for TIME, or say how large the run is with --documents N or --text-size SIZE",
                named(&args.sources)
            ),
            false => bail_as!(Usage, "say how large the run is: --documents N"),
        }
    };
    let mut builder = StorageEstimator::builder().with_calibration(calibration);
    if let Some(law) = args.model.growth_law() {
        builder = builder.with_law(law);
    }
    let estimator = builder
        .with_engine(
            args.engine
                .storage(args.compact, workers(args), memory(args)),
        )
        .with_confidence(args.confidence)
        .with_force(args.force)
        .build()?;
    let mut breakdown = match estimator.estimate(target) {
        // What helps depends on where the figures come from, which the library does not know: in the
        // place of its advice.
        Err(error @ EstimateError::TooFar { .. }) => {
            let more = match is_sampled {
                true => "read more of it with --for TIME or --max-documents N",
                false => "take a longer run",
            };
            bail_as!(
                Usage,
                "{error}: {more}, or estimate all the same with --force"
            )
        }
        outcome => outcome?,
    };
    let forecast = Forecast {
        made_by: Some(Forecaster::Estimate),
        disk_bytes: Some(breakdown.bytes.interval().into()),
        index_bytes: match args.engine {
            Engine::Embedded => usual_index(breakdown.total_patterns.interval()).map(Into::into),
            Engine::Mongodb | Engine::StockKato => None,
        },
        ..Forecast::default()
    };
    let text = observed.text_bytes.unwrap_or(0) as f64 * breakdown.extrapolation;
    let of_corpus = corpus.and_then(|corpus| corpus.text_bytes);
    let times = of_corpus.map(|of_corpus| text / of_corpus as f64);
    let facts = facts.map(|facts| facts.scaled(times));
    let forecast = args.foretell.foretell(forecast, facts.as_ref())?;
    let correction = forecast.disk_bytes.and_then(|bytes| bytes.correction);
    if let Some(corrected) = forecast.disk_bytes.filter(|_| correction.is_some()) {
        breakdown.correct_bytes(corrected.into());
    }
    if let Some(dir) = &args.plot {
        breakdown.write_plots(dir, truth.as_ref())?;
    }
    let estimate = Estimate {
        made_for: facts,
        observed,
        correction,
        index_bytes: forecast.index_bytes,
        breakdown,
    };
    show(&estimate, args.json)
}

/// Returns the size of the run that was asked for; `None` for all of the corpus.
fn asked(args: &Args) -> Option<Target> {
    match (args.samples, args.text_size) {
        (None, None) => None,
        (Some(samples), None) => Some(Target::samples(samples.get())),
        (None, Some(size)) => Some(Target::text_bytes(size.0)),
        (Some(samples), Some(size)) => Some(Target::samples(samples.get()).with_text_bytes(size.0)),
    }
}

/// Returns the run's memory for what is not yet written.
fn memory(args: &Args) -> u64 {
    args.memory.map_or_else(default_budget, |memory| memory.0)
}

/// Returns the learning threads of the run.
fn workers(args: &Args) -> u64 {
    args.workers.unwrap_or_else(threads).get() as u64
}

/// Returns the sources as a person named them.
fn named(sources: &[PathBuf]) -> String {
    let names = sources.iter().map(|source| match is_stdin(source) {
        true => "standard input".to_owned(),
        false => shown(source),
    });
    names.collect::<Vec<_>>().join(" ")
}

/// Looks at the corpus, and also returns its size as far as it is known, and what the run is known by.
fn from_sample(
    args: &Args,
    learner: &HierarchicalConceptLearner,
    stop: &StopSignal,
) -> Result<(Calibration, Observed, Option<Target>, Option<RunFacts>)> {
    let sources = sources_or_own_text(&args.sources)?;
    let wish = Wish {
        documents: args.look_at,
        time: args.time,
        seed: args.seed,
        workers: workers(args),
        memory: memory(args),
        is_of_other_size: asked(args).is_some(),
    };
    let mut meter = Meter::new(args.quiet);
    let looked = look_at(&args.source, &sources, learner, wish, stop, &mut meter)?;
    let configuration = RunConfiguration::from_learner(learner);
    let facts = RunFacts {
        backend: args.engine.backend(),
        workers: Some(workers(args)),
        is_part: args.source.reads_a_part(),
        ..RunFacts::new(
            &configuration,
            &looked.identity,
            &args.sources,
            memory(args),
        )
    };
    let observed = Observed::of_sample(&looked.sample, looked.whole_corpus);
    Ok((
        Calibration::from_sample(&looked.sample),
        observed,
        looked.size,
        Some(facts),
    ))
}
