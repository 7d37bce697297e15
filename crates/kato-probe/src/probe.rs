//! The handle that is passed through a pipeline, and the registry behind it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::calls::{CallCounts, CallProbe};
use crate::node::{NodeCounts, NodeProbe};
use crate::queue::{QueueCounts, QueueProbe};
use crate::reading::{Reading, StageReading, StateSeconds};
use crate::thread::{Slot, ThreadGuard};

/// Handle that is passed through a pipeline as one of its settings. Clones feed the same sums. It
/// is off by default, and does nothing then.
///
/// ```
/// use kato_probe::{Probe, ThreadState};
///
/// let off = Probe::default();
/// let _thread = off.thread("learn");
/// kato_probe::thread::set(ThreadState::Busy);
/// assert!(off.read().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Probe(Option<Arc<Registry>>);

#[derive(Debug)]
struct Registry {
    /// Beginning of time for all threads of the probe.
    origin: Instant,
    /// Locked to join a stage, to register, to throttle and to read; never to set a mark.
    metrics: Mutex<Metrics>,
}

#[derive(Debug, Default)]
struct Metrics {
    stages: Vec<(String, Stage)>,
    queues: Vec<(String, Arc<QueueCounts>)>,
    nodes: Vec<(String, Arc<NodeCounts>)>,
    calls: Vec<(String, Arc<CallCounts>)>,
}

#[derive(Debug, Default)]
struct Stage {
    /// Share by which the stage is slowed down, in millionths; every thread of it reads this.
    throttle: Arc<AtomicU64>,
    /// Threads that work for it, and those that have left since the last
    /// [`fold_finished`](Self::fold_finished). Of the latter this is the only reference.
    threads: Vec<Arc<Slot>>,
    /// Sums of the threads that have been folded.
    seconds: StateSeconds,
    items: u64,
    ended_threads: u64,
}

impl Stage {
    /// Moves the threads that have left into the sums, so that a stage takes memory for its living
    /// threads only.
    fn fold_finished(&mut self) {
        let Self {
            threads,
            seconds,
            items,
            ended_threads,
            ..
        } = self;
        threads.retain_mut(|slot| {
            // A thread holds its slot until it leaves. `get_mut` also synchronises with the drop of
            // that reference, so the thread's last marks are visible here.
            let lives = Arc::get_mut(slot).is_none();
            if !lives {
                let last = slot.read();
                seconds.add(&StateSeconds {
                    // It left as idle, and reading it counts the time that has passed since.
                    idle: 0.0,
                    ..last.seconds
                });
                *items += last.items;
                *ended_threads += 1;
            }
            lives
        });
    }
}

