//! A made-up run of four minutes for tests: two learners are nearly always busy.

use kato_probe::reading::{
    CallReading, NodeReading, QueueReading, StageReading, StateSeconds, ThreadReading,
};
use kato_probe::{Reading, ThreadState};

use crate::snapshot::{
    CoreSnapshot, CpuSnapshot, DeviceSnapshot, DiskSnapshot, MemorySnapshot, NetworkSnapshot,
    PressureSnapshot, ProcessSnapshot, ResourceSnapshot, ThreadSnapshot,
};
use crate::summary::{LatencySummary, ProfilerCost, ProfilingSummary};
use crate::tracker::{Counted, Sample, Tracker};

const STEP: f64 = 6.0;
const STEPS: usize = 40;

/// Returns the summary of the run, the same every time.
pub(crate) fn summary() -> ProfilingSummary {
    let mut tracker = Tracker::new(sample_at(0), 64);
    for step in 1..=STEPS {
        tracker.record(sample_at(step));
    }
    let loopback = LatencySummary {
        count: 50,
        mean: 21e-6,
        p50: 20e-6,
        p90: 24e-6,
        p99: 31e-6,
        longest: 33e-6,
    };
    let cost = ProfilerCost {
        sampling_interval_seconds: STEP,
        cpu_seconds: Some(0.05),
        ..ProfilerCost::default()
    };
    tracker.summary(
        "Training on <notes> & \"letters\"",
        1_767_225_600.0,
        Some(loopback),
        cost,
    )
}

/// Returns a wave between 0 and 1.
fn wave(step: usize, period: f64) -> f64 {
    0.5 + 0.5 * (step as f64 * std::f64::consts::TAU / period).sin()
}

/// Returns the sum of a rate over the steps so far.
fn sum(step: usize, rate: impl Fn(usize) -> f64) -> f64 {
    (0..step).map(|step| rate(step) * STEP).sum()
}

pub(crate) fn sample_at(step: usize) -> Sample {
    Sample {
        snapshot: snapshot(step),
        reading: Some(reading(step)),
        counted: Counted {
            samples: Some(sum(step, |s| 40.0 + 8.0 * wave(s, 11.0)) as u64),
            tokens: Some(sum(step, |s| 4000.0 + 800.0 * wave(s, 11.0)) as u64),
        },
    }
}

fn snapshot(step: usize) -> ResourceSnapshot {
    let rss = 180e6 + 0.9e6 * step as f64 * STEP + 8e6 * wave(step, 7.0);
    let core = |core: usize| {
        let busy = sum(step, |s| {
            let own = [0.95, 0.9, 0.2, 0.1].get(core).copied().unwrap_or(0.0);
            own * (0.8 + 0.2 * wave(s + core, 9.0))
        });
        CoreSnapshot {
            busy,
            idle: step as f64 * STEP - busy,
            steal: 0.0,
        }
    };
    ResourceSnapshot {
        seconds: step as f64 * STEP,
        memory: MemorySnapshot {
            process_rss: Some(rss as u64),
            tree_rss: Some(rss as u64 + 12_000_000),
            system_used: Some(3_400_000_000),
            system_available: Some(4_600_000_000),
            system_total: Some(8_000_000_000),
            cgroup_used: Some(rss as u64 + 40_000_000),
            cgroup_limit: Some(2_000_000_000),
        },
        cpu: CpuSnapshot {
            process_seconds: Some(sum(step, |s| 1.7 + 0.3 * wave(s, 9.0))),
            children_seconds: Some(0.0),
            allowed_cores: Some(4.0),
            cores: (0..4).map(core).collect(),
            throttled_seconds: Some(0.0),
        },
        disk: DiskSnapshot {
            read_bytes: Some(sum(step, |_| 3e6) as u64),
            written_bytes: Some(sum(step, |s| if s % 8 == 7 { 24e6 } else { 1e6 }) as u64),
            read_calls: Some(step as u64 * 900),
            write_calls: Some(step as u64 * 400),
            device: Some(DeviceSnapshot {
                name: "nvme0n1".to_owned(),
                read_bytes: sum(step, |_| 3.2e6) as u64,
                written_bytes: sum(step, |s| if s % 8 == 7 { 26e6 } else { 1.5e6 }) as u64,
                reads: step as u64 * 120,
                writes: step as u64 * 80,
                busy_seconds: sum(step, |_| 0.06),
                flushes: Some(step as u64 * 3),
            }),
        },
        network: NetworkSnapshot {
            received_bytes: Some(sum(step, |_| 2e4) as u64),
            sent_bytes: Some(sum(step, |_| 5e3) as u64),
        },
        pressure: Some(PressureSnapshot {
            cpu_some: Some(sum(step, |s| 0.08 * wave(s, 5.0))),
            io_some: Some(sum(step, |s| if s % 8 == 7 { 0.12 } else { 0.01 })),
            io_full: Some(sum(step, |_| 0.005)),
            memory_some: Some(0.0),
            memory_full: Some(0.0),
        }),
        cgroup_pressure: None,
        process: ProcessSnapshot {
            open_files: Some(31),
            threads: Some(9),
            children: Some(1),
            major_faults: Some(4),
            voluntary_switches: Some(step as u64 * 2100),
            involuntary_switches: Some(step as u64 * 130),
        },
        threads: [11, 12]
            .map(|tid| ThreadSnapshot {
                tid,
                cpu_seconds: Some(sum(step, |_| 0.81)),
                run_delay_seconds: Some(sum(step, |_| 0.04)),
                state: Some('R'),
                waits_in: None,
            })
            .to_vec(),
    }
}

