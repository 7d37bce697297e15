//! A load that is known is recovered within 5 %. One test in a process of its own: others would add
//! to what is measured.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic and print, as tests do"
)]

use std::io::Write;
use std::time::{Duration, Instant};

use kato_probe::{Probe, ThreadState, Wait};
use kato_profiler::{ProfilingEngine, RunningProfile};
use kato_test_needs::wait_until;

fn start(probe: &Probe) -> RunningProfile {
    ProfilingEngine::builder()
        .with_probe(probe.clone())
        .with_sampling_interval(Duration::from_millis(10))
        .build()
        .unwrap()
        .start()
        .unwrap()
}

fn within(what: &str, measured: f64, truth: f64) {
    println!(
        "{what}: measured {measured:.6}, truth {truth:.6}, {:+.2} %",
        100.0 * (measured / truth - 1.0)
    );
    assert!(
        (measured / truth - 1.0).abs() <= 0.05,
        "{what}: {measured} for {truth}"
    );
}

/// Processor time and run delay of this thread, as the kernel tells them to the thread itself.
fn thread_times() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let mut nanos = text
        .split(' ')
        .map(|nanos| nanos.parse::<f64>().unwrap() * 1e-9);
    (nanos.next().unwrap(), nanos.next().unwrap())
}

fn allocation() {
    const BYTES: usize = 128 << 20;
    let profile = start(&Probe::off());
    let before = profile.snapshot().memory.process_rss.unwrap() as f64;
    let block = std::hint::black_box(vec![1u8; BYTES]);
    // What the sampler saw counts, not what is read here: its last look may fall into the filling.
    wait_until("the sampler sees it", || {
        profile.summary().peak_memory_bytes().unwrap() - before >= 0.96 * BYTES as f64
    });
    drop(block);
    let summary = profile.stop();
    within(
        "allocated bytes",
        summary.peak_memory_bytes().unwrap() - before,
        BYTES as f64,
    );
}

fn processor() {
    let probe = Probe::on(["work"]);
    let _thread = probe.thread("work");
    kato_probe::thread::set(ThreadState::Busy);
    let profile = start(&probe);
    let before = thread_times();
    let begin = Instant::now();
    let mut sum = 0u64;
    while thread_times().0 - before.0 < 0.6 && begin.elapsed() < Duration::from_secs(20) {
        sum = (0..10_000u64).fold(sum, |sum, n| std::hint::black_box(sum ^ n));
    }
    let now = thread_times();
    let summary = profile.stop();
    let stage = summary.stage("work").unwrap();
    within(
        "processor seconds of the thread",
        stage.cpu_seconds.unwrap(),
        now.0 - before.0,
    );
    let sampler = summary.profiler.cpu_seconds.unwrap();
    within(
        "processor seconds of the process",
        summary.cpu.process_seconds.unwrap() - sampler,
        now.0 - before.0,
    );
    let share = summary.cpu.cores.unwrap().mean;
    within(
        "cores in use",
        share - sampler / summary.duration_seconds,
        (now.0 - before.0) / summary.duration_seconds,
    );
    let waited = now.1 - before.1;
    if waited > 0.1 {
        within(
            "seconds waited for a processor",
            stage.run_delay_seconds.unwrap(),
            waited,
        );
    }
}

fn disk() {
    const BYTES: usize = 48 << 20;
    let written = || {
        let text = std::fs::read_to_string("/proc/self/io").unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "));
        line.unwrap().parse::<f64>().unwrap()
    };
    let profile = start(&Probe::off());
    let before = written();
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for _ in 0..BYTES >> 20 {
        file.write_all(&vec![3; 1 << 20]).unwrap();
    }
    file.sync_all().unwrap();
    let kernel = written() - before;
    let summary = profile.stop();
    let measured = summary.disk.written_bytes.unwrap() as f64;
    if kernel == 0.0 {
        println!("skipped: the file system of the target folder is in memory");
        assert_eq!(measured, 0.0);
        return;
    }
    within("bytes written", measured, BYTES as f64);
    assert!(summary.disk.write_calls.unwrap() >= (BYTES >> 20) as u64);
}

fn waits() {
    let probe = Probe::on(["work"]);
    let calls = probe.calls("server");
    let node = probe.node("node0");
    let profile = start(&probe);
    let states = [
        (ThreadState::Busy, 90),
        (ThreadState::Starved, 200),
        (ThreadState::Blocked(Wait::Downstream), 110),
        (ThreadState::Blocked(Wait::Server), 300),
        (ThreadState::Blocked(Wait::Lock), 150),
        (ThreadState::Blocked(Wait::Disk), 120),
    ];
    let mut truth = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _thread = probe.thread("work");
            for (state, millis) in states {
                let begin = Instant::now();
                kato_probe::thread::set(state);
                let call = (state == ThreadState::Blocked(Wait::Server)).then(|| calls.start());
                std::thread::sleep(Duration::from_millis(millis));
                if let Some(call) = call {
                    call.finish();
                }
                truth.push(begin.elapsed().as_secs_f64());
            }
            kato_probe::thread::set(ThreadState::Idle);
            node.learned(7);
            node.timed(7, Duration::from_millis(70));
        });
    });
    let summary = profile.stop();
    let times = summary.stage("work").unwrap().times;
    let measured = [
        times.busy,
        times.starved,
        times.blocked_downstream,
        times.blocked_server,
        times.blocked_lock,
        times.blocked_disk,
    ];
    for (((state, _), measured), truth) in states.iter().zip(measured).zip(&truth) {
        within(&format!("seconds {state:?}"), measured, *truth);
    }
    within(
        "round trip",
        summary.calls[0].latency.unwrap().mean,
        truth[3],
    );
    within(
        "calls in flight",
        summary.calls[0].mean_in_flight,
        truth[3] / summary.duration_seconds,
    );
    within(
        "learn latency",
        summary.nodes[0].latency.unwrap().mean,
        0.01,
    );
    within(
        "learn rate",
        summary.nodes[0].learned_per_second,
        7.0 / summary.duration_seconds,
    );
}

#[test]
fn allocation_processor_time_disk_writes_and_waits_are_recovered_within_five_per_cent() {
    allocation();
    processor();
    disk();
    waits();
}
