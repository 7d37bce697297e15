//! Starting, stopping, watching, and what it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kato_probe::{Probe, ThreadState};
use kato_profiler::snapshot::ResourceSnapshot;
use kato_profiler::source::ResourceSource;
use kato_profiler::{ProfileError, ProfilingEngine};
use kato_test_needs::wait_until;

use crate::support::{Edited, Pipeline, STAGES, asleep, millis, spin};

/// Counts its readings, and that it is let go.
struct Counting(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl ResourceSource for Counting {
    fn read(&mut self, _threads: &[u32]) -> ResourceSnapshot {
        self.0.fetch_add(1, Ordering::SeqCst);
        ResourceSnapshot::default()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting() -> (Counting, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (reads, drops) = (Arc::default(), Arc::default());
    (
        Counting(Arc::clone(&reads), Arc::clone(&drops)),
        reads,
        drops,
    )
}

#[test]
fn settings_out_of_range_are_refused() {
    for interval in [Duration::ZERO, millis(9.0), Duration::from_secs(3601)] {
        let engine = ProfilingEngine::builder()
            .with_sampling_interval(interval)
            .build();
        assert!(matches!(engine, Err(ProfileError::Interval { .. })));
    }
    for points in [0, 15, 1_000_001] {
        let engine = ProfilingEngine::builder()
            .with_timeline_points(points)
            .build();
        assert!(matches!(engine, Err(ProfileError::TimelinePoints { .. })));
    }
}

#[test]
fn a_profile_that_is_dropped_ends_its_sampler() {
    let (source, reads, drops) = counting();
    let engine = ProfilingEngine::builder()
        .with_source(source)
        .with_sampling_interval(millis(10.0));
    let profile = engine.build().unwrap().start().unwrap();
    while reads.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    drop(profile);
    assert_eq!(
        drops.load(Ordering::SeqCst),
        1,
        "the thread has let go of its source"
    );
}

#[test]
fn stopping_does_not_wait_for_the_next_snapshot() {
    let (source, reads, _) = counting();
    let engine = ProfilingEngine::builder()
        .with_source(source)
        .with_sampling_interval(Duration::from_secs(3600));
    let profile = engine.build().unwrap().start().unwrap();
    let begin = Instant::now();
    let summary = profile.stop();
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert_eq!(
        reads.load(Ordering::SeqCst),
        2,
        "one at the start, one at the end"
    );
    assert_eq!(summary.profiler.snapshots, 2);
}

#[test]
fn what_a_source_does_not_know_is_none_in_the_summary() {
    let (source, _, _) = counting();
    let engine = ProfilingEngine::builder()
        .with_source(source)
        .with_loopback(false);
    let summary = engine.build().unwrap().start().unwrap().stop();
    assert_eq!(summary.cpu.process_seconds, None);
    assert_eq!(summary.cpu_avg_percent(), None);
    assert_eq!(summary.memory.process_rss, None);
    assert_eq!(summary.disk.written_bytes, None);
    assert_eq!(summary.network.received_bytes, None);
    assert_eq!(summary.network.loopback, None);
    assert_eq!(summary.pressure, None);
    assert_eq!(summary.throughput.samples, None);
    assert_eq!(summary.process.peak_open_files, None);
}

#[test]
fn a_running_profile_can_be_looked_at_and_goes_on() {
    let probe = Probe::on(STAGES);
    let profile = ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_sampling_interval(millis(20.0))
        .build()
        .unwrap()
        .start()
        .unwrap();
    let counter = profile.counter();
    Pipeline::default().run_for(&probe, millis(100.0));
    counter.clone().add(10, 900);
    let early = profile.summary();
    counter.add(10, 900);
    let late = profile.stop();
    assert_eq!(
        (early.throughput.samples, late.throughput.samples),
        (Some(10), Some(20))
    );
    assert_eq!(late.throughput.tokens, Some(1800));
    let rate = late.throughput.samples_per_second.unwrap();
    assert!((rate - 20.0 / late.duration_seconds).abs() < 1e-9);
    assert!(late.duration_seconds > early.duration_seconds);
    assert!(late.stage("learn").unwrap().items > 0);
    let items: u64 = late
        .timeline
        .points()
        .iter()
        .map(|point| point.stages[1].items)
        .sum();
    assert_eq!(
        items,
        late.stage("learn").unwrap().items,
        "the timeline loses nothing"
    );
}

#[test]
fn live_totals_are_prometheus_text() {
    let probe = Probe::on(["learn"]);
    let node = probe.node("node0");
    node.learned(5);
    let profile = ProfilingEngine::builder()
        .with_probe(probe)
        .build()
        .unwrap()
        .start()
        .unwrap();
    let text = profile.prometheus();
    assert!(
        text.contains("kato_node_learned_total{node=\"node0\"} 5\n"),
        "{text}"
    );
    assert!(text.contains("# TYPE kato_node_learn_seconds histogram\n"));
    assert!(
        profile.snapshot().seconds < 1.0,
        "the first snapshot is there at once"
    );
}

#[test]
fn threads_that_come_and_go_are_counted_and_do_not_pile_up() {
    let probe = Probe::on(["stage"]);
    let profile = ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_sampling_interval(millis(10.0))
        .build()
        .unwrap()
        .start()
        .unwrap();
    for _ in 0..300 {
        let probe = probe.clone();
        std::thread::spawn(move || {
            let _thread = probe.thread("stage");
            kato_probe::thread::set(ThreadState::Busy);
            spin(millis(1.0));
            kato_probe::thread::add_items(1);
        })
        .join()
        .unwrap();
    }
    let summary = profile.stop();
    let stage = summary.stage("stage").unwrap();
    assert_eq!(stage.items, 300);
    assert!(stage.times.busy >= 0.3);
    assert_eq!(stage.capacity, 1, "one at a time");
    assert!(stage.threads.len() <= 64);
}

#[test]
fn a_snapshot_a_second_costs_less_than_half_a_per_cent_of_a_core() {
    let probe = Probe::on(STAGES);
    let profile = ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_watch_path(env!("CARGO_TARGET_TMPDIR"))
        .with_sampling_interval(millis(10.0))
        .build()
        .unwrap()
        .start()
        .unwrap();
    let pipeline = Pipeline {
        learners: 8,
        learn: asleep(1.0),
        ..Pipeline::default()
    };
    pipeline.run_for(&probe, Duration::from_secs(2));
    let summary = profile.stop();
    // The first and the last snapshot are not taken by the sampler thread.
    let snapshots = summary.profiler.snapshots - 2;
    assert!(snapshots >= 50, "{snapshots}");
    let Some(seconds) = summary.profiler.cpu_seconds else {
        return println!("skipped: this platform does not tell the processor time of a thread");
    };
    let each = seconds / snapshots as f64;
    println!(
        "{snapshots} snapshots of 10 threads: {:.2} ms of processor time each, {:.3} % of a core at one a second",
        1e3 * each,
        100.0 * each
    );
    assert!(each < 0.005, "{each} s");
}

#[test]
fn without_a_probe_a_process_that_computes_is_seen_all_the_same() {
    let looks = Arc::new(AtomicUsize::new(0));
    let looking = Arc::clone(&looks);
    let profile = ProfilingEngine::builder()
        .with_source(Edited::new(move |snapshot, seconds| {
            looking.fetch_add(1, Ordering::SeqCst);
            snapshot.cpu.process_seconds = Some(1.9 * seconds);
            snapshot.cpu.allowed_cores = Some(2.0);
            snapshot.cpu.throttled_seconds = None;
            snapshot.pressure = None;
            snapshot.cgroup_pressure = None;
        }))
        .with_sampling_interval(millis(10.0))
        .build()
        .unwrap()
        .start()
        .unwrap();
    wait_until("it is looked at", || looks.load(Ordering::SeqCst) >= 10);
    let verdict = profile.stop().verdict;
    assert_eq!(
        (verdict.stage, verdict.cause),
        (None, kato_profiler::verdict::Cause::Cpu)
    );
    assert!(
        verdict.confidence <= 0.5,
        "without marks there is less to go by"
    );
}
