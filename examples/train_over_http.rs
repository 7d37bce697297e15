//! Trains the nodes of a KATO server, one of ours or a stock one: every document counts once,
//! whatever dies when.
//!
//! Run, beside `cargo run --release --example serve --features server`:
//! `cargo run --release --example train_over_http --features client -- http://127.0.0.1:8000 my_run`

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use kato::client::{KatoClient, SessionOptions};
use kato::model::RunName;
use kato::prelude::*;
use kato::remote::RemoteBackend;
use kato::scheduler::{Backend, RunConfiguration, loader_at_checkpoint, train_parallel_with};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("name the server: http://…")?;
    let run = arguments.next().unwrap_or_else(|| "example".to_owned());
    let run: RunName = run.parse()?;
    // The position of the run lies beside the program; with it, the next call goes on.
    let state = PathBuf::from(format!("{run}.kato-run.json"));

    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let client = KatoClient::builder(&url, SessionOptions::new(run.as_str()));
    let builder = RemoteBackend::builder(client, run, &state);
    let backend = match state.exists() {
        true => builder.open(&learner)?,
        false => builder.create(&learner, &RunConfiguration::from_learner(&learner))?,
    };
    let corpus = StreamingDatasetLoader::builder().with_inputs(kato_examples::own_text());
    let mut loader = loader_at_checkpoint(corpus, &backend.checkpoint())?;
    let options = TrainingOptions::default();
    let report = train_parallel_with(&mut loader, &learner, &backend, &options, |_event| {})?;

    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{} documents with {} requests into {}",
        report.documents_processed,
        backend.calls().requests,
        backend.node_ids().join(", ")
    )?;
    Ok(())
}
