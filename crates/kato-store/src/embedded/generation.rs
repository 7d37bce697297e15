//! Generations: the newest commit, which two manifests describe, and the one before it. Opening
//! takes the newest or says what is damaged; it goes back only where it is asked to.

use std::path::Path;
use std::sync::Arc;

use super::damage::{Commit, Damage, DamagedFile, Held, Recovery};
use super::deletions::Deletions;
use super::directory::{
    FileAccess, holds_knowledge_base, is_missing, open_segment, segment_dir, segment_files,
};
use super::manifest::{
    FILE, Manifest, ManifestFile, NamedFiles, PREVIOUS_FILE, SegmentEntry, TWIN_FILE,
};
use super::options::DamagePolicy;
use super::segment::{Depth, Segment};
use crate::{Place, Rescue, StoreError};

/// Number of times that the newest commit is looked for while a writer merges away what its
/// manifest names.
const ATTEMPTS: usize = 10;

/// The commit that was opened in a directory.
#[derive(Debug)]
pub(super) struct OpenedGeneration {
    pub(super) manifest: Manifest,
    /// Parallel to the manifest's segments.
    pub(super) segments: Vec<Arc<Segment>>,
    /// Files of the commit before, which stay until the next one.
    pub(super) previous: NamedFiles,
    pub(super) recovery: Option<Recovery>,
    pub(super) twin: Twin,
}

/// How the manifest's twin agrees with what was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twin {
    /// It is the same.
    Same,
    /// It is the newer one: a writer was killed between the two, after the commit.
    Ahead,
    /// It is not there, or of an earlier commit: an older program wrote here.
    Behind,
}

/// The manifests of a directory.
#[derive(Debug)]
pub(super) struct Manifests {
    pub(super) newest: ManifestFile,
    pub(super) twin: ManifestFile,
    pub(super) previous: ManifestFile,
}

impl Manifests {
    /// Reads the manifests of a directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] where nothing of a knowledge base is, and those of
    /// [`ManifestFile::read`].
    pub(super) fn read(dir: &Path) -> Result<Self, StoreError> {
        let manifests = Self {
            newest: ManifestFile::read(dir, FILE)?,
            twin: ManifestFile::read(dir, TWIN_FILE)?,
            previous: ManifestFile::read(dir, PREVIOUS_FILE)?,
        };
        if manifests.are_missing() && !holds_knowledge_base(dir) {
            return Err(StoreError::Missing {
                place: Place::from_path(dir),
            });
        }
        Ok(manifests)
    }

    fn are_missing(&self) -> bool {
        let files = [&self.newest, &self.twin, &self.previous];
        files
            .iter()
            .all(|file| matches!(file, ManifestFile::Missing))
    }

    /// Returns the twin, if it describes the newest commit as far as the others show.
    ///
    /// A program of a version that writes no twin leaves an old one behind. Its first commit makes
    /// the manifest that is the twin's the previous one, its later ones make that newer.
    fn believed_twin(&self) -> Option<&Manifest> {
        let twin = self.twin.whole()?;
        let is_behind = match (self.newest.whole(), self.previous.whole()) {
            (Some(newest), _) => twin.n_commits < newest.n_commits,
            (None, Some(previous)) => twin.n_commits < previous.n_commits || twin == previous,
            (None, None) => false,
        };
        (!is_behind).then_some(twin)
    }

    /// Returns the manifests that describe the newest commit, the better one first; none when all
    /// that do are lost. Commits of one number have the same content, in other segments.
    fn of_newest(&self) -> Vec<&Manifest> {
        let written = self.newest.whole().into_iter().chain(self.believed_twin());
        let mut found: Vec<&Manifest> = written.collect();
        let number = found.iter().map(|manifest| manifest.n_commits).max();
        found.retain(|manifest| Some(manifest.n_commits) == number);
        let previous = self.previous.whole();
        found.extend(previous.filter(|previous| Some(previous.n_commits) == number));
        found
    }

    /// Returns the newest manifest that is whole, with the file that holds it, and whether it is of
    /// the newest commit.
    pub(super) fn best(&self) -> Option<(&Manifest, &'static str, bool)> {
        let newest = self.of_newest().into_iter().next();
        let is_newest = newest.is_some();
        let best = newest.or_else(|| self.previous.whole())?;
        let is_in = |file: &ManifestFile| file.whole().is_some_and(|it| std::ptr::eq(it, best));
        let file = match (is_in(&self.newest), is_in(&self.twin)) {
            (true, _) => FILE,
            (_, true) => TWIN_FILE,
            _ => PREVIOUS_FILE,
        };
        Some((best, file, is_newest))
    }

    /// Returns how the twin agrees with a manifest that was opened.
    fn twin_of(&self, opened: &Manifest) -> Twin {
        let newest = self.newest.whole();
        match self.twin.whole() {
            Some(twin) if twin != opened => Twin::Behind,
            Some(_) if newest.is_some_and(|newest| newest != opened) => Twin::Ahead,
            Some(_) => Twin::Same,
            None => Twin::Behind,
        }
    }

