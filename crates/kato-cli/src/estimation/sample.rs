//! A sample of a corpus: documents that are read and counted, by as many threads as there are
//! cores.

use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kato_estimator::sample::CountedDocuments;
use kato_estimator::text_sampler::TextCounter;
use kato_estimator::{CorpusSample, TextSampler};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{DEFAULT_BATCH_BYTES, DocumentBatch, StreamingDatasetLoader};
use kato_probe::in_order;
use kato_scheduler::StopSignal;

use crate::meter::Meter;
use crate::numbers::counted;

/// How much of a corpus is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Documents at most.
    pub(super) documents: Option<NonZeroU64>,
    /// Time after which no more is read.
    pub(super) time: Option<Duration>,
    /// Time in which so many bytes have to be read, or no more is.
    pub(super) pace: Option<(Duration, u64)>,
    /// Whether something beyond what is looked at is asked for.
    pub(super) has_windows: bool,
    /// Workers of the run and its memory, where it is read in the order of the run.
    pub(super) run: Option<(u64, u64)>,
    /// Threads that count.
    pub(super) threads: NonZeroUsize,
}

/// Documents of a batch that are to be counted, from the first on.
struct Job {
    batch: DocumentBatch,
    documents: usize,
}

/// Counts the first documents of a loader, as far as the look goes. The result is the same for any
/// number of threads, unless time ends it.
///
/// Take a loader whose order is random, unless it is to be read to its end.
///
/// # Errors
///
/// When a document cannot be read or tokenized, when there is none, and when it was interrupted.
pub(super) fn sample(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    look: Look,
    stop: &StopSignal,
    meter: &mut Meter,
) -> Result<CorpusSample> {
    let mut sampler = TextSampler::new(learner)?.with_windows(look.has_windows);
    if let Some((workers, memory)) = look.run {
        sampler = sampler.with_run(workers, memory);
    }
    let counters = (0..look.threads.get()).map(|_| sampler.counter());
    // A thread takes any of them for a batch: nothing of one batch is left in it for the next.
    let counters = Mutex::new(counters.collect::<Vec<_>>());
    let mut reading = Reading {
        start: Instant::now(),
        documents: 0,
        pace: look.pace,
    };
    let mut is_over = false;
    let ended = in_order(
        look.threads,
        || {
            if is_over {
                return None;
            }
            let job = reading.next(loader, look, stop, meter).transpose();
            // Behind an error, too, nothing more is read.
            is_over = !matches!(job, Some(Ok(_)));
            job
        },
        |job| count(&job?, &counters),
        |counted| match counted {
            Ok(counted) => {
                sampler.add_counted(counted);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        },
    );
    meter.finish();
    match ended {
        ControlFlow::Continue(()) => Ok(sampler.finish()?),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Counts a batch.
fn count(job: &Job, counters: &Mutex<Vec<TextCounter<'_>>>) -> Result<CountedDocuments> {
    let lock = || counters.lock().unwrap_or_else(PoisonError::into_inner);
    let counter = lock().pop();
    let mut counter = counter.context("more threads count than were said")?;
    let mut documents = job.batch.iter().take(job.documents);
    let outcome = documents.try_for_each(|document| {
        counter
            .count(document.text)
            .with_context(|| format!("document {}", document.id()))
    });
    let counted = counter.take();
    lock().push(counter);
    outcome.map(|()| counted)
}

/// How far the reading is.
struct Reading {
    start: Instant,
    documents: u64,
    /// What the look says, until it is checked.
    pace: Option<(Duration, u64)>,
}

impl Reading {
    /// Reads the next batch; `None` where the corpus or the look ends.
    fn next(
        &mut self,
        loader: &mut StreamingDatasetLoader,
        look: Look,
        stop: &StopSignal,
        meter: &mut Meter,
    ) -> Result<Option<Job>> {
        let most = look.documents.map_or(u64::MAX, NonZeroU64::get);
        if self.documents >= most || look.time.is_some_and(|time| self.start.elapsed() >= time) {
            return Ok(None);
        }
        let elapsed = self.start.elapsed();
        if let Some((_, bytes)) = self.pace.take_if(|(time, _)| elapsed >= *time)
            && loader.bytes_read() < bytes
        {
            return Ok(None);
        }
        let Some(batch) = loader.next_batch(DEFAULT_BATCH_BYTES)? else {
            return Ok(None);
        };
        ensure!(
            !stop.is_stopped(),
            "interrupted before enough was read: give the same command again"
        );
        // A batch is a number of bytes, so the last one may hold more documents than are wanted.
        let wanted = (batch.iter().count() as u64).min(most - self.documents);
        self.documents += wanted;
        let documents = self.documents;
        meter.update(documents, look.documents.map(NonZeroU64::get), || {
            vec![format!("{} looked at", counted(documents, "document"))]
        });
        Ok(Some(Job {
            batch,
            documents: wanted as usize,
        }))
    }
}
