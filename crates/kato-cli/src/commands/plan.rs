//! The command `kato plan`: what a run will take, on which machine, by when and for how much, from
//! short runs over a random part of its corpus.
//!
//! ```text
//! kato plan corpus.jsonl --text-size 1GB
//! kato plan corpus.jsonl --text-size 100GB --within 2h --budget 20 --report plan.html --out plan.json
//! kato train corpus.jsonl --kb my-kb --forecast plan.json
//! kato plan corpus.jsonl --text-size 20MB --backend mongodb://127.0.0.1:27017
//! ```

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use indicatif::HumanCount;
use kato_estimator::bytes::EmbeddedLayout;
use kato_estimator::{Calibration, StorageBreakdown, StorageEngine, StorageEstimator};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_planner::catalogue::Rented;
use kato_planner::recommend::Tenure;
use kato_planner::scaling::{Crossing, Law, Limit, Scaling, ScalingAnalyzer};
use kato_planner::{
    Catalogue, Forecast, ForecastValue, Forecaster, Interval, Recommendation, Requirements,
    RunCosts, recommend,
};
use kato_report::figures::bytes;
use kato_scheduler::{RunConfiguration, StopSignal, TrainingOptions};

use crate::backend::{Backend, MONGODB_URI};
use crate::byte_size::ByteSize;
use crate::estimation::{LookedAt, Wish, look_at};
use crate::exit::bail_as;
use crate::history::{ForetellArgs, RunFacts};
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::knowledge_base::directory;
use crate::learning::LearningArgs;
use crate::machine::{self, Machine};
use crate::memory_limit::default_budget;
use crate::meter::Meter;
use crate::notice::say;
use crate::numbers::{amount, counted};
use crate::pilot::{PilotCorpus, PilotStore};
use crate::planning::{
    Beside, Measured, MemoryLaw, Pilots, Plan, REACH, Target, TimeLaw, Written, beyond, fitted,
    interval, limits, measure, merging, page, part_bytes, shell,
};
use crate::repository::sources_or_own_text;
use crate::source::{SOURCE_HELP, SourceArgs, is_stdin, shown};
use crate::text_file::read_text;
use crate::writable::{check_replaceable, write_text};

/// Text of the largest pilot for each worker, within the bounds of [`pilot_bytes`].
const PILOT_BYTES_A_WORKER: u64 = 10_000_000;
/// Memory that a worker takes beside its share of what is learned and not yet written
/// (docs/benchmarks.md).
const MEMORY_A_WORKER: Interval = Interval {
    value: 35e6,
    low: 5e6,
    high: 70e6,
};

