//! What the stages and their threads did, added up over snapshots.

use std::collections::HashMap;

use kato_probe::{Reading, StageReading, State, StateSeconds, ThreadReading, Wait};

use crate::point::{StagePoint, StageTimes};
use crate::snapshot::{ResourceSnapshot, ThreadSnapshot};
use crate::summary::{StageSummary, ThreadSummary};

/// Threads of a stage that are told apart.
const MAX_THREADS: usize = 64;

/// Sums by stage.
#[derive(Debug, Default)]
pub(crate) struct StageTracker {
    stages: Vec<StageSums>,
    /// Seconds in which the pipeline ran: at least one thread was at work or wanted to be.
    active_seconds: f64,
}

#[derive(Debug, Default)]
struct StageSums {
    name: String,
    times: StageTimes,
    items: u64,
    most_threads: u64,
    /// Processor time, run delay, and busy time of the intervals to which they belong.
    watched: Option<(f64, f64)>,
    watched_busy: f64,
    /// Looks at busy threads, and those that found one waiting for a disk in the kernel.
    looks: u64,
    disk_sleeps: u64,
    threads: Vec<(Option<u32>, ThreadSummary)>,
}

impl StageTracker {
    /// Adds what happened between two moments, `seconds` apart, and tells it by stage.
    pub(crate) fn record(
        &mut self,
        (before, machine_before): (&Reading, &ResourceSnapshot),
        (now, machine): (&Reading, &ResourceSnapshot),
        seconds: f64,
    ) -> Vec<StagePoint> {
        let mut points = Vec::with_capacity(now.stages.len());
        let mut most_present = 0.0f64;
        for (at, stage) in now.stages.iter().enumerate() {
            let old = before.stages.get(at);
            let since = old.map_or(stage.seconds, |old| stage.seconds.since(&old.seconds));
            let point = StagePoint {
                times: since.into(),
                items: stage.items - old.map_or(0, |old| old.items.min(stage.items)),
            };
            most_present = most_present.max(point.times.present());
            if self.stages.len() <= at {
                self.stages.push(StageSums {
                    name: stage.name.clone(),
                    ..StageSums::default()
                });
            }
            if let Some(sums) = self.stages.get_mut(at) {
                sums.times.add(&point.times);
                sums.items += point.items;
                let threads = stage.threads.iter().filter(|thread| has_worked(thread));
                sums.most_threads = sums.most_threads.max(threads.count() as u64);
                sums.record_threads(old, stage);
            }
            points.push(point);
        }
        self.active_seconds += most_present.min(seconds);
        self.record_machine((before, machine_before), (now, machine));
        points
    }

    /// Gives each stage the processor time of its threads. A thread that worked for several stages is shared out by time.
    fn record_machine(
        &mut self,
        (before, machine_before): (&Reading, &ResourceSnapshot),
        (now, machine): (&Reading, &ResourceSnapshot),
    ) {
        let of: HashMap<u32, &ThreadSnapshot> =
            machine_before.threads.iter().map(|t| (t.tid, t)).collect();
        for thread in &machine.threads {
            let Some(old) = of.get(&thread.tid) else {
                continue;
            };
            let worked: Vec<(usize, StateSeconds, State)> = now
                .stages
                .iter()
                .enumerate()
                .filter_map(|(at, stage)| {
                    let find = |stage: &StageReading| {
                        let mut threads = stage.threads.iter().rev();
                        threads.find(|t| t.tid == Some(thread.tid)).cloned()
                    };
                    let reading = find(stage)?;
                    let old = before.stages.get(at).and_then(find);
                    let since =
                        old.map_or(reading.seconds, |old| reading.seconds.since(&old.seconds));
                    Some((at, since, reading.state))
                })
                .collect();
            let present: f64 = worked.iter().map(|(_, since, _)| since.present()).sum();
            let grown = |now: Option<f64>, before: Option<f64>| Some((now? - before?).max(0.0));
            let cpu = grown(thread.cpu_seconds, old.cpu_seconds);
            let delay = grown(thread.run_delay_seconds, old.run_delay_seconds);
            for (at, since, state) in worked {
                let Some(sums) = self.stages.get_mut(at) else {
                    continue;
                };
                if matches!(state, State::Busy | State::Blocked(Wait::Disk))
                    && let Some(kernel) = thread.state
                {
                    sums.looks += 1;
                    sums.disk_sleeps += u64::from(kernel == 'D');
                }
                if let (Some(cpu), Some(delay)) = (cpu, delay)
                    && present > 0.0
                {
                    let share = since.present() / present;
                    let (sum_cpu, sum_delay) = sums.watched.unwrap_or((0.0, 0.0));
                    sums.watched = Some((sum_cpu + cpu * share, sum_delay + delay * share));
                    sums.watched_busy += since.busy;
                }
            }
        }
    }

