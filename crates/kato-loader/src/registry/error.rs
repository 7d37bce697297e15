//! The error of a registry.

use std::io;
use std::path::PathBuf;

/// Why a registry could not be read, or does not hold what was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The file does not exist or cannot be read.
    #[error("registry `{}` cannot be read; check the path and its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is not what a registry holds: not TOML, an unknown key, a value of the wrong kind,
    /// or one not allowed.
    #[error("registry `{file}`, line {line}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// The line concerned, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// No entry has this key.
    #[error("no dataset is called `{key}`; {}", hint(closest.as_deref(), known))]
    Unknown {
        /// The key asked for.
        key: String,
        /// The key that is most like it.
        closest: Option<String>,
        /// All keys, in the registry's order.
        known: Vec<String>,
    },
}

/// Returns what to ask for instead of an unknown key.
fn hint(closest: Option<&str>, known: &[String]) -> String {
    let known = match known {
        [] => "the registry is empty".to_owned(),
        known => format!("known are {}", known.join(", ")),
    };
    match closest {
        Some(key) => format!("did you mean `{key}`? ({known})"),
        None => known,
    }
}