/// Plans a run before it is paid for: its time, its bytes and its money, on this machine and on
/// others, with intervals, and the command that does it.
///
/// Estimates bytes and patterns as `kato estimate` does, and trains random parts of the corpus, the
/// pilots, into knowledge bases that are thrown away: what they take tells time and memory.
/// Machines and prices come from a catalogue. The intervals are to hold the truth in 90 of 100
/// cases. That of the time widens beyond 200 times the pilots, where nothing says that it holds;
/// those of bytes and patterns widen beyond 200 times what was read.
///
/// With --backend mongodb:URI the pilots train into that MongoDB, each into a run of its own that
/// is deleted afterwards, and no other machine is recommended.
///
/// With --json the plan is one JSON object on standard output: forecast (made_by; seconds,
/// disk_bytes, memory_bytes, index_seconds and others, each with value, low and high), patterns,
/// law, on_the_way, recommendation with options and changes, assumptions, command, made_for
/// (settings and corpus of the run), sources, target, extrapolation (how many times the largest
/// pilot that is), pilots and schema. --out writes the same to a file, for `kato train --forecast`.
///
/// It is done (exit code 0) also where no machine does it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    /// The corpus; see below. Default: this repository's README and docs.
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Size of the run's text: 1GB, 1TB. Default: that of the corpus.
    #[arg(long = "text-size", alias = "target", value_name = "SIZE", value_parser = crate::byte_size::above_zero)]
    target: Option<ByteSize>,
    /// Documents of the run, instead of a size.
    #[arg(long = "documents", alias = "samples", value_name = "N", conflicts_with = "target", value_parser = crate::numbers::from_one::<u64>)]
    samples: Option<u64>,
    /// Time in which it is to be done: 90s, 30min, 24h, 2days.
    #[arg(long, value_name = "TIME", value_parser = crate::numbers::time_above_zero)]
    within: Option<Duration>,
    /// For embedded: money for it, in USD: the rent, or the price of the machine.
    #[arg(long, value_name = "USD", value_parser = amount)]
    budget: Option<f64>,
    /// For embedded: only machines that are rented, or bought. This one is always considered.
    #[arg(long, value_name = "HOW", value_enum)]
    place: Option<PlaceArg>,
    /// For embedded: TOML file of machines and prices. Default: those that come along.
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Text of the pilots at most. Default: 10MB a worker, from 20MB to 320MB, and 500kB for a
    /// MongoDB.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::above_zero)]
    pilot: Option<ByteSize>,
    /// Read the corpus so long, for bytes and patterns; small files may be read to their end.
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "10s",
        value_parser = crate::numbers::time
    )]
    time: Duration,
    /// How often each size is trained. Default: 5, and 2 for a MongoDB.
    #[arg(long, value_name = "N")]
    repeat: Option<NonZeroUsize>,
    /// Decides which documents the pilots train, unless --shuffle does, and the order of the pilots.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "shuffle"
    )]
    seed: u64,
    #[command(flatten)]
    learning: LearningArgs,
    /// Learning threads of the run. Default: one per core.
    #[arg(long, value_name = "N|auto", value_parser = machine::parse_threads)]
    workers: Option<NonZeroUsize>,
    /// The run's memory for what is learned and not yet written.
    /// Default as that of `kato train`.
    #[arg(long, value_name = "SIZE", value_parser = crate::byte_size::memory)]
    memory: Option<ByteSize>,
    /// For embedded: plan the index and the counts of the head of `kato train --index`, too.
    #[arg(long)]
    index: bool,
    /// For embedded: plan what `kato train --occurrences` keeps, too.
    #[arg(long)]
    occurrences: bool,
    /// Where the run's knowledge goes: embedded:DIR (default embedded:kato-kb), or mongodb:URI for
    /// KATO's database layout in a MongoDB (mongodb alone takes the URI from KATO_MONGODB_URI).
    #[arg(long, value_name = "BACKEND")]
    backend: Option<Backend>,
    /// Directory of the run's knowledge base: the same as --backend embedded:DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "backend", value_parser = directory())]
    kb: Option<PathBuf>,
    /// Write the plan as a page of HTML with plots.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the plan as JSON, for `kato train --forecast`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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
    /// The options of reading as they were given, for the command that does the run.
    #[arg(skip)]
    pub(crate) reading: Vec<String>,
}

