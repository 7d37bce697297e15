//! Trains the nodes of a KATO server, one of ours or a stock one: every document counts once, whatever
//! dies when; into a stock one, or the run ends and says what it cannot tell.
//!
//! Run, beside `cargo run --release -p kato-examples --example serve --features server`:
//! `cargo run --release -p kato-examples --example train_over_http --features client --
//! http://127.0.0.1:8000 my_run corpus.jsonl`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use kato::client::{KatoClient, SessionOptions};
use kato::model::RunName;
use kato::prelude::*;
use kato::remote::RemoteBackend;
use kato::scheduler::{Backend, RunConfiguration, loader_at_checkpoint, train_parallel_with};
use kato_examples::{Arguments, Output, SOURCE, run, sources};

fn main() -> ExitCode {
    let server = ("SERVER", "the address of a KATO server, http://…");
    run(
        &[server, ("[RUN]", "the name of the run; example"), SOURCE],
        train,
    )
}

fn train(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let run: RunName = arguments.parse(1, "example")?;
    // The position of the run lies in the current folder; with it, the next call goes on.
    let state = PathBuf::from(format!("{run}.kato-run.json"));

    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let client = KatoClient::builder(arguments.or(0, ""), SessionOptions::new(run.as_str()));
    let builder = RemoteBackend::builder(client, run, &state);
    let backend = match state.exists() {
        true => builder.open(&learner)?,
        false => builder.create(&learner, &RunConfiguration::from_learner(&learner))?,
    };
    let corpus = StreamingDatasetLoader::builder().with_inputs(sources(arguments.get(2)));
    let mut loader = loader_at_checkpoint(corpus, &backend.checkpoint())?;
    let options = TrainingOptions::default();
    let report = train_parallel_with(&mut loader, &learner, &backend, &options, |_event| {})?;

    writeln!(
        out,
        "{} documents with {} requests into {}",
        report.documents_processed,
        backend.calls().requests,
        backend.node_ids().join(", ")
    )?;
    Ok(())
}
