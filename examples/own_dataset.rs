//! Trains on documents that a program makes itself, in place of files.
//!
//! Run: `cargo run --release --example own_dataset`

use std::io::{self, Write};
use std::process::ExitCode;

use kato::loader::{Format, TextUnit};
use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    run(&[], train)
}

fn train(_: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    // Any reader is a source; its name takes the place of a path, and resuming needs the same bytes
    // again.
    let verses: String = (1..=40)
        .map(|n| format!("{n} green bottles hanging on the wall, {n} green bottles hanging.\n"))
        .collect();
    let corpus = StreamingDatasetLoader::builder()
        .with_reader("verses.txt", io::Cursor::new(verses.into_bytes()))
        .with_format(Format::Text)
        .with_text_unit(TextUnit::Line)
        .with_min_chars(10);

    let folder = tempfile::tempdir()?;
    let kb = folder.path().join("kb");
    let report = Training::new(&kb)
        .with_corpus(corpus)
        .with_chunk_sizes([4, 3])
        .run()?;

    let options = GenerationOptions::default().with_max_tokens(12);
    let generation = kato::open(&kb)?.generate("7 green", &options)?;
    writeln!(out, "{} verses learned", report.documents_processed)?;
    writeln!(out, "{}", generation.whole_text)?;
    Ok(())
}
