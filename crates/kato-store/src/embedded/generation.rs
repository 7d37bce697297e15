//! Generations: the newest commit and the one before it, which opening goes back to when the newest
//! is damaged.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use super::directory::{FileAccess, missing_is_corrupt, open_segments, remove_orphans};
use super::manifest::{FILE, Manifest, PREVIOUS_FILE, SegmentEntry};
use super::options::DamagePolicy;
use super::segment::Segment;
use crate::{Place, StoreError};

/// Number of times that the newest commit is looked for while a writer merges away what its
/// manifest names.
const ATTEMPTS: usize = 10;

/// A report that opening went back to the commit before the newest one, because the newest was
/// damaged.
///
/// What was opened is an earlier state of the run, whole and with the checkpoint that belongs to
/// it: training that goes on from there comes to the same result. `Display` says what was damaged
/// and where it went back to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The file that is damaged, or missing.
    pub path: PathBuf,
    /// The inconsistency that was found.
    pub reason: String,
    /// Number of the commit that opening went back to.
    pub n_commits: u64,
    /// Commits that were given up: 0 when the newest only had merged segments, `None` when its
    /// number cannot be read.
    pub lost_commits: Option<u64>,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, reason) = (self.path.display(), &self.reason);
        write!(
            f,
            "{path} is damaged: {reason}; went back to commit {}, the last one that is whole",
            self.n_commits
        )
    }
}

/// The commit that was opened in a directory.
#[derive(Debug)]
pub(super) struct OpenedGeneration {
    pub(super) manifest: Manifest,
    /// Parallel to the manifest's segments.
    pub(super) segments: Vec<Arc<Segment>>,
    /// Segments of the commit before, which stay until the next one.
    pub(super) previous: Vec<SegmentEntry>,
    pub(super) recovery: Option<Recovery>,
}

/// Opens the newest commit of a directory, or the one before it.
pub(super) fn open_newest_or_previous(
    dir: &Path,
    policy: DamagePolicy,
    access: FileAccess,
) -> Result<OpenedGeneration, StoreError> {
    let mut newest = open_newest(dir, access);
    for _ in 1..ATTEMPTS {
        // A writer may remove segments between reading the manifest and opening them; the next
        // manifest names others.
        if !is_missing_file(&newest.result) {
            break;
        }
        newest = open_newest(dir, access);
    }
    // A file that is missing after as many attempts is not one that a writer is replacing: it is
    // lost.
    let damage = match newest.result.map_err(missing_is_corrupt) {
        Ok((manifest, segments)) => {
            // Only the newest counts: whatever is wrong with the one before is no reason to
            // complain.
            let previous = Manifest::read(dir, PREVIOUS_FILE).ok().flatten();
            return Ok(OpenedGeneration {
                manifest,
                segments,
                previous: previous.map_or_else(Vec::new, |previous| previous.segments),
                recovery: None,
            });
        }
        Err(error) => error,
    };
    // Only damage leads back. A later format or an error of the system does not show that the
    // newest commit is lost, and going back would give it up.
    let (
        StoreError::Corrupt {
            place: Place::Path(path),
            reason,
        },
        DamagePolicy::GoBack,
    ) = (&damage, policy)
    else {
        return Err(damage);
    };
    // If the commit before is not whole either, the damage of the newest one is what the caller has
    // to know.
    let Ok(Some(previous)) = Manifest::read(dir, PREVIOUS_FILE) else {
        return Err(damage);
    };
    let Ok(segments) = open_segments(dir, &previous, access) else {
        return Err(damage);
    };
    let lost = |newest: u64| newest.saturating_sub(previous.n_commits);
    Ok(OpenedGeneration {
        recovery: Some(Recovery {
            path: path.clone(),
            reason: reason.clone(),
            n_commits: previous.n_commits,
            lost_commits: newest.n_commits.map(lost),
        }),
        // Until the next commit the one gone back to is both generations.
        previous: previous.segments.clone(),
        manifest: previous,
        segments,
    })
}

/// Makes what was opened the newest commit and removes all other segments; for the one writer,
/// before anything else is written.
pub(super) fn finish_recovery(dir: &Path, opened: &OpenedGeneration) -> Result<(), StoreError> {
    if opened.recovery.is_some() {
        // In place of the damaged one: the next commit keeps what is there as the previous
        // generation.
        opened.manifest.replace(dir, FILE)?;
    }
    let previous = opened.previous.iter().map(|entry| entry.file.as_str());
    let referenced: HashSet<&str> = opened.manifest.files().chain(previous).collect();
    remove_orphans(dir, &referenced)
}

/// A manifest and its segments, opened.
type Opened = (Manifest, Vec<Arc<Segment>>);

/// The outcome of opening the newest commit.
struct NewestCommit {
    result: Result<Opened, StoreError>,
    /// Its number, if that much can be read.
    n_commits: Option<u64>,
}

/// Opens the newest commit of a directory.
fn open_newest(dir: &Path, access: FileAccess) -> NewestCommit {
    let manifest = match Manifest::read(dir, FILE) {
        Ok(Some(manifest)) => Ok(manifest),
        // The previous manifest alone: the newest was lost, where a knowledge base was.
        Ok(None) if Manifest::exists(dir) => {
            Err(StoreError::corrupt(&dir.join(FILE), "it is not there"))
        }
        Ok(None) => Err(StoreError::Missing {
            place: Place::from_path(dir),
        }),
        Err(error) => Err(error),
    };
    NewestCommit {
        n_commits: manifest.as_ref().ok().map(|manifest| manifest.n_commits),
        result: manifest.and_then(|manifest| {
            let segments = open_segments(dir, &manifest, access)?;
            Ok((manifest, segments))
        }),
    }
}

/// Returns whether a file was not there.
fn is_missing_file<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound)
}
