//! The command `kato next`: which token comes next, with which probability, and why.
//!
//! ```text
//! kato next --kb my-kb --text "The cat sat"
//! kato next --kb my-kb --text "The cat sat" --explain
//! ```

use std::process::ExitCode;

use anyhow::{Context, Result};
use kato_hierarchy::HeadOptions;
use kato_hierarchy::head::Expert;

use crate::exit::exit_code;
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
/// explanation.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    kb: DirectoryArgs,
    /// The text.
    #[arg(long, value_name = "TEXT")]
    text: String,
    /// Tokens that are shown.
    #[arg(long = "limit", alias = "top", value_name = "N", default_value_t = 10)]
    top: usize,
    /// Tell why the best token has its probability.
    #[arg(long)]
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

/// Runs `kato next` and returns its exit code.
pub(crate) fn main(args: &Args) -> ExitCode {
    exit_code(run(args))
}

fn run(args: &Args) -> Result<()> {
    let mut options = HeadOptions::default();
    if args.with_kato {
        options = options.with_expert(Expert::Outside);
    }
    let head = open_head(&args.kb, options)?;
    let next = head.next(args.text.as_str(), args.top.max(1))?;
    let best = next.first().filter(|_| args.explain);
    let explained = args.why.as_deref().or(best.map(|best| best.token.as_str()));
    let explanation = match explained {
        None => None,
        Some(token) => {
            let explanation = head.explain(args.text.as_str(), token)?;
            let no_token = || format!("{token:?} is no token of the vocabulary");
            Some(explanation.with_context(no_token)?)
        }
    };
    show(&NextView { next, explanation }, args.json)
}
