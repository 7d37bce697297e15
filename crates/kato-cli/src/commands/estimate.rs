//! The command `kato estimate`: estimates what a run will store before it is started.
//!
//! ```text
//! kato estimate corpus.jsonl --documents 1000000
//! kato estimate wikitext --documents 1800000 --levels 8,8,8 --plot plots
//! kato estimate --from-run my-kb --documents 1000000     # a finished run instead of a sample
//! ```

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use kato_estimator::{
    Calibration, EstimateError, GrowthLaw, StorageEngine, StorageEstimator, Target,
};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::StopSignal;

use crate::byte_size::ByteSize;
use crate::estimation::{Estimate, Observed, run_record, sample};
use crate::exit::{bail_as, exit_code};
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::learning::LearningArgs;
use crate::machine::{self, threads};
use crate::meter::Meter;
use crate::source::{SOURCE_HELP, SourceArgs};
use crate::writable::check_directory;
use crate::{program, repository};

/// Estimates what a run will store before it is started: learn calls, distinct patterns and bytes
/// of every level, with intervals.
///
/// Looks at documents of the corpus, drawn at random, and counts what they teach by the rules of
/// training. Learn calls follow from that; distinct patterns from laws of growth that are fitted to
/// it; bytes from what each store takes for a pattern. The intervals hold the truth in 90 of 100
/// cases. A target that is too many times the sample is refused: look at more documents, or --force
/// it.
///
/// With --json the result is one JSON object on standard output: observed (what was looked at),
/// level_estimates, total_patterns, bytes; each figure with value, low, high and method.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    /// The corpus; see below. Default: this repository's README and docs.
    #[arg(value_name = "SOURCE", conflicts_with = "from_run")]
    sources: Vec<PathBuf>,
    /// Documents of the run.
    #[arg(
        long = "documents",
        alias = "samples",
        value_name = "N",
        required_unless_present = "text_size"
    )]
    samples: Option<NonZeroU64>,
    /// Size of the run's text: closer than a number of documents, as these differ in length.
    #[arg(long, value_name = "SIZE", conflicts_with = "from_run")]
    text_size: Option<ByteSize>,
    /// Look at so many documents of the corpus at most.
    #[arg(
        long = "max-documents",
        alias = "look-at",
        value_name = "N",
        default_value = "20000"
    )]
    look_at: NonZeroU64,
    /// Decides which documents those are. From standard input they are the first.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Estimate from a finished run instead, by the directory of its knowledge base. Of several,
    /// with the same levels and rules, the largest counts, and the others tell the error.
    #[arg(long, value_name = "DIR")]
    from_run: Vec<PathBuf>,
    #[command(flatten)]
    learning: LearningArgs,
    /// The store whose bytes are told.
    #[arg(long, value_name = "STORE", value_enum, default_value_t = Engine::Embedded)]
    engine: Engine,
    /// For embedded: learning threads of the run. Each leaves a part of its own, and a pattern may
    /// be in several. Default: one per core.
    #[arg(long, value_name = "N|auto", value_parser = machine::parse_threads)]
    workers: Option<NonZeroUsize>,
    /// For embedded: the run's memory for what is not yet written. Default as that of `kato
    /// train`.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = crate::byte_size::memory)]
    memory: ByteSize,
    /// For embedded: the size after its parts are merged into one, the least that it can be.
    #[arg(long)]
    compact: bool,
    /// How distinct patterns are estimated.
    #[arg(long, value_name = "LAW", value_enum, default_value_t = Law::Ensemble)]
    model: Law,
    /// Share of cases in which the intervals are to hold the truth.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    confidence: f64,
    /// Estimate however far the target is from what was looked at.
    #[arg(long)]
    force: bool,
    /// Write plots of growth and of frequencies, as SVG, into this directory.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Engine {
    /// A directory, as `kato train` makes by default.
    Embedded,
    /// A MongoDB, as `kato train --backend mongodb:` fills it; data and indexes, before
    /// compression.
    Mongodb,
    /// A stock KATO's MongoDB; data before compression, without indexes.
    StockKato,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Law {
    /// Several laws of growth together.
    Ensemble,
    /// Pitman and Yor's process, by maximum likelihood.
    PitmanYor,
    /// By the share of patterns that were learned once.
    Slope,
    /// Heaps' law, from the growth within the sample.
    Heaps,
    /// No further repeats: an upper bound.
    Linear,
}

impl Law {
    /// Returns the single law that this names; `None` for several together.
    fn growth_law(self) -> Option<GrowthLaw> {
        match self {
            Self::PitmanYor => Some(GrowthLaw::PitmanYor),
            Self::Slope => Some(GrowthLaw::Slope),
            Self::Heaps => Some(GrowthLaw::Heaps),
            Self::Linear => Some(GrowthLaw::Linear),
            Self::Ensemble => None,
        }
    }
}

