//! The command `kato count`: how often the learned documents hold a text.
//!
//! ```text
//! kato count " not to be" --kb my-kb
//! ```

use anyhow::Result;
use indicatif::HumanCount;
use serde::Serialize;

use crate::inspect::{View, show};
use crate::knowledge_base::DirectoryArgs;
use crate::occurrences::Asked;

/// Counts how often the learned documents hold a text of any length: exactly, within one document each time,
/// and across the borders of its patterns.
///
/// The tokens of the text are looked for, so a blank in front of it decides: " be" is be within a line. What
/// the rules of the training left out of a document is not there, and what stood on both sides of it follows
/// each other. Where the places are says `kato trace`. The knowledge base must have been trained with
/// --occurrences, or `kato index --occurrences` have been run.
///
/// With --json one object on standard output: text, tokens (how many it has) and count.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The text.
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Runs `kato count`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let asked = Asked::open(&args.kb)?;
    let tokens = asked.tokens(&args.text)?;
    let count = asked.occurrences.count(&tokens)?;
    let (text, tokens) = (args.text.clone(), tokens.len());
    show(
        &Counted {
            text,
            tokens,
            count,
        },
        args.json,
    )
}

/// How often a text was found.
#[derive(Debug, Serialize)]
struct Counted {
    text: String,
    tokens: usize,
    count: u64,
}

impl View for Counted {
    fn text(&self, _width: usize) -> String {
        format!("{}\n", HumanCount(self.count))
    }
}
