//! Trains into a MongoDB, in the layout that KATO reads.
//!
//! Run: `cargo run --release -p kato-examples --example train_into_mongodb --features mongodb --
//! mongodb://127.0.0.1:27017 my_run corpus.jsonl`

use std::io::{Write, stderr};
use std::process::ExitCode;

use kato::model::RunName;
use kato::mongodb::MongoStore;
use kato::prelude::*;
use kato::scheduler::{RunConfiguration, loader_at_checkpoint, train_parallel};
use kato_examples::{Arguments, Output, SOURCE, run, sources};

fn main() -> ExitCode {
    let server = ("SERVER", "the address of a MongoDB, mongodb://…");
    run(
        &[server, ("[RUN]", "the name of the run; example"), SOURCE],
        train,
    )
}

fn train(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let run: RunName = arguments.parse(1, "example")?;
    // Drivers look for a server for half a minute before they give up.
    writeln!(stderr(), "looking for the server, and learning")?;
    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let builder = MongoStore::builder(arguments.or(0, ""), run);
    let store = match builder.exists()? {
        true => builder.open()?,
        false => builder.create(
            &learner.node_names(),
            RunConfiguration::from_learner(&learner).to_json(),
        )?,
    };
    let corpus = StreamingDatasetLoader::builder().with_inputs(sources(arguments.get(2)));
    // Position and patterns are committed together: a run that was killed goes on here.
    let mut loader = loader_at_checkpoint(corpus, &store.checkpoint())?;
    let options = TrainingOptions::default();
    let report = train_parallel(&mut loader, &learner, &store, &options, |_event| {})?;

    for level in &report.levels {
        let (node, calls) = (&level.node, level.learns);
        writeln!(out, "{node}: {calls} learn calls")?;
    }
    Ok(())
}
