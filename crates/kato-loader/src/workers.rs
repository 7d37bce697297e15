//! Threads that decode parts of files ahead of their turn, within a budget of bytes.

mod budget;
mod chunk_pool;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use kato_probe::{Probe, ThreadState};

use self::budget::Budget;
use self::chunk_pool::ChunkPool;
use crate::bad_record::Fault;
use crate::chunk::Chunk;
use crate::error::LoadError;
use crate::records::RecordReader;

/// Text that a thread hands over at once, in bytes.
const CHUNK_BYTES: usize = 512 << 10;

/// The name of the loader's threads in a profile; their items are chunks.
pub const DECODE_STAGE: &str = "decode";

type PartOpener = Box<dyn FnOnce() -> Result<Box<dyn RecordReader>, Fault> + Send>;
type Panic = Box<dyn Any + Send>;

/// Threads that decode parts of files and live as long as the loader.
pub(crate) struct Workers {
    jobs: Option<Sender<Arc<Job>>>,
    budget: Arc<Budget>,
    pool: Arc<ChunkPool>,
    threads: Vec<JoinHandle<()>>,
    /// Whether dropping waits for the threads to end: reading from a pipe can take as long as the
    /// pipe lives.
    join_on_drop: bool,
    n_jobs: u64,
}

/// A part of a file to be decoded.
struct Job {
    number: u64,
    /// Taken by whoever begins: a worker, or the consumer when no worker has.
    open: Mutex<Option<PartOpener>>,
    chunks: Sender<Result<Chunk, Panic>>,
    is_cancelled: AtomicBool,
    /// Bytes of decoded records that were not fetched yet; changed under the budget's lock only.
    waiting: AtomicUsize,
}

/// The records of a part, as they are decoded. Dropping it cancels the decoding.
pub(crate) struct ChunkStream {
    state: ChunkStreamState,
    budget: Option<Arc<Budget>>,
    pool: Option<Arc<ChunkPool>>,
}

/// Where the records come from.
enum ChunkStreamState {
    /// Another thread.
    Worker {
        job: Arc<Job>,
        chunks: Receiver<Result<Chunk, Panic>>,
    },
    /// The caller's thread.
    Inline(Box<dyn RecordReader>),
    /// Nowhere: the part could not be opened, and the fault was not returned yet.
    Broken(Fault),
    /// Nowhere: everything was returned.
    Done,
}

impl Workers {
    /// Starts `number` threads that share a budget of `budget_bytes` of decoded text.
    ///
    /// # Errors
    ///
    /// [`LoadError::Thread`] when a thread cannot be started; those started before then end.
    pub(crate) fn start(
        number: usize,
        budget_bytes: usize,
        join_on_drop: bool,
        probe: &Probe,
    ) -> Result<Self, LoadError> {
        // Unbounded, since the consumer queues no more parts than it wants decoded ahead, and must
        // never block on its own threads.
        let (jobs, queue) = channel::<Arc<Job>>();
        let queue = Arc::new(Mutex::new(queue));
        let mut workers = Self {
            jobs: Some(jobs),
            budget: Arc::new(Budget::new(budget_bytes)),
            // A chunk in the hands of each thread and of the consumer, and one between each thread
            // and the consumer.
            pool: Arc::new(ChunkPool::new(2 * number + 1)),
            threads: Vec::with_capacity(number),
            join_on_drop,
            n_jobs: 0,
        };
        for index in 0..number {
            let (queue, budget) = (Arc::clone(&queue), Arc::clone(&workers.budget));
            let pool = Arc::clone(&workers.pool);
            let probe = probe.clone();
            let thread = thread::Builder::new()
                .name(format!("loader-{index}"))
                .spawn(move || {
                    let _thread = probe.thread(DECODE_STAGE);
                    kato_probe::thread::set(ThreadState::Starved);
                    // The loop ends when the queue is closed and empty.
                    while let Some(job) = next_of(&queue) {
                        let _busy = kato_probe::thread::during(ThreadState::Busy);
                        job.run(&budget, &pool);
                    }
                })
                .map_err(LoadError::Thread)?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Returns the number of threads.
    pub(crate) fn number(&self) -> usize {
        self.threads.len()
    }

    /// Queues a part to be decoded behind those queued before.
    pub(crate) fn decode(
        &mut self,
        open: impl FnOnce() -> Result<Box<dyn RecordReader>, Fault> + Send + 'static,
    ) -> ChunkStream {
        // Unbounded: how much may wait is limited in bytes, by the budget, for all parts together.
        let (sender, chunks) = channel();
        self.n_jobs += 1;
        let job = Arc::new(Job {
            number: self.n_jobs,
            open: Mutex::new(Some(Box::new(open))),
            chunks: sender,
            is_cancelled: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
        });
        if let Some(jobs) = &self.jobs {
            // Fails only where no thread is left: then the consumer decodes the part itself.
            let _ = jobs.send(Arc::clone(&job));
        }
        ChunkStream {
            state: ChunkStreamState::Worker { job, chunks },
            budget: Some(Arc::clone(&self.budget)),
            pool: Some(Arc::clone(&self.pool)),
        }
    }
}

/// Waits for a job; `None` when the queue is closed and empty.
fn next_of(queue: &Mutex<Receiver<Arc<Job>>>) -> Option<Arc<Job>> {
    // The lock is held while waiting: whoever waits for it would wait for the same job.
    queue
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .recv()
        .ok()
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Closing the queue lets the threads end once it is empty; closing the budget lets them
        // skip what is queued, and ends all waiting for room.
        self.jobs = None;
        self.budget.close();
        for thread in self.threads.drain(..).filter(|_| self.join_on_drop) {
            // A panic has gone to the consumer already.
            let _ = thread.join();
        }
    }
}

impl Job {
    /// Takes the part, unless another thread has begun it.
    fn begin(&self) -> Option<PartOpener> {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Returns whether the records are no longer wanted.
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// Decodes the part on a worker's thread, unless it was begun or is not wanted.
    fn run(&self, budget: &Budget, pool: &ChunkPool) {
        let Some(open) = self.begin() else {
            return;
        };
        if self.is_cancelled() || budget.is_closed() {
            return;
        }
        // A panic of the caller's code must not end the thread, which others wait for. It is sent
        // to the consumer, which panics in its turn; what it left in a broken state is dropped
        // here.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.decode(open, budget, pool)));
        if let Err(panic) = outcome {
            let _ = self.chunks.send(Err(panic));
        }
    }

    /// Decodes chunk after chunk, as far as the budget allows.
    fn decode(&self, open: PartOpener, budget: &Budget, pool: &ChunkPool) {
        let mut reader = match open() {
            Ok(reader) => reader,
            Err(fault) => {
                // An error means that the consumer is gone, and with it all need of the records.
                let _ = self.chunks.send(Ok(Chunk::broken(fault)));
                return;
            }
        };
        loop {
            let chunk = Chunk::fill(reader.as_mut(), CHUNK_BYTES, pool.take());
            let is_last = chunk.is_last;
            // The budget is charged after decoding, when the size is known: a thread holds at most
            // one chunk beyond it.
            let bytes = chunk.memory();
            kato_probe::thread::add_items(1);
            if !budget.acquire(self, bytes) {
                return;
            }
            if self.chunks.send(Ok(chunk)).is_err() || is_last {
                return;
            }
        }
    }
}

impl ChunkStream {
    /// Creates records that are decoded on the caller's thread when they are asked for.
    pub(crate) fn inline(opened: Result<Box<dyn RecordReader>, Fault>) -> Self {
        let state = match opened {
            Ok(reader) => ChunkStreamState::Inline(reader),
            Err(fault) => ChunkStreamState::Broken(fault),
        };
        Self {
            state,
            budget: None,
            pool: None,
        }
    }

