//! What the one writer does before it writes anything: it makes what was opened the newest commit,
//! removes what a killed writer left, and moves aside what damage has cut off. Nothing that is
//! whole is removed after damage.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{own_files, remove_orphans, segment_dir};
use super::generation::{Manifests, OpenedGeneration, Twin};
use super::manifest::{FILE, Manifest, ManifestFile, PREVIOUS_FILE, TWIN_FILE, sync_dir};
use crate::StoreError;

/// Directory of what recoveries moved aside; each has a numbered one in it.
const ASIDE_DIR: &str = "set-aside";

/// Makes what was opened the newest commit and clears away all other segments.
pub(super) fn finish(dir: &Path, opened: &mut OpenedGeneration) -> Result<(), StoreError> {
    if opened.recovery.is_some() {
        return recover(dir, opened);
    }
    // An empty knowledge base has lost nothing with it.
    let segment_dir = segment_dir(dir);
    fs::create_dir_all(&segment_dir)
        .map_err(|source| StoreError::io("create", &segment_dir, source))?;
    // Both manifests are whole, so no commit can have named another segment.
    let mut kept = named(opened);
    match opened.twin {
        Twin::Same => {}
        Twin::Behind => opened.manifest.renew_twin(dir)?,
        Twin::Ahead => {
            // What was interrupted is carried out: the older manifest becomes the previous one.
            let before = ManifestFile::read(dir, FILE)?;
            opened.manifest.commit(dir, None)?;
            opened.previous = before.whole().map_or_else(Vec::new, Manifest::named_files);
            kept = named(opened);
        }
    }
    remove_orphans(dir, &kept.iter().map(String::as_str).collect())
}

/// Returns the segments of what was opened and of the commit before.
fn named(opened: &OpenedGeneration) -> HashSet<String> {
    let previous = opened.previous.iter().map(|(file, _)| file.as_str());
    let files = opened.manifest.files().chain(previous);
    files.map(str::to_owned).collect()
}

/// Moves aside what is damaged or belongs to a commit that is given up, then makes what was opened
/// the newest commit.
///
/// Interrupted at any moment, it leaves a directory of which the same can be recovered: the
/// manifest of what was opened is replaced last.
fn recover(dir: &Path, opened: &mut OpenedGeneration) -> Result<(), StoreError> {
    let is_lossless = opened.recovery.as_ref().is_some_and(|it| it.is_lossless());
    let mut aside = Aside::new(dir);
    let kept = named(opened);
    let segments = segment_dir(dir);
    if segments.exists() && !segments.is_dir() {
        aside.take(&segments)?;
    }
    fs::create_dir_all(&segments).map_err(|source| StoreError::io("create", &segments, source))?;
    for file in own_files(dir)? {
        if !kept.contains(&file) {
            aside.take(&segments.join(file))?;
        }
    }
    let manifests = Manifests::read(dir)?;
    let files = [
        (FILE, &manifests.newest),
        (TWIN_FILE, &manifests.twin),
        (PREVIOUS_FILE, &manifests.previous),
    ];
    for (name, file) in files {
        let is_left = match file {
            ManifestFile::Missing => true,
            ManifestFile::Damaged(..) => false,
            // What is gone back to is the previous one; the others describe what is lost.
            ManifestFile::Whole(manifest) => is_lossless || *manifest == opened.manifest,
        };
        if !is_left {
            aside.take(&dir.join(name))?;
        }
    }
    aside.flush()?;
    sync_dir(&segments)?;
    opened.manifest.replace_both(dir)?;
    if manifests.previous.whole() == Some(&opened.manifest) {
        // It describes the same commit as the newest now, and its twin would not be believed.
        let previous = dir.join(PREVIOUS_FILE);
        fs::remove_file(&previous).map_err(|source| StoreError::io("remove", &previous, source))?;
        sync_dir(dir)?;
    }
    if let Some(recovery) = &mut opened.recovery {
        recovery.moved_to = aside.dir;
    }
    Ok(())
}

/// The directory to which files are moved, made for the first one.
struct Aside<'a> {
    kb: &'a Path,
    dir: Option<PathBuf>,
}

impl<'a> Aside<'a> {
    fn new(kb: &'a Path) -> Self {
        Self { kb, dir: None }
    }

    /// Moves a file or directory there, under its own name.
    fn take(&mut self, path: &Path) -> Result<(), StoreError> {
        let dir = match &self.dir {
            Some(dir) => dir,
            None => self.dir.insert(create_numbered(&self.kb.join(ASIDE_DIR))?),
        };
        let to = dir.join(path.file_name().unwrap_or_default());
        fs::rename(path, &to).map_err(|source| StoreError::io("move aside", path, source))
    }

    /// Makes what was moved durable.
    fn flush(&self) -> Result<(), StoreError> {
        match &self.dir {
            Some(dir) => {
                sync_dir(dir)?;
                sync_dir(&self.kb.join(ASIDE_DIR))?;
                sync_dir(self.kb)
            }
            None => Ok(()),
        }
    }
}

/// Creates the first directory of a number, from 1 on, that is not there.
fn create_numbered(parent: &Path) -> Result<PathBuf, StoreError> {
    fs::create_dir_all(parent).map_err(|source| StoreError::io("create", parent, source))?;
    let mut number = 1_u64;
    loop {
        let dir = parent.join(number.to_string());
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(StoreError::io("create", &dir, source)),
        }
    }
}
