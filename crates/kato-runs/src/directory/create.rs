//! Making runs in a data directory: under a name that is no run's first, and under their own in the
//! end.

use std::fs;
use std::path::{Path, PathBuf};

use kato_model::RunName;
use kato_prediction::disk::{self, BuildOptions, IndexPolicy};
use kato_store::EmbeddedStore;
use kato_store::embedded::EmbeddedOptions;

use super::walk::scratch_path;
use crate::disk::Disk;
use crate::lock::{KNOWLEDGE_BASE_LOCK, Lock};
use crate::{Archive, ManifestFile, RunManifest, RunsError};

/// The directory of a knowledge base's segments, which never change once they are written.
const SEGMENTS: &str = "segments";

/// Copies a knowledge base whose lock the caller holds. Segments are linked; other files may be
/// changed in place and are copied. Other directories, such as that of occurrences, are left out.
pub(super) fn copy(
    disk: &Disk,
    from: &Path,
    dir: &Path,
    name: &RunName,
    manifest: &RunManifest,
) -> Result<(), RunsError> {
    create_atomically(disk, dir, name, |scratch| {
        disk.create_dir(scratch)?;
        // Held until the copy has its own name, so that no sweep takes it for what a crash left.
        let lock = Lock::of_knowledge_base(scratch)?;
        let segments = scratch.join(SEGMENTS);
        disk.create_dir(&segments)?;
        for (path, file) in files(&from.join(SEGMENTS))? {
            disk.link(&path, &segments.join(file))?;
        }
        disk.flush_dir(&segments)?;
        for (path, file) in files(from)? {
            let text = file.to_string_lossy();
            // Files that were being replaced when somebody died are not part of the run; lock and
            // manifest belong to the original.
            let is_its_own = text.starts_with('.') || text.ends_with(".tmp");
            if !is_its_own && file != KNOWLEDGE_BASE_LOCK && file != crate::manifest_file::FILE {
                disk.copy(&path, &scratch.join(file))?;
            }
        }
        ManifestFile::in_knowledge_base(scratch).write_to(disk, manifest)?;
        Ok(lock)
    })
}

/// Makes a knowledge base of an exported run.
pub(super) fn import(
    disk: &Disk,
    archive: &Archive,
    dir: &Path,
    name: &RunName,
    manifest: &RunManifest,
) -> Result<(), RunsError> {
    create_atomically(disk, dir, name, |scratch| {
        let mut options = EmbeddedOptions::default();
        if let Some(contents) = &archive.manifest().contents {
            options.attribute_limits = contents.attribute_limits;
        }
        let configuration = archive.manifest().configuration.clone();
        let nodes = archive.manifest().nodes();
        disk.create_dir(scratch)?;
        let store = EmbeddedStore::create_with(scratch, &nodes, configuration, options)
            .map_err(RunsError::store(scratch))?;
        archive.import_into(&store)?;
        // An import stages in batches, so a level may be in many segments; a new run begins with
        // few.
        store.compact().map_err(RunsError::store(scratch))?;
        // Without it the run is whole as well: who opens it first tries again.
        drop(disk::keep(
            &store,
            IndexPolicy::Auto,
            &BuildOptions::default(),
        ));
        ManifestFile::in_knowledge_base(scratch).write_to(disk, manifest)?;
        Ok(store)
    })
}

/// Creates a run atomically: `make` fills a directory of another name and returns what keeps
/// others out of it.
fn create_atomically<L>(
    disk: &Disk,
    dir: &Path,
    name: &RunName,
    make: impl FnOnce(&Path) -> Result<L, RunsError>,
) -> Result<(), RunsError> {
    let target = dir.join(name.as_str());
    refuse_occupied(&target)?;
    let scratch = scratch_path(dir, name.as_str());
    if scratch.exists() {
        // Sweeping comes before every change, so what is there still is held by somebody who makes
        // a run of this name.
        return Err(RunsError::InUse {
            path: target,
            process: None,
        });
    }
    let made = make(&scratch).and_then(|lock| {
        // Once more, since time has passed and a rename replaces an empty directory.
        refuse_occupied(&target)?;
        // Windows renames no directory with open files.
        let lock = (!cfg!(windows)).then_some(lock);
        disk.rename(&scratch, &target)?;
        disk.flush_dir(dir)?;
        drop(lock);
        Ok(())
    });
    made.inspect_err(|_| {
        if scratch.exists() {
            // Best effort: the next change clears it away.
            let _ = disk.remove_dir(&scratch);
        }
    })
}

/// Refuses a place where something is, links that lead nowhere included.
fn refuse_occupied(target: &Path) -> Result<(), RunsError> {
    if target.symlink_metadata().is_ok() {
        return Err(RunsError::Exists {
            path: target.to_owned(),
        });
    }
    Ok(())
}

/// Lists the files of a directory, without its sub-directories, by name.
fn files(dir: &Path) -> Result<Vec<(PathBuf, std::ffi::OsString)>, RunsError> {
    let failed = || RunsError::io("list", dir);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        if entry.file_type().map_err(failed())?.is_file() {
            files.push((entry.path(), entry.file_name()));
        }
    }
    files.sort();
    Ok(files)
}