    /// Returns the next records, or `None` behind the last.
    pub(crate) fn next(&mut self) -> Option<Chunk> {
        if let ChunkStreamState::Worker { job, .. } = &self.state
            && let Some(open) = job.begin()
        {
            // No thread has begun the part, and all of them may be waiting for room that only the
            // consumer makes: it decodes the part itself rather than wait for them.
            let mut inline = Self::inline(open());
            inline.pool.clone_from(&self.pool);
            *self = inline;
        }
        if matches!(self.state, ChunkStreamState::Broken(_))
            && let ChunkStreamState::Broken(fault) =
                std::mem::replace(&mut self.state, ChunkStreamState::Done)
        {
            return Some(Chunk::broken(fault));
        }
        let chunk = match &mut self.state {
            ChunkStreamState::Done | ChunkStreamState::Broken(_) => return None,
            ChunkStreamState::Inline(reader) => {
                let spare = self.pool.as_ref().and_then(|pool| pool.take());
                Chunk::fill(reader.as_mut(), CHUNK_BYTES, spare)
            }
            ChunkStreamState::Worker { job, chunks } => {
                let budget = self.budget.as_ref()?;
                // A chunk that is ready is taken without counting this thread as starved.
                let received = match chunks.try_recv() {
                    Ok(received) => Some(received),
                    Err(_) => {
                        let _waiting = kato_probe::thread::during(ThreadState::Starved);
                        // Announced before blocking: the thread of this job may be waiting for room
                        // that only this consumer can make.
                        budget.wait_for(job);
                        chunks.recv().ok()
                    }
                };
                match received {
                    Some(Ok(chunk)) => {
                        budget.release(job, chunk.memory());
                        chunk
                    }
                    // The caller's panic goes on where it would have happened without threads.
                    Some(Err(panic)) => {
                        self.state = ChunkStreamState::Done;
                        resume_unwind(panic)
                    }
                    // The thread has given up because the records were cancelled or the loader is
                    // being dropped.
                    None => return None,
                }
            }
        };
        if chunk.is_last {
            self.state = ChunkStreamState::Done;
        }
        Some(chunk)
    }

    /// Takes back a chunk that was read, so that its memory can be filled again.
    pub(crate) fn recycle(&self, chunk: Chunk) {
        if let Some(pool) = &self.pool {
            pool.put(chunk);
        }
    }
}

impl Drop for ChunkStream {
    fn drop(&mut self) {
        if let (ChunkStreamState::Worker { job, .. }, Some(budget)) = (&self.state, &self.budget) {
            // The flag is set before the budget's lock is taken: a thread that waits for room sees
            // it when it wakes, and what a thread took before is given back.
            job.is_cancelled.store(true, Ordering::Release);
            budget.release_all(job);
        }
    }
}
