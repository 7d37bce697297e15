//! The handle that goes through a pipeline, and what stands behind it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::calls::{CallCounts, CallProbe};
use crate::node::{NodeCounts, NodeProbe};
use crate::queue::{QueueCounts, QueueProbe};
use crate::reading::{Reading, StageReading, StateSeconds};
use crate::thread::{Slot, ThreadGuard};

/// Goes through a pipeline as one of its settings; clones feed the same sums. Off by default, and then all it does is nothing.
///
/// ```
/// use kato_probe::{Probe, State};
///
/// let off = Probe::default();
/// let _thread = off.thread("learn");
/// kato_probe::set(State::Busy);
/// assert!(off.read().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Probe(Option<Arc<Registry>>);

#[derive(Debug)]
struct Registry {
    origin: Instant,
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    stages: Vec<(String, Stage)>,
    queues: Vec<(String, Arc<QueueCounts>)>,
    nodes: Vec<(String, Arc<NodeCounts>)>,
    calls: Vec<(String, Arc<CallCounts>)>,
}

#[derive(Debug, Default)]
struct Stage {
    throttle: Arc<AtomicU64>,
    /// Threads that work for it, and those that have left since it was last looked at: nobody else holds those.
    threads: Vec<Arc<Slot>>,
    /// Sums of the threads that have left.
    seconds: StateSeconds,
    items: u64,
    ended_threads: u64,
}

impl Stage {
    /// Adds the threads that have left to the sums, so that a stage's memory is that of its living threads.
    fn fold(&mut self) {
        let Self {
            threads,
            seconds,
            items,
            ended_threads,
            ..
        } = self;
        threads.retain_mut(|slot| {
            let lives = Arc::get_mut(slot).is_none();
            if !lives {
                let last = slot.read();
                seconds.add(&StateSeconds {
                    // Nothing happens in a thread that has left, though time goes by.
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
    /// A probe that counts, for a pipeline with these stages, upstream first. A stage that is not among them comes last when its
    /// first thread joins.
    pub fn on<'a>(stages: impl IntoIterator<Item = &'a str>) -> Self {
        let stages = stages
            .into_iter()
            .map(|name| (name.to_owned(), Stage::default()))
            .collect();
        Self(Some(Arc::new(Registry {
            origin: Instant::now(),
            parts: Mutex::new(Parts {
                stages,
                ..Parts::default()
            }),
        })))
    }

    /// A probe that counts nothing and costs nothing.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Whether anybody counts.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Makes the current thread a thread of a stage, idle at first, until the guard is dropped. A thread that joins a second stage
    /// works for that one meanwhile and is idle in the first.
    pub fn thread(&self, stage: &str) -> ThreadGuard {
        let Some(registry) = &self.0 else {
            return ThreadGuard::off();
        };
        let mut parts = registry.parts();
        let stage = entry(&mut parts.stages, stage, Stage::default);
        stage.fold();
        let slot = Arc::new(Slot::new(registry.origin, Arc::clone(&stage.throttle)));
        stage.threads.push(Arc::clone(&slot));
        drop(parts);
        ThreadGuard::join(slot)
    }

    /// A queue of this capacity; one queue a name.
    #[must_use]
    pub fn queue(&self, name: &str, capacity: u64) -> QueueProbe {
        let made = || Arc::new(QueueCounts::of_capacity(capacity));
        QueueProbe::new(
            self.0
                .as_ref()
                .map(|registry| Arc::clone(entry(&mut registry.parts().queues, name, made))),
        )
    }

    /// A node; one a name.
    #[must_use]
    pub fn node(&self, name: &str) -> NodeProbe {
        NodeProbe::new(
            self.0
                .as_ref()
                .map(|registry| Arc::clone(entry(&mut registry.parts().nodes, name, Arc::default))),
        )
    }

    /// Calls to a peer; one a name.
    #[must_use]
    pub fn calls(&self, peer: &str) -> CallProbe {
        CallProbe::new(
            self.0
                .as_ref()
                .map(|registry| Arc::clone(entry(&mut registry.parts().calls, peer, Arc::default))),
        )
    }

    /// Slows a stage down: after every piece of work its threads pause for this share of it, 0.1 for a tenth, and 0 for no
    /// longer. What is not finite or below 0 counts as 0, and more than 10 as 10. Says whether there is such a stage.
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
        let parts = registry.parts();
        let found = parts.stages.iter().find(|(name, _)| name == stage);
        if let Some((_, stage)) = found {
            stage
                .throttle
                .store((share * 1e6) as u64, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Everything counted until now; `None` when the probe is off.
    #[must_use]
    pub fn read(&self) -> Option<Reading> {
        let registry = self.0.as_ref()?;
        let mut parts = registry.parts();
        let stages = parts
            .stages
            .iter_mut()
            .map(|(name, stage)| {
                stage.fold();
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
            queues: parts
                .queues
                .iter()
                .map(|(name, queue)| queue.read(name))
                .collect(),
            nodes: parts
                .nodes
                .iter()
                .map(|(name, node)| node.read(name))
                .collect(),
            calls: parts
                .calls
                .iter()
                .map(|(peer, calls)| calls.read(peer))
                .collect(),
        })
    }
}

impl Registry {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of a name, made when it is new.
fn entry<'a, T>(
    entries: &'a mut Vec<(String, T)>,
    name: &str,
    made: impl FnOnce() -> T,
) -> &'a mut T {
    let at = entries.iter().position(|(present, _)| present == name);
    let at = at.unwrap_or_else(|| {
        entries.push((name.to_owned(), made()));
        entries.len() - 1
    });
    &mut entries[at].1
}
