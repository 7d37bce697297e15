//! A pipeline of three stages on real threads, and sources that edit what the machine says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kato_probe::{Probe, ThreadState, Wait};
use kato_profiler::snapshot::ResourceSnapshot;
use kato_profiler::source::ResourceSource;

/// The stages, upstream first.
pub(crate) const STAGES: [&str; 3] = ["load", "learn", "commit"];

/// What a stage does with an item; the number of the thread comes with it.
pub(crate) type Work = Arc<dyn Fn(usize) + Send + Sync>;

/// A pipeline: a loader, some learners, a committer, bounded queues between them.
#[derive(Clone)]
pub(crate) struct Pipeline {
    pub(crate) load: Work,
    pub(crate) learn: Work,
    pub(crate) learners: usize,
    pub(crate) commit: Work,
    /// The learner that gets an item; any of them if there is no such rule.
    pub(crate) route: Option<fn(usize) -> usize>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self {
            load: nothing(),
            learn: nothing(),
            learners: 1,
            commit: nothing(),
            route: None,
        }
    }
}

impl Pipeline {
    /// Runs until told to stop.
    pub(crate) fn run(&self, probe: &Probe, stop: &AtomicBool) {
        let mail = probe.queue("mail", 4 * self.learners as u64);
        let n_boxes = if self.route.is_some() {
            self.learners
        } else {
            1
        };
        let (boxes, letters): (Vec<_>, Vec<_>) = (0..n_boxes)
            .map(|_| {
                let (to, from) = sync_channel::<usize>(4);
                (to, Mutex::new(from))
            })
            .unzip();
        let (done, finished) = sync_channel::<usize>(4);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let boxes = boxes;
                let _thread = probe.thread("load");
                for item in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    kato_probe::thread::set(ThreadState::Busy);
                    (self.load)(0);
                    kato_probe::thread::add_items(1);
                    let _waiting = kato_probe::thread::waiting(Wait::Downstream);
                    mail.pushed(1);
                    let to = self.route.map_or(0, |route| route(item));
                    boxes[to].send(item).unwrap();
                }
            });
            for learner in 0..self.learners {
                let done = done.clone();
                let from = &letters[learner % n_boxes];
                let mail = &mail;
                std::thread::Builder::new()
                    .name(format!("learn-{learner}"))
                    .spawn_scoped(scope, move || {
                        let _thread = probe.thread("learn");
                        while let Some(item) = next(from) {
                            mail.popped(1);
                            kato_probe::thread::set(ThreadState::Busy);
                            (self.learn)(learner);
                            kato_probe::thread::add_items(1);
                            let _waiting = kato_probe::thread::waiting(Wait::Downstream);
                            done.send(item).unwrap();
                        }
                    })
                    .unwrap();
            }
            drop(done);
            scope.spawn(|| {
                let finished = Mutex::new(finished);
                let _thread = probe.thread("commit");
                while next(&finished).is_some() {
                    kato_probe::thread::set(ThreadState::Busy);
                    (self.commit)(0);
                    kato_probe::thread::add_items(1);
                }
            });
        });
    }

    /// Runs for so long.
    pub(crate) fn run_for(&self, probe: &Probe, time: Duration) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.run(probe, &stop));
            pass(time);
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Lets the time of a case pass: what takes it, and not something that is waited for.
pub(crate) fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Works for so long; asleep, so that other programs do not matter.
pub(crate) fn asleep(time: f64) -> Work {
    Arc::new(move |_| pass(millis(time)))
}

fn next(from: &Mutex<Receiver<usize>>) -> Option<usize> {
    kato_probe::thread::set(ThreadState::Starved);
    let item = from.lock().unwrap().recv().ok();
    if item.is_none() {
        kato_probe::thread::set(ThreadState::Idle);
    }
    item
}

pub(crate) fn nothing() -> Work {
    Arc::new(|_| {})
}

pub(crate) fn millis(millis: f64) -> Duration {
    Duration::from_secs_f64(millis * 1e-3)
}

/// Computes for so long by the clock on the wall.
pub(crate) fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The machine, edited: the seconds since the beginning come with each snapshot.
pub(crate) struct Edited<F> {
    machine: Box<dyn ResourceSource>,
    begin: Instant,
    edit: F,
}

impl<F: FnMut(&mut ResourceSnapshot, f64) + Send> Edited<F> {
    pub(crate) fn new(edit: F) -> Self {
        #[cfg(target_os = "linux")]
        let machine = Box::new(kato_profiler::source::LinuxSource::new(None));
        #[cfg(not(target_os = "linux"))]
        let machine = Box::new(kato_profiler::source::PortableSource::new());
        Self {
            machine,
            begin: Instant::now(),
            edit,
        }
    }
}

impl<F: FnMut(&mut ResourceSnapshot, f64) + Send> ResourceSource for Edited<F> {
    fn read(&mut self, threads: &[u32]) -> ResourceSnapshot {
        // As the engine counts it: on a busy machine, reading takes its time.
        let seconds = self.begin.elapsed().as_secs_f64();
        let mut snapshot = self.machine.read(threads);
        (self.edit)(&mut snapshot, seconds);
        snapshot
    }
}
