//! Opens pipes in a way that can be given up while nobody writes into them.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// How often the caller is asked whether to go on waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Opens a file for reading, and gives up waiting for a pipe once it is stopped.
///
/// Opening a named pipe waits until somebody writes into it: meanwhile `is_stopped` is asked some
/// times a second, and ends the waiting with an error.
///
/// # Errors
///
/// What the system says, and an error of kind [`Other`](io::ErrorKind::Other) when it was stopped.
pub fn open_unless(path: &Path, is_stopped: &dyn Fn() -> bool) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    // Room for one, so that the thread can end even after the waiting was given up.
    let (sender, opened) = sync_channel(1);
    let path = path.to_owned();
    // The system's waiting cannot be ended from outside: the thread stays behind until somebody
    // writes or the process ends.
    thread::Builder::new()
        .name("kato-open".to_owned())
        .spawn(move || drop(sender.send(File::open(path))))?;
    loop {
        match opened.recv_timeout(POLL_INTERVAL) {
            Ok(opened) => return opened,
            Err(RecvTimeoutError::Timeout) if !is_stopped() => {}
            Err(RecvTimeoutError::Timeout) => {
                return Err(io::Error::other("stopped before anybody wrote into it"));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that opens it has ended"));
            }
        }
    }
}

/// Two ways in which reading can be ended: by the caller, and by dropping the loader.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    asked: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    is_cancelled: Arc<AtomicBool>,
}

impl Interrupt {
    /// Creates an interrupt that asks the caller.
    pub(crate) fn new(asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            asked: Some(Arc::new(asked)),
            is_cancelled: Arc::default(),
        }
    }

    /// Returns whether the caller wants reading to end.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked())
    }

    /// Ends reading because the loader is dropped.
    pub(crate) fn cancel(&self) {
        // Relaxed: the flag stands for itself, and is looked at again some times a second.
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Opens a file that may be a pipe.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        open_unless(path, &|| {
            self.is_cancelled.load(Ordering::Relaxed) || self.is_asked()
        })
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_asked()).finish()
    }
}