fn reading(step: usize) -> Reading {
    let mut reading = Reading::default();
    reading.seconds = step as f64 * STEP;
    let load = times(step, |_| [0.22, 0.0, 0.7, 0.0, 0.0, 0.08]);
    let learn = times(step, |s| {
        let starved = if s % 8 == 7 { 0.25 } else { 0.05 };
        [0.93 - starved, starved, 0.03, 0.0, 0.04, 0.0]
    });
    let commit = times(step, |s| {
        let disk = if s % 8 == 7 { 0.3 } else { 0.04 };
        [0.05, 0.95 - disk, 0.0, 0.0, 0.0, disk]
    });
    let samples = sum(step, |s| 40.0 + 8.0 * wave(s, 11.0)) as u64;
    reading.stages = vec![
        stage("load", &[("dispatcher", 10, load)], samples),
        stage(
            "learn",
            &[("worker 0", 11, learn), ("worker 1", 12, learn)],
            samples,
        ),
        stage("commit", &[("committer", 13, commit)], step as u64 * 2),
    ];
    let mut queue = QueueReading::default();
    queue.name = "mailboxes".to_owned();
    queue.len = 2 - (step % 8 == 7) as u64;
    queue.capacity = 2;
    reading.queues = vec![queue];
    // Histograms are only created by a probe that measures, so these are empty.
    let mut node = NodeReading::default();
    node.name = "node0".to_owned();
    node.learns = samples * 13;
    reading.nodes = vec![node];
    let mut calls = CallReading::default();
    calls.peer = "embeddings".to_owned();
    calls.failed = step as u64 / 20;
    reading.calls = vec![calls];
    reading
}

/// Returns busy, starved, downstream, server, lock, disk, as shares of the time of one thread.
fn times(step: usize, shares: impl Fn(usize) -> [f64; 6]) -> StateSeconds {
    let of = |at: usize| sum(step, |s| shares(s)[at]);
    let mut times = StateSeconds::default();
    times.busy = of(0);
    times.starved = of(1);
    times.blocked_downstream = of(2);
    times.blocked_server = of(3);
    times.blocked_lock = of(4);
    times.blocked_disk = of(5);
    times
}

fn stage(name: &str, threads: &[(&str, u32, StateSeconds)], items: u64) -> StageReading {
    let mut stage = StageReading::default();
    stage.name = name.to_owned();
    stage.items = items;
    for (label, tid, times) in threads {
        stage.seconds.add(times);
        let mut thread = ThreadReading::default();
        thread.label = (*label).to_owned();
        thread.tid = Some(*tid);
        thread.state = ThreadState::Busy;
        thread.seconds = *times;
        thread.items = items / threads.len() as u64;
        stage.threads.push(thread);
    }
    stage
}
