//! The lists in which the tables of the database keep what files they have. They are checked before
//! the database reads them: it takes their lengths for granted, and one that is not right ends the
//! process for want of memory.
//!
//! In a table's directory `current` has the number of the list (8 bytes, little-endian) and
//! XXH3-128 (16 bytes, little-endian) of the file `vN` that is the list.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::ServiceError;
use crate::files::remove_file;

/// Name of the file that says which list there is.
pub(super) const CURRENT: &str = "current";

/// A list that cannot be trusted.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) path: PathBuf,
    pub(super) reason: &'static str,
}

/// Returns what is wrong with the list in the directory of a table, if anything is.
pub(super) fn fault(table: &Path) -> Result<Option<Fault>, ServiceError> {
    let current = table.join(CURRENT);
    let Some(content) = read(&current)? else {
        let path = if table.exists() {
            current
        } else {
            table.to_owned()
        };
        return Ok(Some(Fault {
            path,
            reason: "it is gone",
        }));
    };
    let damaged = |path| {
        let reason = "it is damaged";
        Ok(Some(Fault { path, reason }))
    };
    let Some((number, rest)) = content.split_first_chunk() else {
        return damaged(current);
    };
    let Some(checksum) = rest.first_chunk() else {
        return damaged(current);
    };
    let list = table.join(format!("v{}", u64::from_le_bytes(*number)));
    match read(&list)? {
        None => Ok(Some(Fault {
            path: list,
            reason: "it is gone",
        })),
        Some(bytes) if xxh3_128(&bytes) != u128::from_le_bytes(*checksum) => damaged(list),
        Some(_) => Ok(None),
    }
}

/// Removes what says which list there is: without it the database makes the table anew, and takes
/// what the log has of it.
pub(super) fn remove(table: &Path) -> Result<(), ServiceError> {
    remove_file(&table.join(CURRENT))
}

/// Reads a file; `None` if it is gone.
fn read(path: &Path) -> Result<Option<Vec<u8>>, ServiceError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ServiceError::io("read", path)(error)),
    }
}
