//! Keeps the memory of chunks that were read, to be filled again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chunk::Chunk;

/// Some chunks whose memory can be filled again.
pub(super) struct ChunkPool {
    chunks: Mutex<Vec<Chunk>>,
    limit: usize,
}

impl ChunkPool {
    /// Creates a store that keeps at most `limit` chunks.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            chunks: Mutex::default(),
            limit,
        }
    }

    /// Takes out a chunk, whose old content is still in it.
    pub(super) fn take(&self) -> Option<Chunk> {
        self.chunks().pop()
    }

    /// Keeps a chunk that was read, unless there are enough, or it is larger than most.
    pub(super) fn put(&self, chunk: Chunk) {
        let mut chunks = self.chunks();
        // A chunk that one long record has made large would hold its memory for good.
        if chunks.len() < self.limit && chunk.memory() <= 2 * super::CHUNK_BYTES {
            chunks.push(chunk);
        }
    }

    /// Locks the chunks.
    fn chunks(&self) -> MutexGuard<'_, Vec<Chunk>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
