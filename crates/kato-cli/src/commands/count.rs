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
use crate::notice::say;
use crate::occurrences::Asked;

/// Counts how often the learned documents hold a text of any length: exactly, within one document each time,
/// and across the borders of its patterns.
///
/// The tokens of the text are looked for, so a blank in front of it decides: " be" is be within a line. Of a text
/// without one, standard error says how often it is there with one. What the rules of the training left out of a document is not there, and what stood on both sides of it follows
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
    show(
        &Counted {
            text: args.text.clone(),
            tokens: tokens.len(),
            count,
        },
        args.json,
    )?;
    if !args.json
        && let Some(within) = count_within_lines(&asked, &args.text, &tokens)?
    {
        say(format_args!(
            "with a blank in front, as within a line: {}",
            HumanCount(within)
        ));
    }
    Ok(())
}

/// Counts a text with a blank in front, which has other tokens; `None` where it has one, or is not there.
fn count_within_lines(asked: &Asked, text: &str, tokens: &[u32]) -> Result<Option<u64>> {
    if text.starts_with(char::is_whitespace) {
        return Ok(None);
    }
    let within = asked.tokens(&format!(" {text}"))?;
    if within == tokens {
        return Ok(None);
    }
    let count = asked.occurrences.count(&within)?;
    Ok((count > 0).then_some(count))
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
