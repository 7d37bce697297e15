//! Trains a concept hierarchy from text into a knowledge base on the disk.
//!
//! ```text
//! cargo run --release --example train                                  # this repository's own text
//! cargo run --release --example train -- corpus.jsonl --kb my-kb       # your own
//! cargo run --release --example train -- corpus.jsonl --kb my-kb --resume
//! cargo run --release --example train -- hf://Salesforce/wikitext/wikitext-103-raw-v1 --shuffle 1 --max-rows 100000
//! cargo run --release --example train -- 0.7*openwebtext 0.3*wikitext   # a mixture of datasets by their keys
//! cargo run --release --example train -- corpus.jsonl --kato http://127.0.0.1:8000 --run wikitext
//! ```

#![expect(clippy::print_stderr, reason = "a program tells its user how to go on")]

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::{CommandFactory, Parser, ValueEnum};
use indicatif::{HumanBytes, HumanCount};
use kato_examples::corpus::ByteSize;
use kato_examples::interrupt::{INTERRUPTED, stop_on_interrupt};
use kato_examples::remote::{self, RemoteArgs};
use kato_examples::report::to_json;
use kato_examples::reporter::Reporter;
use kato_examples::repository;
use kato_examples::source::{SOURCE_HELP, SourceArgs, Sources};
use kato_learner::{
    ChunkSpan, Delimiter, Dropped, HierarchicalConceptLearner, Recording, Segmentation, TailPolicy,
    TextMode, TokenLimit,
};
use kato_loader::{Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_scheduler::{
    Backend, Checkpoint, RunConfiguration, TrainingOptions, TrainingReport, default_workers,
    loader_at_checkpoint, train, train_with,
};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::Value;

/// Trains a concept hierarchy from text into a knowledge base on the disk, or into the nodes of a KATO server.
///
/// Reads plain text, JSON Lines, CSV and Parquet, also compressed with gzip or zstd, from disk, the Hugging Face Hub, web
/// servers and object stores. A run can be stopped at any moment, by
/// Ctrl-C or even kill -9, and goes on with the same command and --resume to the same result. Look into the knowledge base
/// with `inspect`, also while it is being trained.
///
/// With --json one JSON object on standard output tells the result: samples, errors, tokens, rates, the levels with their
/// patterns, what the rules left out, bytes on the disk, and where the time went: starved_share is the part of it that learning
/// waited for documents. Progress goes to standard error.
///
/// Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted and ready to be resumed.
#[derive(Debug, Parser)]
#[command(after_long_help = SOURCE_HELP)]
struct Args {
    /// What to learn from; see below. Default: this repository's README and docs; with --resume the files of the run, at the
    /// revisions that they had.
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Chunk size of each level, from the bottom up: tokens of a pattern, then patterns of a pattern.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "5,7,9"
    )]
    levels: Vec<usize>,
    /// `gpt2`, or the path of a Hugging Face tokenizer.json.
    #[arg(long, value_name = "NAME|FILE", default_value = "gpt2")]
    tokenizer: String,
    /// What the lowest level learns as one pattern: chunks (of tokens), sentences (found by their tokens), or pieces that
    /// are cut out of the text before it is tokenized: sentence, word, bigram, trigram, 4-gram, 5-gram, paragraph.
    #[arg(long, value_name = "MODE", default_value = "chunks", value_parser = text_mode)]
    mode: TextMode,
    /// How a document is cut into sections: simple, article or book.
    #[arg(long, value_name = "KIND", default_value = "simple")]
    segmentation: Segmentation,
    /// Let chunks reach across paragraphs; blank lines are text then, and nothing is too short.
    #[arg(long)]
    whole_document: bool,
    /// Leave out and count paragraphs shorter than this many characters.
    #[arg(long, value_name = "N", default_value_t = 10)]
    min_paragraph_chars: usize,
    /// Leave out and count what a paragraph has beyond this many tokens; 0 learns all.
    #[arg(long, value_name = "N", default_value_t = 2048)]
    max_paragraph_tokens: usize,
    /// What becomes of a pattern that is alone on its level when a document ends: one is too few for a pattern above.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Tail::Drop)]
    tail: Tail,
    /// Record the document and token at which each pattern was first seen.
    #[arg(long)]
    provenance: bool,
    /// Record a document's id as metadata of its first pattern on every level.
    #[arg(long)]
    metadata: bool,
    /// Directory of the knowledge base.
    #[arg(long, value_name = "DIR", default_value = "kato-kb")]
    kb: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Go on where an interrupted run ended.
    #[arg(long)]
    resume: bool,
    /// Learning threads. Default: one per core. The result is the same for any number.
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// End after this many documents of the corpus.
    #[arg(long, value_name = "N")]
    max_samples: Option<u64>,
    /// Hold out this share of the documents, chosen by hash, for `evaluate`: 0.05 is every twentieth.
    #[arg(long, value_name = "SHARE")]
    hold_out: Option<f64>,
    /// Decides which documents are held out.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "hold_out")]
    seed: u64,
    /// Skip what cannot be read or learned and list it in DIR/skipped.jsonl (with --kato beside the run's state), instead of
    /// ending with an error. What --on-bad skips is listed there too.
    #[arg(long)]
    skip_errors: bool,
    /// Memory for what is learned and not yet written; the process takes about twice this and another 100 MB.
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: ByteSize,
    /// Seconds between commits at most: a crash costs no more work than this.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    commit_interval: f64,
    /// Print one JSON object with the result to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tail {
    /// It is left out and counted.
    Drop,
    /// It goes up unchanged, so nothing is left out.
    Promote,
}

