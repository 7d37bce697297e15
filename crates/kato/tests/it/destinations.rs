//! Training into anything: one builder, one report, one result.

use std::ops::Range;
use std::sync::Arc;

use kato::learner::{LearnError, LearnScratch, TextDocument};
use kato::model::LearnBatch;
use kato::prelude::*;
use kato::scheduler::backend::{RefusedDocument, Teacher};
use kato::scheduler::{Backend, RunConfiguration, TrainError};
use kato::store::MemoryStore;
use kato::store::contract::StagedBatch;
use kato::tokenizer::Whitespace;
use kato::{Destination, SessionEnd};
use serde_json::Value;

use super::{corpus, knowledge, knowledge_of, training};

/// A run is built on one thread and runs on another.
const fn is_send<T: Send>() {}
const _: () = is_send::<Training<'static>>();

fn rules() -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([3, 2])
        .build()
        .unwrap()
}

fn memory_store() -> Arc<MemoryStore> {
    let rules = rules();
    let configuration = RunConfiguration::from_learner(&rules).to_json();
    Arc::new(MemoryStore::new(&rules.node_names(), configuration))
}

/// A backend that keeps what it is taught in a store.
struct Shelf(Arc<MemoryStore>);

struct ShelfTeacher<'a> {
    shelf: &'a Shelf,
    learner: &'a HierarchicalConceptLearner,
    batch: LearnBatch,
}

impl Backend for Shelf {
    type Part = StagedBatch;

    fn nodes(&self) -> &[String] {
        self.0.nodes()
    }

    fn configuration(&self) -> &Value {
        self.0.configuration()
    }

    fn checkpoint(&self) -> Value {
        self.0.checkpoint()
    }

    fn teacher<'a>(
        &'a self,
        learner: &'a HierarchicalConceptLearner,
    ) -> Result<Box<dyn Teacher<Part = StagedBatch> + 'a>, TrainError> {
        Ok(Box::new(ShelfTeacher {
            shelf: self,
            learner,
            batch: learner.new_batch(),
        }))
    }

    fn commit(&self, parts: Vec<StagedBatch>, checkpoint: Value) -> Result<(), TrainError> {
        self.0.commit(parts, checkpoint).map_err(TrainError::Store)
    }

    fn learns(&self, node_idx: usize) -> Result<u64, TrainError> {
        Ok(self.0.totals(node_idx).map_err(TrainError::Store)?.learns)
    }

    fn count_patterns(&self, _node_idx: usize) -> Result<Option<u64>, TrainError> {
        Ok(None)
    }
}

impl Teacher for ShelfTeacher<'_> {
    type Part = StagedBatch;

    fn learn(
        &mut self,
        document: TextDocument<'_>,
        scratch: &mut LearnScratch,
    ) -> Result<(), LearnError> {
        self.learner.learn(document, &mut self.batch, scratch)
    }

    fn finish_work(
        &mut self,
        _documents: Range<u64>,
        _activity: &kato::scheduler::activity::Activity,
    ) -> Result<Vec<RefusedDocument>, TrainError> {
        Ok(Vec::new())
    }

    fn learns(&self, node_idx: usize) -> u64 {
        self.batch.learns(node_idx)
    }

    fn heap_bytes(&self) -> usize {
        self.batch.heap_bytes()
    }

    fn take_part(&mut self) -> Result<Option<StagedBatch>, TrainError> {
        let batch = std::mem::replace(&mut self.batch, self.learner.new_batch());
        let staged = self.shelf.0.stage(batch.seal());
        staged.map(Some).map_err(TrainError::Store)
    }
}

