//! Writes checkpoints on a thread of its own while training goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::write::UNFINISHED;
use super::{CheckpointKind, TrainerSnapshot, checkpoints, write_checkpoint};
use crate::Error;

/// How many checkpoints are kept, and whether training waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterOptions {
    /// How many of the series that a run goes on from, at least 1; 3 by default.
    pub n_kept: usize,
    /// Whether [`save`](CheckpointWriter::save) returns when the snapshot is on the disk; at once by default.
    pub waits: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        // One may be damaged, and one may hold a step that went wrong.
        Self {
            n_kept: 3,
            waits: false,
        }
    }
}

impl WriterOptions {
    /// Keeps this many.
    #[must_use]
    pub const fn with_kept(mut self, n_kept: usize) -> Self {
        self.n_kept = n_kept;
        self
    }

    /// Returns from [`save`](CheckpointWriter::save) when the snapshot is on the disk, or at once.
    #[must_use]
    pub const fn with_waits(mut self, waits: bool) -> Self {
        self.waits = waits;
        self
    }
}

/// What a writer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriterStatistics {
    /// How many checkpoints are on the disk or were and are no longer kept.
    pub n_written: u64,
    /// How many gave way to a newer one while they waited.
    pub n_replaced: u64,
    /// How many could not be written.
    pub n_failed: u64,
    /// The longest writing.
    pub longest: Duration,
    /// All writing together.
    pub total: Duration,
}

/// Writes snapshots one at a time, beside the training, each series in the order of their taking.
///
/// While one is being written, the newest of each series waits; one that already waits for the
/// series gives way to it and is counted. Where both wait, the best one is written first: no step is on the disk
/// without the best model before it. So at most three snapshots are alive, and training waits for no disk unless the
/// options say so. An error is given to the next call. Dropping the writer writes what waits;
/// [`finish`](Self::finish) does so too, and tells how it went.
#[derive(Debug)]
pub struct CheckpointWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    folder: PathBuf,
    options: WriterOptions,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// One place a series.
    waiting: [Option<TrainerSnapshot>; 2],
    writing: bool,
    closed: bool,
    /// The first error since the caller was last told.
    error: Option<Error>,
    statistics: WriterStatistics,
}

impl Queue {
    /// Takes what is written next: the best one first, as a run that goes on from a step does not judge again what came
    /// before it.
    fn take_next(&mut self) -> Option<TrainerSnapshot> {
        self.waiting.iter_mut().rev().find_map(Option::take)
    }
}