impl Args {
    /// Returns the run's memory for what is learned and not yet written.
    fn memory(&self) -> u64 {
        self.memory.map_or_else(default_budget, |memory| memory.0)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlaceArg {
    /// By the hour.
    Rented,
    /// Once.
    Bought,
}

/// Plans, and shows the plan.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let stop = &stop_on_interrupt();
    for (option, file) in [("--out", &args.out), ("--report", &args.report)] {
        file.as_deref()
            .map_or(Ok(()), |file| check_replaceable(option, file))?;
    }
    args.foretell.check()?;
    let catalogue = catalogue(args)?;
    let (plan, time) = plan(args, &catalogue, stop)?;
    if let Some(file) = &args.out {
        let text = serde_json::to_string_pretty(&plan)? + "\n";
        write_text(file, &text)?;
    }
    if let Some(file) = &args.report {
        write_text(file, &page(&plan, time.of_all()))?;
    }
    show(&plan, args.json)
}

/// Reads the catalogue of machines.
fn catalogue(args: &Args) -> Result<Catalogue> {
    let Some(file) = &args.catalogue else {
        return Ok(Catalogue::builtin());
    };
    let shown = file.display();
    let text = read_text(file).with_context(|| format!("--catalogue {shown} cannot be read"))?;
    Catalogue::from_toml(&text).with_context(|| format!("--catalogue {shown}"))
}

/// Makes the pilots and what follows from them.
fn plan(args: &mut Args, catalogue: &Catalogue, stop: &StopSignal) -> Result<(Plan, TimeLaw)> {
    let store = store(args)?;
    let sources = sources_or_own_text(&args.sources)?;
    let learner = args.learning.learner(Recording::default())?;
    let drawn = Drawn::draw(args, &sources, &store, &learner, stop)?;
    let (args, corpus) = (&*args, &drawn.corpus);
    // The command is that of the user, without the order in which pilots are drawn.
    let sources: Vec<String> = sources.iter().map(|source| shown(source)).collect();
    let flags = flags(args, drawn.workers);
    let mut target = target(args, &drawn)?;
    let facts = drawn.facts(args, &target);
    let far = far_away(&target, &drawn);
    if let Some(far) = &far {
        announce(args, far);
    }
    let is_embedded = store == PilotStore::Embedded;
    let pilots = Pilots {
        repeats: args.repeat.map_or(drawn.repeats, NonZeroUsize::get),
        seed: args.seed,
        flags: flags.clone(),
        store,
    };
    let (mut measured, memory) = train_pilots(args, corpus, &pilots, stop)?;

    let workers = drawn.workers.get() as u64;
    let estimator = StorageEstimator::builder()
        .with_calibration(Calibration::from_sample(&drawn.looked.sample))
        .with_engine(engine(args, workers, is_embedded, &measured))
        // However far away: the interval says so.
        .with_force(true)
        .build()?;
    let stored = estimator.estimate(drawn.to_store(args, target.text_bytes))?;
    let beyond_look = beyond(stored.extrapolation);
    let patterns = stored.total_patterns.interval().widened(beyond_look);
    let disk = match is_embedded {
        true => stored.bytes.interval(),
        false => stored_in_server(&estimator, &stored, &mut target, corpus, &mut measured)?,
    };
    let disk = disk.widened(beyond_look);
    let time = TimeLaw::fit(&measured)?;
    let run = Run {
        disk,
        patterns,
        merging: merging(
            &measured,
            target.text_bytes,
            stored.merged,
            Machine::here().threads,
        ),
        beside: match is_embedded {
            true => Beside::of(&measured, patterns, target.text_bytes, args.index),
            false => Beside::default(),
        },
        memory,
        workers,
    };
    // A server merges nothing, and does not tell how much room it has.
    let limits = match is_embedded {
        true => limits_here(args, &time, &target, &run)?,
        false => Vec::new(),
    };
    let forecast = forecast(args, &time, &target, &run)?;
    let forecast = args.foretell.foretell(forecast, Some(&facts))?;
    let recommendation = match is_embedded {
        true => machines(args, catalogue, &forecast, &measured, target, &run)?,
        false => only_here(args, &forecast)?,
    };
    let plan = Plan {
        schema: 1,
        command: command(args, &sources, flags),
        made_for: facts,
        sources,
        target,
        extrapolation: target.text_bytes / corpus.total_bytes().max(1) as f64,
        forecast,
        patterns,
        law: time.in_words(drawn.larger_pilots()),
        on_the_way: on_the_way(disk, &target, &limits),
        assumptions: assumptions(args, &drawn, far.as_deref(), stored.merged, &run),
        recommendation,
        pilots: measured,
    };
    Ok((plan, time))
}

/// The part of the corpus that pilots train, and how.
struct Drawn {
    corpus: PilotCorpus,
    /// What was found in as much of it as a person waits for.
    looked: LookedAt,
    workers: NonZeroUsize,
    /// How often each size is trained where the user does not say.
    repeats: usize,
    /// What the run is known by.
    facts: RunFacts,
    /// The size of the whole corpus; `None` where its files do not tell.
    whole: Option<kato_estimator::Target>,
}

impl Drawn {
    /// Draws documents of the corpus.
    fn draw(
        args: &mut Args,
        sources: &[PathBuf],
        store: &PilotStore,
        learner: &HierarchicalConceptLearner,
        stop: &StopSignal,
    ) -> Result<Self> {
        // Before the order in which pilots are drawn: a run has its own.
        let unordered = args.source.clone();
        // Standard input can be read once and in its own order only.
        let is_stdin = sources.iter().any(|source| is_stdin(source));
        if !is_stdin {
            args.source.draw_by(args.seed);
        }
        let mut loader = args.source.resolve(sources)?.loader()?;
        let workers = args.workers.unwrap_or_else(machine::threads);
        // A MongoDB takes as long for 500 kB as a directory for some gigabytes.
        let (most_bytes, repeats) = match store {
            PilotStore::Embedded => (pilot_bytes(workers), 5),
            PilotStore::Mongodb { .. } => (500_000, 2),
        };
        let most_bytes = args.pilot.map_or(most_bytes, |size| size.0);
        let corpus = PilotCorpus::draw(&mut loader, most_bytes, stop)?;
        let wish = Wish {
            documents: None,
            time: args.time,
            seed: args.seed,
            workers: workers.get() as u64,
            memory: args.memory(),
            is_of_other_size: args.target.is_some() || args.samples.is_some() || is_stdin,
        };
        let mut meter = Meter::new(args.quiet);
        // What came by standard input stands in the pilots' file alone.
        let looked = match is_stdin {
            true => {
                let source = SourceArgs::of_own_file();
                look_at(&source, &[corpus.path()], learner, wish, stop, &mut meter)?
            }
            false => look_at(&unordered, sources, learner, wish, stop, &mut meter)?,
        };
        // The run reads standard input, and not that file.
        let of_stdin = is_stdin.then(|| loader.identity());
        let identity = of_stdin.as_ref().unwrap_or(&looked.identity);
        let configuration = RunConfiguration::from_learner(learner);
        let facts = RunFacts::new(&configuration, identity, sources, args.memory());
        let documents = corpus.n_documents() as u64;
        Ok(Self {
            whole: match corpus.is_whole {
                true => Some(
                    kato_estimator::Target::samples(documents)
                        .with_text_bytes(corpus.total_bytes()),
                ),
                false => looked.size.filter(|_| !is_stdin),
            },
            corpus,
            looked,
            workers,
            repeats,
            facts,
        })
    }

