//! Stops a training in the middle, goes on, and compares the result with that of an undisturbed
//! one.
//!
//! Run: `cargo run --release --example resume`

use std::io::{self, Write};
use std::path::Path;

use kato::prelude::*;

/// Trains into a directory, and stops itself after some documents.
fn train(kb: &Path, stop_after: u64) -> Result<TrainingReport, Error> {
    let corpus = StreamingDatasetLoader::builder().with_inputs(kato_examples::own_text());
    let stop = StopSignal::default();
    let switch = stop.clone();
    let mut options = TrainingOptions::default();
    // Looked at after every document, not ten times a second.
    options.progress_interval = std::time::Duration::ZERO;
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

/// Patterns and how often they were learned, of every level.
fn knowledge(kb: &Path) -> Result<Vec<Vec<(String, u64)>>, Error> {
    let store = EmbeddedStore::open_read_only(kb)?;
    (0..store.nodes().len())
        .map(|level| {
            let patterns = store.scan_frequencies(level)?;
            patterns
                .map(|pattern| {
                    let (name, frequency) = pattern?;
                    Ok((name.to_string(), frequency))
                })
                .collect()
        })
        .collect()
}

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (stopped, undisturbed) = (folder.path().join("a"), folder.path().join("b"));
    let mut out = io::stdout().lock();

    let mut sessions = 0;
    loop {
        let report = train(&stopped, 3)?;
        sessions += 1;
        let done = report.documents_processed;
        writeln!(out, "session {sessions}: {done} documents so far")?;
        if report.complete {
            break;
        }
    }
    train(&undisturbed, u64::MAX)?;
    anyhow::ensure!(knowledge(&stopped)? == knowledge(&undisturbed)?);
    writeln!(out, "the same knowledge as without stopping")?;
    Ok(())
}
