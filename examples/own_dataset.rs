//! Trains on documents that are no files: those of an iterator, and those of a source of one's own, which
//! is shuffled and gone on with like a file.
//!
//! Run: `cargo run --release -p kato-examples --example own_dataset`

use std::io::{self, Write};
use std::ops::Range;
use std::process::ExitCode;

use kato::prelude::*;
use kato::{Document, Records, SessionEnd};
use kato_examples::{Arguments, Output, run};

/// A song, verse by verse; a table of a database would be asked for its rows here.
#[derive(Debug)]
struct Song;

impl Records for Song {
    fn n_records(&self) -> u64 {
        40
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<Document>> {
        Ok(range.map(|number| verse(number + 1)).collect())
    }

    fn fingerprint(&self) -> String {
        "green bottles, version 1".to_owned()
    }
}

fn verse(n: u64) -> Document {
    let text = format!("{n} green bottles hanging on the wall, {n} green bottles hanging.");
    Document::new(text).with_id(format!("verse {n}"))
}

fn main() -> ExitCode {
    run(&[], train)
}

fn train(_: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    // Anything that iterates over texts; in memory, and asked at once.
    let (kb, report) = Training::in_memory()
        .with_documents("verses", (1..=40).map(verse))
        .with_chunk_sizes([4, 3])
        .run_and_open()?;
    writeln!(out, "{} verses learned", report.documents_processed)?;
    let options = GenerationOptions::default().with_max_tokens(12);
    writeln!(out, "{}", kb.generate("7 green", &options)?.whole_text)?;

    // A source that is read by number has any order, and a run goes on in it at any record.
    let folder = tempfile::tempdir()?;
    let up_to = |most: u64| {
        let corpus = StreamingDatasetLoader::builder()
            .with_records("song", Song)
            .with_order(Order::shuffled(7))
            .with_max_documents(most);
        Training::new(folder.path().join("kb"))
            .with_corpus(corpus)
            .with_chunk_sizes([4, 3])
            .run()
    };
    assert_eq!(up_to(15)?.ended, SessionEnd::Limit);
    let report = up_to(u64::MAX)?;
    writeln!(
        out,
        "{} more, {} in all",
        report.session_documents, report.documents_processed
    )?;
    Ok(())
}