    /// Returns what the run is known by.
    fn facts(&self, args: &Args, target: &Target) -> RunFacts {
        let facts = self.facts.clone().with_workers(self.workers);
        RunFacts {
            backend: backend(args).kind(),
            is_part: args.source.reads_a_part(),
            ..facts.scaled(self.whole_text().map(|whole| target.text_bytes / whole))
        }
    }

    /// Says how pilots become larger, where they can.
    const fn larger_pilots(&self) -> &'static str {
        match self.corpus.is_whole {
            true => "the corpus has no text for larger ones",
            false => "give --pilot more",
        }
    }

    /// Returns the bytes of text of the whole corpus.
    fn whole_text(&self) -> Option<f64> {
        Some(self.whole?.text_bytes? as f64)
    }

    /// Returns the size of what the run stores: of a whole corpus with its documents, where it tells them.
    fn to_store(&self, args: &Args, text_bytes: f64) -> kato_estimator::Target {
        let is_all = args.target.is_none() && args.samples.is_none();
        let whole = self
            .whole
            .filter(|whole| is_all && whole.text_bytes.is_some());
        whole.unwrap_or_else(|| kato_estimator::Target::text_bytes(text_bytes as u64))
    }
}

/// Says before the pilots how large they would have to be.
fn announce(args: &Args, far: &str) {
    if !args.quiet {
        say(far);
    }
}

/// Trains the pilots, those that tell time and then those that tell memory, and shows how far they are.
fn train_pilots(
    args: &Args,
    corpus: &PilotCorpus,
    pilots: &Pilots,
    stop: &StopSignal,
) -> Result<(Vec<Measured>, Option<MemoryLaw>)> {
    let mut meter = Meter::new(args.quiet);
    let outcome = measure(corpus, pilots, stop, &mut meter).and_then(|measured| {
        let budget = args.memory();
        let memory = MemoryLaw::measure(corpus, pilots, &measured, budget, stop, &mut meter)?;
        Ok((measured, memory))
    });
    meter.finish();
    outcome
}

/// Returns the flags of the command that does the run.
fn flags(args: &Args, workers: NonZeroUsize) -> Vec<String> {
    let mut flags = args.learning.to_flags();
    flags.extend(["--workers".to_owned(), workers.to_string()]);
    flags.extend(["--memory".to_owned(), args.memory().to_string()]);
    let asked = [(args.index, "--index"), (args.occurrences, "--occurrences")];
    flags.extend(
        asked
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, flag)| flag.to_owned()),
    );
    flags
}

