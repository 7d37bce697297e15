//! Flushing what was staged while more is learned, so that a commit does not wait for all of it.

use std::fs::File;
use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

/// Bytes of a file from which on it is flushed ahead. Smaller ones a commit flushes itself: they
/// are there in no time, and a store that learns little at a time needs no thread.
const AHEAD_FROM: u64 = 1 << 20;

/// A complete file, which the disk need not hold yet.
#[derive(Debug)]
pub(crate) struct CompleteFile {
    file: File,
    state: Mutex<FlushState>,
}

#[derive(Debug)]
enum FlushState {
    Dirty,
    Flushed,
    /// The error is kept for whoever asks; a system tells of it once.
    Failed(io::ErrorKind, String),
}

impl CompleteFile {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            state: Mutex::new(FlushState::Dirty),
        }
    }

    /// Waits until the disk holds the file.
    ///
    /// # Errors
    ///
    /// The error of the first attempt, whoever made it. A second attempt is not made: it would
    /// succeed without having written what the first one failed to write.
    pub(crate) fn flush(&self) -> io::Result<()> {
        match &*self.attempted() {
            FlushState::Failed(kind, text) => Err(io::Error::new(*kind, text.clone())),
            FlushState::Dirty | FlushState::Flushed => Ok(()),
        }
    }

    /// Flushes the file, if nobody has tried yet; whoever asks meanwhile waits.
    fn attempted(&self) -> MutexGuard<'_, FlushState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, FlushState::Dirty) {
            *state = match self.file.sync_all() {
                Ok(()) => FlushState::Flushed,
                Err(error) => FlushState::Failed(error.kind(), error.to_string()),
            };
        }
        state
    }
}

/// A thread that flushes files one after the other, from the first one on; it ends when the flusher
/// is dropped.
#[derive(Debug, Default)]
pub(crate) struct Flusher(Mutex<Option<Sender<Weak<CompleteFile>>>>);

impl Flusher {
    /// Begins to flush a file of so many bytes, without waiting. A file that is gone when its turn
    /// comes is left alone.
    pub(crate) fn begin(&self, file: &Arc<CompleteFile>, bytes: u64) {
        if bytes < AHEAD_FROM {
            return;
        }
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.is_none() {
            *sender = start();
        }
        if let Some(sender) = &*sender {
            // Without the thread the commit flushes the file.
            let _ = sender.send(Arc::downgrade(file));
        }
    }
}

/// Starts the thread; `None` where the system has none for it.
fn start() -> Option<Sender<Weak<CompleteFile>>> {
    let (sender, files) = mpsc::channel::<Weak<CompleteFile>>();
    let flush_all = move || {
        for file in files {
            if let Some(file) = file.upgrade() {
                // An error is kept for the commit.
                drop(file.attempted());
            }
        }
    };
    let thread = thread::Builder::new().name("flusher".to_owned());
    thread.spawn(flush_all).is_ok().then_some(sender)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_flushed_once_whoever_asks() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"text").unwrap();
        let file = CompleteFile::new(file);
        drop(file.attempted());
        assert!(matches!(*file.state.lock().unwrap(), FlushState::Flushed));
        file.flush().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_error_met_ahead_is_told_to_whoever_waits() {
        // The kernel refuses to flush a device of characters.
        let file = File::options().write(true).open("/dev/null").unwrap();
        let file = CompleteFile::new(file);
        drop(file.attempted());
        let first = file.flush().unwrap_err();
        assert_eq!(first.kind(), io::ErrorKind::InvalidInput);
        // It stays failed: the system itself would call a second attempt a success.
        // And whoever asks again is told the same.
        let second = file.flush().unwrap_err();
        assert_eq!(second.kind(), first.kind());
        assert_eq!(second.to_string(), first.to_string());
    }

    #[test]
    fn a_thread_flushes_files_in_turn_and_passes_over_those_that_are_gone() {
        let flusher = Flusher::default();
        let files: Vec<_> = (0..3)
            .map(|_| Arc::new(CompleteFile::new(tempfile::tempfile().unwrap())))
            .collect();
        let gone = Arc::new(CompleteFile::new(tempfile::tempfile().unwrap()));
        flusher.begin(&gone, AHEAD_FROM);
        drop(gone);
        for file in &files {
            flusher.begin(file, AHEAD_FROM);
        }
        let is_flushed =
            |file: &Arc<CompleteFile>| matches!(*file.state.lock().unwrap(), FlushState::Flushed);
        while !files.iter().all(is_flushed) {
            thread::yield_now();
        }
        let small = Arc::new(CompleteFile::new(tempfile::tempfile().unwrap()));
        flusher.begin(&small, AHEAD_FROM - 1);
        assert!(!is_flushed(&small));
    }
}