    /// The stages of a profile of so many seconds.
    pub(crate) fn summary(&self, seconds: f64) -> Vec<StageSummary> {
        let active = self.active_seconds;
        self.stages
            .iter()
            .map(|sums| {
                let concurrency = if active > 0.0 {
                    (sums.times.present() / active - 0.05).ceil().max(0.0) as u64
                } else {
                    0
                };
                let capacity = sums.most_threads.max(concurrency);
                let room = active * capacity as f64;
                StageSummary {
                    name: sums.name.clone(),
                    times: sums.times,
                    items: sums.items,
                    items_per_second: if seconds > 0.0 {
                        sums.items as f64 / seconds
                    } else {
                        0.0
                    },
                    capacity,
                    utilisation: if room > 0.0 {
                        (sums.times.active() / room).min(1.0)
                    } else {
                        0.0
                    },
                    cpu_seconds: sums.watched.map(|(cpu, _)| cpu),
                    run_delay_seconds: sums.watched.map(|(_, delay)| delay),
                    watched_busy_seconds: sums.watched_busy,
                    disk_sleep_share: (sums.looks > 0)
                        .then(|| sums.disk_sleeps as f64 / sums.looks as f64),
                    threads: sums.threads.iter().map(|(_, t)| t.clone()).collect(),
                }
            })
            .collect()
    }
}

impl StageSums {
    fn record_threads(&mut self, old: Option<&StageReading>, stage: &StageReading) {
        for thread in stage.threads.iter().filter(|thread| has_worked(thread)) {
            let is_same =
                |other: &&ThreadReading| other.tid == thread.tid && other.label == thread.label;
            let before = old.and_then(|old| old.threads.iter().find(is_same));
            let since = before.map_or(thread.seconds, |b| thread.seconds.since(&b.seconds));
            let items = thread.items - before.map_or(0, |b| b.items.min(thread.items));
            let known = self
                .threads
                .iter()
                .position(|(tid, t)| *tid == thread.tid && t.label == thread.label);
            let at = known.unwrap_or_else(|| {
                if self.threads.len() == MAX_THREADS {
                    self.forget_one(stage);
                }
                let summary = ThreadSummary {
                    label: thread.label.clone(),
                    ..ThreadSummary::default()
                };
                self.threads.push((thread.tid, summary));
                self.threads.len() - 1
            });
            if let Some((_, summary)) = self.threads.get_mut(at) {
                summary.times.add(&since.into());
                summary.items += items;
            }
        }
    }

    /// Makes room: forgets the thread that has left and worked least, or of all threads where none has left.
    fn forget_one(&mut self, stage: &StageReading) {
        let lives = |tid: Option<u32>| stage.threads.iter().any(|thread| thread.tid == tid);
        let order =
            |(tid, thread): &(Option<u32>, ThreadSummary)| (lives(*tid), thread.times.present());
        let least = self.threads.iter().enumerate().min_by(|(_, a), (_, b)| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        if let Some((at, _)) = least {
            self.threads.remove(at);
        }
    }
}

fn has_worked(thread: &ThreadReading) -> bool {
    thread.seconds.present() > 0.0
}
