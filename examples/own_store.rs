//! Trains into a store of one's own: here one in memory that reports its commits.
//!
//! Run: `cargo run --release -p kato-examples --example own_store`

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use kato::Destination;
use kato::model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use kato::prelude::*;
use kato::scheduler::RunConfiguration;
use kato::store::contract::{Scan, StagedBatch, SymbolCounts, Totals};
use kato::store::{MemoryStore, PatternVisitor, StoreError, StoredPattern};
use kato_examples::{Arguments, Output, own_text, run};
use serde_json::Value;

#[derive(Debug)]
struct ReportingStore(MemoryStore);

type Result<T> = std::result::Result<T, StoreError>;

/// Hands calls on; a store of another kind has something to do in each.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.0.$name($($argument),*)
        })*
    };
}

// `kato_store::conformance`, a feature of that crate, has the tests that a store must pass.
impl PatternStore for ReportingStore {
    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<()> {
        // Patterns and position are one: after a crash both are as the last commit left them.
        let at = checkpoint["cursor"]["counts"]["documents"].clone();
        let line = format!("{} batches committed, up to document {at}\n", staged.len());
        self.0.commit(staged, checkpoint)?;
        drop(io::stdout().write_all(line.as_bytes()));
        Ok(())
    }

    forward! {
        nodes() -> &[String];
        configuration() -> &Value;
        attribute_limits() -> AttributeLimits;
        checkpoint() -> Value;
        check_writable() -> Result<()>;
        stage(batch: SealedBatch) -> Result<StagedBatch>;
        clear(checkpoint: Value) -> Result<()>;
        forget(doomed: &[Vec<PatternName>], checkpoint: Value) -> Result<()>;
        totals(node: usize) -> Result<Totals>;
        count_patterns(node: usize) -> Result<u64>;
        pattern(node: usize, name: &PatternName) -> Result<Option<StoredPattern>>;
        scan(node: usize) -> Result<Scan<'_, StoredPattern>>;
        scan_frequencies(node: usize) -> Result<Scan<'_, (PatternName, u64)>>;
        visit(node: usize, visitor: &mut dyn PatternVisitor) -> Result<()>;
        vectors(node: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>>;
        symbol_counts(node: usize) -> Result<Scan<'_, (Symbol, SymbolCounts)>>;
        document(sample: u64) -> Result<Option<String>>;
        disk_bytes() -> Option<u64>;
    }
}

fn main() -> ExitCode {
    run(&[], train)
}

fn train(_: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let learner = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;
    let configuration = RunConfiguration::from_learner(&learner).to_json();
    let store = ReportingStore(MemoryStore::new(&learner.node_names(), configuration));
    let corpus = StreamingDatasetLoader::builder().with_inputs(own_text());
    let (kb, _) = Training::new(Destination::into_store(Arc::new(store)))
        .with_corpus(corpus)
        .with_learner(learner)
        .run_and_open()?;
    let generation = kb.generate("kato-rs learns", &GenerationOptions::default())?;
    Ok(writeln!(out, "{}", generation.whole_text)?)
}
