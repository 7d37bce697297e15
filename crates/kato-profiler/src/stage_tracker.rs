//! Adds up what the stages and their threads did, over snapshots.

use std::collections::HashMap;

use kato_probe::reading::{StageReading, StateSeconds, ThreadReading};
use kato_probe::{Reading, ThreadState, Wait};

use crate::point::{StagePoint, StageTimes};
use crate::snapshot::{ResourceSnapshot, ThreadSnapshot};
use crate::summary::{StageSummary, ThreadSummary};

/// Largest number of threads of a stage that are kept apart.
const MAX_THREADS: usize = 64;

/// Sums by stage.
#[derive(Debug, Default)]
pub(crate) struct StageTracker {
    stages: Vec<StageSums>,
    /// Seconds in which the pipeline ran: at least one thread worked or wanted to.
    active_seconds: f64,
}

/// Sums of one stage.
#[derive(Debug, Default)]
struct StageSums {
    name: String,
    times: StageTimes,
    items: u64,
    most_threads: u64,
    /// Processor time, run delay, and busy time of the intervals to which they belong.
    watched: Option<(f64, f64)>,
    watched_busy: f64,
    /// Number of readings of busy threads, and of those that found one waiting for a disk in the
    /// kernel.
    busy_readings: u64,
    disk_sleeps: u64,
    threads: Vec<(Option<u32>, ThreadSummary)>,
}

impl StageTracker {
    /// Adds what happened between two moments, `seconds` apart, and returns it by stage.
    pub(crate) fn record(
        &mut self,
        (before, machine_before): (&Reading, &ResourceSnapshot),
        (now, machine): (&Reading, &ResourceSnapshot),
        seconds: f64,
    ) -> Vec<StagePoint> {
        let mut points = Vec::with_capacity(now.stages.len());
        let mut most_present = 0.0f64;
        // The probe appends stages and never removes one, so an index stays with its stage.
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
        // The stage that was present longest stands for the pipeline. The time of several threads
        // can exceed the interval, in which the pipeline cannot have run for longer.
        self.active_seconds += most_present.min(seconds);
        self.record_machine((before, machine_before), (now, machine));
        points
    }

    /// Attributes the processor time of its threads to each stage. The time of a thread that worked
    /// for several stages is divided by their shares.
    fn record_machine(
        &mut self,
        (before, machine_before): (&Reading, &ResourceSnapshot),
        (now, machine): (&Reading, &ResourceSnapshot),
    ) {
        let of: HashMap<u32, &ThreadSnapshot> =
            machine_before.threads.iter().map(|t| (t.tid, t)).collect();
        for thread in &machine.threads {
            // A thread that is new has no earlier figures, so nothing is known about this interval.
            let Some(old) = of.get(&thread.tid) else {
                continue;
            };
            let worked: Vec<(usize, StateSeconds, ThreadState)> = now
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
                    let old = old.filter(|old| old.joined == reading.joined);
                    let since =
                        old.map_or(reading.seconds, |old| reading.seconds.since(&old.seconds));
                    Some((at, since, reading.state))
                })
                .collect();
            let present: f64 = worked.iter().map(|(_, since, _)| since.present()).sum();
            let increase = |now: Option<f64>, before: Option<f64>| Some((now? - before?).max(0.0));
            let cpu = increase(thread.cpu_seconds, old.cpu_seconds);
            let delay = increase(thread.run_delay_seconds, old.run_delay_seconds);
            for (at, since, state) in worked {
                let Some(sums) = self.stages.get_mut(at) else {
                    continue;
                };
                // A thread that is marked as busy and waits for a disk in the kernel lacks a mark;
                // a busy stage is examined for that.
                if matches!(state, ThreadState::Busy | ThreadState::Blocked(Wait::Disk))
                    && let Some(kernel) = thread.state
                {
                    sums.busy_readings += 1;
                    sums.disk_sleeps += u64::from(kernel == 'D');
                }
                if let (Some(cpu), Some(delay)) = (cpu, delay)
                    && present > 0.0
                {
                    // The kernel does not know about stages, so its figures are divided by marked
                    // time.
                    let share = since.present() / present;
                    let (sum_cpu, sum_delay) = sums.watched.unwrap_or((0.0, 0.0));
                    sums.watched = Some((sum_cpu + cpu * share, sum_delay + delay * share));
                    // Only the intervals with figures: the shares below compare like with like.
                    sums.watched_busy += since.busy;
                }
            }
        }
    }

    /// Returns the stages of a profile of so many seconds.
    pub(crate) fn summary(&self, seconds: f64) -> Vec<StageSummary> {
        let active = self.active_seconds;
        self.stages
            .iter()
            .map(|sums| {
                // Threads that come and go between snapshots are seen as time only. A twentieth of
                // a thread is subtracted, so that times that are a little too long do not count as
                // one more.
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
                    // Of the whole profile, unlike the utilisation, which is about the time when
                    // work was done.
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
                    disk_sleep_share: (sums.busy_readings > 0)
                        .then(|| sums.disk_sleeps as f64 / sums.busy_readings as f64),
                    threads: sums.threads.iter().map(|(_, t)| t.clone()).collect(),
                }
            })
            .collect()
    }
}

