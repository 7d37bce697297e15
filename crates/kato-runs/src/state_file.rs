//! Runs whose nodes are on a server, by the file that keeps their position.

use std::fs;
use std::path::{Path, PathBuf};

use kato_model::RunName;
use serde::Deserialize;
use serde_json::Value;

use crate::destination::LEDGER;
use crate::disk::{Disk, parent_of};
use crate::lock::{Lock, is_held, state_lock};
use crate::manifest::{BackendKind, LevelResult, RunBackend};
use crate::manifest_file::{STATE_SUFFIX, check_version};
use crate::{ManifestFile, RunFacts, RunManifest, RunsError};

/// The version of the file that can be read. It is that of kato-remote, which writes the file.
const FORMAT_VERSION: u64 = 2;

/// Returns whether a directory's name is that of the store beside a state file that keeps what a
/// server was taught, or is copied from another run's: it is part of that run.
pub(crate) fn is_taught(name: &str) -> bool {
    name.strip_suffix(".part")
        .unwrap_or(name)
        .ends_with(".json.taught")
}

/// The part of a state file that a manifest is made of.
#[derive(Debug, Deserialize)]
struct State {
    run: RunNameText,
    server: String,
    nodes: Vec<String>,
    configuration: Value,
    checkpoint: Value,
    observations: Vec<u64>,
    new_patterns: Option<Vec<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct RunNameText(RunName);

impl TryFrom<String> for RunNameText {
    type Error = kato_model::naming::InvalidRunName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Returns whether a file's name is that of a run's state.
pub(crate) fn is_state(name: &str) -> bool {
    name.ends_with(STATE_SUFFIX)
}

/// Returns the manifest of a run, given its state file.
pub(crate) fn manifest(
    path: &Path,
    recorded: Option<RunManifest>,
) -> Result<RunManifest, RunsError> {
    // As the trainer does: if the newest state is damaged, that of the commit before counts, and if
    // both are, the newer one's error.
    let state = read(path).or_else(|error| read(&previous(path)).map_err(|_| error))?;
    let levels = state
        .nodes
        .iter()
        .enumerate()
        .map(|(node_idx, node)| LevelResult {
            node: node.clone(),
            learns: state.observations.get(node_idx).copied().unwrap_or(0),
            patterns: state
                .new_patterns
                .as_ref()
                .and_then(|new| new.get(node_idx).copied()),
        });
    let facts = RunFacts {
        levels: levels.collect(),
        nodes: state.nodes,
        configuration: state.configuration,
        checkpoint: state.checkpoint,
        backend: RunBackend::new(BackendKind::Kato, &state.server),
        is_locked: is_held(&state_lock(path)),
    };
    let created = fs::metadata(path).and_then(|file| file.modified()).ok();
    let mut manifest = facts.manifest(recorded, &state.run.0, created);
    if manifest.name != state.run.0 {
        // The server knows the nodes by this name, whatever the manifest says.
        manifest = manifest.renamed(&state.run.0);
    }
    Ok(manifest)
}

/// Reads a state file.
fn read(path: &Path) -> Result<State, RunsError> {
    let bytes = fs::read(path).map_err(RunsError::io("read", path))?;
    let damaged = |error: serde_json::Error| RunsError::damaged(path, error.to_string());
    let value: Value = serde_json::from_slice(&bytes).map_err(damaged)?;
    check_version(path, &value, FORMAT_VERSION)?;
    State::deserialize(value).map_err(damaged)
}

/// Returns the path of the state of the commit before.
fn previous(path: &Path) -> PathBuf {
    path.with_added_extension("previous")
}

/// Removes the files that keep the position of a run whose lock is held. The state goes last: as long as any of
/// the others is there the run is listed, so a deletion that was cut off is finished by deleting again. What was
/// sent goes first, without which a trainer refuses a run that has taught a stock server.
pub(crate) fn delete(disk: &Disk, path: &Path, lock: Lock) -> Result<(), RunsError> {
    disk.remove_file(&path.with_added_extension("sent"))?;
    for dir in ["taught", "taught.part"].map(|name| path.with_added_extension(name)) {
        if dir.exists() {
            disk.remove_dir(&dir)?;
        }
    }
    disk.remove_file(&path.with_extension(LEDGER))?;
    disk.remove_file(&previous(path))?;
    disk.remove_file(ManifestFile::beside_state(path).path())?;
    // In this order also over a power cut.
    disk.flush_dir(&parent_of(path))?;
    disk.remove_file(path)?;
    // Its file goes with it.
    drop(lock);
    disk.flush_dir(&parent_of(path))
}
