#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`Runs`] manages the runs of a place; a [`Run`] is one of them, as it is found.
//! * [`TrainingRun`] begins a run at its [`Destination`], or goes on with it, and trains; it keeps
//!   its [`RunManifest`], the description of a run: in a [`ManifestFile`], or with its record in a MongoDB.
//! * [`forget`] takes files out of what a knowledge base has learned.
//! * [`Archive`] is an exported run, which another store can import.
//! * [`RunPlace`] is the contract of other places of runs, and [`RunFacts`] brings their manifests
//!   up to date.
//! * [`RunsError`] says why an operation was not done.

mod archive;
mod destination;
mod directory;
mod disk;
mod error;
mod facts;
mod forgetting;
mod lock;
pub mod manifest;
mod manifest_file;
#[cfg(feature = "mongodb")]
mod mongodb;
mod place;
mod record;
mod run;
mod run_id;
mod runs;
mod state_file;
mod training;

pub use archive::Archive;
pub use destination::Destination;
pub use error::RunsError;
pub use facts::{RunFacts, run_name_like};
pub use forgetting::{Forgotten, forget};
/// What teaches the nodes of a server, for a [`Destination`] over a backend of one's own settings.
#[cfg(feature = "remote")]
pub use kato_remote as remote;
pub use manifest::RunManifest;
pub use manifest_file::ManifestFile;
pub use place::RunPlace;
pub use run::{Run, RunLocation};
pub use run_id::{InvalidRunId, RunId};
pub use runs::Runs;
pub use training::{Knowledge, LoaderStart, Start, TrainingRun, TrainingTarget};
