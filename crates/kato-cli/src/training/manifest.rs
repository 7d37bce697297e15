//! The manifest of a run in training: written when the run begins to learn, and when a session
//! ends.

use std::io::{Write, stderr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use kato_loader::StreamingDatasetLoader;
use kato_model::RunName;
use kato_mongodb::MongoStore;
use kato_runs::manifest::{BackendKind, RunBackend, RunState};
use kato_runs::{ManifestFile, RunManifest, run_name_like};
use kato_scheduler::{
    RunConfiguration, TrainError, TrainingEvent, TrainingOptions, TrainingReport,
};

use crate::advice::told;

/// The manifest of a run, with the place where it is kept.
#[derive(Debug)]
pub(crate) struct Manifest {
    place: ManifestPlace,
    manifest: RunManifest,
    /// State that the place has of the run; `None` where it has nothing yet.
    recorded: Option<RunState>,
}

/// The place where a manifest is kept.
#[derive(Debug)]
enum ManifestPlace {
    File(ManifestFile),
    /// With the record of the run.
    MongoDb(Arc<MongoStore>),
}

impl ManifestPlace {
    /// Reads the manifest; `None` where there is none.
    fn read(&self) -> Result<Option<RunManifest>> {
        match self {
            Self::File(file) => Ok(file.read()?),
            Self::MongoDb(store) => {
                let found = store.manifest()?;
                let read = |value| RunManifest::from_json(&value, Path::new(store.place()));
                Ok(found.map(read).transpose()?)
            }
        }
    }

    /// Writes the manifest in place of the one before.
    fn write(&self, manifest: &RunManifest) -> Result<()> {
        match self {
            Self::File(file) => file.write(manifest)?,
            Self::MongoDb(store) => store.set_manifest(&manifest.to_json())?,
        }
        Ok(())
    }
}

impl Manifest {
    /// Opens or begins the manifest of a knowledge base in a directory.
    ///
    /// # Errors
    ///
    /// When there is one and it cannot be read.
    pub(crate) fn of_embedded(dir: &Path, configuration: &RunConfiguration) -> Result<Self> {
        // The directory as given may be `.`, which has no name, or relative to a place that nobody
        // remembers.
        let shown = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let name = shown.file_name().map(|name| name.to_string_lossy());
        let name = run_name_like(&name.unwrap_or_default());
        let backend = RunBackend::new(BackendKind::Embedded, &shown.display().to_string());
        let place = ManifestPlace::File(ManifestFile::in_knowledge_base(dir));
        Self::open(place, name, backend, configuration)
    }

    /// Opens or begins the manifest of a run whose nodes are on a server.
    ///
    /// # Errors
    ///
    /// When there is one and it cannot be read.
    pub(crate) fn of_server(
        state: &Path,
        run: &RunName,
        url: &str,
        configuration: &RunConfiguration,
    ) -> Result<Self> {
        let backend = RunBackend::new(BackendKind::Kato, url);
        let place = ManifestPlace::File(ManifestFile::beside_state(state));
        Self::open(place, run.clone(), backend, configuration)
    }

    /// Opens or begins the manifest of a run in a MongoDB.
    ///
    /// # Errors
    ///
    /// When there is one and it cannot be read.
    pub(crate) fn of_mongodb(
        store: &Arc<MongoStore>,
        configuration: &RunConfiguration,
    ) -> Result<Self> {
        let backend = RunBackend::new(BackendKind::Mongodb, store.place());
        let place = ManifestPlace::MongoDb(Arc::clone(store));
        Self::open(place, store.run().clone(), backend, configuration)
    }

    /// Opens or begins a manifest; nothing is written yet.
    fn open(
        place: ManifestPlace,
        name: RunName,
        backend: RunBackend,
        configuration: &RunConfiguration,
    ) -> Result<Self> {
        let found = place.read()?;
        let recorded = found.as_ref().map(|manifest| manifest.state);
        let manifest = match found {
            Some(mut manifest) => {
                manifest.resume();
                manifest
            }
            None => RunManifest::begin(name, configuration, backend),
        };
        Ok(Self {
            place,
            manifest,
            recorded,
        })
    }

    /// Trains, and keeps the manifest up to date.
    ///
    /// A session that is refused, or that finds nothing to learn, changes nothing.
    ///
    /// # Errors
    ///
    /// When the session ends early, or the first manifest of the run cannot be written. For one
    /// that cannot be renewed there is only a warning: what was learned is safe without it.
    pub(crate) fn follow(
        &mut self,
        loader: &mut StreamingDatasetLoader,
        options: &TrainingOptions,
        mut on_event: impl FnMut(TrainingEvent),
        train: impl FnOnce(
            &mut StreamingDatasetLoader,
            &mut dyn FnMut(TrainingEvent),
        ) -> Result<TrainingReport, TrainError>,
    ) -> Result<TrainingReport> {
        let manifest = self.manifest.clone().with_corpus(&loader.identity());
        self.manifest = manifest
            .with_option("num_workers", options.num_workers.to_string())
            .with_option("distribution", options.distribution.name());
        let mut has_begun = self.recorded.is_none();
        // A new run is recorded before it learns, so that one that is killed soon is on record,
        // too.
        if has_begun {
            self.place.write(&self.manifest)?;
        }
        let report = train(loader, &mut |event| {
            // A resumed run is recorded as running with its first sample and not before: until then
            // the session may still be refused.
            if let TrainingEvent::Progress(progress) = &event
                && progress.session_samples > 0
                && !has_begun
            {
                has_begun = true;
                self.renew();
            }
            on_event(event);
        })?;
        // A short session may end before there was any progress to see.
        has_begun |= report.session_samples > 0;
        // A session that finds the end of the corpus learns nothing, and yet completes the run.
        if has_begun || self.recorded != Some(RunState::Complete) {
            self.manifest.finish(&report);
            self.renew();
        }
        Ok(report)
    }

    /// Writes the manifest again, or warns on standard error when that fails.
    fn renew(&self) {
        if let Err(error) = self.place.write(&self.manifest) {
            // A closed standard error must not end the run.
            drop(writeln!(stderr(), "warning: {}", told(&error)));
        }
    }
}