fn main() -> Result<ExitCode> {
    let mut args = Args::parse();
    if args.skip_errors {
        args.source.skip_bad();
    }
    args.source
        .check(&mut Args::command())
        .unwrap_or_else(|error| error.exit());
    args.remote.choose_name(args.resume)?;
    let learner = learner(&args)?;
    let configuration = RunConfiguration::of(&learner).with_split(split(&args));
    // Before the knowledge base is made, so that a mistyped source leaves nothing behind. A new run reads what was opened here:
    // listing a remote source twice would take twice as long, and could find two revisions.
    let opened = match has_position(&args) {
        true => None,
        false => Some(loader(&args)?.build()?),
    };
    let mut options = TrainingOptions::default();
    options.num_workers = args.workers.unwrap_or_else(default_workers);
    options.memory_budget =
        usize::try_from(args.memory.0).context("--memory is too large for this machine")?;
    options.commit_interval =
        Duration::try_from_secs_f64(args.commit_interval).context("--commit-interval")?;
    options.skip_errors = args.skip_errors;
    options.ledger = args.source.skips_bad().then(|| ledger(&args));
    stop_on_interrupt(options.stop.clone()).context("failed to listen for Ctrl-C")?;

    let resumed = |checkpoint: &Value| -> Result<StreamingDatasetLoader> {
        let builder = match Checkpoint::from_json(checkpoint)? {
            Some(run) if args.sources.is_empty() => limited(&args, args.source.again(&run.corpus)?),
            _ => loader(&args)?,
        };
        Ok(loader_at_checkpoint(builder, checkpoint)?)
    };
    let mut reporter = Reporter::new(args.quiet);
    let mut out = std::io::stdout().lock();
    let report = match args.remote.open(&learner, &configuration, args.resume)? {
        Some(backend) => {
            let mut loader = opened.map_or_else(|| resumed(&backend.checkpoint()), Ok)?;
            let on_event = |event| reporter.show(&event);
            let report = train_with(&mut loader, &learner, &backend, &options, on_event);
            reporter.finish();
            let report = report?;
            if args.json {
                writeln!(out, "{}", remote::to_json(&report, &backend)?)?;
            } else {
                write!(out, "{}", summary(&report, &args))?;
                write!(out, "{}", remote::summary(&report, &backend))?;
            }
            report
        }
        None => {
            let store = open_store(&args, &learner, &configuration)?;
            let mut loader = opened.map_or_else(|| resumed(&store.checkpoint()), Ok)?;
            let on_event = |event| reporter.show(&event);
            let report = train(&mut loader, &learner, &store, &options, on_event);
            reporter.finish();
            let report = report?;
            if args.json {
                writeln!(out, "{}", to_json(&report)?)?;
            } else {
                write!(out, "{}", summary(&report, &args))?;
            }
            report
        }
    };
    if options.stop.is_stopped() && !report.complete {
        eprintln!(
            "interrupted; everything learned is safe. Go on with the same command and --resume."
        );
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there may be a position to go on from.
fn has_position(args: &Args) -> bool {
    let is_kept_elsewhere = args.remote.state_file().is_some();
    args.resume && (is_kept_elsewhere || EmbeddedStore::exists(&args.kb))
}

fn open_store(
    args: &Args,
    learner: &HierarchicalConceptLearner,
    configuration: &RunConfiguration,
) -> Result<EmbeddedStore> {
    let create = || EmbeddedStore::create(&args.kb, &learner.node_names(), configuration.to_json());
    Ok(match args.resume {
        false => create().context("--resume goes on with an existing knowledge base")?,
        // A run that was killed before it made its knowledge base starts from the beginning.
        true if !EmbeddedStore::exists(&args.kb) => create()?,
        true => EmbeddedStore::open(&args.kb)?,
    })
}

fn text_mode(name: &str) -> Result<TextMode> {
    Ok(match name {
        "chunks" => TextMode::default(),
        "sentences" => TextMode::sentences(),
        piece => {
            let delimiter = piece
                .parse::<Delimiter>()
                .map_err(|error| anyhow!("neither chunks nor sentences; {error}"))?;
            TextMode::Segments { delimiter }
        }
    })
}

fn learner(args: &Args) -> Result<HierarchicalConceptLearner> {
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::load(&args.tokenizer)?)
        .chunk_sizes(args.levels.iter().copied())
        .text_mode(args.mode)
        .segmentation(args.segmentation)
        .chunk_span(if args.whole_document {
            ChunkSpan::Section
        } else {
            ChunkSpan::Paragraph
        })
        .min_paragraph_chars(args.min_paragraph_chars)
        .token_limit(match args.max_paragraph_tokens {
            0 => TokenLimit::Unlimited,
            max_tokens => TokenLimit::Cut { max_tokens },
        })
        .tail_policy(match args.tail {
            Tail::Drop => TailPolicy::Drop,
            Tail::Promote => TailPolicy::Promote,
        })
        .recording(Recording {
            provenance: args.provenance,
            metadata: args.metadata,
        })
        .build()?;
    Ok(learner)
}

/// The documents that are learned; all without --hold-out.
fn split(args: &Args) -> Option<Split> {
    let share = args.hold_out?;
    Some(Split::training(share, args.seed))
}

fn sources(args: &Args) -> Result<Sources> {
    if !args.sources.is_empty() {
        return args.source.resolve(&args.sources);
    }
    let own_text = repository::own_text();
    if own_text.is_empty() {
        bail!("this copy of the program has no text of its own: name a source to learn from");
    }
    args.source.resolve(&own_text)
}

fn loader(args: &Args) -> Result<StreamingDatasetLoaderBuilder> {
    Ok(limited(args, sources(args)?.builder()))
}

/// The documents of a corpus that are to be learned.
fn limited(
    args: &Args,
    mut builder: StreamingDatasetLoaderBuilder,
) -> StreamingDatasetLoaderBuilder {
    if let Some(split) = split(args) {
        builder = builder.with_split(split);
    }
    if let Some(max_samples) = args.max_samples {
        builder = builder.with_max_documents(max_samples);
    }
    builder
}

fn summary(report: &TrainingReport, args: &Args) -> String {
    let mut text = format!(
        "{} samples, {} tokens learned",
        HumanCount(report.samples_processed),
        HumanCount(report.tokens)
    );
    if report.held_out_samples > 0 {
        text += &format!("; {} samples held out", HumanCount(report.held_out_samples));
    }
    if report.session_samples < report.samples_processed {
        text += &format!(
            "; {} samples in this session",
            HumanCount(report.session_samples)
        );
    }
    text += &format!(
        "\n{:.1} s with {} workers: {:.0} samples/s, {:.2} M tokens/s\n",
        report.total_time_seconds,
        report.num_workers,
        report.rate_samples_per_sec,
        report.tokens_per_sec / 1e6,
    );
    text += &format!(
        "{:.1} % of the learning threads' time was waiting for documents\n",
        100.0 * report.starved_share()
    );
    text += "level         chunk     learned    patterns  new\n";
    for level in &report.levels {
        let (patterns, new) = match level.unique_patterns {
            Some(patterns) => {
                let share = 100.0 * patterns as f64 / level.observations.max(1) as f64;
                (HumanCount(patterns).to_string(), format!("{share:.1} %"))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        text += &format!(
            "{:<12} {:>6} {:>11} {:>11}  {new}\n",
            level.node,
            level.chunk_size,
            HumanCount(level.observations).to_string(),
            patterns,
        );
    }
    if let Some(bytes) = report.disk_bytes {
        let patterns: u64 = report
            .levels
            .iter()
            .filter_map(|level| level.unique_patterns)
            .sum();
        let each = bytes as f64 / patterns.max(1) as f64;
        text += &format!(
            "{} in {}: {each:.1} bytes a pattern\n",
            HumanBytes(bytes),
            args.kb.display()
        );
    }
    let left_out = left_out(&report.dropped);
    if !left_out.is_empty() {
        text += &format!("not learned: {}\n", left_out.join(", "));
    }
    if report.errors > 0 {
        text += &format!(
            "{} errors, listed in {}\n",
            report.errors,
            ledger(args).display()
        );
    }
    text
}

/// Where skipped records and documents are listed.
fn ledger(args: &Args) -> PathBuf {
    let beside_state = args.remote.state_file();
    beside_state.map_or_else(
        || args.kb.join("skipped.jsonl"),
        |state| state.with_extension("skipped.jsonl"),
    )
}

/// What the rules left out, in words.
fn left_out(dropped: &Dropped) -> Vec<String> {
    let counts = [
        (dropped.short_paragraphs, "short paragraphs"),
        (dropped.short_paragraph_chars, "characters of them"),
        (dropped.heading_chars, "characters of headings"),
        (dropped.tokens_over_limit, "tokens over the limit"),
        (dropped.short_run_tokens, "tokens too few for a chunk"),
        (dropped.short_sentences, "short sentences"),
        (dropped.short_sentence_tokens, "tokens of them"),
        (dropped.single_token_chunks, "chunks of one token"),
        (
            dropped.single_name_tails,
            "patterns alone at a document's end",
        ),
    ];
    let counts = counts.into_iter().filter(|&(count, _)| count > 0);
    counts
        .map(|(count, what)| format!("{} {what}", HumanCount(count)))
        .collect()
}
