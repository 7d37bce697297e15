//! What can go wrong, and what to do then.

use std::path::{Path, PathBuf};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// LibTorch refused an operation.
    #[error("LibTorch refused: {0}")]
    Torch(#[from] tch::TchError),
    /// A function of ours over LibTorch refused.
    #[error("{what}: {reason}")]
    Native {
        /// What was asked for.
        what: &'static str,
        /// LibTorch's words.
        reason: String,
    },
    /// There is no GPU where one is needed.
    #[error("there is no CUDA device that LibTorch sees; {0}")]
    NoCuda(&'static str),
    /// The shim over CUDA graphs was not compiled.
    #[error(
        "this program was built without CUDA's headers, so it has no graphs: `pip install nvidia-cuda-runtime nvidia-cuda-crt` beside PyTorch and build again"
    )]
    NoGraphs,
    /// A file cannot be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Weights do not fit a model.
    #[error("these weights are of another model: {0}")]
    Mismatch(String),
    /// A setting is out of its range.
    #[error("{name} is {found}, and has to be {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        found: String,
        /// What it has to be.
        expected: &'static str,
    },
}

impl Error {
    /// Says what was tried with a file, for `map_err`.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File {
            verb,
            path: path.to_owned(),
            source,
        }
    }

    /// Says what is wrong inside a file.
    pub(crate) fn content(path: &Path, reason: impl Into<String>) -> Self {
        Self::Content {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Says which setting is impossible.
    pub(crate) fn setting(
        name: &'static str,
        found: &dyn ToString,
        expected: &'static str,
    ) -> Self {
        Self::Setting {
            name,
            found: found.to_string(),
            expected,
        }
    }
}
