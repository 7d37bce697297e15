//! One measurement: a run of its own, trained and removed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use kato_client::{KatoClient, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{StreamingDatasetLoader, TextUnit};
use kato_model::RunName;
use kato_mongodb::{MongoRuns, MongoStore};
use kato_remote::RemoteBackend;
use kato_scheduler::{
    RunConfiguration, StopSignal, TrainingOptions, TrainingReport, WorkDistribution, Workers,
    train_parallel, train_parallel_with,
};
use kato_store::EmbeddedStore;
use kato_store::embedded::{EmbeddedOptions, Merging};
use uuid::Uuid;

use super::MeasuredBackend;
use crate::interrupt::AGAIN;
use crate::writable::temporary_directory;

/// The training that is measured.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The hierarchy.
    pub(crate) learner: HierarchicalConceptLearner,
    /// Files to learn from.
    pub(crate) inputs: Vec<PathBuf>,
    /// Documents of each measurement at most.
    pub(crate) documents: u64,
    /// Which worker learns which document.
    pub(crate) distribution: WorkDistribution,
    /// Ends the measurement.
    pub(crate) stop: StopSignal,
}

impl Bench {
    /// Trains a new run into a backend and removes it.
    ///
    /// # Errors
    ///
    /// When the backend cannot be reached, the run cannot be trained or removed, or was
    /// interrupted.
    pub(crate) fn measure(
        &self,
        backend: &MeasuredBackend,
        workers: NonZeroUsize,
    ) -> Result<TrainingReport> {
        let report = match backend {
            MeasuredBackend::Embedded => self.embedded(workers),
            MeasuredBackend::Kato(url) => self.kato(url, workers),
            MeasuredBackend::Mongodb(uri) => self.mongodb(uri, workers),
        };
        let report = report.with_context(|| format!("with --workers {workers}"))?;
        // A run that was stopped has a report as well, over fewer documents: its rate would say
        // nothing.
        if self.stop.is_stopped() {
            bail!(AGAIN);
        }
        Ok(report)
    }

    /// Returns a loader at the first document.
    fn loader(&self) -> Result<StreamingDatasetLoader> {
        let builder = StreamingDatasetLoader::builder()
            .with_inputs(&self.inputs)
            .with_text_unit(TextUnit::Paragraphs)
            .with_max_documents(self.documents);
        Ok(builder.build()?)
    }

    /// Returns the options of a training with this number of workers.
    fn options(&self, workers: NonZeroUsize) -> TrainingOptions {
        let mut options = TrainingOptions::default();
        options.n_workers = Workers::Exactly(workers);
        options.distribution = self.distribution;
        options.stop = self.stop.clone();
        options
    }

    /// Returns the configuration that the run records.
    fn configuration(&self) -> RunConfiguration {
        RunConfiguration::from_learner(&self.learner)
    }

    /// Measures a training into a temporary directory.
    fn embedded(&self, workers: NonZeroUsize) -> Result<TrainingReport> {
        // Made first and so dropped last: the directory goes when the store has closed its files.
        let dir = temporary_directory()?;
        let configuration = self.configuration().to_json();
        let nodes = self.learner.node_names();
        // As a training does.
        let store_options = EmbeddedOptions::default().with_merging(Merging::Beside);
        let kb = dir.path().join("kb");
        let store = EmbeddedStore::create_with(&kb, &nodes, configuration, store_options)?;
        let (mut loader, options) = (self.loader()?, self.options(workers));
        let report = train_parallel(&mut loader, &self.learner, &store, &options, |_event| {});
        Ok(report?)
    }

    /// Measures a training into the nodes of a KATO server.
    fn kato(&self, url: &str, workers: NonZeroUsize) -> Result<TrainingReport> {
        let dir = temporary_directory()?;
        let run = unique();
        let client = || KatoClient::builder(url, SessionOptions::new(run.as_str()));
        // A worker needs one connection for each level.
        let connections = workers.saturating_mul(self.learner.nodes().len().try_into()?);
        let state = dir.path().join("bench.kato-run.json");
        let backend = RemoteBackend::builder(client(), run.clone(), state)
            .with_connections(connections)
            // No server removes one.
            .with_record(false)
            .create(&self.learner, &self.configuration())?;
        let (mut loader, options) = (self.loader()?, self.options(workers));
        let report =
            train_parallel_with(&mut loader, &self.learner, &backend, &options, |_event| {});
        // Before the outcome is looked at, so that a measurement that failed leaves nothing behind.
        for node in backend.node_ids() {
            let client = KatoClient::builder(url, SessionOptions::new(node));
            kato_client::blocking::KatoClient::new(client)?.clear_all()?;
        }
        Ok(report?)
    }

    /// Measures a training into a MongoDB.
    fn mongodb(&self, uri: &str, workers: NonZeroUsize) -> Result<TrainingReport> {
        let run = unique();
        let configuration = self.configuration().to_json();
        let nodes = self.learner.node_names();
        let store = MongoStore::builder(uri, run.clone()).create(&nodes, configuration)?;
        let (mut loader, options) = (self.loader()?, self.options(workers));
        let report = train_parallel(&mut loader, &self.learner, &store, &options, |_event| {});
        // The store holds the lease of the run, without which it cannot be deleted.
        drop(store);
        MongoRuns::connect(uri)?.delete(&run)?;
        Ok(report?)
    }
}

/// Returns a name that no other run has.
fn unique() -> RunName {
    RunName::from_random(Uuid::new_v4().as_u64_pair().0)
}
