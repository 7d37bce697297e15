//! Reads documents without learning them: in shuffled order, in shards, past records that cannot be read, and
//! on from a position that was written down.
//!
//! Run: `cargo run --release -p kato-examples --example loader -- corpus.jsonl`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kato::loader::{LoaderState, OnBadRecord, Shard, StreamingDatasetLoaderBuilder, TextUnit};
use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let source =
        "a file, folder or glob, plain text by its paragraphs; else six records that are made";
    run(&[("[SOURCE]", source)], read)
}

/// Writes six records into three files; one is no JSON.
fn made(folder: &Path) -> std::io::Result<PathBuf> {
    let text = |n: usize| format!("{{\"text\": \"document {n}\"}}\n");
    let broken = "{\"text\": broken\n".to_owned();
    std::fs::write(folder.join("a.jsonl"), text(1) + &text(2))?;
    std::fs::write(folder.join("b.jsonl"), broken + &text(4))?;
    std::fs::write(folder.join("c.jsonl"), text(5) + &text(6))?;
    Ok(folder.to_owned())
}

/// The first characters of a document.
fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}

fn read(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = match arguments.get(0) {
        Some(source) => source.into(),
        None => made(folder.path())?,
    };
    // A function of files and settings: the same order for any number of threads.
    let builder = || -> StreamingDatasetLoaderBuilder {
        StreamingDatasetLoader::builder()
            .with_input(&source)
            .with_text_unit(TextUnit::Paragraphs)
            .with_order(Order::shuffled(7))
            // The default ends at the first one.
            .on_bad_record(OnBadRecord::Skip)
    };

    // Three documents; then the position is written down, as text.
    let mut loader = builder().build()?;
    for document in loader.by_ref().take(3) {
        let document = document?;
        writeln!(out, "read {}: {:?}", document.id, beginning(&document.text))?;
    }
    let position = serde_json::to_string(&loader.state())?;
    drop(loader);

    // Later, or elsewhere. Another corpus, or other settings, would be refused.
    let state: LoaderState = serde_json::from_str(&position)?;
    let mut resumed = builder().with_state(state).build()?;
    let rest = resumed.by_ref().collect::<Result<Vec<_>, _>>()?;
    let first = rest.first().map(|document| beginning(&document.text));
    writeln!(out, "resumed: {} more, from {first:?} on", rest.len())?;
    writeln!(out, "passed over: {} records", resumed.counts().bad)?;
    for bad in resumed.take_bad_records() {
        writeln!(out, "  {bad}")?;
    }

    // Each machine reads its blocks (8 MiB, or a file that cannot be cut), and none is read twice.
    for index in 0..2 {
        let mut shard = builder()
            .with_order(Order::Sequential)
            .with_shard(Shard::new(index, 2))
            .build()?;
        let documents = shard.by_ref().collect::<Result<Vec<_>, _>>()?;
        writeln!(out, "shard {index} of 2: {} documents", documents.len())?;
    }
    Ok(())
}
