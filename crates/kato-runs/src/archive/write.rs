//! Export of a run: into a directory of another name, which gets its own once all is there.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use kato_store::{KnowledgeBase, PatternStore};
use serde_json::Value;

use super::digesting::Digesting;
use super::{Archive, CHECKPOINT};
use crate::disk::{Disk, parent_of};
use crate::lock::{KNOWLEDGE_BASE_LOCK, Lock};
use crate::manifest::{ExportContents, ExportedFile, RunState, training};
use crate::{ManifestFile, RunManifest, RunsError};

/// Writes a run to a new directory.
pub(super) fn write(
    disk: &Disk,
    store: &dyn PatternStore,
    manifest: &RunManifest,
    out: &Path,
) -> Result<Archive, RunsError> {
    // A path such as `/` or `..` has no name, and what it leads to exists.
    let Some(name) = out.file_name() else {
        return Err(RunsError::Exists {
            path: out.to_owned(),
        });
    };
    refuse_occupied(out)?;
    let partial = out.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let lock = claim(disk, &partial, out)?;
    let written = fill(disk, store, manifest, &partial).and_then(|manifest| {
        // Once more, since time has passed and a rename replaces an empty directory.
        refuse_occupied(out)?;
        disk.rename(&partial, out)?;
        disk.flush_dir(&parent_of(out))?;
        Ok(manifest)
    });
    drop(lock);
    match written {
        Ok(manifest) => {
            // Best effort: an empty lock file in an export does no harm.
            let _ = fs::remove_file(out.join(KNOWLEDGE_BASE_LOCK));
            Ok(Archive {
                dir: out.to_owned(),
                manifest,
            })
        }
        Err(error) => {
            // Best effort: the next export to this place clears it away.
            let _ = disk.remove_dir(&partial);
            Err(error)
        }
    }
}

/// Refuses a place where something is, links that lead nowhere included.
fn refuse_occupied(out: &Path) -> Result<(), RunsError> {
    if out.symlink_metadata().is_ok() {
        return Err(RunsError::Exists {
            path: out.to_owned(),
        });
    }
    Ok(())
}

/// Makes the directory in place of what a crash left there, and keeps others out of it.
fn claim(disk: &Disk, partial: &Path, out: &Path) -> Result<Lock, RunsError> {
    if partial.exists() {
        // The lock of an export that died is free; one that is held belongs to an export that goes
        // on.
        let lock = Lock::hold(&partial.join(KNOWLEDGE_BASE_LOCK), out)?;
        disk.remove_dir(partial)?;
        drop(lock);
    }
    disk.create_dir(partial)?;
    Lock::hold(&partial.join(KNOWLEDGE_BASE_LOCK), out)
}

/// Writes the files of an export; the manifest, which lists the others with their digests, is the
/// last.
fn fill(
    disk: &Disk,
    store: &dyn PatternStore,
    manifest: &RunManifest,
    dir: &Path,
) -> Result<RunManifest, RunsError> {
    let mut patterns = Vec::with_capacity(store.nodes().len());
    for knowledge_base in KnowledgeBase::all(store) {
        let name = file_name(knowledge_base.name(), knowledge_base.node_idx());
        patterns.push(write_file(disk, dir, name, |out, path| {
            knowledge_base
                .export(out)
                .map_err(|source| RunsError::Exchange {
                    path: path.to_owned(),
                    source,
                })
        })?);
    }
    let text = serde_json::to_string(&store.checkpoint()).expect("JSON is JSON");
    let checkpoint = write_file(disk, dir, CHECKPOINT.to_owned(), |out, path| {
        writeln!(out, "{text}").map_err(RunsError::io("write", path))?;
        Ok(0)
    })?;
    let mut manifest = manifest.clone();
    manifest.process = None;
    if manifest.state == RunState::Running {
        manifest.state = RunState::Interrupted;
    }
    manifest.contents = Some(ExportContents {
        attribute_limits: store.attribute_limits(),
        patterns,
        checkpoint,
        left_out: left_out(store, dir)?,
    });
    ManifestFile::in_knowledge_base(dir).write_to(disk, &manifest)?;
    Ok(manifest)
}

/// Writes one file durably, and returns its entry for the manifest.
fn write_file(
    disk: &Disk,
    dir: &Path,
    name: String,
    write: impl FnOnce(&mut Digesting<fs::File>, &Path) -> Result<u64, RunsError>,
) -> Result<ExportedFile, RunsError> {
    let path = dir.join(&name);
    let mut out = Digesting::new(disk.create_file(&path)?);
    let patterns = write(&mut out, &path)?;
    let (file, written) = out.into_file(name, patterns);
    disk.flush(&file, &path)?;
    Ok(written)
}

/// Returns the name of a node's file: the node's own, if that is short and plain, and no device of Windows.
fn file_name(node: &str, node_idx: usize) -> String {
    // Lower case only, because some file systems do not tell cases apart. No hyphen, so that the
    // other form is never the name of a node.
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_device = match node.strip_prefix("com").or(node.strip_prefix("lpt")) {
        Some(number) => number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()),
        None => ["con", "prn", "aux", "nul"].contains(&node),
    };
    let is_short = !node.is_empty() && node.len() <= 64;
    if is_short && node.bytes().all(is_plain) && !is_device {
        format!("{node}.jsonl")
    } else {
        format!("level-{node_idx}.jsonl")
    }
}

/// Returns what the lines of an export do not carry, in words.
fn left_out(store: &dyn PatternStore, dir: &Path) -> Result<Vec<String>, RunsError> {
    let mut left_out = Vec::new();
    let recording =
        training(store.configuration()).map(|training| training.rules.learner.recording);
    if recording.is_some_and(|recording| recording.provenance) {
        left_out.push("where patterns were first seen, and the documents' ids".to_owned());
    }
    for (node_idx, node) in store.nodes().iter().enumerate() {
        let mut vectors = store.vectors(node_idx).map_err(RunsError::store(dir))?;
        if vectors.next().is_some() {
            left_out.push(format!("vectors of {node}"));
        }
    }
    Ok(left_out)
}

/// Returns the checkpoint that a store has while a run is imported into it.
pub(super) fn importing() -> Value {
    serde_json::json!({"import": "unfinished"})
}

/// Returns whether a checkpoint is that of an import that goes on, or did not come to its end.
pub(crate) fn is_importing(checkpoint: &Value) -> bool {
    *checkpoint == importing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_of_an_export_has_the_name_of_a_device() {
        for device in ["con", "prn", "aux", "nul", "com0", "com9", "lpt1"] {
            assert_eq!(file_name(device, 3), "level-3.jsonl", "{device}");
        }
        for node in ["node0", "con0", "com", "com10", "lpta", "null"] {
            assert_eq!(file_name(node, 3), format!("{node}.jsonl"));
        }
    }
}
