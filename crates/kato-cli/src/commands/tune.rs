//! The command `kato tune`: which settings suit a corpus, by training a part of it with each.
//!
//! ```text
//! kato tune corpus.jsonl --try 8,8 --try 15          # and 5,7,9, the levels of `kato train`
//! kato tune corpus.jsonl --depths 1,2,3 --chunks 5,8,15 --weight bits=2 --journal trials.jsonl
//! ```

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result};
use kato_learner::config::Recording;
use kato_planner::PlanError;
use kato_planner::halving::{Criterion, Halving};
use kato_scheduler::{RunConfiguration, StopSignal};

use crate::byte_size::ByteSize;
use crate::exit::bail_as;
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::learning::LearningArgs;
use crate::machine;
use crate::meter::Meter;
use crate::numbers::depth;
use crate::pilot::PilotCorpus;
use crate::repository::sources_or_own_text;
use crate::source::{SOURCE_HELP, SourceArgs, is_stdin};
use crate::tuning::{Configuration, Journal, MEASURES, QUALITY, Row, Trials, Tuning, page};
use crate::unused;
use crate::writable::{check_replaceable, write_text};

/// Compares settings by training a random part of the corpus with each, and ranks them.
///
/// Every configuration is really trained, in a process of its own, into a knowledge base that is
/// thrown away; quality is measured on documents that none has seen. Configurations are the
/// --levels, every --try, and every depth of --depths with every chunk size of --chunks, each with
/// every number of --workers and every --memory.
///
/// Each round has four times the text of the one before. After each the best quarter stays, and
/// those that can hardly be told from it, up to a third of all, both rounded up. --rounds 1 tries
/// everything with all the text.
///
/// The score is the weighted geometric mean of what --weight names: rate (documents a second), bits
/// (a token of text not seen), accuracy (of the next token), coverage (chunks known), bytes,
/// patterns, memory, seconds; against the best of the same round.
///
/// With --json one JSON object on standard output: criteria, rule, ranking with levels, workers,
/// memory, score, error, share, is_on_front and measures; text_bytes, held_out_documents, trials,
/// resumed (those of --journal) and schema. Progress goes to standard error.
///
/// With --journal the same command goes on where it was interrupted (exit code 130), as far as
/// texts, rules and machine are the same.
#[derive(Debug, clap::Args)]
#[command(after_long_help = SOURCE_HELP)]
pub(crate) struct Args {
    /// The corpus; see below. Default: this repository's README and docs.
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Chunk sizes to try beside those of --levels; can be given several times.
    #[arg(long = "try", value_name = "N,…")]
    tries: Vec<String>,
    /// Numbers of levels to try with every one of --chunks.
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "chunks", value_parser = depth)]
    depths: Vec<usize>,
    /// Chunk sizes, the same on all levels, to try with every one of --depths.
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "depths", value_parser = symbols)]
    chunks: Vec<usize>,
    /// Numbers of workers to try. Default: one per core.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = machine::parse_threads)]
    workers: Vec<NonZeroUsize>,
    /// Memories to try.
    #[arg(
        long,
        value_name = "SIZE,…",
        value_delimiter = ',',
        default_value = "256MiB",
        value_parser = crate::byte_size::memory
    )]
    memory: Vec<ByteSize>,
    /// What counts, and how much: NAME=WEIGHT; can be given several times. Default: rate=1 and
    /// bits=4, and rate alone with --questions 0.
    #[arg(long, value_name = "NAME=W", value_parser = criterion)]
    weight: Vec<Criterion>,
    /// Text of the largest trials at most; one document at least.
    #[arg(
        long = "text-size",
        alias = "text",
        value_name = "SIZE",
        default_value = "8MB",
        value_parser = crate::byte_size::above_zero
    )]
    text: ByteSize,
    /// Text on which quality is measured.
    #[arg(long, value_name = "SIZE", default_value = "200kB", value_parser = crate::byte_size::above_zero)]
    held_out: ByteSize,
    /// Tokens whose prediction is tried in the last round; earlier ones try fewer. 0 measures no
    /// quality.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    questions: u64,
    /// Rounds of successive halving.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=8))]
    rounds: u32,
    /// How often each trial is made.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = crate::numbers::from_one::<u32>)]
    repeat: u32,
    /// Decides which documents are trained and asked, unless --shuffle does, and the order of trials.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "shuffle"
    )]
    seed: u64,
    /// Remember trials in this file, and make none again that it has.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Write a page of HTML with plots.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    learning: LearningArgs,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// The rule, for the answer.
