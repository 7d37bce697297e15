//! A small knowledge base of the sample text, of which one document in twenty is held out.

use std::io::Cursor;
use std::path::PathBuf;

use kato_learner::HierarchicalConceptLearner;
use kato_loader::{LoadError, Split, StreamingDatasetLoader, TextUnit};
use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel};
use kato_store::EmbeddedStore;
use kato_tokenizer::gpt2;
use tempfile::TempDir;

use crate::{sample_text, sized};

/// Share of the documents that are held out.
const HELD_OUT: f64 = 0.05;
/// Bytes of text of a trial: of less, no paragraph may be held out.
const LEAST_BYTES: usize = 100_000;

/// A knowledge base in a folder that goes away with it, and the text that it was trained on.
#[derive(Debug)]
pub struct Knowledge {
    dir: TempDir,
    text: String,
    split: Split,
}

impl Default for Knowledge {
    fn default() -> Self {
        Self::new()
    }
}

impl Knowledge {
    /// Trains on the paragraphs of the sample text, three levels: always the same, in one segment.
    ///
    /// # Panics
    ///
    /// When there is no sample text, or the disk has no room.
    #[must_use]
    pub fn new() -> Self {
        let mut text = sample_text();
        let n_bytes = (sized(text.len() as u64) as usize).max(LEAST_BYTES.min(text.len()));
        text.truncate(text.floor_char_boundary(n_bytes));
        let knowledge = Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
            text,
            split: Split::training(HELD_OUT, 1),
        };
        let learner = knowledge.learner();
        let run = RunConfiguration::from_learner(&learner).with_split(Some(knowledge.split));
        let store = EmbeddedStore::create(knowledge.kb(), &learner.node_names(), run.to_json())
            .expect("the folder is empty");
        let mut loader = knowledge.trained().expect("the text has paragraphs");
        let options = TrainingOptions::default();
        train_parallel(&mut loader, &learner, &store, &options, |_event| {})
            .expect("the disk has room");
        store.compact().expect("the disk has room");
        knowledge
    }

    /// Returns the learner that it was trained with.
    ///
    /// # Panics
    ///
    /// Never.
    #[must_use]
    pub fn learner(&self) -> HierarchicalConceptLearner {
        HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes([5, 7, 9])
            .build()
            .expect("three levels are a hierarchy")
    }

    /// Returns its directory.
    #[must_use]
    pub fn kb(&self) -> PathBuf {
        self.dir.path().join("kb")
    }

    /// Opens it to be read.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn open(&self) -> EmbeddedStore {
        EmbeddedStore::open_read_only(self.kb()).expect("it was trained")
    }

    /// Reads the documents that it was trained on.
    ///
    /// # Errors
    ///
    /// As [`StreamingDatasetLoader::builder`] builds.
    pub fn trained(&self) -> Result<StreamingDatasetLoader, LoadError> {
        self.documents(self.split)
    }

    /// Reads the documents that it has not seen.
    ///
    /// # Errors
    ///
    /// As [`StreamingDatasetLoader::builder`] builds.
    pub fn held_out(&self) -> Result<StreamingDatasetLoader, LoadError> {
        self.documents(self.split.complement())
    }

    /// Returns the texts of the documents that it has not seen.
    ///
    /// # Panics
    ///
    /// When there are none.
    #[must_use]
    pub fn held_out_texts(&self) -> Vec<String> {
        let texts = self.held_out().expect("the text has paragraphs");
        texts
            .map(|document| document.expect("a paragraph is text").text)
            .collect()
    }

    fn documents(&self, split: Split) -> Result<StreamingDatasetLoader, LoadError> {
        StreamingDatasetLoader::builder()
            .with_reader("sample.txt", Cursor::new(self.text.clone().into_bytes()))
            .with_text_unit(TextUnit::Paragraphs)
            .with_split(split)
            .build()
    }
}
