//! Batches made ahead by threads, in an order that does not depend on their number.

use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Scope;

use kato_gradient::sampler::EpochPlan;

use super::Batches;
use crate::BoxError;

/// Where batches come from, one by one, by any thread.
pub trait BatchSource: Sync {
    /// A batch.
    type Batch: Send;

    /// Returns the number of batches of every epoch.
    fn n_batches(&self) -> u64;

    /// Returns which items the batches of an epoch have.
    fn plan(&self, epoch: u64) -> EpochPlan;

    /// Makes a batch of the given items: a function of its place.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being made; it takes the batch's place.
    fn make(&self, epoch: u64, index: u64, items: &[usize]) -> Result<Self::Batch, BoxError>;
}

/// A part of an epoch that a thread works through.
#[derive(Debug)]
struct Job<T> {
    epoch: u64,
    first: u64,
    plan: Arc<EpochPlan>,
    done: SyncSender<Result<T, BoxError>>,
}

/// Batches of a source, made by threads that live as long as a training, or by the trainer itself
/// where there is none.
///
/// Of N threads, the k-th makes every N-th batch from the k-th on, and the consumer asks them in turn.
/// So the batches and their order are those of one thread. An error takes the place of its batch, and
/// a panic is an error.
#[derive(Debug)]
pub struct Prefetched<'a, S: BatchSource> {
    source: &'a S,
    workers: Vec<Sender<Job<S::Batch>>>,
    n_ahead: usize,
}

impl<'a, S: BatchSource> Prefetched<'a, S> {
    /// Starts the threads, each of which keeps up to `n_ahead` batches ready.
    #[must_use]
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        source: &'a S,
        n_workers: usize,
        n_ahead: usize,
    ) -> Self
    where
        'a: 'scope,
    {
        let start = |worker: usize| {
            let (jobs, todo) = channel();
            scope.spawn(move || work(source, &todo, worker as u64, n_workers as u64));
            jobs
        };
        Self {
            source,
            workers: (0..n_workers).map(start).collect(),
            n_ahead: n_ahead.max(1),
        }
    }
}

impl<S: BatchSource> Batches for Prefetched<'_, S> {
    type Batch = S::Batch;

    fn n_batches(&self, _epoch: u64) -> u64 {
        self.source.n_batches()
    }

    fn batches(
        &mut self,
        epoch: u64,
        first: u64,
    ) -> Box<dyn Iterator<Item = Result<S::Batch, BoxError>> + '_> {
        let plan = Arc::new(self.source.plan(epoch));
        let n_batches = plan.n_batches() as u64;
        if self.workers.is_empty() {
            return Box::new(
                (first..n_batches).map(move |index| make(self.source, epoch, index, &plan)),
            );
        }
        let hand_over = |jobs: &Sender<Job<S::Batch>>| {
            let (done, ready) = sync_channel(self.n_ahead);
            let plan = Arc::clone(&plan);
            // A thread that is gone hangs up, which its turn tells.
            let _ = jobs.send(Job {
                epoch,
                first,
                plan,
                done,
            });
            ready
        };
        let ready: Vec<Receiver<_>> = self.workers.iter().map(hand_over).collect();
        let mut next = first;
        Box::new(iter::from_fn(move || {
            if next >= n_batches {
                return None;
            }
            // Dropping the receivers at the end of an epoch frees threads that are still ahead.
            let turn = (next - first) % ready.len() as u64;
            next += 1;
            let batch = ready[turn as usize].recv();
            Some(batch.unwrap_or_else(|_| Err("the thread that makes batches has ended".into())))
        }))
    }
}

/// Makes the batches of one thread until nobody hands over epochs any more.
fn work<S: BatchSource>(source: &S, todo: &Receiver<Job<S::Batch>>, worker: u64, n_workers: u64) {
    for job in todo {
        let n_batches = job.plan.n_batches() as u64;
        let mine = (job.first + worker..n_batches).step_by(n_workers as usize);
        for index in mine {
            let batch = make(source, job.epoch, index, &job.plan);
            // The consumer has stopped in the middle of the epoch.
            if job.done.send(batch).is_err() {
                break;
            }
        }
    }
}

