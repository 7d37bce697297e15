//! Open segment files: a bounded number in the whole process, opened when they are read and closed when others are needed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;

/// Files that are open at most, until [`set_max_open_segments`] says otherwise.
const MAX_OPEN: usize = 128;

static OPEN: LazyLock<Cache<u64, Arc<File>>> = LazyLock::new(|| Cache::new(MAX_OPEN));
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// Sets how many segment files all embedded stores of the process keep open to read from, about; those that are being read from
/// at the moment come on top. Default 128. Fewer than are in use make reading slower and nothing worse.
///
/// Stores that were opened for reading only hold all their files open and do not count.
pub fn set_max_open_segments(n: usize) {
    OPEN.set_capacity(n.max(1) as u64);
}

/// The place of a file among those that are open; opened when it is asked for.
#[derive(Debug)]
pub(super) struct Handle(u64);

impl Handle {
    pub(super) fn new() -> Self {
        Self(NEXT_ID.fetch_add(1, Ordering::Relaxed))
    }

    /// The open file.
    pub(super) fn file(&self, path: &Path) -> io::Result<Arc<File>> {
        OPEN.get_or_insert_with(&self.0, || File::open(path).map(Arc::new))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        OPEN.remove(&self.0);
    }
}
