//! Estimates what a run will store from a look at some of its documents.
//!
//! Run: `cargo run --release --example estimate_storage --features estimate -- corpus.jsonl
//! 1000000`

use std::io::{self, Write};
use std::path::PathBuf;

use kato::estimator::{Calibration, StorageEstimator, Target, TextSampler};
use kato::prelude::*;

/// Documents to look at.
const LOOK_AT: usize = 1000;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let sources = match arguments.next() {
        Some(source) => vec![PathBuf::from(source)],
        None => kato_examples::own_text(),
    };
    let documents = arguments.next().map_or(Ok(100), |text| text.parse())?;

    // In random order, as the first documents of a corpus are seldom like the others.
    let loader = StreamingDatasetLoader::builder()
        .with_inputs(sources)
        .with_order(Order::shuffled(1))
        .build()?;
    // The learner of the run that is planned: its rules decide what a document teaches.
    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()?;
    let mut sample = TextSampler::new(&learner)?;
    for document in loader.take(LOOK_AT) {
        sample.add(&document?.text)?;
    }
    let estimate = StorageEstimator::builder()
        .with_calibration(Calibration::from_sample(&sample.finish()?))
        // However far beyond what was looked at; the intervals say what that is worth.
        .with_force(true)
        .build()?
        .estimate(Target::samples(documents))?;
    write!(io::stdout(), "{estimate}")?;
    Ok(())
}
