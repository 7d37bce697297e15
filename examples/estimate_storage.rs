//! Estimates what a run will store from a look at some of its documents.
//!
//! Run: `cargo run --release --example estimate_storage --features estimate -- corpus.jsonl 1000000`

use std::io::{self, Write};
use std::path::PathBuf;

use kato::estimator::{Calibration, Hierarchy, SampleBuilder, StorageEstimator, Target};
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
    let tokenizer = kato::tokenizer::gpt2();
    let mut sample = SampleBuilder::new(Hierarchy::new([5, 7, 9])?);
    for document in loader.take(LOOK_AT) {
        let document = document?;
        // Chunks do not reach over paragraphs.
        let paragraphs = document.text.split("\n\n");
        let paragraphs = paragraphs
            .map(|paragraph| tokenizer.encode(paragraph))
            .collect::<Result<Vec<_>, _>>()?;
        sample.add(&paragraphs, document.text.len() as u64);
    }
    let estimate = StorageEstimator::builder()
        .calibration(Calibration::from_sample(&sample.finish()?))
        // However far beyond what was looked at; the intervals say what that is worth.
        .force(true)
        .build()?
        .estimate(Target::samples(documents))?;
    write!(io::stdout(), "{estimate}")?;
    Ok(())
}
