//! Trains on a part of a corpus, and asks about the documents that were held out: what is recognised, what
//! is expected next, and how many bits a token costs.
//!
//! Run: `cargo run --release -p kato-examples --example evaluate --features evaluate -- corpus.jsonl`

use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use kato::evaluation::{Corpora, EvaluationOptions, evaluate};
use kato::loader::TextUnit;
use kato::prelude::*;
use kato_examples::{Arguments, Output, made_text, run};

fn main() -> ExitCode {
    let source = "a file, folder or glob, of a hundred documents, plain text by its paragraphs; else text that is made";
    run(&[("[SOURCE]", source)], judge)
}

fn judge(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = match arguments.get(0) {
        Some(source) => source.into(),
        None => made_text(folder.path(), 200_000)?,
    };
    let corpus = || {
        let builder = StreamingDatasetLoader::builder().with_input(&source);
        builder.with_text_unit(TextUnit::Paragraphs)
    };
    let kb = folder.path().join("kb");
    // One document in ten, chosen by its id: the run records which, and never learns them.
    let split = Split::training(0.1, 1);
    let learner = || {
        HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
            .with_chunk_sizes([5, 7, 9])
            .build()
    };
    let report = Training::new(&kb)
        .with_corpus(corpus())
        .with_split(split)
        .with_learner(learner()?)
        .run()?;
    writeln!(out, "{} documents learned", report.documents_processed)?;

    let hierarchy = kato::open(&kb)?;
    let corpora = Corpora::new(
        || corpus().with_split(split).build(),
        || corpus().with_split(split.complement()).build(),
    );
    let mut options = EvaluationOptions::default();
    options.max_questions = 300;
    let report = evaluate(hierarchy.engine(), &learner()?, &corpora, &options, |_| {
        ControlFlow::Continue(())
    })?;

    let (documents, tokens) = (report.documents, report.tokens);
    writeln!(out, "{documents} documents asked about, {tokens} tokens")?;
    for level in &report.levels {
        let percent = |share: Option<f64>| 100.0 * share.unwrap_or_default();
        let known = percent(level.recognition.recognised.ratio());
        let (node, next) = (&level.node, percent(level.next.top_1.ratio()));
        writeln!(
            out,
            "{node}: {known:.1} % recognised, next right in {next:.1} %"
        )?;
    }
    let bits = |bits: Option<f64>| bits.map_or("none".to_owned(), |bits| format!("{bits:.2}"));
    let (kato, ngram) = (&report.code_length.kato, &report.code_length.ngram);
    writeln!(
        out,
        "bits a token: {} by predictions, {} by the head, {} by n-grams of the same documents",
        bits(kato.bits_per_token),
        bits(report.head.and_then(|head| head.with_cache.bits_per_token)),
        bits(ngram.bits_per_token)
    )?;
    Ok(())
}
