//! Watches a training and says what bounds it, with a page of charts.
//!
//! Run: `cargo run --release -p kato-examples --example profile --features profile -- corpus.jsonl profile.html`

use std::io::Write;
use std::process::ExitCode;

use kato::prelude::*;
use kato::probe::Probe;
use kato::profiler::ProfilingEngine;
use kato::scheduler::stages::STAGES;
use kato_examples::{Arguments, Output, made_text, run};

/// Text that is made where none is named: enough for some seconds, as a verdict needs.
const MADE_BYTES: u64 = 20_000_000;

fn main() -> ExitCode {
    let source = "a file, folder or glob, of some megabytes; else text that is made";
    run(
        &[
            ("[SOURCE]", source),
            ("[PAGE]", "where the charts go; profile.html"),
        ],
        profile,
    )
}

fn profile(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let page = arguments.or(1, "profile.html");
    let folder = tempfile::tempdir()?;
    let source = match arguments.get(0) {
        Some(source) => source.into(),
        None => made_text(folder.path(), MADE_BYTES)?,
    };
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
        .with_input(source)
        .with_probe(probe);
    let report = Training::new(folder.path().join("kb"))
        .with_corpus(corpus)
        .with_options(options)
        .run()?;
    profile
        .counter()
        .add(report.session_documents, report.tokens);
    let summary = profile.stop();

    summary.export_html(page)?;
    let (headline, advice) = (summary.verdict.headline(), &summary.verdict.advice);
    writeln!(out, "{headline}\n{advice}\nCharts: {page}")?;
    Ok(())
}
