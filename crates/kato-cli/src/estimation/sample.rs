//! A sample of a corpus: documents that are read and counted, by as many threads as there are
//! cores.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use kato_estimator::sample::CountedDocuments;
use kato_estimator::text_sampler::TextCounter;
use kato_estimator::{CorpusSample, TextSampler};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{DocumentBatch, StreamingDatasetLoader};
use kato_scheduler::StopSignal;

use crate::meter::Meter;

/// Text that is taken from the loader at once, in bytes: as much as a run takes.
const BATCH_BYTES: usize = 512 << 10;
/// Batches under way for each thread: one that it counts and one that waits for it.
const BATCHES_A_THREAD: usize = 2;

/// How much of a corpus is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Documents at most.
    pub(crate) documents: Option<NonZeroU64>,
    /// Time after which no more is read.
    pub(crate) time: Option<Duration>,
    /// Whether something beyond what is looked at is asked for.
    pub(crate) has_windows: bool,
    /// Parts into which the run's threads put the text in turns; 1 where it is not read in the
    /// order of the run.
    pub(crate) parts: u32,
    /// Threads that count.
    pub(crate) threads: NonZeroUsize,
}

/// Documents of a batch that are to be counted, from the first on.
struct Job {
    number: u64,
    batch: DocumentBatch,
    documents: usize,
}

/// What was counted of a [`Job`], by its number.
type Counted = (u64, Result<CountedDocuments>);

/// Counts the first documents of a loader, as far as the look goes. The result is the same for any
/// number of threads, unless time ends it.
///
/// Take a loader whose order is random.
///
/// # Errors
///
/// When a document cannot be read or tokenized, when there is none, and when it was interrupted.
pub(crate) fn sample(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    look: Look,
    stop: &StopSignal,
    meter: &mut Meter,
) -> Result<CorpusSample> {
    let sampler = TextSampler::new(learner)?
        .with_windows(look.has_windows)
        .with_parts(look.parts);
    let (jobs, queue) = mpsc::channel();
    let queue = Mutex::new(queue);
    let sampler = thread::scope(|scope| {
        let (done, counted) = mpsc::channel();
        for _ in 0..look.threads.get() {
            let (counter, queue, done) = (sampler.counter(), &queue, done.clone());
            scope.spawn(move || count(counter, queue, &done));
        }
        // Nothing is to be waited for once all threads have ended.
        drop(done);
        // The end of the jobs, which go with the reading, is the end of the threads.
        let reading = Reading {
            jobs,
            sampler,
            counted,
            early: BTreeMap::new(),
            taken_in: 0,
        };
        reading.read(loader, look, stop, meter)
    });
    meter.finish();
    Ok(sampler?.finish()?)
}

/// Counts batches until there are none.
fn count(mut counter: TextCounter<'_>, queue: &Mutex<Receiver<Job>>, done: &Sender<Counted>) {
    loop {
        // The lock is let go before the batch is counted.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let counted = job
            .batch
            .iter()
            .take(job.documents)
            .try_for_each(|document| {
                counter
                    .count(document.text)
                    .with_context(|| format!("document {}", document.id()))
            });
        let counted = counted.map(|()| counter.take());
        if done.send((job.number, counted)).is_err() {
            return;
        }
    }
}

/// Reads for the threads, and takes in what they counted, in the order of the documents.
struct Reading<'a> {
    jobs: Sender<Job>,
    sampler: TextSampler<'a>,
    counted: Receiver<Counted>,
    /// Counted before what comes before it.
    early: BTreeMap<u64, CountedDocuments>,
    taken_in: u64,
}

impl<'a> Reading<'a> {
    fn read(
        mut self,
        loader: &mut StreamingDatasetLoader,
        look: Look,
        stop: &StopSignal,
        meter: &mut Meter,
    ) -> Result<TextSampler<'a>> {
        let start = Instant::now();
        let most = look.documents.map_or(u64::MAX, NonZeroU64::get);
        let under_way = (BATCHES_A_THREAD * look.threads.get()) as u64;
        let (mut documents, mut number) = (0, 0);
        let is_due = || look.time.is_some_and(|time| start.elapsed() >= time);
        while documents < most
            && !is_due()
            && let Some(batch) = loader.next_batch(BATCH_BYTES)?
        {
            ensure!(
                !stop.is_stopped(),
                "interrupted before the sample was complete"
            );
            // A batch is a number of bytes, so the last one may hold more documents than are wanted.
            let wanted = (batch.iter().count() as u64).min(most - documents);
            documents += wanted;
            let job = Job {
                number,
                batch,
                documents: wanted as usize,
            };
            number += 1;
            // Nobody takes it only where a thread has ended by a panic, which the scope passes on.
            if self.jobs.send(job).is_err() {
                break;
            }
            while number - self.taken_in >= under_way {
                self.take_in()?;
            }
            meter.update(documents, look.documents.map(NonZeroU64::get), || {
                vec![format!("{} documents looked at", HumanCount(documents))]
            });
        }
        while self.taken_in < number {
            self.take_in()?;
        }
        Ok(self.sampler)
    }

    /// Takes in what is counted next.
    fn take_in(&mut self) -> Result<()> {
        let (number, counted) = self
            .counted
            .recv()
            .context("a thread that counts has ended")?;
        self.early.insert(number, counted?);
        while let Some(counted) = self.early.remove(&self.taken_in) {
            self.sampler.add_counted(counted);
            self.taken_in += 1;
        }
        Ok(())
    }
}
