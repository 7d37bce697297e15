//! The manifest of a run in training, kept up to date where the run lies.

use std::path::{Path, PathBuf};
#[cfg(feature = "mongodb")]
use std::sync::Arc;

use kato_loader::StreamingDatasetLoader;
use kato_model::RunName;
use kato_model::forecast::Forecast;
#[cfg(feature = "mongodb")]
use kato_mongodb::MongoStore;
use kato_scheduler::{
    RunConfiguration, TrainError, TrainingEvent, TrainingOptions, TrainingReport,
};

use crate::manifest::{BackendKind, RunBackend, RunState};
use crate::{ManifestFile, RunManifest, RunsError, run_name_like};

/// The manifest of a run, with the place where it is kept.
#[derive(Debug)]
pub(crate) struct Record {
    place: Place,
    manifest: RunManifest,
    /// State that the place has of the run; `None` where it has nothing yet.
    recorded: Option<RunState>,
    /// What was foretold of the run over the corpus of the next session.
    forecast: Option<Forecast>,
}

/// The option of a manifest that is kept with a run, and not beside it, which says where the list of what the run has
/// skipped lies.
pub(crate) const LEDGER_OPTION: &str = "ledger";

/// The place where a manifest is kept.
#[derive(Debug)]
enum Place {
    File(ManifestFile),
    /// With the record of the run.
    #[cfg(feature = "mongodb")]
    Mongodb(Arc<MongoStore>),
}

impl Place {
    /// Reads the manifest; `None` where there is none.
    fn read(&self) -> Result<Option<RunManifest>, RunsError> {
        match self {
            Self::File(file) => file.read(),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(store) => {
                let found = store.manifest().map_err(RunsError::Open)?;
                let read = |value| RunManifest::from_json(&value, Path::new(store.place()));
                found.map(read).transpose()
            }
        }
    }

    /// Writes the manifest in place of the one before.
    fn write(&self, manifest: &RunManifest) -> Result<(), RunsError> {
        match self {
            Self::File(file) => file.write(manifest),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(store) => store
                .set_manifest(&manifest.to_json())
                .map_err(RunsError::Open),
        }
    }
}

impl Record {
    /// Opens or begins the manifest of a knowledge base in a directory.
    pub(crate) fn of_directory(
        dir: &Path,
        configuration: &RunConfiguration,
    ) -> Result<Self, RunsError> {
        // The directory as given may be `.`, which has no name, or relative to a place that nobody
        // remembers.
        let shown = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let name = shown.file_name().map(|name| name.to_string_lossy());
        let name = run_name_like(&name.unwrap_or_default());
        let backend = RunBackend::new(BackendKind::Embedded, &shown.display().to_string());
        let place = Place::File(ManifestFile::in_knowledge_base(dir));
        Self::open(place, name, backend, configuration)
    }

    /// Opens or begins the manifest of a run whose nodes are on a server.
    #[cfg(feature = "remote")]
    pub(crate) fn of_server(
        state: &Path,
        run: &RunName,
        url: &str,
        configuration: &RunConfiguration,
    ) -> Result<Self, RunsError> {
        let backend = RunBackend::new(BackendKind::Kato, url);
        let place = Place::File(ManifestFile::beside_state(state));
        Self::open(place, run.clone(), backend, configuration)
    }

    /// Opens or begins the manifest of a run in a MongoDB.
    #[cfg(feature = "mongodb")]
    pub(crate) fn of_mongodb(
        store: &Arc<MongoStore>,
        configuration: &RunConfiguration,
    ) -> Result<Self, RunsError> {
        let backend = RunBackend::new(BackendKind::Mongodb, store.place());
        let place = Place::Mongodb(Arc::clone(store));
        Self::open(place, store.run().clone(), backend, configuration)
    }

