//! Trains a hierarchy from text into a knowledge base, or goes on where that was stopped.
//!
//! ```text
//! cargo run --release --example train                          # this repository's text, into kato-kb
//! cargo run --release --example train -- corpus.jsonl my-kb    # your own
//! ```

use std::io::{self, Write};
use std::path::PathBuf;

use kato::{StreamingDatasetLoader, Training};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let sources = match arguments.next() {
        Some(source) => vec![source],
        None => kato_examples::own_text(),
    };
    let kb = arguments.next().unwrap_or_else(|| PathBuf::from("kato-kb"));

    let corpus = StreamingDatasetLoader::builder().with_inputs(sources);
    let report = Training::new(&kb)
        .with_corpus(corpus)
        // Phrases of five tokens, seven phrases, nine of those.
        .with_chunk_sizes([5, 7, 9])
        .with_progress()
        .run()?;

    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{} documents, {} tokens, {:.1} s, {:.0} tokens/s",
        report.documents_processed, report.tokens, report.total_time_seconds, report.tokens_per_sec
    )?;
    for level in &report.levels {
        let patterns = level.unique_patterns.unwrap_or(0);
        let (node, calls) = (&level.node, level.learns);
        writeln!(
            out,
            "{node}: {calls} chunks learned, {patterns} different ones"
        )?;
    }
    writeln!(out, "\nThe knowledge is in {}. Ask it:", kb.display())?;
    writeln!(
        out,
        "  cargo run --release --example predict -- \"Everything that\""
    )?;
    Ok(())
}
