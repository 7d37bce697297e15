//! The command `kato evaluate`: evaluates a knowledge base on documents that it has not seen,
//! beside an n-gram model of the same training documents.
//!
//! ```text
//! kato train corpus.jsonl --kb my-kb --hold-out 0.05
//! kato evaluate --kb my-kb
//! ```

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use kato_evaluation::{EvaluationOptions, EvaluationReport, evaluate};
use kato_scheduler::StopSignal;

use crate::evaluate::facts;
use crate::inspect::show;
use crate::interrupt::stop_on_interrupt;
use crate::knowledge_base::DirectoryArgs;
use crate::machine;
use crate::meter::Meter;
use crate::numbers::ngram_order;
use crate::prediction::GenerationArgs;
use crate::trained_run::TrainedRun;

/// Evaluates a knowledge base on documents that it has not seen: those that `kato train --hold-out`
/// left out, or others.
///
/// For each level: which share of the chunks it knows exactly, recognises (a prediction of
/// similarity 0.5 or more) or finds nothing for; and, given the beginning of a chunk, how often the
/// next symbol is its first answer, among the first 5, or among the first 10. No answer is a wrong
/// one. For tokens: bits per token, beside those of an n-gram model of the same training documents,
/// and by the head.
///
/// With --json one JSON object on standard output tells all counts: documents, failed, tokens, generation,
/// levels, code_length and head. Progress goes to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the training corpus lies now, if it was moved. Default: where it was.
    #[arg(value_name = "SOURCE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Evaluate this file or directory instead, which must be no part of the corpus; can be given
    /// several times.
    #[arg(long, value_name = "FILE")]
    unseen: Vec<PathBuf>,
    /// Evaluate no more than this many documents.
    #[arg(long, value_name = "N")]
    max_documents: Option<u64>,
    /// Ask no more than this many levels, from the lowest on.
    #[arg(long, value_name = "N")]
    max_levels: Option<NonZeroUsize>,
    /// Ask each level about some N of its symbols what comes next, and about the same share of its
    /// chunks.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = crate::numbers::from_one::<u64>)]
    max_questions: u64,
    /// Predictions of an answer.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = crate::numbers::from_one::<u64>)]
    max_predictions: u64,
    #[command(flatten)]
    generation: GenerationArgs,
    /// Tokens of the longest n-grams of the baseline at most.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = ngram_order)]
    ngram_order: usize,
    /// Leave out the head, which takes memory and time in proportion to the n-grams of the patterns.
    #[arg(long)]
    no_head: bool,
    /// Decides which questions are sampled and how confidence intervals are resampled.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Threads. Default: one per core. The result is the same for any number.
    #[arg(long, value_name = "N|auto", value_parser = machine::parse_threads)]
    workers: Option<NonZeroUsize>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// Evaluates, and shows the report.
pub(crate) fn run(args: &Args) -> Result<()> {
    let stop = &stop_on_interrupt();
    show(&report(args, stop)?, args.json)
}

/// Evaluates, with progress on standard error.
fn report(args: &Args, stop: &StopSignal) -> Result<EvaluationReport> {
    let run = TrainedRun::open(&args.kb)?;
    let corpora = run.corpora(&args.inputs, &args.unseen)?;
    let mut options = EvaluationOptions::default();
    options.max_documents = args.max_documents;
    options.max_levels = args.max_levels;
    options.max_questions = args.max_questions;
    options.session.max_predictions = args.max_predictions;
    options.ngram_order = args.ngram_order;
    if args.no_head {
        options.head = None;
    }
    options.seed = args.seed;
    options.threads = args.workers;
    let mut meter = Meter::new(args.quiet);
    let report = evaluate(
        // Loaded last, because it takes the longest: a wrong corpus is refused before.
        &run.engine(args.generation.kato)?,
        run.learner(),
        &corpora,
        &options,
        |progress| {
            meter.update(progress.done, progress.total, || facts(progress));
            // Progress comes regularly, so an interruption is noticed here soon.
            if stop.is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    meter.finish();
    Ok(report?)
}