impl Shared {
    /// A panic of the other thread leaves the queue as it is, which is what the caller is told.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointWriter {
    /// Starts the thread; checkpoints go into `folder`, where no other program writes meanwhile: what one that was killed
    /// left half written is removed.
    ///
    /// # Errors
    ///
    /// [`Error::File`] where the folder cannot be made or listed, or no thread can be started.
    pub fn new(folder: impl Into<PathBuf>, options: WriterOptions) -> Result<Self, Error> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder).map_err(Error::file("cannot make", &folder))?;
        sweep(&folder)?;
        let shared = Arc::new(Shared::default());
        let (theirs, place) = (Arc::clone(&shared), folder.clone());
        let thread = std::thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(move || run(&theirs, &place, options))
            .map_err(Error::file(
                "cannot start a thread that writes into",
                &folder,
            ))?;
        Ok(Self {
            shared,
            thread: Some(thread),
            folder,
            options,
        })
    }

    /// Where checkpoints go.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Hands a snapshot over and returns at once, or when it is written where the options say so.
    ///
    /// # Errors
    ///
    /// The error of an earlier snapshot, the one given is written all the same; its own where it waits.
    /// [`Error::WriterGone`] if the thread has ended.
    pub fn save(&self, snapshot: TrainerSnapshot) -> Result<(), Error> {
        self.check()?;
        let mut queue = self.shared.lock();
        // Series wait apart, so that the best one never gives way to an ordinary one.
        let series = usize::from(snapshot.kind == CheckpointKind::Best);
        if queue.waiting[series].replace(snapshot).is_some() {
            queue.statistics.n_replaced += 1;
        }
        self.shared.changed.notify_all();
        if self.options.waits {
            drop(queue);
            return self.flush().map(drop);
        }
        // The error of a save before: this one is only handed over.
        queue.error.take().map_or(Ok(()), Err)
    }

    /// Removes what is no longer kept, after a checkpoint that others wrote.
    pub(crate) fn prune(&self) -> Result<(), Error> {
        prune(&self.folder, self.options.n_kept.max(1))
    }

    /// Waits until everything handed over is on the disk.
    ///
    /// # Errors
    ///
    /// The first error since the last call, and [`Error::WriterGone`] if the thread has ended.
    pub fn flush(&self) -> Result<WriterStatistics, Error> {
        let mut queue = self.shared.lock();
        while queue.writing || queue.waiting.iter().any(Option::is_some) {
            self.check()?;
            // A limit, so that a thread that ended is noticed.
            let waited = self
                .shared
                .changed
                .wait_timeout(queue, Duration::from_millis(200));
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let statistics = queue.statistics;
        queue.error.take().map_or(Ok(statistics), Err)
    }

    /// Writes what waits and ends the thread.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush).
    pub fn finish(mut self) -> Result<WriterStatistics, Error> {
        // Everything is written before the thread is told to end, and its error kept.
        let result = self.flush();
        self.close()?;
        result
    }

    fn check(&self) -> Result<(), Error> {
        let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if ended {
            Err(Error::WriterGone)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        let ended = self
            .thread
            .take()
            .is_none_or(|thread| thread.join().is_ok());
        if ended {
            Ok(())
        } else {
            Err(Error::WriterGone)
        }
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        // Errors have nobody left to go to; `finish` is for who wants them.
        drop(self.close());
    }
}

fn run(shared: &Shared, folder: &Path, options: WriterOptions) {
    let mut queue = shared.lock();
    loop {
        let next = queue.take_next();
        let Some(snapshot) = next else {
            // Only with an empty queue, so that a shutdown loses nothing.
            if queue.closed {
                return;
            }
            queue = shared
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        queue.writing = true;
        // Writing takes long, and training must be able to hand over the next one.
        drop(queue);
        let begin = Instant::now();
        let result =
            write_checkpoint(folder, &snapshot).and_then(|_| prune(folder, options.n_kept.max(1)));
        // Its buffers go back before the next one is taken up.
        drop(snapshot);
        let taken = begin.elapsed();
        queue = shared.lock();
        queue.writing = false;
        queue.statistics.total += taken;
        queue.statistics.longest = queue.statistics.longest.max(taken);
        match result {
            Ok(()) => queue.statistics.n_written += 1,
            Err(error) => {
                queue.statistics.n_failed += 1;
                // The first one: later ones mostly follow from it.
                queue.error.get_or_insert(error);
            }
        }
        shared.changed.notify_all();
    }
}

/// Removes all but the newest of each series.
fn prune(folder: &Path, n_kept: usize) -> Result<(), Error> {
    let all = checkpoints(folder)?;
    for (kind, n_kept) in [(CheckpointKind::Step, n_kept), (CheckpointKind::Best, 1)] {
        let series: Vec<_> = all.iter().filter(|place| place.kind == kind).collect();
        // After the new one has its name, so that there is never none.
        for place in series.iter().rev().skip(n_kept) {
            std::fs::remove_dir_all(&place.path)
                .map_err(Error::file("cannot remove", &place.path))?;
        }
    }
    Ok(())
}

/// Removes what was left half written: each has the size of a checkpoint.
fn sweep(folder: &Path) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file("cannot list", folder))?;
    for entry in entries {
        let path = entry.map_err(Error::file("cannot list", folder))?.path();
        let name = path.file_name().unwrap_or_default();
        if name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            // What cannot go takes room and does no harm.
            drop(std::fs::remove_dir_all(&path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::TrainerProgress;
    use crate::{Adam, AdamOptions};

    #[test]
    fn the_best_one_is_written_before_a_step_that_waits_with_it() {
        let adam = Adam::new(AdamOptions::default());
        let taken = || TrainerSnapshot::of(Vec::new(), &adam, TrainerProgress::default());
        let mut queue = Queue {
            waiting: [Some(taken()), Some(taken().as_best())],
            ..Queue::default()
        };
        let kinds = std::iter::from_fn(|| queue.take_next()).map(|snapshot| snapshot.kind);
        let expected = [CheckpointKind::Best, CheckpointKind::Step];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
    }
}