/// Makes a batch; a panic becomes an error, so that the consumer learns of it.
fn make<S: BatchSource>(
    source: &S,
    epoch: u64,
    index: u64,
    plan: &EpochPlan,
) -> Result<S::Batch, BoxError> {
    let items = plan.batch(index as usize).unwrap_or_default();
    let made = catch_unwind(AssertUnwindSafe(|| source.make(epoch, index, items)));
    made.unwrap_or_else(|panic| Err(text_of(panic.as_ref()).into()))
}

/// Returns what a panic says.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "a batch could not be made: {}; report it",
        text.unwrap_or("a panic without a word")
    )
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use kato_gradient::sampler::{Sampler, Shuffled};

    use super::*;

    /// Ten batches of two numbers; the one at `bad` cannot be made, or panics.
    struct Numbers {
        sampler: Sampler,
        bad: Option<(u64, bool)>,
    }

    impl BatchSource for Numbers {
        type Batch = (u64, u64, Vec<usize>);

        fn n_batches(&self) -> u64 {
            self.sampler.n_batches() as u64
        }

        fn plan(&self, epoch: u64) -> EpochPlan {
            self.sampler.plan(epoch)
        }

        fn make(&self, epoch: u64, index: u64, items: &[usize]) -> Result<Self::Batch, BoxError> {
            // Early batches take longest, so that a later one is ready first.
            thread::sleep(Duration::from_micros(200 * (10 - index)));
            match self.bad {
                Some((at, panics)) if at == index => {
                    assert!(!panics, "batch {index} is torn");
                    Err("the disk is gone".into())
                }
                _ => Ok((epoch, index, items.to_vec())),
            }
        }
    }

    fn numbers(bad: Option<(u64, bool)>) -> Numbers {
        let sampler = Sampler::from_n_items(Shuffled::new(2), 20, 5).expect("20 items");
        Numbers { sampler, bad }
    }

    /// The batches of two epochs, the second from its third batch on.
    fn taken(source: &Numbers, n_workers: usize, n_ahead: usize) -> Vec<Result<String, String>> {
        thread::scope(|scope| {
            let mut batches = Prefetched::start(scope, source, n_workers, n_ahead);
            let mut all = Vec::new();
            for (epoch, first) in [(0, 0), (1, 2)] {
                let of_epoch = batches.batches(epoch, first);
                all.extend(of_epoch.map(|batch| {
                    batch
                        .map(|batch| format!("{batch:?}"))
                        .map_err(|error| error.to_string())
                }));
            }
            all
        })
    }

    #[test]
    fn content_and_order_do_not_depend_on_threads() {
        let source = numbers(None);
        let alone = taken(&source, 0, 1);
        assert_eq!(alone.len(), 10 + 8);
        for n_workers in [1, 2, 3, 7] {
            for n_ahead in [1, 4] {
                assert_eq!(
                    alone,
                    taken(&source, n_workers, n_ahead),
                    "{n_workers} threads"
                );
            }
        }
    }

    #[test]
    fn errors_and_panics_reach_the_consumer_in_their_place() {
        for (panics, said) in [(false, "the disk is gone"), (true, "batch 4 is torn")] {
            for n_workers in [0, 1, 3] {
                let all = taken(&numbers(Some((4, panics))), n_workers, 2);
                let error = all[4].as_ref().expect_err("the fifth batch");
                assert!(error.contains(said), "{error}");
                assert!(all[3].is_ok() && all[5].is_ok(), "the others are there");
            }
        }
    }

    #[test]
    fn an_epoch_that_is_left_early_keeps_no_thread() {
        let source = numbers(None);
        thread::scope(|scope| {
            let mut batches = Prefetched::start(scope, &source, 3, 1);
            assert!(batches.batches(0, 0).next().is_some());
            // Another epoch begins at once, and the scope ends only when all threads have.
            let next = batches.batches(1, 9).next().and_then(Result::ok);
            assert_eq!(next.map(|batch| (batch.0, batch.1)), Some((1, 9)));
        });
    }
}
