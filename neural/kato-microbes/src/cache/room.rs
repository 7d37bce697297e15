//! Room in a cache's folder: what takes it, and what goes first.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use kato_neural::run::temporary;
use tempfile::NamedTempFile;

/// What files of entries end in.
pub(super) const EXTENSION: &str = "kato-cache";
/// What files end in while they are written. Those of a program that was killed stay behind.
const UNFINISHED: &str = "kato-cache-part";

/// Creates a file for an entry under a name that is not the entry's yet.
pub(super) fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    let suffix = format!(".{UNFINISHED}");
    // It becomes an entry, with the rights of any new file.
    let file = temporary(0o666).suffix(&suffix).tempfile_in(folder)?;
    // Held until the end, so that nobody takes it for left behind. Where files cannot be locked, nothing is taken for
    // left behind either.
    drop(file.as_file().try_lock());
    Ok(file)
}

/// Removes what was left behind, then the entries longest not used until the others take at most so many bytes together
/// with what is being written; returns how many entries went.
pub(super) fn make(folder: &Path, most_bytes: u64) -> io::Result<usize> {
    let mut entries = Vec::new();
    let mut n_bytes = 0;
    for file in fs::read_dir(folder)? {
        let file = file?;
        let path = file.path();
        let is_entry = path.extension() == Some(OsStr::new(EXTENSION));
        let is_unfinished = path.extension() == Some(OsStr::new(UNFINISHED));
        // Other files in the folder are not the cache's.
        if !is_entry && !is_unfinished {
            continue;
        }
        if is_unfinished && is_left_behind(&path) && fs::remove_file(&path).is_ok() {
            continue;
        }
        // Another program may have finished or removed it meanwhile.
        let Ok(facts) = file.metadata() else {
            continue;
        };
        n_bytes += facts.len();
        if is_entry {
            entries.push((facts.modified()?, facts.len(), path));
        }
    }
    entries.sort();
    let mut n_evicted = 0;
    for (_, size, path) in entries {
        if n_bytes <= most_bytes {
            break;
        }
        fs::remove_file(path)?;
        n_bytes -= size;
        n_evicted += 1;
    }
    Ok(n_evicted)
}

/// Tells whether nobody writes the file any more: the system releases a lock when its holder ends, however it ends.
fn is_left_behind(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}
