//! Trains into a backend of one's own: here one that counts the learn calls of the lowest level.
//!
//! Run: `cargo run --release -p kato-examples --example own_backend`

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kato::HierarchicalConceptLearner as Learner;
use kato::learner::{LearnError, LearnScratch as Scratch, TextDocument};
use kato::prelude::*;
use kato::scheduler::{Backend, RunConfiguration, TrainError, backend::Teacher};
use kato_examples::{Arguments, Output, SOURCE, run, sources};
use serde_json::Value;

type Result<T, E = TrainError> = std::result::Result<T, E>;

/// Nodes, configuration, and what is committed: learn calls, and how far the corpus is learned.
struct Counter(Vec<String>, Value, Mutex<(u64, Value)>);

impl Counter {
    fn committed(&self) -> MutexGuard<'_, (u64, Value)> {
        self.2.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
impl Backend for Counter {
    type Part = u64;
    fn nodes(&self) -> &[String] {
        &self.0
    }
    fn configuration(&self) -> &Value {
        &self.1
    }
    fn checkpoint(&self) -> Value {
        self.committed().1.clone()
    }
    fn teacher<'a>(&'a self, rules: &'a Learner) -> Result<Box<dyn Teacher<Part = u64> + 'a>> {
        Ok(Box::new(Worker(rules, 0)))
    }
    fn commit(&self, parts: Vec<u64>, checkpoint: Value) -> Result<()> {
        // Counts and position change together: that makes a run exact.
        let learns = self.committed().0 + parts.into_iter().sum::<u64>();
        *self.committed() = (learns, checkpoint);
        Ok(())
    }
    fn learns(&self, level: usize) -> Result<u64> {
        Ok(if level == 0 { self.committed().0 } else { 0 })
    }
}
/// One of the threads that learn, with what it has counted since its last part.
struct Worker<'a>(&'a Learner, u64);

impl Teacher for Worker<'_> {
    type Part = u64;
    fn learn(&mut self, text: TextDocument<'_>, scratch: &mut Scratch) -> Result<(), LearnError> {
        self.1 += self.0.plan(&text, scratch)?.calls(0).len() as u64;
        Ok(())
    }
    fn learns(&self, level: usize) -> u64 {
        if level == 0 { self.1 } else { 0 }
    }
    fn take_part(&mut self) -> Result<Option<u64>> {
        Ok(Some(std::mem::take(&mut self.1)))
    }
}

fn main() -> ExitCode {
    run(&[SOURCE], train)
}

fn train(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let rules = Learner::builder(kato::tokenizer::gpt2()).build()?;
    let nodes = rules.node_names().into_iter().map(str::to_owned).collect();
    let configuration = RunConfiguration::from_learner(&rules).to_json();
    let counter = Counter(nodes, configuration, Mutex::default());
    let corpus = StreamingDatasetLoader::builder().with_inputs(sources(arguments.get(0)));
    let training = Training::into_backend(&counter).with_learner(rules);
    let learns = training.with_corpus(corpus).run()?.levels[0].learns;
    Ok(writeln!(out, "node0: {learns} learn calls")?)
}
