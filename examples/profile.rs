//! Watches a training and says what bounds it, with a page of charts.
//!
//! Run: `cargo run --release --example profile --features profile -- corpus.jsonl profile.html`

use std::io::{self, Write};
use std::path::PathBuf;

use kato::prelude::*;
use kato::probe::Probe;
use kato::profiler::ProfilingEngine;
use kato::scheduler::stages::STAGES;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let sources = match arguments.next() {
        Some(source) => vec![source],
        None => kato_examples::own_text(),
    };
    let page = arguments
        .next()
        .unwrap_or_else(|| PathBuf::from("profile.html"));
    let folder = tempfile::tempdir()?;

    // The run's threads mark what they are doing; the profile looks at the marks and at the
    // machine.
    let probe = Probe::on(STAGES);
    let profile = ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_watch_path(folder.path())
        .with_title("Training")
        .build()?
        .start()?;
    let mut options = TrainingOptions::default();
    options.probe = probe.clone();
    let corpus = StreamingDatasetLoader::builder()
        .with_inputs(sources)
        .with_probe(probe);
    let report = Training::new(folder.path().join("kb"))
        .with_corpus(corpus)
        .with_options(options)
        .run()?;
    profile
        .counter()
        .add(report.session_documents, report.tokens);
    let summary = profile.stop();

    summary.export_html(&page)?;
    let mut out = io::stdout().lock();
    let (headline, advice) = (summary.verdict.headline(), &summary.verdict.advice);
    writeln!(out, "{headline}\n{advice}")?;
    writeln!(out, "Charts: {}", page.display())?;
    Ok(())
}
