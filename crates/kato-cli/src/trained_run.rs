//! A training run as its knowledge base remembers it: its documents, those that it learned and those that
//! it held out.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kato_engine::Engine;
use kato_evaluation::Corpora;
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{
    CorpusIdentity, Cursor, OnBadRecord, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
};
use kato_model::KatoGeneration;
use kato_scheduler::{Checkpoint, RunConfiguration, TrainError};
use kato_store::{EmbeddedStore, PatternStore};

use crate::exit::bail_as;
use crate::knowledge_base::DirectoryArgs;
use crate::open::index_first;
use crate::remote::{self, Fetcher, Location};

/// A knowledge base with all that is needed to ask it about documents.
#[derive(Debug)]
pub(crate) struct TrainedRun {
    store: Arc<EmbeddedStore>,
    learner: HierarchicalConceptLearner,
    run: RunConfiguration,
    checkpoint: Checkpoint,
}

impl TrainedRun {
    /// Opens a knowledge base for reading.
    ///
    /// # Errors
    ///
    /// When it cannot be read, no training is in it, or its tokenizer has changed.
    pub(crate) fn open(kb: &DirectoryArgs) -> Result<Self> {
        Self::of(kb.open_trained()?)
    }

    /// Reads what a store remembers.
    ///
    /// # Errors
    ///
    /// When no training is in it, or its tokenizer has changed.
    pub(crate) fn of(store: EmbeddedStore) -> Result<Self> {
        let store = Arc::new(store);
        // With the class that `kato_runs::forget` has for either.
        let Some(checkpoint) = Checkpoint::from_json(&store.checkpoint())? else {
            bail_as!(Conflict, "no training is in {}", store.dir().display());
        };
        let run = RunConfiguration::from_json(store.configuration())
            .map_err(|source| TrainError::Checkpoint { source })
            .context("the knowledge base does not say how it was trained")?;
        let tokenizer = kato::tokenizer_of(&run.rules)?;
        let learner = HierarchicalConceptLearner::builder(tokenizer)
            .with_config(run.rules.learner.clone())
            .build()?;
        Ok(Self {
            store,
            learner,
            run,
            checkpoint,
        })
    }

    /// Returns the learner of the training.
    #[must_use]
    pub(crate) fn learner(&self) -> &HierarchicalConceptLearner {
        &self.learner
    }

    /// Returns the knowledge base.
    #[must_use]
    pub(crate) fn store(&self) -> &EmbeddedStore {
        &self.store
    }

    /// Returns how far the training came, and in which corpus.
    #[must_use]
    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Returns the documents that were learned, from a position on; `inputs` say where the corpus is now,
    /// empty where it has not been moved.
    ///
    /// # Errors
    ///
    /// When the corpus cannot be read again or is another one.
    pub(crate) fn learned(
        &self,
        inputs: &[PathBuf],
        from: Option<Cursor>,
    ) -> Result<StreamingDatasetLoader> {
        let builder = self.sides(inputs)?(true);
        let builder = match from {
            Some(from) => builder.with_cursor(from),
            None => builder,
        };
        Ok(builder.build()?)
    }

    /// Returns what reads the documents that were learned, and, given false, those that were held out. Both
    /// end where the training stands: what comes after it was neither.
    fn sides(
        &self,
        inputs: &[PathBuf],
    ) -> Result<impl Fn(bool) -> StreamingDatasetLoaderBuilder + Clone + use<>> {
        let corpus = self.corpus_now(inputs)?;
        let trained = self.checkpoint.cursor.documents();
        let split = self.run.split;
        let fetcher = fetcher_for(&corpus)?;
        Ok(move |is_training: bool| {
            let mut builder = lenient(StreamingDatasetLoader::builder_of(&corpus));
            if let Some(fetcher) = &fetcher {
                builder = remote::with_fetcher(builder, fetcher);
            }
            let builder = builder.with_max_documents(trained);
            match split {
                Some(split) if is_training => builder.with_split(split),
                // The complement in the same corpus: a document is on exactly one of the two sides.
                Some(split) => builder.with_split(split.complement()),
                None => builder,
            }
        })
    }

