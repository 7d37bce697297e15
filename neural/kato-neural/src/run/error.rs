//! What can be wrong with a run's folder or its settings.

use std::fmt;
use std::io;
use std::path::PathBuf;

use kato_advice::ErrorClass;

/// A setting that is another than the run was begun with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingChange {
    /// Its name, with its table.
    pub name: String,
    /// Its value when the run began, as TOML has it; `None` where it was not set.
    pub was: Option<String>,
    /// Its value by now.
    pub is: Option<String>,
}

impl fmt::Display for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [was, is] = [&self.was, &self.is].map(|value| value.as_deref().unwrap_or("not set"));
        write!(f, "`{}` was {} and is {}", self.name, short(was), short(is))
    }
}

/// Returns what of a value fits into a line: a list may be long.
fn short(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn listed(changes: &[SettingChange]) -> String {
    let all: Vec<String> = changes.iter().map(SettingChange::to_string).collect();
    all.join(", ")
}

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
    /// The file of a run's settings was written to since it began, and what decides the run's course is another.
    #[error(
        "a run keeps the settings that decide its course, and `{}` has others: {}; write back what was, or begin another \
         run in another folder",
        path.display(),
        listed(changes)
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// Which are others, by their names.
        changes: Vec<SettingChange>,
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
            Self::Exists { .. }
            | Self::Newer { .. }
            | Self::InUse { .. }
            | Self::Changed { .. } => ErrorClass::Conflict,
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