const RULE: &str = "Of each round the best quarter goes on, and what cannot be told from its last by twice the standard error, but at most a third, rounded up.";

/// Tries all, and shows the ranking.
pub(crate) fn run(args: &mut Args) -> Result<()> {
    let stop = &stop_on_interrupt();
    if let Some(file) = &args.report {
        check_replaceable("--report", file)?;
    }
    let configurations = configurations(args)?;
    let criteria = criteria(args)?;
    let mut trials = trials(args, stop)?;
    let halving = Halving::new(criteria.clone())
        .with_rounds(args.rounds)
        .with_repeats(args.repeat)
        .with_seed(args.seed);
    let mut meter = Meter::new(args.quiet);
    let mut done = 0;
    let ranking = halving.run(configurations.len(), |configuration, share, repeat| {
        let configuration = configurations.get(configuration);
        let configuration = configuration.context("a configuration has no number")?;
        let trial = trials.try_out(configuration, share, repeat, stop)?;
        done += 1;
        meter.update(done, None, || {
            vec![format!(
                "trial {done}: {} with {:.1} % of the text",
                configuration.name(),
                100.0 * share
            )]
        });
        Ok::<_, Failed>(trial)
    });
    meter.finish();
    let ranking = ranking.map_err(|Failed(error)| error)?;
    let rows = ranking.ranked.into_iter().filter_map(|ranked| {
        Some(Row {
            configuration: configurations.get(ranked.configuration)?.clone(),
            score: ranked.score,
            error: ranked.error,
            share: ranked.share,
            is_on_front: ranked.is_on_front,
            measures: ranked.measures,
        })
    });
    let tuning = Tuning {
        schema: 1,
        criteria,
        text_bytes: trials.corpus.total_bytes(),
        held_out_documents: trials.held_out.n_documents(),
        trials: trials.made + trials.resumed,
        resumed: trials.resumed,
        rule: RULE.to_owned(),
        ranking: rows.collect(),
    };
    if let Some(file) = &args.report {
        write_text(file, &page(&tuning))?;
    }
    show(&tuning, args.json)
}

/// Returns what counts, by default the rate, and the bits where they are measured.
fn criteria(args: &Args) -> Result<Vec<Criterion>> {
    let is_of_quality = |one: &Criterion| QUALITY.contains(&one.measure.as_str());
    let mut criteria = match args.weight.as_slice() {
        [] => vec![
            Criterion::maximize("rate", 1.0),
            Criterion::minimize("bits", 4.0),
        ],
        given => given.to_vec(),
    };
    if args.questions == 0 {
        if args.weight.iter().any(is_of_quality) {
            let why = "--questions 0 measures neither bits nor accuracy nor coverage";
            unused::refuse("weight", why)?;
        }
        criteria.retain(|one| !is_of_quality(one));
    }
    if criteria.is_empty() {
        criteria.push(Criterion::maximize("rate", 1.0));
    }
    Ok(criteria)
}

/// An error of a trial or of the settings of halving.
struct Failed(anyhow::Error);

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl From<PlanError> for Failed {
    fn from(error: PlanError) -> Self {
        Self(error.into())
    }
}

