//! Estimates what a run will store from a look at some of its documents.
//!
//! Run: `cargo run --release -p kato-examples --example estimate_storage --features estimate -- corpus.jsonl
//! 100000`

use std::io::Write;
use std::process::ExitCode;

use kato::estimator::{Calibration, StorageEstimator, Target, TextSampler};
use kato::loader::TextUnit;
use kato::prelude::*;
use kato_examples::{Arguments, Output, SOURCE, run, sources};

/// Documents to look at.
const LOOK_AT: usize = 1000;

fn main() -> ExitCode {
    run(
        &[
            SOURCE,
            ("[DOCUMENTS]", "the number of documents of the run; 10000"),
        ],
        estimate,
    )
}

fn estimate(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let documents = arguments.parse(1, "10000")?;
    // In random order, as the first documents of a corpus are seldom like the others.
    let loader = StreamingDatasetLoader::builder()
        .with_inputs(sources(arguments.get(0)))
        // By default a whole file is one document.
        .with_text_unit(TextUnit::Paragraphs)
        .with_order(Order::shuffled(1))
        .build()?;
    // The learner of the run that is planned: its rules decide what a document teaches.
    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let mut sample = TextSampler::new(&learner)?;
    let mut looked_at = 0;
    for document in loader.take(LOOK_AT) {
        sample.add(&document?.text)?;
        looked_at += 1;
    }
    // An estimate for more than 200 times what was looked at is refused: look at more then.
    let estimate = StorageEstimator::builder()
        .with_calibration(Calibration::from_sample(&sample.finish()?))
        .build()?
        .estimate(Target::samples(documents))?;
    writeln!(
        out,
        "looked at {looked_at} documents to estimate {documents}\n\n{estimate}"
    )?;
    Ok(())
}
