//! Threads that decode parts of files ahead of their turn, within a budget of bytes.

mod budget;
mod spare;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use kato_probe::{Probe, State};

use self::budget::Budget;
use self::spare::Spare;
use crate::bad_record::Fault;
use crate::chunk::Chunk;
use crate::error::LoadError;
use crate::records::RecordReader;

/// Text that a thread hands over at once, in bytes.
const CHUNK_BYTES: usize = 512 << 10;

/// The name of the loader's threads in a profile; their items are chunks.
pub const DECODE_STAGE: &str = "decode";

type OpenPart = Box<dyn FnOnce() -> Result<Box<dyn RecordReader>, Fault> + Send>;
type Panic = Box<dyn Any + Send>;

/// Threads that decode parts of files and live as long as the loader.
pub(crate) struct Workers {
    jobs: Option<Sender<Arc<Job>>>,
    budget: Arc<Budget>,
    spare: Arc<Spare>,
    threads: Vec<JoinHandle<()>>,
    /// Whether dropping waits for the threads to end: reading from a pipe can take as long as the
    /// pipe lives.
    are_awaited: bool,
    n_jobs: u64,
}

/// A part of a file to be decoded.
struct Job {
    number: u64,
    /// Taken by whoever begins: a worker, or the consumer when no worker has.
    open: Mutex<Option<OpenPart>>,
    chunks: Sender<Result<Chunk, Panic>>,
    is_cancelled: AtomicBool,
    /// Bytes of decoded records that were not fetched yet; changed under the budget's lock only.
    waiting: AtomicUsize,
}

/// The records of a part, as they are decoded. Dropping it cancels the decoding.
pub(crate) struct Decoded {
    state: DecodedState,
    budget: Option<Arc<Budget>>,
    spare: Option<Arc<Spare>>,
}