/// Returns all configurations that are to be tried, each once.
fn configurations(args: &Args) -> Result<Vec<Configuration>> {
    let mut levels: Vec<Vec<usize>> = vec![args.learning.levels().to_vec()];
    for sizes in &args.tries {
        let parsed = sizes.split(',').map(|size| symbols(size.trim()));
        match parsed.collect::<Result<_, _>>() {
            Ok(parsed) => levels.push(parsed),
            Err(told) => bail_as!(Usage, "--try {sizes}: {told}"),
        }
    }
    for &depth in &args.depths {
        levels.extend(args.chunks.iter().map(|&chunk| vec![chunk; depth]));
    }
    let workers = match args.workers.is_empty() {
        true => vec![machine::threads()],
        false => args.workers.clone(),
    };
    let mut configurations: Vec<Configuration> = Vec::new();
    for levels in levels {
        // Refused here, and not after the first trials.
        let learner = args.learning.clone().with_levels(&levels);
        learner.learner(Recording::default())?;
        for workers in &workers {
            for memory in &args.memory {
                let configuration = Configuration {
                    levels: levels.clone(),
                    workers: workers.get(),
                    memory: memory.0,
                };
                if !configurations.contains(&configuration) {
                    configurations.push(configuration);
                }
            }
        }
    }
    Ok(configurations)
}

/// Draws the documents, and opens the file of trials.
fn trials(args: &mut Args, stop: &StopSignal) -> Result<Trials> {
    let sources = sources_or_own_text(&args.sources)?;
    if !sources.iter().any(|source| is_stdin(source)) {
        args.source.draw_by(args.seed);
    }
    let mut loader = args.source.resolve(&sources)?.loader()?;
    // Held out first, from the same order, so that no trial has seen any of them.
    let held_out = PilotCorpus::draw(&mut loader, args.held_out.0, stop)?;
    let corpus = PilotCorpus::draw(&mut loader, args.text.0, stop)
        .context("too few documents to hold some out: give --held-out less")?;
    let questions = args.questions;
    let identity = identity(args, &held_out, &corpus)?;
    Ok(Trials {
        corpus,
        held_out,
        learning: args.learning.clone(),
        questions,
        identity,
        journal: args.journal.as_deref().map(Journal::open).transpose()?,
        quality: std::collections::BTreeMap::new(),
        made: 0,
        resumed: 0,
    })
}

/// Returns what trials are known by: the very texts, as standard input and some servers tell nothing of
/// theirs; the rules, with what the tokenizer does; and the machine, which the times are of.
fn identity(args: &Args, held_out: &PilotCorpus, corpus: &PilotCorpus) -> Result<String> {
    let learner = args.learning.learner(Recording::default())?;
    let tokenizer = RunConfiguration::from_learner(&learner)
        .rules
        .tokenizer_fingerprint;
    let (texts, asked) = (corpus.digest(), held_out.digest());
    let (questions, rules) = (args.questions, args.learning.to_flags().join(" "));
    let here = machine::Machine::here();
    let processor = here.processor.unwrap_or_default();
    let threads = here.threads;
    // The third way in which trials are told apart: a file of them may be older.
    Ok(format!(
        "v3 {texts} {asked} {questions} {rules} {tokenizer} {threads} {processor}"
    ))
}

/// Parses a chunk size.
fn symbols(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|&size| size >= 2);
    size.ok_or_else(|| "give chunk sizes from 2, such as 5,7,9".to_owned())
}

/// Parses the value of `--weight`.
fn criterion(text: &str) -> Result<Criterion, String> {
    let names: Vec<&str> = MEASURES.iter().map(|(name, _)| *name).collect();
    let wrong = || {
        format!(
            "{text:?} is no weight: give one of {} with a number of 0 or more, as in bits=2",
            names.join(", ")
        )
    };
    let (name, weight) = text.split_once('=').ok_or_else(wrong)?;
    let weight: f64 = weight.parse().map_err(|_| wrong())?;
    let known = MEASURES
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(wrong)?;
    if !(weight.is_finite() && weight >= 0.0) {
        return Err(wrong());
    }
    Ok(match known.1 {
        true => Criterion::minimize(name, weight),
        false => Criterion::maximize(name, weight),
    })
}
