//! Trains a hierarchy from text into a knowledge base, or goes on where that was stopped.
//!
//! ```text
//! cargo run --release -p kato-examples --example train                          # this repository's text, into kato-kb
//! cargo run --release -p kato-examples --example train -- corpus.jsonl my-kb    # your own
//! ```

use std::io::Write;
use std::process::ExitCode;

use kato::{StreamingDatasetLoader, Training};
use kato_examples::{Arguments, Output, SOURCE, run, sources};

fn main() -> ExitCode {
    run(
        &[SOURCE, ("[KB]", "the knowledge base, a folder; kato-kb")],
        train,
    )
}

fn train(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let kb = arguments.or(1, "kato-kb");
    let corpus = StreamingDatasetLoader::builder().with_inputs(sources(arguments.get(0)));
    let report = Training::new(kb)
        .with_corpus(corpus)
        // Phrases of five tokens, seven phrases, nine of those.
        .with_chunk_sizes([5, 7, 9])
        .with_progress()
        .run()?;

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
    writeln!(out, "\nThe knowledge is in {kb}. Ask it:")?;
    writeln!(
        out,
        "  cargo run --release -p kato-examples --example predict -- \"Everything that\" {kb:?}"
    )?;
    Ok(())
}
