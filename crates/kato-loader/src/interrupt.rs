//! Opens and reads pipes in a way that can be given up while nobody writes into them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use kato_probe::ThreadState;

/// How often the caller is asked whether to go on waiting.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Opens a file for reading, and gives up waiting for a pipe once it is stopped.
///
/// Opening a named pipe waits until somebody writes into it: meanwhile `is_stopped` is asked some
/// times a second, and ends the waiting with an error.
///
/// # Errors
///
/// What the system says, and an error of kind [`Other`](io::ErrorKind::Other) when it was stopped.
pub fn open_unless(path: impl AsRef<Path>, is_stopped: &dyn Fn() -> bool) -> io::Result<File> {
    let path = path.as_ref();
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    // Room for one, so that the thread can end even after the waiting was given up.
    let (sender, opened) = sync_channel(1);
    let path = path.to_owned();
    // Nobody writes yet: what reads has no input, and is not at work.
    let _waiting = kato_probe::thread::during(ThreadState::Starved);
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

/// Bytes that are read from a stream ahead of whoever decodes them, at most, in two parts.
const AHEAD_BYTES: usize = 256 << 10;

/// A stream that is read on a thread of its own, so that waiting for it can be given up.
struct Interruptible {
    /// The stream, until the first read starts the thread.
    stream: Option<Box<dyn Read + Send>>,
    parts: Option<Receiver<io::Result<Vec<u8>>>>,
    part: io::Cursor<Vec<u8>>,
    interrupt: Interrupt,
}

impl Interruptible {
    /// Returns the next part, which is empty at the end.
    fn next_part(&mut self) -> io::Result<Vec<u8>> {
        if let Some(stream) = self.stream.take() {
            let (sender, parts) = sync_channel(1);
            // The system's waiting cannot be ended from outside: as in `open_unless`.
            thread::Builder::new()
                .name("kato-read".to_owned())
                .spawn(move || read_ahead(stream, &sender))?;
            self.parts = Some(parts);
        }
        let ended = || io::Error::other("the thread that reads it has ended");
        // As in `open_unless`.
        let _waiting = kato_probe::thread::during(ThreadState::Starved);
        let parts = self.parts.as_ref().ok_or_else(ended)?;
        loop {
            match parts.recv_timeout(POLL_INTERVAL) {
                Ok(part) => return part,
                Err(RecvTimeoutError::Timeout) if !self.interrupt.is_over() => {}
                // Not of kind `Interrupted`, which means "try again".
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::Error::other("stopped before more was written into it"));
                }
                // Not the end, which is an empty part.
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.part.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        self.part = io::Cursor::new(self.next_part()?);
        self.part.read(buffer)
    }
}

/// A stream of the caller: a thread that waits for it has no input, and is not at work.
pub(crate) struct Awaited<R>(pub(crate) R);

impl<R: Read> Read for Awaited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _waiting = kato_probe::thread::during(ThreadState::Starved);
        self.0.read(buffer)
    }
}

/// Reads a stream to its end, or until nobody takes any more.
fn read_ahead(mut stream: impl Read, parts: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut part = vec![0; AHEAD_BYTES / 2];
        let read = match stream.read(&mut part) {
            Ok(read) => {
                part.truncate(read);
                Ok(part)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        // Behind the end a stream may go on, as a terminal does: it is read when it is asked for.
        let has_failed = read.is_err();
        if parts.send(read).is_err() || has_failed {
            return;
        }
    }
}

/// Three ways in which reading can be ended: by a function of the caller, by an
/// [interrupter](crate::StreamingDatasetLoader::interrupter), and by dropping the loader.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    asked: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    is_interrupted: Arc<AtomicBool>,
    is_cancelled: Arc<AtomicBool>,
}

impl Interrupt {
    /// Creates an interrupt that asks the caller.
    pub(crate) fn new(asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            asked: Some(Arc::new(asked)),
            ..Self::default()
        }
    }

    /// Returns whether the caller wants reading to end.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_interrupted() || self.asked.as_ref().is_some_and(|asked| asked())
    }

    /// Returns whether an interrupter was called: costs nothing, and can be asked at every record.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// Returns whether reading is to end, for whatever reason.
    pub(crate) fn is_over(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.is_asked()
    }

    /// Ends reading because the caller wants that.
    pub(crate) fn interrupt(&self) {
        // Relaxed, as for `cancel`.
        self.is_interrupted.store(true, Ordering::Relaxed);
    }

    /// Ends reading because the loader is dropped.
    pub(crate) fn cancel(&self) {
        // Relaxed: the flag stands for itself, and is looked at again some times a second.
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Opens a file that may be a pipe.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        open_unless(path, &|| self.is_over())
    }

    /// Returns a stream whose reads end soon once reading is to end, however long the stream is
    /// silent. What was read ahead then belongs to nobody.
    pub(crate) fn reading(&self, stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        Box::new(Interruptible {
            stream: Some(Box::new(stream)),
            parts: None,
            part: io::Cursor::default(),
            interrupt: self.clone(),
        })
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_asked()).finish()
    }
}
