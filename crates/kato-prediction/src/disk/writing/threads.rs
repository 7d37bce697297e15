//! Parts of one work on threads.

use std::panic::resume_unwind;
use std::thread;

use crate::disk::IndexFileError;

/// Does work on threads, a part of it on this one, and returns what came of each part, or an error.
pub(super) fn on_threads<T: Send>(
    work: impl Iterator<Item = impl FnOnce() -> Result<T, IndexFileError> + Send>,
) -> Result<Vec<T>, IndexFileError> {
    thread::scope(|scope| {
        let mut work = work;
        let own = work.next();
        let others: Vec<_> = work.map(|part| scope.spawn(part)).collect();
        let own = own.map(|part| part());
        let others = others.into_iter().map(|part| {
            let joined = part.join();
            joined.unwrap_or_else(|panic| resume_unwind(panic))
        });
        own.into_iter().chain(others).collect()
    })
}