    /// Returns the manifest files that are damaged, and the newest one if it is missing where it
    /// should be.
    pub(super) fn damaged(&self, dir: &Path) -> Vec<DamagedFile> {
        let mut found = Vec::new();
        if matches!(self.newest, ManifestFile::Missing) {
            let path = dir.join(FILE);
            found.push(DamagedFile::new(path, "it is not there", None));
        }
        for file in [&self.newest, &self.twin, &self.previous] {
            if let ManifestFile::Damaged(path, reason) = file {
                found.push(DamagedFile::new(path.clone(), reason, None));
            }
        }
        found
    }
}

/// Opens the newest commit of a directory, or what the policy allows where it is damaged.
pub(super) fn open(
    dir: &Path,
    policy: DamagePolicy,
    access: FileAccess,
) -> Result<OpenedGeneration, StoreError> {
    let depth = policy.depth();
    let mut found = open_newest(dir, access, depth)?;
    for _ in 1..ATTEMPTS {
        // A writer may remove segments between reading the manifest and opening them; the next
        // manifest names others.
        match &found {
            Err(unopened) if unopened.is_missing => found = open_newest(dir, access, depth)?,
            _ => break,
        }
    }
    // A file that is missing after as many attempts is not one that a writer is replacing: it is
    // lost.
    let manifests = match found {
        Ok(opened) => return Ok(opened),
        Err(unopened) => unopened.manifests,
    };
    let damage = examine(dir, &manifests, depth)?;
    let is_taken = |older: &Commit| match policy {
        DamagePolicy::Refuse => false,
        DamagePolicy::GoBack => !older.held.is_nothing(),
        DamagePolicy::Relearn => true,
    };
    let Some((manifest, older)) = manifests
        .previous
        .whole()
        .zip(damage.older.as_ref().filter(|older| is_taken(older)))
    else {
        return Err(damage.into_error());
    };
    // Looking for damage has read all of it.
    let segments = open_segments(dir, manifest, access, Depth::Indexes);
    let segments = segments.map_err(Unopened::into_error)?;
    let newest = damage.newest.as_ref();
    let lost_commits = |newest: &Commit| newest.n_commits.saturating_sub(older.n_commits);
    Ok(OpenedGeneration {
        recovery: Some(Recovery {
            n_commits: older.n_commits,
            lost_commits: newest.map(lost_commits),
            lost: newest.map(|newest| newest.held.without(older.held)),
            files: damage.files,
            moved_to: None,
        }),
        // Until the next commit the one gone back to is both generations.
        previous: manifest.named_files(),
        manifest: manifest.clone(),
        segments,
        twin: Twin::Behind,
    })
}

/// Returns the damage of a knowledge base whose newest commit is not whole; `None` if it is.
pub(super) fn damage(dir: &Path) -> Result<Option<Damage>, StoreError> {
    let depth = Depth::Indexes;
    match open_newest(dir, FileAccess::Shared, depth)? {
        Ok(_) => Ok(None),
        Err(unopened) => examine(dir, &unopened.manifests, depth).map(Some),
    }
}

/// A newest commit that could not be opened.
struct NotWhole {
    manifests: Manifests,
    /// Whether a file that a manifest names is missing, as while a writer replaces it.
    is_missing: bool,
}

/// Opens the newest commit of a directory.
fn open_newest(
    dir: &Path,
    access: FileAccess,
    depth: Depth,
) -> Result<Result<OpenedGeneration, NotWhole>, StoreError> {
    let manifests = Manifests::read(dir)?;
    let mut damaged = manifests.damaged(dir);
    let mut is_missing = false;
    for manifest in manifests.of_newest() {
        match open_segments(dir, manifest, access, depth) {
            Ok(segments) => {
                let recovery = (!damaged.is_empty()).then(|| Recovery {
                    n_commits: manifest.n_commits,
                    lost_commits: Some(0),
                    lost: Some(Held::default()),
                    files: damaged,
                    moved_to: None,
                });
                let previous = manifests.previous.whole();
                return Ok(Ok(OpenedGeneration {
                    twin: manifests.twin_of(manifest),
                    previous: previous.map_or_else(Vec::new, Manifest::named_files),
                    manifest: manifest.clone(),
                    segments,
                    recovery,
                }));
            }
            Err(Unopened::Damaged(file, file_is_missing)) => {
                is_missing |= file_is_missing;
                damaged.push(file);
            }
            // A later format or an error of the system does not show that anything is lost.
            Err(Unopened::Other(error)) => return Err(error),
        }
    }
    Ok(Err(NotWhole {
        manifests,
        is_missing,
    }))
}

/// The reason why a segment cannot be opened.
enum Unopened {
    /// Damage, and whether the file is missing.
    Damaged(DamagedFile, bool),
    /// Nothing that says anything about the file.
    Other(StoreError),
}

impl Unopened {
    /// Sorts the error of a file that a manifest names, and says what it held.
    fn new(error: StoreError, held: Option<Held>) -> Self {
        match error {
            StoreError::Corrupt {
                place: Place::Path(path),
                reason,
                ..
            } => Self::Damaged(DamagedFile::new(path, reason, held), false),
            StoreError::Io { path, source, .. } if is_missing(&source) => {
                let reason = "the manifest names it and it is not there";
                Self::Damaged(DamagedFile::new(path, reason, held), true)
            }
            StoreError::Io { path, .. } if path.is_dir() => {
                Self::Damaged(DamagedFile::new(path, "it is a directory", held), false)
            }
            error => Self::Other(error),
        }
    }