impl StageSums {
    /// Adds the time of each thread.
    fn record_threads(&mut self, old: Option<&StageReading>, stage: &StageReading) {
        for thread in stage.threads.iter().filter(|thread| has_worked(thread)) {
            // The kernel uses numbers of ended threads again, so the name has to be the same as
            // well. One that has left meanwhile and joined again began from zero: taking its former
            // time off would lose what it has done since.
            let is_same = |other: &&ThreadReading| {
                other.tid == thread.tid
                    && other.label == thread.label
                    && other.joined == thread.joined
            };
            let before = old.and_then(|old| old.threads.iter().find(is_same));
            let since = before.map_or(thread.seconds, |b| thread.seconds.since(&b.seconds));
            let items = thread.items - before.map_or(0, |b| b.items.min(thread.items));
            let known = self
                .threads
                .iter()
                .position(|(tid, t)| *tid == thread.tid && t.label == thread.label);
            let at = known.unwrap_or_else(|| {
                if self.threads.len() == MAX_THREADS {
                    self.evict_thread(stage);
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

    /// Removes a thread to make room: of those that have left, the one that worked least, or of all
    /// threads if none has left.
    fn evict_thread(&mut self, stage: &StageReading) {
        let lives = |tid: Option<u32>| stage.threads.iter().any(|thread| thread.tid == tid);
        let order =
            // `false` sorts first, which is a thread that has left.
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

/// Returns whether a thread was ever in a state other than idle.
fn has_worked(thread: &ThreadReading) -> bool {
    thread.seconds.present() > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thread of one stage that joined at a time and has been busy for so long since.
    fn reading(joined: f64, busy: f64, items: u64) -> Reading {
        let mut thread = ThreadReading::default();
        thread.label = "worker".to_owned();
        thread.tid = Some(7);
        thread.joined = joined;
        thread.seconds.busy = busy;
        thread.items = items;
        let mut stage = StageReading::default();
        stage.name = "learn".to_owned();
        stage.threads.push(thread);
        let mut reading = Reading::default();
        reading.stages.push(stage);
        reading
    }

    #[test]
    fn a_thread_that_joins_again_goes_on_from_zero() {
        let mut tracker = StageTracker::default();
        let machine = ResourceSnapshot::default();
        let readings = [
            Reading::default(),
            reading(0.0, 3.0, 30),
            // It left and joined again between these two.
            reading(4.0, 2.0, 20),
            reading(4.0, 2.5, 25),
        ];
        for pair in readings.windows(2) {
            tracker.record((&pair[0], &machine), (&pair[1], &machine), 1.0);
        }
        let stages = tracker.summary(3.0);
        let [thread] = stages[0].threads.as_slice() else {
            panic!("one thread: {:?}", stages[0].threads);
        };
        assert_eq!((thread.times.busy, thread.items), (5.5, 55));
    }
}
