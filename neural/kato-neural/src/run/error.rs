//! What can be wrong with a run's folder or its settings.

use std::io;
use std::path::PathBuf;

use kato_advice::ErrorClass;

/// Why a run's folder or its settings cannot be used.
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
    /// Somebody else trains the run, in another process or in this one.
    #[error("the run in `{}` is being trained already, by another process or by this one; wait for that, or stop it", path.display())]
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
    /// A setting has a value that nothing can be done with.
    #[error("the setting `{name}` is {value}; it has to be {expected}")]
    Setting {
        /// Its name, with its table.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is possible.
        expected: &'static str,
    },
    /// A file of settings cannot be understood.
    #[error("`{}` is no file of settings: {reason}; correct it", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
}

impl RunError {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::File { source, .. } => ErrorClass::of_io(source.kind()),
            Self::None { .. } | Self::Setting { .. } | Self::Settings { .. } => ErrorClass::Usage,
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

    /// Creates the error of an impossible setting.
    pub fn setting(name: &'static str, value: &impl ToString, expected: &'static str) -> Self {
        Self::Setting {
            name,
            value: value.to_string(),
            expected,
        }
    }
}

/// Refuses a setting whose value nothing can be done with.
///
/// # Errors
///
/// [`RunError::Setting`] where it is not possible.
pub fn check_setting(
    is_possible: bool,
    name: &'static str,
    value: &impl ToString,
    expected: &'static str,
) -> Result<(), RunError> {
    if is_possible {
        Ok(())
    } else {
        Err(RunError::setting(name, value, expected))
    }
}
