//! Trains into a MongoDB, in the layout that KATO reads.
//!
//! Run: `cargo run --release --example train_into_mongodb --features mongodb --
//! mongodb://127.0.0.1:27017 my_run`

use std::io::{self, Write};

use anyhow::Context;
use kato::model::RunName;
use kato::mongodb::MongoStore;
use kato::prelude::*;
use kato::scheduler::{RunConfiguration, loader_at_checkpoint, train_parallel};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let uri = arguments.next().context("name the server: mongodb://…")?;
    let run = arguments.next().unwrap_or_else(|| "example".to_owned());
    let run: RunName = run.parse()?;

    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let builder = MongoStore::builder(&uri, run);
    let store = match builder.exists()? {
        true => builder.open()?,
        false => builder.create(
            &learner.node_names(),
            RunConfiguration::from_learner(&learner).to_json(),
        )?,
    };
    let corpus = StreamingDatasetLoader::builder().with_inputs(kato_examples::own_text());
    // Position and patterns are committed together: a run that was killed goes on here.
    let mut loader = loader_at_checkpoint(corpus, &store.checkpoint())?;
    let options = TrainingOptions::default();
    let report = train_parallel(&mut loader, &learner, &store, &options, |_event| {})?;

    let mut out = io::stdout().lock();
    for level in &report.levels {
        let (node, calls) = (&level.node, level.learns);
        writeln!(out, "{node}: {calls} learn calls")?;
    }
    Ok(())
}
