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

/// Text of a chunk, in bytes: what is handed over at once.
const CHUNK_BYTES: usize = 512 << 10;

/// What a profile calls the loader's threads; their items are chunks.
pub const DECODE_STAGE: &str = "decode";

type OpenPart = Box<dyn FnOnce() -> Result<Box<dyn RecordReader>, Fault> + Send>;
type Panic = Box<dyn Any + Send>;

/// Threads that live as long as the loader.
pub(crate) struct Workers {
    jobs: Option<Sender<Arc<Job>>>,
    budget: Arc<Budget>,
    spare: Arc<Spare>,
    threads: Vec<JoinHandle<()>>,
    /// Whether the end of the threads can be waited for: reading from a pipe can take as long as the pipe lives.
    are_awaited: bool,
    n_jobs: u64,
}

/// A part of a file to be decoded.
struct Job {
    number: u64,
    /// Taken by whoever begins: a worker, or the consumer when none has.
    open: Mutex<Option<OpenPart>>,
    chunks: Sender<Result<Chunk, Panic>>,
    is_cancelled: AtomicBool,
    /// Bytes of decoded records that were not fetched yet.
    waiting: AtomicUsize,
}

/// The records of a part, as they are decoded. Dropping it ends the decoding.
pub(crate) struct Decoded {
    state: DecodedState,
    budget: Option<Arc<Budget>>,
    spare: Option<Arc<Spare>>,
}

enum DecodedState {
    Elsewhere {
        job: Arc<Job>,
        chunks: Receiver<Result<Chunk, Panic>>,
    },
    Here(Box<dyn RecordReader>),
    Broken(Fault),
    Done,
}

impl Workers {
    pub(crate) fn start(
        number: usize,
        budget_bytes: usize,
        are_awaited: bool,
        probe: &Probe,
    ) -> Result<Self, LoadError> {
        let (jobs, queue) = unbounded::<Arc<Job>>();
        let mut workers = Self {
            jobs: Some(jobs),
            budget: Arc::new(Budget::new(budget_bytes)),
            // One in every hand, and one between.
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

    pub(crate) fn number(&self) -> usize {
        self.threads.len()
    }

    /// Queues a part to be decoded after those queued before.
    pub(crate) fn decode(
        &mut self,
        open: impl FnOnce() -> Result<Box<dyn RecordReader>, Fault> + Send + 'static,
    ) -> Decoded {
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
            // Without threads, the consumer decodes it.
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
        self.jobs = None;
        self.budget.close();
        for thread in self.threads.drain(..).filter(|_| self.are_awaited) {
            // A panic went to the consumer.
            let _ = thread.join();
        }
    }
}

impl Job {
    fn begin(&self) -> Option<OpenPart> {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    fn run(&self, budget: &Budget, spare: &Spare) {
        let Some(open) = self.begin() else {
            return;
        };
        if self.is_cancelled() || budget.is_closed() {
            return;
        }
        // What the panic left behind is dropped here; the consumer panics in its turn.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.decode(open, budget, spare)));
        if let Err(panic) = outcome {
            let _ = self.chunks.send(Err(panic));
        }
    }

    fn decode(&self, open: OpenPart, budget: &Budget, spare: &Spare) {
        let mut reader = match open() {
            Ok(reader) => reader,
            Err(fault) => {
                let _ = self.chunks.send(Ok(Chunk::broken(fault)));
                return;
            }
        };
        loop {
            let chunk = Chunk::fill(reader.as_mut(), CHUNK_BYTES, spare.take());
            let is_last = chunk.is_last;
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
    /// Decodes on the caller's thread when asked.
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

    /// The next records; `None` behind the last.
    pub(crate) fn next(&mut self) -> Option<Chunk> {
        if let DecodedState::Elsewhere { job, .. } = &self.state
            && let Some(open) = job.begin()
        {
            // No thread has begun: none will be waited for.
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
                let received = match chunks.try_recv() {
                    Ok(received) => Some(received),
                    Err(_) => {
                        let _waiting = kato_probe::during(State::Starved);
                        budget.wait_for(job);
                        chunks.recv().ok()
                    }
                };
                match received {
                    Some(Ok(chunk)) => {
                        budget.give_back(job, chunk.memory());
                        chunk
                    }
                    Some(Err(panic)) => {
                        self.state = DecodedState::Done;
                        resume_unwind(panic)
                    }
                    None => return None,
                }
            }
        };
        if chunk.is_last {
            self.state = DecodedState::Done;
        }
        Some(chunk)
    }

    /// Takes back a chunk that was read, for its memory.
    pub(crate) fn recycle(&self, chunk: Chunk) {
        if let Some(spare) = &self.spare {
            spare.give(chunk);
        }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        if let (DecodedState::Elsewhere { job, .. }, Some(budget)) = (&self.state, &self.budget) {
            job.is_cancelled.store(true, Ordering::Release);
            budget.forget(job);
        }
    }
}
