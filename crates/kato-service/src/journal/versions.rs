//! The lists in which the tables of the database keep what files they have, and these files. They are
//! checked before the database reads them: it takes lengths in the lists for granted, and one that is
//! not right ends the process for want of memory.
//!
//! In a table's directory `current` has the number of the list (8 bytes, little-endian) and
//! XXH3-128 (16 bytes, little-endian) of the file `vN` that is the list. That is an archive of the
//! crate `sfa`. Its section `tables` has the number of levels (1 byte), of runs in each (1), of files in
//! each run (4), and of each file its number (8), 0, its XXH3-128 and 8 bytes more. The files are
//! `tables/N`.

use std::fs;
use std::io::{Cursor, ErrorKind};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::ServiceError;
use crate::loss::DataLoss;

/// Name of the file that says which list there is.
pub(super) const CURRENT: &str = "current";

/// Name of the directory with the files of a table.
const FILES: &str = "tables";

/// The files of tables that are looked at, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Whether they are there, which takes no time.
    Presence,
    /// All that they hold.
    Content,
}

/// A list, or a file in it, that cannot be trusted.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) path: PathBuf,
    pub(super) reason: &'static str,
}

impl Fault {
    /// Returns the fault as a loss.
    pub(super) fn loss(self) -> DataLoss {
        DataLoss::Journal {
            path: self.path,
            reason: self.reason.to_owned(),
        }
    }
}

/// Returns what is wrong with the list in the directory of a table or with a file in it, if anything is.
pub(super) fn fault(table: &Path, look: Look) -> Result<Option<Fault>, ServiceError> {
    let current = table.join(CURRENT);
    let Some(content) = read(&current)? else {
        let path = if table.exists() {
            current
        } else {
            table.to_owned()
        };
        return Ok(Some(gone(path)));
    };
    let Some((number, rest)) = content.split_first_chunk() else {
        return Ok(Some(damaged(current)));
    };
    let Some(checksum) = rest.first_chunk() else {
        return Ok(Some(damaged(current)));
    };
    let list = table.join(format!("v{}", u64::from_le_bytes(*number)));
    match read(&list)? {
        None => Ok(Some(gone(list))),
        Some(bytes) if xxh3_128(&bytes) != u128::from_le_bytes(*checksum) => {
            Ok(Some(damaged(list)))
        }
        Some(bytes) => fault_of_files(&table.join(FILES), &bytes, look),
    }
}

/// Returns the first of the files in a list that is gone or damaged.
fn fault_of_files(dir: &Path, list: &[u8], look: Look) -> Result<Option<Fault>, ServiceError> {
    // The checksum of the list was right: one that is not understood is of another release of the
    // database, which will say so.
    for (number, checksum) in files_in(list).unwrap_or_default() {
        let path = dir.join(number.to_string());
        if !path.exists() {
            return Ok(Some(gone(path)));
        }
        let is_whole = match look {
            Look::Presence => true,
            Look::Content => {
                path.is_file() && read(&path)?.as_deref().map(xxh3_128) == Some(checksum)
            }
        };
        if !is_whole {
            return Ok(Some(damaged(path)));
        }
    }
    Ok(None)
}

/// Returns the numbers and checksums of the files in a list; `None` where it has another form.
fn files_in(list: &[u8]) -> Option<Vec<(u64, u128)>> {
    let archive = sfa::Reader::from_reader(&mut Cursor::new(list)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let place = |number: u64| usize::try_from(number).ok();
    let mut rest = list.get(place(section.pos())?..)?;
    rest = rest.get(..place(section.len())?)?;
    let mut files = Vec::new();
    for _level in 0..u8::from_le_bytes(take(&mut rest)?) {
        for _run in 0..u8::from_le_bytes(take(&mut rest)?) {
            for _file in 0..u32::from_le_bytes(take(&mut rest)?) {
                let number = u64::from_le_bytes(take(&mut rest)?);
                let [0] = take(&mut rest)? else { return None };
                let checksum = u128::from_le_bytes(take(&mut rest)?);
                let _place: [u8; 8] = take(&mut rest)?;
                files.push((number, checksum));
            }
        }
    }
    Some(files)
}

/// Takes the next bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

const fn gone(path: PathBuf) -> Fault {
    let reason = "it is gone";
    Fault { path, reason }
}

const fn damaged(path: PathBuf) -> Fault {
    let reason = "it is damaged";
    Fault { path, reason }
}

/// Reads a file; `None` if it is gone.
fn read(path: &Path) -> Result<Option<Vec<u8>>, ServiceError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ServiceError::io("read", path)(error)),
    }
}