/// Returns what the run is stored by.
fn engine(args: &Args, workers: u64, is_embedded: bool, measured: &[Measured]) -> StorageEngine {
    if !is_embedded {
        return StorageEngine::mongodb();
    }
    let mut layout = EmbeddedLayout::of_run(workers, args.memory());
    // The fastest pilot says what is learned between two commits, which come by the clock.
    let rates = measured
        .iter()
        .map(|pilot| pilot.tokens as f64 / pilot.growing_seconds());
    let fastest = rates.filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    let interval = TrainingOptions::default().commit_interval;
    if fastest > 0.0 {
        layout.commit_tokens = Some(fastest * interval.as_secs_f64());
    }
    StorageEngine::Embedded(layout)
}

/// Returns what changes on this machine as the run grows, by the bytes of its store.
fn limits_here(args: &Args, time: &TimeLaw, target: &Target, run: &Run) -> Result<Vec<Limit>> {
    let stored = run.disk.value;
    let a_second = stored / time.seconds(target.size())?.value;
    // A full disk holds what lies beside the store, too.
    let share = stored / run.disk.plus(run.beside.bytes()).value.max(1.0);
    let free = free_disk(args).map(|free| (free as f64 * share) as u64);
    Ok(limits(args.memory(), run.workers, a_second, free))
}

/// Returns the bytes of a run into a server, by what it took for the pilots; adds the upserts of the run
/// and of the pilots.
fn stored_in_server(
    estimator: &StorageEstimator,
    stored: &StorageBreakdown,
    target: &mut Target,
    corpus: &PilotCorpus,
    measured: &mut [Measured],
) -> Result<Interval> {
    let foretold = of_text(estimator, corpus.total_bytes() as f64)?;
    let foretold = foretold.bytes.interval();
    let disk = corrected(stored.bytes.interval(), foretold, measured, corpus);
    target.upserts = Some(upserts(stored));
    for pilot in measured {
        pilot.upserts = Some(upserts(&of_text(estimator, pilot.text_bytes as f64)?));
    }
    Ok(disk)
}

/// Returns what is stored of so much text.
fn of_text(estimator: &StorageEstimator, text_bytes: f64) -> Result<StorageBreakdown> {
    let target = kato_estimator::Target::text_bytes(text_bytes as u64);
    Ok(estimator.estimate(target)?)
}

/// What follows for the run from what is stored of it.
struct Run {
    disk: Interval,
    patterns: Interval,
    /// Seconds that merging adds.
    merging: Interval,
    beside: Beside,
    memory: Option<MemoryLaw>,
    workers: u64,
}

/// Returns what the run takes here.
fn forecast(args: &Args, time: &TimeLaw, target: &Target, run: &Run) -> Result<Forecast> {
    // What the workers wrote last is not on the disk yet when all is learned.
    let last = run.disk.value.min(part_bytes(args.memory()));
    let seconds = time.seconds(target.size())?.plus(run.merging);
    let Beside {
        index,
        head,
        occurrences,
    } = run.beside;
    let indexed = index.map(|_| run.patterns.value);
    let memory = run.memory.map(|law| law.at(target.text_bytes, indexed));
    let bytes_of = |written: Option<Written>| Some(written?.bytes.into());
    let seconds_of = |written: Option<Written>| Some(written?.seconds?.into());
    Ok(Forecast {
        made_by: Some(Forecaster::Plan),
        seconds: Some(seconds.plus(time.last_flush(last)).into()),
        disk_bytes: Some(run.disk.into()),
        memory_bytes: memory.map(Into::into),
        index_seconds: seconds_of(index),
        index_bytes: bytes_of(index),
        head_seconds: seconds_of(head),
        head_bytes: bytes_of(head),
        occurrences_seconds: seconds_of(occurrences),
        occurrences_bytes: bytes_of(occurrences),
    })
}

/// Returns where on the way to the end of the run limits are met.
fn on_the_way(disk: Interval, target: &Target, limits: &[Limit]) -> Vec<Crossing> {
    // Bytes grow nearly as the text does, so the limits are met where the text is as much larger.
    let crossings = bytes_law(disk.value / target.text_bytes, target)
        .map(|law| law.crossings(limits))
        .unwrap_or_default();
    let is_before = |at: f64| at <= target.text_bytes;
    crossings
        .into_iter()
        .filter(|crossing| crossing.expected.is_some_and(is_before))
        .collect()
}

