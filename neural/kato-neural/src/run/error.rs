//! What can be wrong with a run's folder.

use std::io;
use std::path::PathBuf;

use kato_advice::ErrorClass;

/// Why a run's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is a run already where one was to begin.
    #[error("`{}` holds a run; go on with `{program} resume`, or name another folder", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
        /// Whose run it would be.
        program: &'static str,
    },
    /// There is no run where one was to be.
    #[error("`{}` holds no run of `{program}`; begin one there first", path.display())]
    None {
        /// The folder.
        path: PathBuf,
        /// Whose run it would be.
        program: &'static str,
    },
    /// A run was written by a later version.
    #[error("the run in `{}` has layout {layout}, which is newer than this program; update it", path.display())]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its layout.
        layout: u32,
    },
    /// Another process trains the run.
    #[error("the run in `{}` is being trained by another process; wait for it, or stop it", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} `{}`; check the path, its permissions and the room on the disk", path.display())]
    File {
        /// What was tried: read, write, create.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file of a run is not what was written there.
    #[error("`{}` is damaged: {reason}; train the run again, or restore the file from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl RunError {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::File { source, .. } => ErrorClass::of_io(source.kind()),
            Self::None { .. } => ErrorClass::Usage,
            Self::Exists { .. } | Self::Newer { .. } | Self::InUse { .. } => ErrorClass::Conflict,
            Self::Damaged { .. } => ErrorClass::Other,
        }
    }

    /// Makes a closure that turns an error of the operating system into one that names the file.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}
