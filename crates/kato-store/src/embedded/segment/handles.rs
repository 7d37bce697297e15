//! Open segment files: a bounded number in the whole process, opened when they are read and closed
//! when others are needed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;

/// Number of files that are open at most, until [`set_max_open_segments`] sets another.
const MAX_OPEN: usize = 128;

// One cache for all stores, because the system limits the files of a process and not those of a
// store.
static OPEN: LazyLock<Cache<u64, Arc<File>>> = LazyLock::new(|| Cache::new(MAX_OPEN));
// Files are known by number and not by path, as a path may come to name another file.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// Sets about how many segment files all embedded stores of the process keep open to read from.
///
/// Files that are being read from at the moment come on top. Default 128. Fewer than are in use
/// make reading slower and nothing worse.
///
/// Stores that were opened for reading only hold all their files open and do not count.
pub fn set_max_open_segments(n: usize) {
    OPEN.set_capacity(n.max(1) as u64);
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
        OPEN.get_or_insert_with(&self.0, || File::open(path).map(Arc::new))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        OPEN.remove(&self.0);
    }
}
