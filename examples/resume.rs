//! Stops a training in the middle, more than once, goes on each time, and compares the result with that of
//! an undisturbed one.
//!
//! Run: `cargo run --release -p kato-examples --example resume -- corpus.jsonl`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use kato::loader::TextUnit;
use kato::prelude::*;
use kato_examples::{Arguments, Output, made_text, run};

/// Sessions that it is to take, or one more or less.
const N_SESSIONS: u64 = 5;

fn main() -> ExitCode {
    let source = "a file, folder or glob, plain text by its paragraphs; else text that is made";
    run(&[("[SOURCE]", source)], resume)
}

/// Trains into a directory, and stops itself after some documents.
fn train(source: &Path, kb: &Path, stop_after: u64) -> Result<TrainingReport, Error> {
    let stop = StopSignal::default();
    let switch = stop.clone();
    let mut options = TrainingOptions::default();
    // A stop ends the reading; what threads have in hand is learned before: a document each.
    options.batch_bytes = 1;
    // Looked at after every document, not ten times a second.
    options.progress_interval = Duration::ZERO;
    let corpus = StreamingDatasetLoader::builder()
        .with_input(source)
        .with_text_unit(TextUnit::Paragraphs);
    Training::new(kb)
        .with_corpus(corpus)
        .with_options(options)
        .with_stop(stop)
        .on_event(move |event| match event {
            TrainingEvent::Progress(progress) if progress.session_documents >= stop_after => {
                switch.stop();
            }
            _ => {}
        })
        .run()
}

/// Writes every level's patterns down, in the order of their names.
fn knowledge(kb: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let store = EmbeddedStore::open_read_only(kb)?;
    let export = |node: &String| {
        let mut lines = Vec::new();
        kato::store::KnowledgeBase::new(&store, node)?.export(&mut lines)?;
        Ok(lines)
    };
    store.nodes().iter().map(export).collect()
}

fn resume(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = match arguments.get(0) {
        Some(source) => source.into(),
        None => made_text(folder.path(), 2_000_000)?,
    };
    let (stopped, undisturbed) = (folder.path().join("a"), folder.path().join("b"));
    let n_documents = train(&source, &undisturbed, u64::MAX)?.documents_processed;
    let stop_after = (n_documents / N_SESSIONS).max(1);
    let mut sessions = 0;
    loop {
        let report = train(&source, &stopped, stop_after)?;
        sessions += 1;
        let done = report.documents_processed;
        if report.complete {
            writeln!(out, "session {sessions}: complete, {done} documents")?;
            break;
        }
        writeln!(out, "session {sessions}: stopped, {done} documents so far")?;
    }
    anyhow::ensure!(
        sessions > 2,
        "{n_documents} documents are too few to stop twice"
    );
    let is_same = knowledge(&stopped)? == knowledge(&undisturbed)?;
    anyhow::ensure!(is_same, "the knowledge differs");
    writeln!(out, "the same knowledge as without stopping, byte for byte")?;
    Ok(())
}
