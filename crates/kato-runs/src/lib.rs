//! Many training runs side by side: what each was, and listing, renaming, cloning, exporting, importing and deleting them.
//!
//! * [`RunManifest`] says what a run is: id, name, configuration, corpus, levels, place, results, where it came from. A trainer writes
//!   it with [`ManifestFile`].
//! * [`Runs`] manages the runs of a data directory: knowledge bases, and state files of runs whose nodes are on a server.
//! * [`Archive`] is an exported run, which any store takes.
//!
//! A run's state is found out and not believed: a run that nobody writes to is complete or interrupted, whatever its manifest says.
//!
//! ```
//! use kato_runs::Runs;
//! use kato_store::{EmbeddedStore, PatternStore};
//! use serde_json::json;
//!
//! let dir = tempfile::tempdir()?;
//! let store = EmbeddedStore::create(&dir.path().join("wiki"), &["node0"], json!(null))?;
//! store.commit(Vec::new(), json!(null))?;
//! drop(store);
//!
//! let runs = Runs::in_directory(dir.path())?;
//! let copy = runs.clone_run("wiki", &"wiki_2".parse()?)?;
//! assert_eq!(runs.list()?.len(), 2);
//! runs.export("wiki_2", &dir.path().join("exported"))?;
//! runs.delete("wiki_2")?;
//! let again = runs.import(&dir.path().join("exported"), None)?;
//! assert_eq!(again.manifest.name, copy.manifest.name);
//! assert_ne!(again.manifest.id, copy.manifest.id);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `mongodb` (off): `Runs::in_mongodb`, the runs of a MongoDB.

mod archive;
mod directory;
mod disk;
mod error;
mod facts;
mod lock;
mod manifest;
mod manifest_file;
#[cfg(feature = "mongodb")]
mod mongodb;
mod place;
mod run;
mod run_id;
mod runs;
mod state_file;

pub use archive::Archive;
pub use error::RunsError;
pub use facts::{RunFacts, run_name_like};
pub use manifest::{
    BackendKind, CorpusDigest, ExportContents, ExportedFile, LevelResult, Origin, RunBackend,
    RunLevel, RunManifest, RunResults, RunState, RunTokenizer,
};
pub use manifest_file::ManifestFile;
pub use place::RunPlace;
pub use run::{Run, RunLocation};
pub use run_id::{InvalidRunId, RunId};
pub use runs::Runs;
