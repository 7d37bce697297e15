//! The command `kato score`: how surprising a text is to a trained knowledge base.
//!
//! ```text
//! kato score chapter.txt --kb my-kb
//! kato score chapter.txt --kb my-kb --tokens --json
//! kato score held-out.txt --kb my-kb --keep-weights
//! ```

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kato::head::Weights;
use kato_hierarchy::HeadOptions;

use crate::exit::bail_as;
use crate::head::{ScoreView, Scored};
use crate::inspect::show;
use crate::knowledge_base::DirectoryArgs;
use crate::numbers::ngram_order;
use crate::open::open_head_of;
use crate::source::is_stdin;
use crate::text_file::{read_text, without_mark};

/// Says how surprising texts are: perplexity, bits for each token, and the most surprising tokens.
///
/// Every token gets a probability from the tokens before it: exact counts of the n-grams inside the
/// learned patterns of all levels, mixed with what the text itself said before. A file is one text;
/// with --lines, every line that is not blank is.
///
/// With --json one object on standard output: tokens, bits, bits_per_token, perplexity, and texts,
/// each with name, tokens (a count), bits, bits_per_token and perplexity, and with --tokens also
/// scored: token, text, probability and bits of each.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The files, as UTF-8; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Take every line that is not blank as a text of its own.
    #[arg(long)]
    lines: bool,
    /// Show every token with its bits.
    #[arg(long)]
    tokens: bool,
    /// Symbols of the longest n-grams.
    #[arg(
        long = "ngram-order",
        alias = "order",
        value_name = "N",
        default_value_t = 5,
        value_parser = ngram_order
    )]
    order: usize,
    /// Count the patterns of this many levels only, from the lowest up. Default: of all.
    #[arg(long = "max-levels", alias = "levels", value_name = "N")]
    levels: Option<usize>,
    /// Keep with the knowledge base whom these texts taught to trust, for `score`, `next` and `generate
    /// --head` to begin with. They must not be among what was trained on. It takes the place of what
    /// was kept before; removing weights.json from the knowledge base ends it.
    #[arg(long, conflicts_with_all = ["order", "levels"])]
    keep_weights: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Runs `kato score`.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Read first, as a wrong name should not wait for the knowledge base.
    let mut texts = Vec::new();
    if args.files.iter().filter(|file| is_stdin(file)).count() > 1 {
        bail_as!(Usage, "standard input is named twice: drop one `-`");
    }
    for file in &args.files {
        let name = file.display().to_string();
        let text = match is_stdin(file) {
            true => io::read_to_string(io::stdin()).map(without_mark),
            false => read_text(file),
        };
        let text = text.with_context(|| format!("read {name} as UTF-8 text"))?;
        if args.lines {
            let lines = text.lines().enumerate();
            let lines = lines.filter(|(_, line)| !line.trim().is_empty());
            texts.extend(lines.map(|(idx, line)| (format!("{name}:{}", idx + 1), line.to_owned())));
        } else {
            texts.push((name, text));
        }
    }
    let mut options = HeadOptions::default().with_order(args.order);
    options.levels = args.levels;
    let store = Arc::new(args.kb.open_trained()?);
    let mut head = open_head_of(&args.kb, Arc::clone(&store), options)?;
    if args.keep_weights {
        head = head.with_weights(Weights::new());
    }
    let score = |(name, text): &(String, String)| -> Result<Scored> {
        let (name, score) = (name.clone(), head.score(text)?);
        Ok(Scored { name, score })
    };
    let scored: Vec<Scored> = texts.iter().map(score).collect::<Result<_>>()?;
    if args.keep_weights {
        // Afterwards, so that no score rests on what the texts teach.
        for (_, text) in &texts {
            head.fit(text)?;
        }
        if *head.weights() == Weights::new() {
            bail!(
                "--keep-weights: these texts hold nothing to fit weights to; what was kept before stays"
            );
        }
        kato::keep_weights(&store, head.weights())?;
    }
    show(&ScoreView::new(scored, args.tokens), args.json)
}
