//! The command `kato next`: which token comes next, with which probability, and why.
//!
//! ```text
//! kato next --kb my-kb --text "The cat sat"
//! kato next --kb my-kb --text "The cat sat" --explain
//! kato next --kb my-kb --batch questions.jsonl
//! ```

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgGroup;
use kato_hierarchy::HeadOptions;
use kato_hierarchy::head::Expert;
use serde::Deserialize;

use crate::batch::Batch;
use crate::exit::bail_as;
use crate::head::NextView;
use crate::inspect::show;
use crate::knowledge_base::DirectoryArgs;
use crate::open::open_head;

/// Says which token comes next after a text, with which probability, and why.
///
/// Probabilities are mixed from exact counts of the n-grams inside the learned patterns of all
/// levels and from what the text itself said before; they sum to 1 over the vocabulary. With
/// --explain the best token's probability is taken apart: experts, counts, discounts, the patterns
/// that were counted, and the places in the text. KATO's own predictions are asked with `kato
/// predict`; --with-kato makes them one of the experts.
///
/// With --json one object on standard output: next (token, text and probability of each) and
/// explanation. With --batch one for each question, in their order, with line, the number of its line;
/// where there is no answer, line and error.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("question").required(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    kb: DirectoryArgs,
    /// The text.
    #[arg(long, value_name = "TEXT", group = "question")]
    text: Option<String>,
    /// Ask the questions of a file, one a line, on all cores: {"text": "The cat sat"}. - is standard
    /// input. Answers are those of --json; the other options hold for all of them. Not with --explain or --why.
    #[arg(long, value_name = "FILE", group = "question", conflicts_with_all = ["explain", "why"])]
    batch: Option<PathBuf>,
    /// Tokens that are shown.
    #[arg(long = "limit", alias = "top", value_name = "N", default_value_t = 10)]
    top: usize,
    /// Tell why the best token has its probability.
    #[arg(long, conflicts_with = "why")]
    explain: bool,
    /// Tell why this token has its probability, in the tokenizer's own alphabet: GPT-2 writes a
    /// blank as Ġ.
    #[arg(long, value_name = "TOKEN")]
    why: Option<String>,
    /// Ask KATO's predictions, too.
    #[arg(long)]
    with_kato: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// A question of a batch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    text: String,
}

/// Runs `kato next`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut options = HeadOptions::default();
    if args.with_kato {
        options = options.with_expert(Expert::Outside);
    }
    // Opened first, as a wrong name should not wait for the knowledge base.
    let batch = args.batch.as_deref().map(Batch::open).transpose()?;
    let head = open_head(&args.kb, options)?;
    // The best is asked for in any case, as it may be what is explained.
    let next_after = |text: &str| head.next(text, args.top.max(1));
    if let Some(batch) = batch {
        return batch.answer(r#"{"text": "The cat sat"}"#, |question: Question| {
            let mut next = next_after(&question.text)?;
            next.truncate(args.top);
            let explanation = None;
            Ok(NextView { next, explanation })
        });
    }
    // The parser takes exactly one of the two.
    let text = args.text.as_deref().unwrap_or_default();
    let mut next = next_after(text)?;
    let best = next.first().filter(|_| args.explain);
    let explained = args.why.as_deref().or(best.map(|best| best.token.as_str()));
    let explanation = match explained {
        None => None,
        Some(token) => {
            let Some(explanation) = head.explain(text, token)? else {
                bail_as!(
                    Usage,
                    "{token:?} is no token of the vocabulary: write --why as `kato next --json` writes tokens"
                );
            };
            Some(explanation)
        }
    };
    next.truncate(args.top);
    show(&NextView { next, explanation }, args.json)
}
