//! Trains a concept hierarchy from text into a knowledge base on the disk.
//!
//! ```text
//! cargo run --release --example train                                  # this repository's own text
//! cargo run --release --example train -- corpus.jsonl --kb my-kb       # your own
//! cargo run --release --example train -- corpus.jsonl --kb my-kb --resume
//! ```

#![expect(clippy::print_stderr, reason = "a program tells its user how to go on")]

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use indicatif::{HumanBytes, HumanCount};
use kato_examples::corpus::ByteSize;
use kato_examples::interrupt::{INTERRUPTED, stop_on_interrupt};
use kato_examples::reporter::Reporter;
use kato_examples::repository;
use kato_learner::{
    ChunkSpan, Delimiter, HierarchicalConceptLearner, Recording, Segmentation, TailPolicy, TextMode, TokenLimit,
};
use kato_loader::{OnBadRecord, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit};
use kato_scheduler::{RunConfiguration, TrainingOptions, TrainingReport, default_workers, loader_at_checkpoint, train};
use kato_store::EmbeddedStore;

/// Trains a concept hierarchy from text into a knowledge base on the disk.
///
/// Reads plain text, JSON Lines, CSV and Parquet, also compressed with gzip or zstd. A run can be stopped at any moment,
/// also by kill -9, and goes on with --resume to the same result. Exit codes: 0 done, 1 error, 2 wrong usage, 130
/// interrupted and ready to be resumed.
#[derive(Debug, Parser)]
struct Args {
    /// Files, directories or globs, `-` for standard input. Default: this repository's README and docs.
    input: Vec<PathBuf>,
    /// Field of JSON Lines, CSV and Parquet records that holds the text; a dotted path for nested JSON.
    #[arg(long, default_value = "text")]
    field: String,
    /// Field that holds a document's id. Default: file and record number.
    #[arg(long)]
    id_field: Option<String>,
    /// What is one document in a plain text file.
    #[arg(long, value_enum, default_value_t = Unit::File)]
    text_unit: Unit,
    /// Chunk size of each level, from the bottom up.
    #[arg(long, value_delimiter = ',', default_value = "5,7,9")]
    levels: Vec<usize>,
    /// `gpt2`, or the path of a Hugging Face tokenizer.json.
    #[arg(long, default_value = "gpt2")]
    tokenizer: String,
    /// What the bottom level learns as one pattern: `chunks`, `sentences`, or `sentence`, `word`, `bigram`, … `5-gram`,
    /// `paragraph` for segments of the text.
    #[arg(long, default_value = "chunks")]
    mode: String,
    /// How a document is cut into sections: simple, article or book.
    #[arg(long, default_value = "simple")]
    segmentation: Segmentation,
    /// Let chunks reach across paragraphs.
    #[arg(long)]
    whole_document: bool,
    /// Drop and count paragraphs shorter than this many characters.
    #[arg(long, default_value_t = 10)]
    min_paragraph_chars: usize,
    /// Keep at most this many tokens of a paragraph; 0 for all.
    #[arg(long, default_value_t = 2048)]
    max_paragraph_tokens: usize,
    /// What becomes of a name that is alone in its level when a document ends.
    #[arg(long, value_enum, default_value_t = Tail::Drop)]
    tail: Tail,
    /// Record the document and token at which each pattern was first seen.
    #[arg(long)]
    provenance: bool,
    /// Record the document's id as metadata of its first pattern at every level, as the original does.
    #[arg(long)]
    metadata: bool,
    /// Directory of the knowledge base.
    #[arg(long, default_value = "kato-kb")]
    kb: PathBuf,
    /// Go on where an interrupted run ended.
    #[arg(long)]
    resume: bool,
    /// Learning threads. Default: one per core.
    #[arg(long)]
    workers: Option<NonZeroUsize>,
    /// End after this many documents.
    #[arg(long)]
    max_samples: Option<u64>,
    /// Skip what cannot be read or learned and list it in KB/skipped.jsonl, instead of ending with an error.
    #[arg(long)]
    skip_errors: bool,
    /// Memory for what is learned and not written yet; the process needs about twice this and 100 MB.
    #[arg(long, default_value = "256MiB")]
    memory: ByteSize,
    /// Longest time between commits, in seconds.
    #[arg(long, default_value_t = 10.0)]
    commit_interval: f64,
    /// Print one JSON object with the result to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Unit {
    /// The whole file.
    File,
    /// Every line.
    Line,
    /// Every run of lines between blank lines.
    Paragraphs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tail {
    /// Dropped and counted.
    Drop,
    /// Passed up unchanged.
    Promote,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let learner = learner(&args)?;
    let configuration = RunConfiguration::of(&learner);
    // Before the knowledge base is made, so that a mistyped path leaves nothing behind.
    loader(&args)?.build()?;
    let store = match args.resume {
        false => EmbeddedStore::create(&args.kb, &learner.node_names(), configuration.to_json())
            .context("--resume goes on with an existing knowledge base")?,
        true if !EmbeddedStore::exists(&args.kb) => {
            // A run that was killed before it made its knowledge base starts from the beginning.
            EmbeddedStore::create(&args.kb, &learner.node_names(), configuration.to_json())?
        }
        true => EmbeddedStore::open(&args.kb)?,
    };
    let mut loader = loader_at_checkpoint(loader(&args)?, &store)?;
    let mut options = TrainingOptions::default();
    options.num_workers = args.workers.unwrap_or_else(default_workers);
    options.memory_budget = usize::try_from(args.memory.0).context("--memory is too large for this machine")?;
    options.commit_interval = Duration::try_from_secs_f64(args.commit_interval).context("--commit-interval")?;
    options.skip_errors = args.skip_errors;
    options.ledger = args.skip_errors.then(|| args.kb.join("skipped.jsonl"));
    stop_on_interrupt(options.stop.clone()).context("failed to listen for Ctrl-C")?;

    let mut reporter = Reporter::new(args.quiet);
    let report = train(&mut loader, &learner, &store, &options, |event| reporter.show(&event));
    reporter.finish();
    let report = report?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{}", summary(&report, &args))?;
    }
    if options.stop.is_stopped() && !report.complete {
        eprintln!("interrupted; everything learned is safe. Go on with the same command and --resume.");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

fn learner(args: &Args) -> Result<HierarchicalConceptLearner> {
    let text_mode = match args.mode.as_str() {
        "chunks" => TextMode::default(),
        "sentences" => TextMode::sentences(),
        delimiter => TextMode::Segments { delimiter: delimiter.parse::<Delimiter>().context("--mode")? },
    };
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::load(&args.tokenizer)?)
        .chunk_sizes(args.levels.iter().copied())
        .text_mode(text_mode)
        .segmentation(args.segmentation)
        .chunk_span(if args.whole_document { ChunkSpan::Section } else { ChunkSpan::Paragraph })
        .min_paragraph_chars(args.min_paragraph_chars)
        .token_limit(match args.max_paragraph_tokens {
            0 => TokenLimit::Unlimited,
            max_tokens => TokenLimit::Cut { max_tokens },
        })
        .tail_policy(match args.tail {
            Tail::Drop => TailPolicy::Drop,
            Tail::Promote => TailPolicy::Promote,
        })
        .recording(Recording { provenance: args.provenance, metadata: args.metadata })
        .build()?;
    Ok(learner)
}

fn loader(args: &Args) -> Result<StreamingDatasetLoaderBuilder> {
    let inputs = if args.input.is_empty() { repository::own_text() } else { args.input.clone() };
    if inputs.is_empty() {
        bail!("this copy of the program has no text of its own: name a file to learn from");
    }
    let mut builder = StreamingDatasetLoader::builder()
        .with_inputs(inputs)
        .with_text_field(&args.field)
        .with_text_unit(match args.text_unit {
            Unit::File => TextUnit::File,
            Unit::Line => TextUnit::Line,
            Unit::Paragraphs => TextUnit::Paragraphs,
        })
        .on_bad_record(if args.skip_errors { OnBadRecord::Skip } else { OnBadRecord::Fail });
    if let Some(id_field) = &args.id_field {
        builder = builder.with_id_field(id_field);
    }
    if let Some(max_samples) = args.max_samples {
        builder = builder.with_max_documents(max_samples);
    }
    Ok(builder)
}

fn summary(report: &TrainingReport, args: &Args) -> String {
    let mut text = format!(
        "{} samples, {} tokens in {:.1} s: {:.0} samples/s, {:.2} M tokens/s with {} workers\n",
        HumanCount(report.session_samples),
        HumanCount(report.tokens),
        report.total_time_seconds,
        report.rate_samples_per_sec,
        report.tokens_per_sec / 1e6,
        report.num_workers,
    );
    text += "level         chunk     learned    patterns  new\n";
    for level in &report.levels {
        let share = 100.0 * level.unique_patterns as f64 / level.observations.max(1) as f64;
        text += &format!(
            "{:<12} {:>6} {:>11} {:>11}  {share:.1} %\n",
            level.node,
            level.chunk_size,
            HumanCount(level.observations).to_string(),
            HumanCount(level.unique_patterns).to_string(),
        );
    }
    if let Some(bytes) = report.disk_bytes {
        let patterns: u64 = report.levels.iter().map(|level| level.unique_patterns).sum();
        let each = bytes as f64 / patterns.max(1) as f64;
        text += &format!("{} in {}: {each:.1} bytes a pattern\n", HumanBytes(bytes), args.kb.display());
    }
    let dropped = serde_json::to_value(report.dropped).unwrap_or_default();
    let counts = dropped.as_object().into_iter().flatten().filter(|(_, count)| count.as_u64() != Some(0));
    let counts: Vec<String> = counts.map(|(rule, count)| format!("{} {count}", rule.replace('_', " "))).collect();
    if !counts.is_empty() {
        text += &format!("not learned: {}\n", counts.join(", "));
    }
    if report.errors > 0 {
        text += &format!("{} errors, listed in {}\n", report.errors, args.kb.join("skipped.jsonl").display());
    }
    text
}