/// Runs `kato estimate` and returns its exit code.
pub(crate) fn main(args: &mut Args) -> ExitCode {
    let checked = args.source.check(&mut program::subcommand("estimate"));
    checked.unwrap_or_else(|error| error.exit());
    let stop = StopSignal::default();
    exit_code(run(args, &stop))
}

/// Estimates, and shows the estimate.
fn run(args: &mut Args, stop: &StopSignal) -> Result<()> {
    stop_on_interrupt(stop.clone());
    let learner = args.learning.learner(Recording::default())?;
    if let Some(dir) = &args.plot {
        check_directory("--plot", dir)?;
    }
    let is_sampled = args.from_run.is_empty();
    let (calibration, whole_corpus) = match is_sampled {
        true => from_sample(args, &learner, stop)?,
        false => (from_runs(&args.from_run)?, false),
    };
    let observed = Observed::of(&calibration, whole_corpus);
    let mut builder = StorageEstimator::builder().with_calibration(calibration);
    if let Some(law) = args.model.growth_law() {
        builder = builder.with_law(law);
    }
    let estimator = builder
        .with_engine(match args.engine {
            // After a merge there is one part, however many workers and commits the run has had.
            Engine::Embedded if args.compact => StorageEngine::embedded(),
            Engine::Embedded => {
                let workers = args.workers.unwrap_or_else(threads).get() as u64;
                StorageEngine::embedded_of_run(workers, args.memory.0)
            }
            Engine::Mongodb => StorageEngine::mongodb(),
            Engine::StockKato => StorageEngine::stock_kato(),
        })
        .with_confidence(args.confidence)
        .with_force(args.force)
        .build()?;
    let target = match (args.samples, args.text_size) {
        (None, None) => bail_as!(Usage, "say how large the run is: --documents N"),
        (Some(samples), None) => Target::samples(samples.get()),
        (None, Some(size)) => Target::text_bytes(size.0),
        (Some(samples), Some(size)) => Target::samples(samples.get()).with_text_bytes(size.0),
    };
    let breakdown = estimator.estimate(target).map_err(|error| match &error {
        // What helps depends on where the figures come from, which the library does not know.
        EstimateError::TooFar { .. } if is_sampled => anyhow::Error::from(error).context(
            "look at more documents with --max-documents N, or estimate all the same with --force",
        ),
        EstimateError::TooFar { .. } => anyhow::Error::from(error)
            .context("take a longer run, or estimate all the same with --force"),
        _ => error.into(),
    })?;
    if let Some(dir) = &args.plot {
        breakdown.write_plots(dir)?;
    }
    let estimate = Estimate {
        observed,
        breakdown,
    };
    show(&estimate, args.json)
}

/// Looks at documents, and also says whether these are all.
fn from_sample(
    args: &mut Args,
    learner: &HierarchicalConceptLearner,
    stop: &StopSignal,
) -> Result<(Calibration, bool)> {
    let sources = match args.sources.is_empty() {
        false => args.sources.clone(),
        true => repository::own_text(),
    };
    if sources.is_empty() {
        bail!("this copy of the program has no text of its own: name a source");
    }
    // Standard input can be read once and in its own order only, so it is not shuffled.
    let is_stdin = sources.iter().any(|source| source.as_os_str() == "-");
    if !is_stdin {
        args.source.draw_by(args.seed);
    }
    let mut loader = args.source.resolve(&sources)?.builder().build()?;
    let mut meter = Meter::new(args.quiet);
    let sample = sample(&mut loader, learner, args.look_at, stop, &mut meter)?;
    // The last batch may hold documents that were not looked at any more.
    let all_looked_at = sample.documents == loader.counts().documents;
    let whole_corpus = all_looked_at && (loader.is_exhausted() || !is_stdin && ends(&mut loader));
    Ok((Calibration::from_sample(&sample), whole_corpus))
}

/// Returns whether no document follows: after the last one, a loader has not found the end yet.
fn ends(loader: &mut StreamingDatasetLoader) -> bool {
    // What cannot be read follows all the same. It is not waited for on standard input, where more
    // may come at any time.
    matches!(loader.next_batch(1), Ok(None)) && loader.is_exhausted()
}

/// Calibrates from finished runs; of several, the largest counts and the others show the error.
fn from_runs(dirs: &[PathBuf]) -> Result<Calibration> {
    let records = dirs
        .iter()
        .map(|dir| run_record(dir))
        .collect::<Result<Vec<_>>>()?;
    Ok(match records.as_slice() {
        [record] => Calibration::from_run(record)?,
        records => {
            let first = records.first().context("name a run")?;
            if let Some(at) = records
                .iter()
                // Runs with other levels or rules learn other patterns: their errors would say
                // nothing of this one.
                .position(|record| record.hierarchy != first.hierarchy)
            {
                bail_as!(
                    Usage,
                    "{} and {} have other levels or rules: estimate from one of them",
                    // Records are in the order of the directories, of which there are at least two
                    // here.
                    dirs[0].display(),
                    dirs[at].display()
                );
            }
            Calibration::from_history(records, &first.hierarchy)?
        }
    })
}
