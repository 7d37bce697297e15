//! Import of an exported run into a store.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use kato_store::{KnowledgeBase, PatternStore};
use serde_json::Value;

use super::Archive;
use super::digesting::Digesting;
use super::write::{importing, is_importing};
use crate::manifest::{ExportContents, ExportedFile};
use crate::{ManifestFile, RunsError};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Bytes of a checkpoint at most: one of a corpus of a million files takes some hundred megabytes.
const CHECKPOINT_BYTES: u64 = 1 << 30;

/// Checks the store and fills it; clears it again if that fails.
pub(super) fn import_into(archive: &Archive, store: &dyn PatternStore) -> Result<(), RunsError> {
    let contents = contents(archive)?;
    check_store(archive, store)?;
    fill(archive, contents, store).inspect_err(|_| {
        // Best effort: the checkpoint says that an import is unfinished, and the next one clears
        // the store.
        let _ = store.clear(Value::Null);
    })
}

/// Returns the list of the export's files.
fn contents(archive: &Archive) -> Result<&ExportContents, RunsError> {
    let run = ManifestFile::in_knowledge_base(&archive.dir);
    let damaged = |reason: &str| RunsError::damaged(run.path(), reason);
    let contents = archive
        .manifest
        .contents
        .as_ref()
        .ok_or_else(|| RunsError::NoExport {
            path: archive.dir.clone(),
        })?;
    if contents.patterns.len() != archive.manifest.levels.len() {
        return Err(damaged("it does not have one file of patterns a level"));
    }
    Ok(contents)
}

/// Refuses a store that is not empty, or not this run's.
fn check_store(archive: &Archive, store: &dyn PatternStore) -> Result<(), RunsError> {
    let unsuitable = |reason: &str| RunsError::Unsuitable {
        reason: reason.to_owned(),
    };
    let failed = RunsError::store;
    if store.nodes() != archive.manifest.nodes() {
        return Err(unsuitable(
            "the nodes are others; make one with the export's",
        ));
    }
    if *store.configuration() != archive.manifest.configuration {
        return Err(unsuitable(
            "the configuration is another; make one with the export's",
        ));
    }
    // An import that did not come to its end left this, and nobody else does: it is cleared without
    // asking.
    if is_importing(&store.checkpoint()) {
        return store.clear(Value::Null).map_err(failed(&archive.dir));
    }
    for knowledge_base in KnowledgeBase::all(store) {
        let totals = knowledge_base.totals().map_err(failed(&archive.dir))?;
        if totals.learns > 0 || !store.checkpoint().is_null() {
            return Err(unsuitable("it holds a run already; use an empty one"));
        }
    }
    Ok(())
}

/// Fills an empty store with the levels, bottom up, then commits the checkpoint.
fn fill(
    archive: &Archive,
    contents: &ExportContents,
    store: &dyn PatternStore,
) -> Result<(), RunsError> {
    let failed = RunsError::store;
    store
        .commit(Vec::new(), importing())
        .map_err(failed(&archive.dir))?;
    for (knowledge_base, file) in KnowledgeBase::all(store).zip(&contents.patterns) {
        read_file(archive, file, |lines, path| {
            knowledge_base
                .import(lines)
                .map_err(|source| RunsError::Exchange {
                    path: path.to_owned(),
                    source,
                })
        })?;
    }
    let mut checkpoint = Value::Null;
    read_file(archive, &contents.checkpoint, |text, path| {
        let mut bytes = Vec::new();
        // The digest is compared behind reading, so a forged file must not fill the memory before.
        // What is cut off has another digest.
        let mut limited = text.take(CHECKPOINT_BYTES);
        limited
            .read_to_end(&mut bytes)
            .map_err(RunsError::io("read", path))?;
        checkpoint = serde_json::from_slice(&bytes)
            .map_err(|error| RunsError::damaged(path, error.to_string()))?;
        Ok(0)
    })?;
    store
        .commit(Vec::new(), checkpoint)
        .map_err(failed(&archive.dir))
}

/// Reads a file to its end and compares it with what the export says of it.
fn read_file(
    archive: &Archive,
    expected: &ExportedFile,
    read: impl FnOnce(&mut dyn BufRead, &Path) -> Result<u64, RunsError>,
) -> Result<(), RunsError> {
    let path = path_of(archive, &expected.name)?;
    let file = File::open(&path).map_err(RunsError::io("open", &path))?;
    let mut lines = BufReader::with_capacity(BUFFER_BYTES, Digesting::new(file));
    let patterns = read(&mut lines, &path)?;
    let (_, found) = lines
        .into_inner()
        .into_file(expected.name.clone(), patterns);
    // Compared in the same pass as the reading. What a damaged file has put into the store is
    // cleared by the caller.
    if found != *expected {
        let reason = "it is not the file that was exported: its size or digest is another";
        return Err(RunsError::damaged(&path, reason));
    }
    Ok(())
}

/// Returns the path of one of the export's files; refuses names that lead out of its directory.
fn path_of(archive: &Archive, name: &str) -> Result<PathBuf, RunsError> {
    // Names are read from `run.json`, which may come from anybody.
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(archive.dir.join(name)),
        _ => Err(RunsError::damaged(
            &archive.dir,
            format!("{name:?} is no file of an export"),
        )),
    }
}