    /// Returns the nodes, ready to predict as a generation of KATO; an index that is missing is written first where that is worth
    /// it.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn engine(&self, generation: KatoGeneration) -> Result<Engine> {
        index_first(&self.store, None);
        // It was written here, where the user can be told.
        let options = kato::OpenOptions::new()
            .with_index(kato::IndexPolicy::Never)
            .with_generation(generation);
        Ok(options.open_engine(Arc::clone(&self.store))?)
    }

    /// Returns the documents of the training, and those that it has not seen: `unseen`, or else
    /// those that it held out.
    ///
    /// `inputs` say where the corpus is now; empty where it has not been moved.
    ///
    /// # Errors
    ///
    /// When the corpus cannot be read again or is another one, when no document was held out and
    /// none is given, and when a file that is given was part of the corpus.
    pub(crate) fn corpora(
        &self,
        inputs: &[PathBuf],
        unseen: &[PathBuf],
    ) -> Result<Corpora<'static>> {
        let split = self.run.split;
        let side = self.sides(inputs)?;
        // Each side is opened by a function of its own, as documents may be read more than once.
        let held_out = side.clone();
        let training = move || side(true).build();
        if unseen.is_empty() {
            if split.is_none() {
                bail_as!(
                    Usage,
                    "the knowledge base has seen all documents of its corpus: train one with --hold-out, or name documents that \
                     it has not seen with --unseen"
                );
            }
            return Ok(Corpora::new(training, move || held_out(false).build()));
        }
        let (options, unseen) = (self.checkpoint.corpus.clone(), unseen.to_vec());
        let unseen = move || {
            lenient(StreamingDatasetLoader::builder_like(&options).with_inputs(unseen.clone()))
                .build()
        };
        // Known documents would be recognised, and the figures would say nothing of new ones.
        self.check_unseen(&unseen()?.identity())?;
        Ok(Corpora::new(training, unseen))
    }

    /// Returns the identity of the training corpus as it is found now.
    fn corpus_now(&self, inputs: &[PathBuf]) -> Result<CorpusIdentity> {
        let corpus = &self.checkpoint.corpus;
        check_readable_again(corpus)?;
        if inputs.is_empty() {
            return Ok(corpus.clone());
        }
        let now = StreamingDatasetLoader::builder_like(corpus)
            .with_inputs(inputs.to_vec())
            .build()?;
        let now = now.identity();
        // A corpus that was moved has other names, which are no difference; sizes and fingerprints
        // tell whether it is the same.
        let differences = corpus.diff(&now.clone().with_names_of(corpus));
        if !differences.is_empty() {
            bail_as!(
                Conflict,
                "what is named in place of the training's corpus is another one:\n  {}",
                differences.join("\n  ")
            );
        }
        Ok(now)
    }

    /// Refuses files of the training's corpus.
    fn check_unseen(&self, unseen: &CorpusIdentity) -> Result<()> {
        let corpus = self.checkpoint.corpus.files();
        for file in unseen.files() {
            let seen = corpus
                .iter()
                // By content and not by name, because a copy was seen as well. A file without a
                // fingerprint says nothing.
                .find(|seen| file.fingerprint.is_some() && seen.fingerprint == file.fingerprint);
            if let Some(seen) = seen {
                bail_as!(
                    Conflict,
                    "{} is not unseen: the corpus of the training has it as {}",
                    file.name,
                    seen.name
                );
            }
        }
        Ok(())
    }
}

/// Refuses a corpus that can be read only once.
pub(crate) fn check_readable_again(corpus: &CorpusIdentity) -> Result<()> {
    // A file without a size was a stream, or its server did not tell one.
    match corpus.files().iter().find(|file| file.size.is_none()) {
        None => Ok(()),
        Some(stream) => bail!(
            "the corpus was read from {}, which cannot be read again",
            stream.name
        ),
    }
}

/// Returns a fetcher for the files of a corpus, as the environment says; `None` where all are
/// local.
fn fetcher_for(corpus: &CorpusIdentity) -> Result<Option<Fetcher>> {
    let files = corpus.files();
    let is_remote = files.iter().any(|file| Location::is_location(&file.name));
    is_remote.then(|| remote::fetcher(None)).transpose()
}

/// Sets that bad records are skipped, which were bad for the training too.
fn lenient(builder: StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder {
    builder.on_bad_record(OnBadRecord::Skip)
}
