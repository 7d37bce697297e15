//! Changes to a disk, one by one, so that tests can end an operation between any two.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::RunsError;

/// A disk that makes changes; in tests it refuses all after a number of them, as if the process had
/// died.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    #[cfg(test)]
    steps_left: Option<std::sync::atomic::AtomicUsize>,
}

impl Disk {
    /// Creates a disk that makes this many changes and no more.
    #[cfg(test)]
    pub(crate) fn dying_after(steps: usize) -> Self {
        Self {
            steps_left: Some(steps.into()),
        }
    }

    /// Makes one change, which counts.
    fn step<T>(
        &self,
        action: &'static str,
        path: &Path,
        change: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, RunsError> {
        self.check_alive()
            .and_then(|()| change())
            .map_err(RunsError::io(action, path))
    }

    /// Fails once the process is to have died.
    #[cfg(test)]
    fn check_alive(&self) -> io::Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let left = self.steps_left.as_ref();
        let died = left.is_some_and(|left| {
            left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_err()
        });
        if died {
            Err(io::Error::other("the process died"))
        } else {
            Ok(())
        }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "in tests it has a state")]
    #[expect(clippy::unnecessary_wraps, reason = "in tests it may fail")]
    const fn check_alive(&self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn create_dir(&self, path: &Path) -> Result<(), RunsError> {
        self.step("create", path, || fs::create_dir(path))
    }

    pub(crate) fn create_file(&self, path: &Path) -> Result<File, RunsError> {
        self.step("create", path, || File::create(path))
    }

    /// Waits until the disk holds a file.
    pub(crate) fn flush(&self, file: &File, path: &Path) -> Result<(), RunsError> {
        self.step("flush", path, || file.sync_all())
    }

    /// Gives a file a second name, or copies it where that fails.
    pub(crate) fn link(&self, from: &Path, to: &Path) -> Result<(), RunsError> {
        match self.step("link", to, || fs::hard_link(from, to)) {
            Ok(()) => Ok(()),
            // Whatever the reason: a copy is as good, and if it fails as well, its error is the one
            // to show.
            Err(_) => self.copy(from, to),
        }
    }

    pub(crate) fn copy(&self, from: &Path, to: &Path) -> Result<(), RunsError> {
        self.step("copy", from, || {
            // A copy is not on the disk before it is flushed, for which Windows wants it open for
            // writing.
            fs::copy(from, to)?;
            File::options().write(true).open(to)?.sync_all()
        })
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<(), RunsError> {
        self.step("rename", from, || fs::rename(from, to))
    }

    pub(crate) fn remove_dir(&self, path: &Path) -> Result<(), RunsError> {
        self.step("remove", path, || fs::remove_dir_all(path))
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<(), RunsError> {
        self.step("remove", path, || match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
    }

    /// Makes creations, renames and removals in a directory durable.
    pub(crate) fn flush_dir(&self, path: &Path) -> Result<(), RunsError> {
        // Windows cannot flush a directory and does not need to.
        if cfg!(not(unix)) {
            return Ok(());
        }
        self.step("flush", path, || File::open(path)?.sync_all())
    }

    /// Replaces a file as a whole: a crash leaves the old one or the new one, and perhaps
    /// `.NAME.tmp`, which the next call replaces.
    pub(crate) fn replace(&self, path: &Path, text: &str) -> Result<(), RunsError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = path.with_file_name(format!(".{name}.tmp"));
        let mut file = self.create_file(&new)?;
        self.step("write", &new, || file.write_all(text.as_bytes()))?;
        // Before the rename: else a power cut could leave the new name with nothing behind it.
        self.flush(&file, &new)?;
        self.rename(&new, path)?;
        self.flush_dir(&parent_of(path))
    }
}

/// Returns the directory that holds a file or directory.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