/// Where the records come from.
enum DecodedState {
    /// Another thread.
    Elsewhere {
        job: Arc<Job>,
        chunks: Receiver<Result<Chunk, Panic>>,
    },
    /// The caller's thread.
    Here(Box<dyn RecordReader>),
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
        are_awaited: bool,
        probe: &Probe,
    ) -> Result<Self, LoadError> {
        // Unbounded, since the consumer queues no more parts than it wants decoded ahead, and must
        // never block on its own threads.
        let (jobs, queue) = unbounded::<Arc<Job>>();
        let mut workers = Self {
            jobs: Some(jobs),
            budget: Arc::new(Budget::new(budget_bytes)),
            // A chunk in the hands of each thread and of the consumer, and one between each thread
            // and the consumer.
            spare: Arc::new(Spare::new(2 * number + 1)),
            threads: Vec::with_capacity(number),
            are_awaited,
            n_jobs: 0,
        };
        for index in 0..number {
            let (queue, budget) = (queue.clone(), Arc::clone(&workers.budget));
            let spare = Arc::clone(&workers.spare);
            let probe = probe.clone();
            let thread = thread::Builder::new()
                .name(format!("loader-{index}"))
                .spawn(move || {
                    let _thread = probe.thread(DECODE_STAGE);
                    kato_probe::set(State::Starved);
                    // The loop ends when the queue is closed and empty.
                    for job in &queue {
                        let _busy = kato_probe::during(State::Busy);
                        job.run(&budget, &spare);
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
    ) -> Decoded {
        // Unbounded: how much may wait is limited in bytes, by the budget, for all parts together.
        let (sender, chunks) = unbounded();
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
        Decoded {
            state: DecodedState::Elsewhere { job, chunks },
            budget: Some(Arc::clone(&self.budget)),
            spare: Some(Arc::clone(&self.spare)),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Closing the queue lets the threads end once it is empty; closing the budget lets them
        // skip what is queued, and ends all waiting for room.
        self.jobs = None;
        self.budget.close();
        for thread in self.threads.drain(..).filter(|_| self.are_awaited) {
            // A panic has gone to the consumer already.
            let _ = thread.join();
        }
    }
}

impl Job {
    /// Takes the part, unless another thread has begun it.
    fn begin(&self) -> Option<OpenPart> {
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
    fn run(&self, budget: &Budget, spare: &Spare) {
        let Some(open) = self.begin() else {
            return;
        };
        if self.is_cancelled() || budget.is_closed() {
            return;
        }
        // A panic of the caller's code must not end the thread, which others wait for. It is sent
        // to the consumer, which panics in its turn; what it left in a broken state is dropped
        // here.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.decode(open, budget, spare)));
        if let Err(panic) = outcome {
            let _ = self.chunks.send(Err(panic));
        }
    }

    /// Decodes chunk after chunk, as far as the budget allows.
    fn decode(&self, open: OpenPart, budget: &Budget, spare: &Spare) {
        let mut reader = match open() {
            Ok(reader) => reader,
            Err(fault) => {
                // An error means that the consumer is gone, and with it all need of the records.
                let _ = self.chunks.send(Ok(Chunk::broken(fault)));
                return;
            }
        };
        loop {
            let chunk = Chunk::fill(reader.as_mut(), CHUNK_BYTES, spare.take());
            let is_last = chunk.is_last;
            // The budget is charged after decoding, when the size is known: a thread holds at most
            // one chunk beyond it.
            let bytes = chunk.memory();
            kato_probe::add_items(1);
            if !budget.take(self, bytes) {
                return;
            }
            if self.chunks.send(Ok(chunk)).is_err() || is_last {
                return;
            }
        }
    }
}

impl Decoded {
    /// Creates records that are decoded on the caller's thread when they are asked for.
    pub(crate) fn here(opened: Result<Box<dyn RecordReader>, Fault>) -> Self {
        let state = match opened {
            Ok(reader) => DecodedState::Here(reader),
            Err(fault) => DecodedState::Broken(fault),
        };
        Self {
            state,
            budget: None,
            spare: None,
        }
    }

    /// Returns the next records, or `None` behind the last.
    pub(crate) fn next(&mut self) -> Option<Chunk> {
        if let DecodedState::Elsewhere { job, .. } = &self.state
            && let Some(open) = job.begin()
        {
            // No thread has begun the part, and all of them may be waiting for room that only the
            // consumer makes: it decodes the part itself rather than wait for them.
            let mut here = Self::here(open());
            here.spare.clone_from(&self.spare);
            *self = here;
        }
        if matches!(self.state, DecodedState::Broken(_))
            && let DecodedState::Broken(fault) =
                std::mem::replace(&mut self.state, DecodedState::Done)
        {
            return Some(Chunk::broken(fault));
        }
        let chunk = match &mut self.state {
            DecodedState::Done | DecodedState::Broken(_) => return None,
            DecodedState::Here(reader) => {
                let spare = self.spare.as_ref().and_then(|spare| spare.take());
                Chunk::fill(reader.as_mut(), CHUNK_BYTES, spare)
            }
            DecodedState::Elsewhere { job, chunks } => {
                let budget = self.budget.as_ref()?;
                // A chunk that is ready is taken without counting this thread as starved.
                let received = match chunks.try_recv() {
                    Ok(received) => Some(received),
                    Err(_) => {
                        let _waiting = kato_probe::during(State::Starved);
                        // Announced before blocking: the thread of this job may be waiting for room
                        // that only this consumer can make.
                        budget.wait_for(job);
                        chunks.recv().ok()
                    }
                };
                match received {
                    Some(Ok(chunk)) => {
                        budget.give_back(job, chunk.memory());
                        chunk
                    }
                    // The caller's panic goes on where it would have happened without threads.
                    Some(Err(panic)) => {
                        self.state = DecodedState::Done;
                        resume_unwind(panic)
                    }
                    // The thread has given up because the records were cancelled or the loader is
                    // being dropped.
                    None => return None,
                }
            }
        };
        if chunk.is_last {
            self.state = DecodedState::Done;
        }
        Some(chunk)
    }

    /// Takes back a chunk that was read, so that its memory can be filled again.
    pub(crate) fn recycle(&self, chunk: Chunk) {
        if let Some(spare) = &self.spare {
            spare.give(chunk);
        }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        if let (DecodedState::Elsewhere { job, .. }, Some(budget)) = (&self.state, &self.budget) {
            // The flag is set before the budget's lock is taken: a thread that waits for room sees
            // it when it wakes, and what a thread took before is given back.
            job.is_cancelled.store(true, Ordering::Release);
            budget.forget(job);
        }
    }
}