    /// Opens or begins a manifest; nothing is written yet.
    fn open(
        place: Place,
        name: RunName,
        backend: RunBackend,
        configuration: &RunConfiguration,
    ) -> Result<Self, RunsError> {
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
            forecast: None,
        })
    }

    /// Returns the list of what the run has skipped, where its manifest does not lie beside that; `None` where it has
    /// none that is there.
    pub(crate) fn ledger(&self) -> Option<PathBuf> {
        let is_beside = matches!(self.place, Place::File(_));
        let found = self.manifest.options.get(LEDGER_OPTION)?.as_str()?;
        Some(PathBuf::from(found)).filter(|path| !is_beside && path.is_file())
    }

    /// Notes where the list of what the run skips lies, where its manifest does not lie beside that.
    fn note_ledger(&mut self, ledger: Option<&Path>) {
        let is_beside = matches!(self.place, Place::File(_));
        let path = ledger.and_then(|ledger| std::path::absolute(ledger).ok());
        // Where no list is named nothing is skipped in this session, and what was is listed where it was.
        if let Some(path) = path.filter(|_| !is_beside) {
            let path = path.display().to_string();
            let options = &mut self.manifest.options;
            options.insert(LEDGER_OPTION.to_owned(), path.into());
        }
    }

    /// Notes what was foretold of the run, from its next session on.
    pub(crate) fn foretell(&mut self, forecast: Forecast) {
        self.forecast = Some(forecast);
    }

    /// Removes the file of the manifest of a run that has never begun.
    #[cfg(feature = "remote")]
    pub(crate) fn forget(&self) {
        match &self.place {
            // The error of the session is the one to tell.
            Place::File(file) => drop(std::fs::remove_file(file.path())),
            #[cfg(feature = "mongodb")]
            Place::Mongodb(_) => {}
        }
    }

    /// Trains, and keeps the manifest up to date.
    ///
    /// A session that is refused leaves the manifest of an earlier one as it is. A manifest that
    /// cannot be renewed is told, and ends nothing: what was learned is safe without it.
    pub(crate) fn follow(
        &mut self,
        loader: &mut StreamingDatasetLoader,
        options: &TrainingOptions,
        mut on_event: impl FnMut(TrainingEvent),
        train: impl FnOnce(
            &mut StreamingDatasetLoader,
            &mut dyn FnMut(TrainingEvent),
        ) -> Result<TrainingReport, TrainError>,
    ) -> Result<TrainingReport, RunsError> {
        let manifest = self.manifest.clone().with_corpus(&loader.identity());
        self.manifest = manifest
            .with_option("n_workers", options.n_workers.to_string())
            .with_option("distribution", options.distribution.name());
        self.note_ledger(options.ledger.as_deref());
        self.manifest.forecast = self.forecast.or(self.manifest.forecast);
        let mut has_begun = self.recorded.is_none();
        // A new run is recorded before it learns, so that one that is killed soon is on record,
        // too.
        if has_begun {
            self.place.write(&self.manifest)?;
        }
        let report = train(loader, &mut |event| {
            // A resumed run is recorded as running with its first document and not before: until then
            // the session may still be refused.
            let has_learned = matches!(
                &event,
                TrainingEvent::Progress(progress) if progress.session_documents > 0
            );
            if has_learned && !has_begun {
                has_begun = true;
                self.renew(&mut on_event);
            }
            on_event(event);
        })?;
        // A short session may end before there was any progress to see.
        has_begun |= report.session_documents > 0;
        // A session that finds the end of the corpus learns nothing, and yet completes the run; one that is
        // stopped before the first document of what is added leaves a run that was complete with more to learn.
        let is_as_recorded = report.complete && self.recorded == Some(RunState::Complete);
        if has_begun || !is_as_recorded {
            self.manifest.finish(&report);
            self.renew(&mut on_event);
        }
        Ok(report)
    }

    /// Writes the manifest again, or tells why it cannot be written.
    fn renew(&self, on_event: &mut impl FnMut(TrainingEvent)) {
        if let Err(error) = self.place.write(&self.manifest) {
            on_event(TrainingEvent::Notice {
                text: error.with_causes(),
            });
        }
    }
}