/// Returns the bytes of text of the largest pilot: as many workers as a machine has learn 20 MB
/// before one of them is done warming up. More than 32 workers' would be long to draw.
fn pilot_bytes(workers: NonZeroUsize) -> u64 {
    (PILOT_BYTES_A_WORKER * workers.get() as u64).clamp(20_000_000, 320_000_000)
}

/// Returns the place that the run's knowledge goes to, by default the directory `kato-kb`.
fn backend(args: &Args) -> Backend {
    let kb = || args.kb.clone().unwrap_or_else(|| PathBuf::from("kato-kb"));
    let named = args.backend.clone();
    named.unwrap_or_else(|| Backend::Embedded(kb()))
}

/// Returns the store that pilots train into.
fn store(args: &Args) -> Result<PilotStore> {
    Ok(match backend(args) {
        Backend::Embedded(_) => PilotStore::Embedded,
        Backend::Mongodb(uri) => PilotStore::Mongodb { uri },
        // No pilot is taught to the nodes of a server.
        Backend::Kato(_) => bail_as!(
            Usage,
            "pilots would teach the nodes of a KATO server: measure it with `kato bench`, or record runs with `kato train --history` and ask `kato history forecast`"
        ),
    })
}

/// Returns the command that does the run, as a shell reads it.
fn command(args: &Args, sources: &[String], flags: Vec<String>) -> String {
    let mut command = vec!["kato".to_owned(), "train".to_owned()];
    command.extend(sources.iter().cloned());
    match backend(args) {
        Backend::Embedded(dir) => command.extend(["--kb".to_owned(), dir.display().to_string()]),
        // Whoever reads a plan must not read a password; what the user set is still set.
        Backend::Mongodb(uri) if has_password(&uri) => {
            command.extend(["--backend", "mongodb"].map(str::to_owned));
        }
        Backend::Mongodb(address) | Backend::Kato(address) => {
            command.extend(["--backend".to_owned(), address]);
        }
    }
    command.extend(flags);
    command.extend(args.reading.iter().cloned());
    if let Some(out) = &args.out {
        command.extend(["--forecast".to_owned(), out.display().to_string()]);
    }
    shell(&command)
}

/// Returns whether an address may hold a password.
fn has_password(uri: &str) -> bool {
    uri.contains('@')
}

/// Corrects the bytes of a run in a MongoDB by what the largest pilots took against what was
/// foretold of them: servers differ in how they store and compress.
fn corrected(
    disk: Interval,
    foretold: Interval,
    measured: &[Measured],
    corpus: &PilotCorpus,
) -> Interval {
    let largest = measured
        .iter()
        .filter(|pilot| pilot.text_bytes == corpus.total_bytes());
    let taken: Vec<f64> = largest
        .filter_map(|pilot| pilot.disk_bytes.map(|bytes| bytes as f64))
        .collect();
    if taken.is_empty() || foretold.value <= 0.0 {
        return disk;
    }
    let mean = taken.iter().sum::<f64>() / taken.len() as f64;
    disk.scaled(mean / foretold.value)
}

/// Returns the upserts of one commit into a MongoDB: each pattern and each symbol of a node is one,
/// however often it was learned.
fn upserts(breakdown: &StorageBreakdown) -> f64 {
    let levels = breakdown.level_estimates.iter();
    levels
        .map(|level| level.contents.patterns + level.contents.distinct_symbols)
        .sum()
}

/// Says how large pilots would have to be for a run that is far away; `None` for one that is not.
fn far_away(target: &Target, drawn: &Drawn) -> Option<String> {
    let corpus = &drawn.corpus;
    let times = target.text_bytes / corpus.total_bytes().max(1) as f64;
    if times <= REACH {
        return None;
    }
    let needed = target.text_bytes / REACH;
    // Pilots end in front of the document that would be more than they may have.
    let most = (needed + corpus.largest() as f64).ceil();
    let way = match drawn.whole_text() {
        Some(whole) if whole < needed => "which is more text than the corpus has".to_owned(),
        Some(_) => format!("which --pilot {most:.0} makes"),
        None => format!("which --pilot {most:.0} makes if the corpus has as much text"),
    };
    Some(format!(
        "the run is {} times the pilots of {}, and intervals widen beyond {REACH} times: that takes pilots of {}, {way}",
        HumanCount(times as u64),
        bytes(corpus.total_bytes() as f64),
        bytes(needed),
    ))
}

