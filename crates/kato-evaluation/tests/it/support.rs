//! Small hierarchies trained on lines of words, and corpora of lines.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::sync::Arc;

use kato_engine::Engine;
use kato_evaluation::{Corpora, EvaluationError, EvaluationOptions, EvaluationReport, evaluate};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{LoadError, StreamingDatasetLoader, TextUnit};
use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel};
use kato_store::MemoryStore;
use kato_tokenizer::Whitespace;

pub(crate) const WORDS: [&str; 8] = ["a", "b", "c", "d", "e", "x", "y", "z"];

/// Documents to train on and others, a line each.
pub(crate) struct Lab {
    pub(crate) training: String,
    pub(crate) held_out: String,
    pub(crate) learner: HierarchicalConceptLearner,
}

impl Lab {
    pub(crate) fn new<T: AsRef<str>>(
        training: &[T],
        held_out: &[T],
        chunk_sizes: &[usize],
    ) -> Self {
        let learner = HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
            .with_chunk_sizes(chunk_sizes.iter().copied())
            .with_min_paragraph_chars(0)
            .build()
            .unwrap();
        Self {
            training: joined(training),
            held_out: joined(held_out),
            learner,
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        let configuration = RunConfiguration::from_learner(&self.learner).to_json();
        let store = MemoryStore::new(&self.learner.node_names(), configuration);
        let mut loader = lines("training.txt", &self.training).unwrap();
        train_parallel(
            &mut loader,
            &self.learner,
            &store,
            &TrainingOptions::default(),
            |_| {},
        )
        .unwrap();
        Engine::open(Arc::new(store)).unwrap()
    }

    pub(crate) fn corpora(&self) -> Corpora<'_> {
        Corpora::new(
            || lines("training.txt", &self.training),
            || lines("held_out.txt", &self.held_out),
        )
    }

    pub(crate) fn evaluate(
        &self,
        options: &EvaluationOptions,
    ) -> Result<EvaluationReport, EvaluationError> {
        let go_on = |_: &_| ControlFlow::Continue(());
        evaluate(
            &self.engine(),
            &self.learner,
            &self.corpora(),
            options,
            go_on,
        )
    }
}

pub(crate) fn lines(name: &str, text: &str) -> Result<StreamingDatasetLoader, LoadError> {
    StreamingDatasetLoader::builder()
        .with_reader(name, Cursor::new(text.to_owned()))
        .with_text_unit(TextUnit::Line)
        .build()
}

fn joined(lines: &[impl AsRef<str>]) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", line.as_ref()))
        .collect()
}
