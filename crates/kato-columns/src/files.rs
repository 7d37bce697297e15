//! Columns as files of a directory: written block by block, published whole, and mapped.
//!
//! A directory is written under the name [`BUILDING`] beside those that are in use, by whoever holds the
//! [`lock`]. When all of it has reached the disk it is [published](publish): it gets its name in one
//! step. What was cut off before leaves only [`BUILDING`], which the next writer removes.
//!
//! ```
//! use kato_columns::files::{self, ColumnWriter};
//!
//! let parent = tempfile::tempdir()?;
//! let lock = files::lock(parent.path())?;
//! let dir = files::begin(parent.path())?;
//! let path = dir.join("numbers");
//! let mut writer = ColumnWriter::create(&path)?;
//! (0..3_000u32).try_for_each(|n| writer.push(&n.to_le_bytes()))?;
//! let written = writer.finish()?;
//! let named = files::publish(&dir, "what it was made of", "HEADER")?;
//! drop(lock);
//!
//! let damage = files::watch(&[&named]);
//! let path = named.join("numbers");
//! let column = files::map(&path, written.bytes, written.checksums.into(), &damage)?;
//! assert_eq!(column.view().u32(2_999), 2_999);
//! assert!(!damage.is_found());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directory;
mod header;
mod mapped;
mod set;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

pub use self::directory::{BUILDING, LOCK, begin, lock, publish, remove, remove_stale, sync};
pub use self::header::{read_sealed, write_sealed};
pub use self::mapped::{MappedColumn, WatchedDirectories, map, watch};
pub use self::set::{ColumnList, ColumnSet, ColumnSetWriter};
pub use self::writer::{ColumnWriter, WrittenColumn};

/// The error of columns on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it could not.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody else writes here, in another process or in this one.
    #[error("{} is being written already, by another process or by this one; wait for that to end", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
}

impl FileError {
    /// Creates the error of something that was to be done with a file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        // The path is copied by whoever fails: it is said of every number that is written.
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Creates the error of a damaged file.
    pub fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