/// Returns the size of the run in both units.
fn target(args: &Args, drawn: &Drawn) -> Result<Target> {
    let corpus = &drawn.corpus;
    let a_document = corpus.total_bytes() as f64 / corpus.n_documents() as f64;
    let size = args.target.map(|size| size.0 as f64);
    let target = match (size.or(drawn.whole_text()), args.samples) {
        (Some(text_bytes), None) => Target {
            text_bytes,
            samples: match drawn.to_store(args, text_bytes).samples {
                Some(documents) => documents as f64,
                None => (text_bytes / a_document).ceil(),
            },
            upserts: None,
        },
        (_, Some(samples)) => Target {
            text_bytes: samples as f64 * a_document,
            samples: samples as f64,
            upserts: None,
        },
        (None, None) => bail_as!(
            Usage,
            "the corpus does not tell how large it is: say it with --text-size 1GB or --documents N"
        ),
    };
    if target.text_bytes < 1.0 {
        bail_as!(
            Usage,
            "a run of no text takes no time: give --text-size a size"
        );
    }
    Ok(target)
}

/// Returns the law as bytes on the disk grow with text, to find where limits are met.
fn bytes_law(a_byte: f64, target: &Target) -> Option<Scaling> {
    let sizes = [
        target.text_bytes / 1e4,
        target.text_bytes / 1e2,
        target.text_bytes,
    ];
    let points = sizes.map(|size| (size, size * a_byte));
    ScalingAnalyzer::new()
        .with_laws([Law::Linear])
        .fit(points)
        .ok()
}

/// Returns the bytes that are free where the knowledge base will be; `None` where that is not
/// known.
fn free_disk(args: &Args) -> Option<u64> {
    let Backend::Embedded(dir) = backend(args) else {
        return None;
    };
    let place = std::path::absolute(&dir).ok()?;
    let there = place.ancestors().find(|ancestor| ancestor.exists())?;
    machine::free_disk(there)
}

/// Recommends machines, this one among them.
fn machines(
    args: &Args,
    catalogue: &Catalogue,
    forecast: &Forecast,
    measured: &[Measured],
    target: Target,
    run: &Run,
) -> Result<Recommendation> {
    let (beside, workers) = (run.beside, run.workers);
    let here = Machine::here();
    let threads = here.threads.min(workers).max(1);
    // The threads of the run for its time. They were slowed down by each other here
    // as they will be elsewhere, which is what their worth of 0.9 takes back.
    let together = if threads > 1 { 0.9 } else { 1.0 };
    let nothing = Interval::exact(0.0);
    let seconds = foretold(forecast.seconds).unwrap_or(nothing);
    let core_seconds = seconds.scaled(threads as f64 * together);
    let analyzer = ScalingAnalyzer::new()
        .with_laws([Law::Linear])
        .with_force(true);
    let reader = fitted(&analyzer, measured, |pilot| Some(pilot.reader_seconds));
    let reader = reader
        .and_then(|law| law.predict(target.text_bytes).ok())
        .map(interval);
    let disk = foretold(forecast.disk_bytes).unwrap_or(nothing);
    let disk = disk.plus(beside.bytes());
    let memory = foretold(forecast.memory_bytes).unwrap_or(Interval::around(600e6, 0.3));
    let costs = RunCosts::new(core_seconds, disk)
        .with_reader_seconds(reader.unwrap_or(nothing))
        // As long as here, however many threads a machine has.
        .with_fixed_seconds(beside.seconds())
        // With merges, what is kept was written more than once.
        .with_written_bytes(Interval::new(disk.value, disk.low, 2.0 * disk.high))
        .with_memory(
            memory.minus(MEMORY_A_WORKER.scaled(workers.saturating_sub(1) as f64)),
            MEMORY_A_WORKER,
        );
    let gigabytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e9);
    let (memory_gb, disk_gb) = (gigabytes(here.memory_bytes), gigabytes(free_disk(args)));
    let here = Rented::owned("this machine", threads, memory_gb, disk_gb).with_speed(1.0);
    Ok(recommend(
        &costs,
        &wanted(args),
        &catalogue.clone().with_machine(here),
    )?)
}

