//! Marks of the probe, and what a look at machine and pipeline takes. Bound by the clock where a
//! state changes: the limit is `limit: clock`, one reading of it. With the probe off, a mark is to
//! be free; the limit is `limit: nothing`, the loop itself.
//!
//! An iteration sets 1,000 marks, and a rate counts marks.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use kato_probe::{Probe, ThreadState, Wait};
use kato_profiler::ProfilingEngine;

const N_MARKS: u32 = 1_000;

fn repeated(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mark: impl Fn(u32)) {
    group.bench_function(name, |b| {
        b.iter(|| {
            for n in 0..N_MARKS {
                mark(black_box(n));
            }
        });
    });
}

fn marks(c: &mut Criterion) {
    let mut group = c.benchmark_group("marks");
    group.throughput(Throughput::Elements(N_MARKS.into()));
    repeated(&mut group, "limit: nothing", |n| {
        black_box(n);
    });
    repeated(&mut group, "limit: clock", |_| {
        black_box(Instant::now());
    });
    for (name, probe) in [("off", Probe::off()), ("on", Probe::on(["learn"]))] {
        let _thread = probe.thread("learn");
        let queue = probe.queue("documents", 16);
        let node = probe.node("node0");
        let calls = probe.calls("server");
        repeated(&mut group, &format!("set, {name}"), |n| {
            kato_probe::thread::set(if n % 2 == 0 {
                ThreadState::Busy
            } else {
                ThreadState::Starved
            });
        });
        repeated(&mut group, &format!("wait and go on, {name}"), |_| {
            drop(kato_probe::thread::waiting(Wait::Lock));
        });
        repeated(&mut group, &format!("items, {name}"), |n| {
            kato_probe::thread::add_items(u64::from(n));
        });
        repeated(&mut group, &format!("queue, {name}"), |_| {
            queue.pushed(1);
            queue.popped(1);
        });
        repeated(&mut group, &format!("node, {name}"), |n| {
            node.learned(1);
            node.timed(1, Duration::from_nanos(u64::from(n)));
        });
        repeated(&mut group, &format!("call, {name}"), |_| {
            calls.start().finish();
        });
    }
    group.finish();
}

/// What the sampler does once a second.
fn snapshot(c: &mut Criterion) {
    let probe = Probe::on(["load", "learn"]);
    let _thread = probe.thread("learn");
    let profile = ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_sampling_interval(Duration::from_secs(3600))
        .with_loopback(false)
        .build()
        .and_then(ProfilingEngine::start)
        .expect("a profile of this process");
    let mut group = c.benchmark_group("snapshot");
    group.bench_function("probe alone", |b| b.iter(|| black_box(probe.read())));
    group.bench_function("machine and probe, summed up", |b| {
        b.iter(|| black_box(profile.summary()));
    });
    group.finish();
}

criterion_group!(benches, marks, snapshot);
criterion_main!(benches);
