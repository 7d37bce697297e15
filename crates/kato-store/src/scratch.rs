//! Directories for working files: gone when they are dropped, and when their process was killed, as
//! soon as the next is made beside them.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// What the names of all begin with.
const PREFIX: &str = "kato-scratch-";

/// The file in each that its process keeps locked: the system releases the lock when the process
/// ends, however it ends.
const LOCK: &str = ".lock";

/// A directory for working files, which is removed with all that it holds when it is dropped.
///
/// A process that is killed cannot remove its own. The next one of the same user that makes one in the
/// same place does, because nobody holds the lock of that directory any more.
///
/// ```
/// use kato_store::scratch::ScratchDir;
///
/// let place = tempfile::tempdir()?;
/// let scratch = ScratchDir::create_in(place.path())?;
/// std::fs::write(scratch.path().join("part"), "content")?;
/// drop(scratch);
/// assert_eq!(std::fs::read_dir(place.path())?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
    _lock: File,
}

impl ScratchDir {
    /// Makes a directory in `parent`, and removes those there whose processes were killed.
    ///
    /// # Errors
    ///
    /// When none can be made. That an old one cannot be removed is no error.
    pub fn create_in(parent: impl AsRef<Path>) -> io::Result<Self> {
        let parent = parent.as_ref();
        let path = make(parent)?;
        let lock = lock(&path).inspect_err(|_| drop(fs::remove_dir_all(&path)))?;
        sweep(parent, &path);
        Ok(Self { path, _lock: lock })
    }

    /// Makes a directory among the system's temporary files.
    ///
    /// # Errors
    ///
    /// As [`create_in`](Self::create_in).
    pub fn create() -> io::Result<Self> {
        Self::create_in(std::env::temp_dir())
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory for good, with all that it holds, and returns its path.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        // Without a lock nobody takes it for left behind.
        drop(fs::remove_file(self.path.join(LOCK)));
        std::mem::take(&mut self.path)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What cannot be removed now is by the next that is made, and one that is kept has no path here.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Makes a directory with a name that no other has, which nobody else may look into.
fn make(parent: &Path) -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // Of containers that share a directory several may have the same process number.
        let nanos = now.map_or(0, |now| now.subsec_nanos());
        let name = format!("{PREFIX}{}-{number}-{nanos:x}", std::process::id());
        let path = parent.join(name);
        match builder.create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
}

/// Makes the lock of a directory.
fn lock(dir: &Path) -> io::Result<File> {
    // Locked before it has its name: nobody finds it unlocked and takes it for left behind.
    let unnamed = dir.join(".new");
    let lock = File::create_new(&unnamed)?;
    // Where files cannot be locked nothing is removed either.
    drop(lock.try_lock());
    fs::rename(&unnamed, dir.join(LOCK))?;
    Ok(lock)
}

/// Removes the directories beside `own` whose processes have ended.
fn sweep(parent: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default();
        let is_scratch = name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if is_scratch && path != own && is_ours(&path, own) && is_left_behind(&path) {
            // Another process may remove it at the same time, and what stays is no harm.
            drop(fs::remove_dir_all(&path));
        }
    }
}

/// Returns whether it is a directory of the same user, and no link: in a place that all may write to,
/// others may make what looks like one.
fn is_ours(path: &Path, own: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let owner = fs::symlink_metadata(own).map(|own| own.uid());
        if !owner.is_ok_and(|owner| owner == found.uid()) {
            return false;
        }
    }
    #[cfg(not(unix))]
    let _ = own;
    found.is_dir()
}

/// Returns whether nobody holds the lock. One without a lock is about to be made.
fn is_left_behind(dir: &Path) -> bool {
    let lock: PathBuf = dir.join(LOCK);
    // A file and nothing else: opening a pipe would wait.
    if !fs::symlink_metadata(&lock).is_ok_and(|found| found.is_file()) {
        return false;
    }
    File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves a directory as a process does that is killed.
    fn leave_behind(parent: &Path) -> PathBuf {
        let dir = make(parent).unwrap();
        drop(lock(&dir).unwrap());
        fs::write(dir.join("part"), "half of it").unwrap();
        dir
    }

    #[test]
    fn the_next_removes_what_a_killed_process_has_left_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("kato-scratch-being-made")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("kato-scratch-file"), "").unwrap();
        let in_use = ScratchDir::create_in(place.path()).unwrap();
        let left = leave_behind(place.path());
        assert!(left.join("part").exists());
        let next = ScratchDir::create_in(place.path()).unwrap();
        assert!(!left.exists());
        assert!(in_use.path().exists() && next.path().exists());
        for stays in ["kato-scratch-being-made", "other", "kato-scratch-file"] {
            assert!(at(stays).exists(), "{stays}");
        }
        drop((in_use, next));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
    }

    #[test]
    fn one_that_is_kept_stays() {
        let place = tempfile::tempdir().unwrap();
        let scratch = ScratchDir::create_in(place.path()).unwrap();
        fs::write(scratch.path().join("part"), "all there is").unwrap();
        let kept = scratch.keep();
        drop(ScratchDir::create_in(place.path()).unwrap());
        assert!(kept.join("part").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_that_look_like_one_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        let link = place.path().join("kato-scratch-link");
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        let odd = place.path().join("kato-scratch-odd");
        fs::create_dir(&odd).unwrap();
        std::os::unix::fs::symlink("/dev/null", odd.join(LOCK)).unwrap();
        drop(ScratchDir::create_in(place.path()).unwrap());
        assert!(elsewhere.path().join(LOCK).exists());
        assert!(link.is_symlink() && odd.exists());
    }
}