    fn into_error(self) -> StoreError {
        match self {
            Self::Damaged(file, _) => file.into_error(),
            Self::Other(error) => error,
        }
    }
}

/// Opens the segments that a manifest names.
fn open_segments(
    dir: &Path,
    manifest: &Manifest,
    access: FileAccess,
    depth: Depth,
) -> Result<Vec<Arc<Segment>>, Unopened> {
    let deletions = Deletions::read(dir, manifest);
    let deletions = deletions.map_err(|error| Unopened::new(error, None))?;
    let open = |entry: &SegmentEntry| {
        let opened = open_segment(dir, manifest, entry, &deletions, access).map(Arc::new);
        let opened = opened.and_then(|segment| segment.checked(depth));
        opened.map_err(|error| Unopened::new(error, Some(entry.held())))
    };
    manifest.segments.iter().map(open).collect()
}

/// What is left of a commit.
pub(super) struct Remains {
    /// Each of the segments that its manifest names, or what is wrong with it. Where what is deleted is
    /// not known, segments come with all that they had.
    pub(super) segments: Vec<Result<Arc<Segment>, DamagedFile>>,
    /// What is wrong with the file of what is deleted.
    pub(super) deletions: Option<DamagedFile>,
}

impl Remains {
    /// Opens what a manifest names.
    pub(super) fn open(dir: &Path, manifest: &Manifest, depth: Depth) -> Result<Self, StoreError> {
        let unopened = |error, held| match Unopened::new(error, held) {
            Unopened::Damaged(file, _) => Ok(file),
            Unopened::Other(error) => Err(error),
        };
        let (deletions, lost_deletions) = match Deletions::read(dir, manifest) {
            Ok(deletions) => (deletions, None),
            Err(error) => (Deletions::default(), Some(unopened(error, None)?)),
        };
        let mut segments = Vec::new();
        for entry in &manifest.segments {
            let mut entry = entry.clone();
            if lost_deletions.is_some() {
                entry.deleted.clear();
            }
            // Held open: a writer may remove files meanwhile.
            let opened = open_segment(dir, manifest, &entry, &deletions, FileAccess::Shared);
            let opened = opened.and_then(|segment| Arc::new(segment).checked(depth));
            segments.push(match opened {
                Ok(segment) => Ok(segment),
                Err(error) => Err(unopened(error, Some(entry.held()))?),
            });
        }
        Ok(Self {
            segments,
            deletions: lost_deletions,
        })
    }

    /// Returns whether nothing is wrong.
    fn is_whole(&self) -> bool {
        self.deletions.is_none() && self.segments.iter().all(Result::is_ok)
    }
}

/// Finds out what is whole and what is lost.
fn examine(dir: &Path, manifests: &Manifests, depth: Depth) -> Result<Damage, StoreError> {
    let mut files = manifests.damaged(dir);
    let (best, is_newest) = match manifests.best() {
        Some((best, _, is_newest)) => (Some(best), is_newest),
        None => (None, false),
    };
    let mut whole = Vec::new();
    if let Some(best) = best {
        let remains = Remains::open(dir, best, depth)?;
        files.extend(remains.deletions);
        for (entry, opened) in best.segments.iter().zip(remains.segments) {
            match opened {
                Ok(_) => whole.push(entry.held()),
                Err(file) => files.push(file),
            }
        }
    }
    let older = match manifests.previous.whole() {
        Some(previous) if Remains::open(dir, previous, depth)?.is_whole() => {
            Some(commit_of(previous))
        }
        _ => None,
    };
    let all = [&manifests.newest, &manifests.twin, &manifests.previous];
    let is_named = |file: &String| {
        let mut whole = all.iter().filter_map(|manifest| manifest.whole());
        whole.any(|manifest| manifest.files().any(|named| named == file))
    };
    let mut unnamed = segment_files(dir)?;
    let opens = |file: &String| Segment::open(&segment_dir(dir).join(file)).is_ok();
    let rescue = match (&older, best) {
        (_, None) => Rescue::Nothing,
        (Some(older), _) if !older.held.is_nothing() => Rescue::Commit,
        _ if unnamed.iter().any(opens) => Rescue::Parts,
        _ => Rescue::Nothing,
    };
    unnamed.retain(|file| !is_named(file));
    Ok(Damage {
        files,
        newest: best.filter(|_| is_newest).map(commit_of),
        whole: whole.into_iter().sum(),
        older,
        unnamed: unnamed
            .into_iter()
            .map(|file| segment_dir(dir).join(file))
            .collect(),
        rescue,
    })
}

/// Returns what a manifest says of its commit.
fn commit_of(manifest: &Manifest) -> Commit {
    Commit {
        n_commits: manifest.n_commits,
        checkpoint: manifest.checkpoint.clone(),
        held: manifest.held(),
    }
}