/// Returns a number of a forecast with its interval.
fn foretold(value: Option<ForecastValue>) -> Option<Interval> {
    value.map(Interval::from)
}

/// Returns what is wanted of the run.
fn wanted(args: &Args) -> Requirements {
    let mut wanted = Requirements::new();
    wanted.hours = args.within.map(|within| within.as_secs_f64() / 3600.0);
    wanted.budget_usd = args.budget;
    wanted.place = args.place.map(|place| match place {
        PlaceArg::Rented => Tenure::Rented,
        PlaceArg::Bought => Tenure::Bought,
    });
    wanted
}

/// Says whether a run into a server is done in time from here; no other machine was measured with
/// that server.
fn only_here(args: &Args, forecast: &Forecast) -> Result<Recommendation> {
    let nothing = Interval::exact(0.0);
    let memory = foretold(forecast.memory_bytes).unwrap_or(nothing);
    let seconds = foretold(forecast.seconds).unwrap_or(nothing);
    let costs = RunCosts::new(nothing, nothing)
        .with_fixed_seconds(seconds)
        .with_memory(memory, nothing);
    let here = Machine::here();
    let memory_gb = here.memory_bytes.map(|bytes| bytes as f64 / 1e9);
    // The server's disk, which it does not tell, is what fills.
    let here =
        Rented::owned("this machine", here.threads.max(1), memory_gb, None::<f64>).with_speed(1.0);
    let catalogue = Catalogue::of_machine(here);
    Ok(recommend(&costs, &wanted(args), &catalogue)?)
}

/// Says what the figures rest on.
fn assumptions(
    args: &Args,
    drawn: &Drawn,
    far: Option<&str>,
    merged: f64,
    run: &Run,
) -> Vec<String> {
    let (corpus, looked, workers) = (&drawn.corpus, &drawn.looked, run.workers);
    let mut assumptions = vec![
        format!(
            "The corpus is like what was drawn from it: {} ({}){}.",
            counted(corpus.n_documents(), "document"),
            bytes(corpus.total_bytes() as f64),
            if corpus.is_whole {
                ", which are all that it has"
            } else {
                ""
            }
        ),
        match looked.whole_corpus {
            true => "Bytes and patterns are counted: all of the corpus was read.".to_owned(),
            false => format!(
                "Bytes and patterns are those of {} ({}) that were read; read more with --for TIME.",
                counted(looked.sample.documents, "document"),
                bytes(looked.sample.text_bytes as f64)
            ),
        },
        "Other programs take as much of this machine as during the pilots.".to_owned(),
    ];
    if let Some(far) = far {
        assumptions.push(format!("Nothing was measured as far away as this: {far}."));
    }
    match backend(args) {
        Backend::Mongodb(uri) => {
            let place = Backend::Mongodb(uri.clone());
            assumptions.push(format!(
                "{place} has as much to do for others as during the pilots, takes an upsert into large collections as quickly as into small ones, and stores a pattern as it stored theirs."
            ));
            if has_password(&uri) {
                assumptions.push(format!("The command takes the address from {MONGODB_URI}."));
            }
        }
        _ => assumptions.push(format!(
            "Every document costs the same, whatever came before it; the run has {} here, and one a thread elsewhere; the source is read as fast as the pilots' file.",
            counted(workers, "worker")
        )),
    }
    if merged > 0.0 {
        assumptions.push(format!(
            "Parts are merged: {:.0} % of what is learned is written once more, which adds {:.1} s. What merging a pattern costs beside writing it was measured once.",
            100.0 * merged, run.merging.value
        ));
    }
    if run
        .beside
        .index
        .is_some_and(|index| index.seconds.is_none())
    {
        assumptions.push(format!(
            "The pilots were too small for an index: the time that it takes is not told; {}.",
            drawn.larger_pilots()
        ));
    }
    let Beside {
        head, occurrences, ..
    } = run.beside;
    for (is_asked_for, written, what) in [
        (args.index, head, "the counts of the head"),
        (args.occurrences, occurrences, "the occurrences"),
    ] {
        if is_asked_for && written.is_none() {
            assumptions.push(format!("The pilots are too near to each other in size to tell {what}, which are in no figure; {}.", drawn.larger_pilots()));
        }
    }
    assumptions
}