#[test]
fn every_destination_learns_the_same_and_reports_the_same() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (corpus(&place), place.path().join("kb"));
    let (store, shelf) = (memory_store(), Shelf(memory_store()));
    let of = |training: Training<'_>| {
        let training = training.with_source(&source).with_learner(rules());
        let report = training.run().unwrap();
        assert_eq!(report.ended, SessionEnd::Complete);
        (report.documents_processed, report.tokens, report.dropped)
    };
    let expected = of(Training::new(&kb));
    assert_eq!(expected.0, 60);
    let into_store = || {
        Training::new(Destination::into_store(
            Arc::clone(&store) as Arc<dyn PatternStore>
        ))
    };
    assert_eq!(of(into_store()), expected);
    assert_eq!(of(Training::into_backend(&shelf)), expected);
    assert_eq!(of(Training::in_memory()), expected);
    let known = knowledge(&kb);
    assert_eq!(knowledge_of(&*store), known);
    assert_eq!(knowledge_of(&*shelf.0), known);

    // Once more: nothing is left.
    let again = into_store()
        .with_source(&source)
        .with_learner(rules())
        .run();
    assert_eq!(again.unwrap().session_documents, 0);
    let again = Training::into_backend(&shelf)
        .with_source(&source)
        .with_learner(rules())
        .run();
    assert_eq!(again.unwrap().session_documents, 0);
    assert_eq!(knowledge_of(&*shelf.0), known);
}

#[test]
fn what_was_trained_is_opened_wherever_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (corpus(&place), place.path().join("kb"));
    let ask = |opened: &Hierarchy| {
        opened
            .activate("the 1 cat", &ActivationOptions::default())
            .unwrap()
    };
    let (in_directory, _) = training(&kb, &source).run_and_open().unwrap();
    assert!(in_directory.learn("it is read only").is_err());
    let (in_memory, _) = Training::in_memory()
        .with_source(&source)
        .with_chunk_sizes([3, 2])
        .run_and_open()
        .unwrap();
    assert!(ask(&in_memory).best().is_some());
    assert_eq!(ask(&in_memory), ask(&in_directory));
    in_memory.learn("a dog ran over the road").unwrap();

    // A tokenizer that no name leads to is at hand.
    let words = Whitespace::from_texts(["a b c d"]);
    let (opened, _) = Training::in_memory()
        .with_documents("words", ["a b c a b d"])
        .with_tokenizer(Arc::new(words))
        .with_chunk_sizes([3])
        .run_and_open()
        .unwrap();
    assert_eq!(opened.nodes()[0].totals().patterns, 2);

    let shelf = Shelf(memory_store());
    let opened = Training::into_backend(&shelf)
        .with_source(&source)
        .with_learner(rules())
        .run_and_open();
    assert!(matches!(opened, Err(Error::Run(_))), "{opened:?}");
}

#[test]
fn a_report_says_what_ended_the_session() {
    let place = tempfile::tempdir().unwrap();
    let (source, kb) = (corpus(&place), place.path().join("kb"));
    let stop = StopSignal::default();
    drop(stop.stop_on_drop());
    let stopped = training(&kb, &source).with_stop(stop).run().unwrap();
    assert_eq!(
        (stopped.complete, stopped.ended),
        (false, SessionEnd::Stopped)
    );
    let corpus = || StreamingDatasetLoader::builder().with_input(&source);
    let limited = training(&kb, &source)
        .with_corpus(corpus().with_max_documents(10))
        .run()
        .unwrap();
    assert_eq!(
        (limited.complete, limited.ended),
        (false, SessionEnd::Limit)
    );
    assert_eq!(limited.documents_processed, 10);
    let complete = training(&kb, &source).run().unwrap();
    assert_eq!(
        (complete.complete, complete.ended),
        (true, SessionEnd::Complete)
    );
}

#[test]
fn documents_that_are_no_files_are_learned_as_files_are() {
    let place = tempfile::tempdir().unwrap();
    let source = corpus(&place);
    let text = std::fs::read_to_string(&source).unwrap();
    let documents = move || {
        let texts = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["text"].as_str().unwrap().to_owned()
        });
        texts.collect::<Vec<_>>()
    };
    let [of_file, of_program] = ["file", "program"].map(|name| place.path().join(name));
    training(&of_file, &source).run().unwrap();
    let run = |most: u64| {
        let corpus = StreamingDatasetLoader::builder().with_documents("texts", documents());
        Training::new(&of_program)
            .with_corpus(corpus.with_max_documents(most))
            .with_chunk_sizes([3, 2])
            .run()
            .unwrap()
    };
    assert_eq!(run(25).ended, SessionEnd::Limit);
    let report = run(u64::MAX);
    assert_eq!(
        (report.documents_processed, report.session_documents),
        (60, 35)
    );
    assert_eq!(knowledge(&of_program), knowledge(&of_file));
}
