//! The contract of a place that holds runs.

use std::fmt;
use std::path::Path;

use kato_model::RunName;

use crate::{Archive, Run, RunManifest, RunsError};

/// A place that holds runs, such as a directory or a server of databases.
///
/// An operation is done as a whole or not at all, also when the process dies: what it leaves
/// then is not listed as a run, and is cleared away by a later operation. Two may be cut off in between:
/// a run that was made may lack its manifest, and is then listed by what is found, and a run that cannot
/// be deleted at once is listed until it is deleted again. Nobody can train a run while it is
/// renamed, cloned or deleted. [`Runs`](crate::Runs) resolves names and refuses those that are
/// taken before it asks a place.
pub trait RunPlace: fmt::Debug + Send + Sync {
    /// Lists all runs, ordered by name and id. A run that cannot be read is one with a
    /// [`problem`](Run::problem).
    ///
    /// # Errors
    ///
    /// When the place itself cannot be read.
    fn list(&self) -> Result<Vec<Run>, RunsError>;

    /// Replaces a run's manifest, or writes its first one.
    ///
    /// # Errors
    ///
    /// [`RunsError::InUse`], [`RunsError::Unsupported`], and when it cannot be written.
    fn record(&self, run: &Run, manifest: &RunManifest) -> Result<(), RunsError>;

    /// Copies a run, as its last commit left it, into one of its own.
    ///
    /// # Errors
    ///
    /// [`RunsError::InUse`], [`RunsError::Unsupported`], [`RunsError::Exists`], and when it cannot
    /// be read or written.
    fn clone_run(&self, run: &Run, name: &RunName) -> Result<(), RunsError>;

    /// Exports a run, as its last commit left it, to a new directory.
    ///
    /// # Errors
    ///
    /// [`RunsError::Unsupported`], and those of [`Archive::export`].
    fn export(&self, run: &Run, out: &Path) -> Result<Archive, RunsError>;

    /// Makes a run from an exported one.
    ///
    /// # Errors
    ///
    /// [`RunsError::Exists`], and those of [`Archive::import_into`].
    fn import(&self, archive: &Archive, name: &RunName) -> Result<(), RunsError>;

    /// Deletes a run with all that it learned.
    ///
    /// # Errors
    ///
    /// [`RunsError::InUse`], [`RunsError::Unsupported`], and when it cannot be removed.
    fn delete(&self, run: &Run) -> Result<(), RunsError>;
}