impl Probe {
    /// Creates a probe that counts, for a pipeline with these stages, upstream first.
    ///
    /// A stage that is not among them is appended when its first thread joins.
    pub fn on<'a>(stages: impl IntoIterator<Item = &'a str>) -> Self {
        let stages = stages
            .into_iter()
            .map(|name| (name.to_owned(), Stage::default()))
            .collect();
        Self(Some(Arc::new(Registry {
            origin: Instant::now(),
            metrics: Mutex::new(Metrics {
                stages,
                ..Metrics::default()
            }),
        })))
    }

    /// Creates a probe that counts nothing and costs next to nothing.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Returns whether the probe counts.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Makes the current thread a thread of a stage until the guard is dropped; it is idle at
    /// first.
    ///
    /// A thread that joins a second stage works for that one meanwhile and is idle in the first.
    pub fn thread(&self, stage: &str) -> ThreadGuard {
        let Some(registry) = &self.0 else {
            return ThreadGuard::off();
        };
        let mut metrics = registry.metrics();
        let stage = entry(&mut metrics.stages, stage, Stage::default);
        // Else a stage whose threads come and go would grow while nobody reads the probe.
        stage.fold_finished();
        // This thread keeps its own reference from here on, so no `fold_finished` takes it for one
        // that left.
        let slot = Arc::new(Slot::new(registry.origin, Arc::clone(&stage.throttle)));
        stage.threads.push(Arc::clone(&slot));
        // Joining ends the state of an outer stage, and may sleep if that one is throttled.
        drop(metrics);
        ThreadGuard::join(slot)
    }

    /// Returns the counter of the queue with this name, registered on first use.
    ///
    /// All callers of a name share one counter, with the capacity that was given first.
    #[must_use]
    pub fn queue(&self, name: &str, capacity: u64) -> QueueProbe {
        let create = || Arc::new(QueueCounts::with_capacity(capacity));
        QueueProbe::new(
            self.0
                .as_ref()
                .map(|registry| Arc::clone(entry(&mut registry.metrics().queues, name, create))),
        )
    }

    /// Returns the counter of the node with this name, registered on first use and shared by all
    /// callers of the name.
    #[must_use]
    pub fn node(&self, name: &str) -> NodeProbe {
        NodeProbe::new(
            self.0.as_ref().map(|registry| {
                Arc::clone(entry(&mut registry.metrics().nodes, name, Arc::default))
            }),
        )
    }

    /// Returns the timer of calls to the peer with this name, registered on first use and shared by
    /// all callers of the name.
    #[must_use]
    pub fn calls(&self, peer: &str) -> CallProbe {
        CallProbe::new(
            self.0.as_ref().map(|registry| {
                Arc::clone(entry(&mut registry.metrics().calls, peer, Arc::default))
            }),
        )
    }

    /// Slows a stage down and returns whether there is such a stage.
    ///
    /// After a piece of work its threads pause for this share of the time it took: 0.1 for a tenth, 0
    /// to stop pausing. Pauses below 2 ms are saved up until they are as long. A share that is not finite or below 0 counts as 0, and more than
    /// 10 as 10.
    #[must_use = "a stage that there is not cannot be slowed down"]
    pub fn throttle(&self, stage: &str, share: f64) -> bool {
        let Some(registry) = &self.0 else {
            return false;
        };
        let share = if share.is_finite() {
            share.clamp(0.0, 10.0)
        } else {
            0.0
        };
        let metrics = registry.metrics();
        // Not by `entry`: a mistyped name must not make a stage that nobody works for.
        let found = metrics.stages.iter().find(|(name, _)| name == stage);
        if let Some((_, stage)) = found {
            // Threads see it at the end of their next piece of work. The product is at most 10^7.
            stage
                .throttle
                .store((share * 1e6) as u64, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Returns everything that was counted until now; `None` when the probe is off.
    #[must_use]
    pub fn read(&self) -> Option<Reading> {
        let registry = self.0.as_ref()?;
        // Held until all stages are read: no thread is in both the sums and the list, or in
        // neither.
        let mut metrics = registry.metrics();
        let stages = metrics
            .stages
            .iter_mut()
            .map(|(name, stage)| {
                stage.fold_finished();
                let threads: Vec<_> = stage.threads.iter().map(|slot| slot.read()).collect();
                let (mut seconds, mut items) = (stage.seconds, stage.items);
                for thread in &threads {
                    seconds.add(&thread.seconds);
                    items += thread.items;
                }
                StageReading {
                    name: name.clone(),
                    seconds,
                    items,
                    threads,
                    ended_threads: stage.ended_threads,
                }
            })
            .collect();
        Some(Reading {
            seconds: registry.origin.elapsed().as_secs_f64(),
            stages,
            queues: metrics
                .queues
                .iter()
                .map(|(name, queue)| queue.read(name))
                .collect(),
            nodes: metrics
                .nodes
                .iter()
                .map(|(name, node)| node.read(name))
                .collect(),
            calls: metrics
                .calls
                .iter()
                .map(|(peer, calls)| calls.read(peer))
                .collect(),
        })
    }
}

impl Registry {
    /// Locks the lists.
    fn metrics(&self) -> MutexGuard<'_, Metrics> {
        // A profile must not end the work that it observes because another thread has panicked.
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the value of a name, which is made when the name is new.
fn entry<'a, T>(
    entries: &'a mut Vec<(String, T)>,
    name: &str,
    create: impl FnOnce() -> T,
) -> &'a mut T {
    // A scan, because a pipeline has a handful of names and they keep the order of registration.
    let at = entries.iter().position(|(present, _)| present == name);
    let at = at.unwrap_or_else(|| {
        entries.push((name.to_owned(), create()));
        entries.len() - 1
    });
    &mut entries[at].1
}
