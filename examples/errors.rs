//! Tells errors apart by their kinds, without reading their texts.
//!
//! Run: `cargo run --release -p kato-examples --example errors`

use std::io::Write;
use std::process::ExitCode;

use kato::prelude::*;
use kato::{ErrorClass, ErrorKind};
use kato_examples::{Arguments, Output, run};

/// Returns what a program would do about it.
fn reaction(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "train first",
        ErrorKind::Exists => "open what is there",
        ErrorKind::ReadOnly => "open it for writing",
        ErrorKind::Corrupt => "restore it from a copy",
        ErrorKind::OtherCorpus | ErrorKind::OtherSettings => "begin another run",
        ErrorKind::InvalidArgument => "mend the settings",
        // What is not told apart has a class still.
        _ if error.class() == ErrorClass::TryAgain => "try again later",
        _ => "ask somebody",
    }
}

fn main() -> ExitCode {
    run(&[], provoke)
}

fn provoke(_: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let kb = folder.path().join("kb");
    let train = |texts: [&'static str; 2], sizes: [usize; 2]| {
        Training::new(&kb)
            .with_documents("texts", texts)
            .with_chunk_sizes(sizes)
            .run()
    };
    let tales = ["the cat sleeps on the mat", "the dog sleeps on the rug"];
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;

    let missing = kato::open(&kb).err();
    let impossible = train(tales, [1, 2]).err();
    train(tales, [3, 2])?;
    let other_settings = train(tales, [3, 3]).err();
    let exists = OpenOptions::new().create(&kb, &rules).err();
    let read_only = kato::open(&kb)?.learn("the bird sings in the tree");
    let read_only = read_only.err().map(Error::from);

    let errors = [missing, impossible, other_settings, exists, read_only];
    for error in errors.into_iter().flatten() {
        let (kind, reaction) = (error.kind(), reaction(&error));
        writeln!(out, "{kind:?}: {reaction}\n  {error}")?;
    }
    Ok(())
}
