//! Memory of chunks that were read, to be filled again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chunk::Chunk;

/// A few emptied chunks.
pub(super) struct Spare {
    chunks: Mutex<Vec<Chunk>>,
    limit: usize,
}

impl Spare {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            chunks: Mutex::default(),
            limit,
        }
    }

    pub(super) fn take(&self) -> Option<Chunk> {
        self.chunks().pop()
    }

    /// Keeps a chunk that was read, unless there are enough, or it is larger than most.
    pub(super) fn give(&self, chunk: Chunk) {
        let mut chunks = self.chunks();
        if chunks.len() < self.limit && chunk.memory() <= 2 * super::CHUNK_BYTES {
            chunks.push(chunk);
        }
    }

    fn chunks(&self) -> MutexGuard<'_, Vec<Chunk>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
