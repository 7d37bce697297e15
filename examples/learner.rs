//! Uses the learner alone, without a store or a thread: what a text leads to, with metadata, and with
//! emotives that a program adds.
//!
//! Run: `cargo run --release -p kato-examples --example learner -- "The cat sat on the mat, and the dog lay there."`

use std::io::Write;
use std::process::ExitCode;

use kato::learner::TextDocument;
use kato::learner::plan::PlannedSymbols;
use kato::model::emotives::DEFAULT_PERSISTENCE;
use kato::model::{Attributes, EmotiveMap, Event, PatternName};
use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    run(
        &[("[TEXT]", "what is learned; a sentence about a cat")],
        learn,
    )
}

fn learn(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([4, 2])
        .with_recording(Recording {
            metadata: true,
            ..Recording::default()
        })
        .build()?;
    let document = TextDocument {
        id: "sentence",
        text: arguments.or(0, "The cat sat on the mat, and the dog lay there."),
        metadata: &[("title", "A sentence"), ("author", "nobody")],
        ..TextDocument::default()
    };
    let mut scratch = learner.new_scratch();
    let vocabulary = learner.tokenizer().vocabulary();

    // What each level would be taught, without teaching anybody.
    let plan = learner.plan(&document, &mut scratch)?;
    for level in 0..plan.n_nodes() {
        for call in plan.calls(level) {
            let symbols: Vec<_> = match call.symbols {
                PlannedSymbols::Tokens(ids) => {
                    ids.iter().filter_map(|&id| vocabulary.get(id)).collect()
                }
                _ => vec!["names of the level below"],
            };
            let name = call.name.map_or_else(String::new, |name| name.to_string());
            writeln!(out, "node{level} learns {name}: {}", symbols.join("|"))?;
        }
    }

    // The same, counted into a batch, which any store takes.
    let mut batch = learner.new_batch();
    learner.learn(document, &mut batch, &mut scratch)?;
    // A learn call of the program's own, with what the text does not say.
    let chunk = learner.tokenizer().encode("What a cat")?;
    let joy = EmotiveMap::from([("joy".to_owned(), 0.9)]);
    let event = |&id: &u32| Event::new(vocabulary.get(id));
    let name = PatternName::of_events(&chunk.iter().map(event).collect::<Vec<_>>());
    let occurrence = batch.learn_tokens(name, &chunk);
    let mut attributes = Attributes {
        affinity: joy.clone(),
        ..Attributes::default()
    };
    attributes.emotives.learn((1, 0), joy, DEFAULT_PERSISTENCE);
    batch.attach(0, occurrence, attributes);

    let sealed = batch.seal();
    for pattern in sealed.node(0).patterns() {
        if let Some(attributes) = pattern.attributes {
            let title = attributes.metadata.values("title").next();
            let (name, joy) = (pattern.name, attributes.emotives.mean());
            writeln!(out, "{name} has the title {title:?}, emotives {joy:?}")?;
        }
    }
    Ok(())
}
