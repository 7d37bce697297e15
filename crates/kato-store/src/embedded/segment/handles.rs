//! Open segment files: a bounded number in the whole process, opened when they are read and closed
//! when others are needed.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Number of files that are open at most, until [`set_max_open_segments`] sets another.
static MAX_OPEN: AtomicUsize = AtomicUsize::new(128);

// One table for all stores, because the system limits the files of a process and not those of a
// store.
static OPEN: LazyLock<RwLock<HashMap<u64, OpenFile>>> = LazyLock::new(RwLock::default);
// Files are known by number and not by path, as a path may come to name another file.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A file that is open.
#[derive(Debug)]
struct OpenFile {
    file: Arc<File>,
    /// Whether it was read since room was last made.
    is_used: AtomicBool,
}

/// Sets about how many segment files all embedded stores of the process keep open to read from.
///
/// Files that are being read from at the moment come on top. Default 128. Fewer than are in use
/// make reading slower and nothing worse.
///
/// Stores that were opened for reading only hold all their files open and do not count.
pub fn set_max_open_segments(n: usize) {
    MAX_OPEN.store(n.max(1), Ordering::Relaxed);
}

/// The place of a file among those that are open; the file is opened when it is needed.
#[derive(Debug)]
pub(super) struct Handle(u64);

impl Handle {
    /// Creates the place of a file that is not open.
    pub(super) fn new() -> Self {
        Self(NEXT_ID.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the open file.
    pub(super) fn file(&self, path: &Path) -> io::Result<Arc<File>> {
        // Shared, so that a file whose place is taken by another stays open until those who read
        // from it are done.
        {
            let open = OPEN.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(open) = open.get(&self.0) {
                open.is_used.store(true, Ordering::Relaxed);
                return Ok(Arc::clone(&open.file));
            }
        }
        // Outside of the lock: others read on while the system looks for it.
        let file = Arc::new(File::open(path)?);
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut open, MAX_OPEN.load(Ordering::Relaxed));
        let is_used = AtomicBool::new(true);
        let kept = open.entry(self.0).or_insert(OpenFile { file, is_used });
        Ok(Arc::clone(&kept.file))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.0);
    }
}

/// Closes files until one more may be open: those first that were not read since the last time.
fn make_room(open: &mut HashMap<u64, OpenFile>, most: usize) {
    if open.len() < most {
        return;
    }
    open.retain(|_, file| std::mem::take(file.is_used.get_mut()));
    // All were read: any will do, and half of them, so that this does not come with every file.
    let mut surplus = (open.len() + 1).saturating_sub(most);
    if surplus > 0 {
        surplus = surplus.max(most / 2);
        open.retain(|_, _| {
            let stays = surplus == 0;
            surplus = surplus.saturating_sub(1);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of these numbers, of which those are marked that were read.
    fn table(numbers: &[(u64, bool)]) -> HashMap<u64, OpenFile> {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let open = |&(number, is_used)| {
            let file = Arc::clone(&file);
            let is_used = AtomicBool::new(is_used);
            (number, OpenFile { file, is_used })
        };
        numbers.iter().map(open).collect()
    }

    #[test]
    fn there_is_room_for_one_more_and_what_was_read_stays_first() {
        let mut open = table(&[(0, true), (1, false), (2, false), (3, true)]);
        make_room(&mut open, 5);
        assert_eq!(open.len(), 4, "there was room");
        make_room(&mut open, 4);
        let mut left: Vec<u64> = open.into_keys().collect();
        left.sort_unstable();
        assert_eq!(left, [0, 3]);

        for most in 1..=4 {
            let mut open = table(&[(0, true), (1, true), (2, true), (3, true)]);
            make_room(&mut open, most);
            assert!(open.len() < most, "{most}: {}", open.len());
        }
    }
}
