//! Does work of one's own on the documents of a corpus, in place of learning them: here words are counted, on all
//! cores, stopped in the middle, and gone on with exactly there.
//!
//! Run: `cargo run --release -p kato-examples --example own_work`

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{collections::BTreeMap, fs, io::Write as _, process::ExitCode};

use kato::learner::TextDocument;
use kato::prelude::*;
use kato::scheduler::own_work::{OwnWork, WorkError};
use kato::scheduler::{loader_at_checkpoint, work_parallel};
use kato_examples::{Arguments, Output, SOURCE, run, sources};
use serde_json::Value;

/// How often each word was met.
type Words = BTreeMap<String, u64>;

/// Words with the position behind them, and the file in which they are kept.
struct Counts(Mutex<(Words, Value)>, PathBuf);

impl Counts {
    fn open(file: &Path) -> anyhow::Result<Self> {
        let state = match file.exists() {
            true => serde_json::from_slice(&fs::read(file)?)?,
            false => Default::default(),
        };
        Ok(Self(Mutex::new(state), file.to_owned()))
    }
    fn state(&self) -> MutexGuard<'_, (Words, Value)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnWork for Counts {
    type Part = Words;
    fn work(&self, document: TextDocument<'_>, words: &mut Words) -> Result<(), WorkError> {
        for word in document.text.split_whitespace() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
        Ok(())
    }
    fn checkpoint(&self) -> Value {
        self.state().1.clone()
    }
    fn commit(&self, parts: Vec<Words>, checkpoint: Value) -> Result<(), WorkError> {
        let mut next = (self.state().0.clone(), checkpoint);
        for (word, n) in parts.into_iter().flatten() {
            *next.0.entry(word).or_default() += n;
        }
        // Words and position change together, by the name of one file.
        let new = self.1.with_extension("new");
        fs::write(&new, serde_json::to_vec(&next)?)?;
        fs::rename(new, &self.1)?;
        *self.state() = next;
        Ok(())
    }
}

fn main() -> ExitCode {
    run(&[SOURCE], count)
}

fn count(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for most_documents in [5, u64::MAX] {
        let counts = Counts::open(&folder.path().join("words.json"))?;
        let corpus = StreamingDatasetLoader::builder()
            .with_inputs(sources(arguments.get(0)))
            .with_max_documents(most_documents);
        let mut loader = loader_at_checkpoint(corpus, &counts.checkpoint())?;
        let report = work_parallel(&mut loader, &counts, &TrainingOptions::default(), |_| {})?;
        let n_words: u64 = counts.state().0.values().sum();
        let n_documents = report.documents_processed;
        writeln!(out, "{n_documents} documents, {n_words} words")?;
    }
    Ok(())
}
