//! Injected bottlenecks on a real pipeline: is the first answer right?

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod support;
#[path = "support/thresholds.rs"]
mod thresholds;

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kato_probe::{CallProbe, Probe, ThreadState, Wait};
use kato_profiler::snapshot::{PressureSnapshot, ResourceSnapshot};
use kato_profiler::verdict::Cause;
use kato_profiler::{ProfilingEngine, ProfilingSummary};
use support::{Edited, Pipeline, STAGES, Work, asleep, millis, pass, spin};
use thresholds::Resource;

/// Long enough for a hundred short items, and eight of the longest.
const RUN: Duration = Duration::from_millis(400);

type Edit = Box<dyn Fn(&mut ResourceSnapshot, f64) + Send>;

/// A pipeline with a known bottleneck.
struct Case {
    name: String,
    stage: Option<&'static str>,
    cause: Cause,
    pipeline: Pipeline,
    probe: Probe,
    edit: Edit,
}

fn case(name: &str, stage: &'static str, cause: Cause, pipeline: Pipeline) -> Case {
    Case {
        name: name.to_owned(),
        stage: Some(stage),
        cause,
        pipeline,
        probe: Probe::on(STAGES),
        edit: Box::new(quiet),
    }
}

impl Case {
    fn edited(mut self, edit: impl Fn(&mut ResourceSnapshot, f64) + Send + 'static) -> Self {
        self.edit = Box::new(move |snapshot, seconds| {
            quiet(snapshot, seconds);
            edit(snapshot, seconds);
        });
        self
    }

    fn run(self) -> ProfilingSummary {
        let profile = ProfilingEngine::builder()
            .with_probe(self.probe.clone())
            .with_sampling_interval(Duration::from_millis(25))
            .with_source(Edited::new(self.edit))
            .with_loopback(false)
            .build()
            .unwrap()
            .start()
            .unwrap();
        if self.cause == Cause::Idle {
            let _thread = self.probe.thread("load");
            pass(RUN);
        } else {
            self.pipeline.run_for(&self.probe, RUN);
        }
        profile.stop()
    }
}

/// A machine without neighbours: the truth of a case must not depend on what else runs here.
fn quiet(snapshot: &mut ResourceSnapshot, _seconds: f64) {
    snapshot.pressure = None;
    snapshot.cgroup_pressure = None;
    snapshot.cpu.throttled_seconds = None;
    snapshot.process.major_faults = Some(0);
    for thread in &mut snapshot.threads {
        let (cpu, delay) = (thread.cpu_seconds, thread.run_delay_seconds);
        thread.cpu_seconds = cpu.zip(delay).map(|(cpu, delay)| cpu + delay);
        thread.run_delay_seconds = delay.map(|_| 0.0);
    }
}

/// Neighbours take this share of the time in which a thread could run.
fn crowded(share: f64) -> impl Fn(&mut ResourceSnapshot, f64) + Send {
    move |snapshot, seconds| {
        let mut pressure = PressureSnapshot::default();
        pressure.cpu_some = Some(share * seconds);
        snapshot.pressure = Some(pressure);
        snapshot.cpu.process_seconds = snapshot.cpu.process_seconds.map(|s| s * (1.0 - share));
        for thread in &mut snapshot.threads {
            thread.run_delay_seconds = thread.cpu_seconds.map(|cpu| cpu * share);
            thread.cpu_seconds = thread.cpu_seconds.map(|cpu| cpu * (1.0 - share));
        }
    }
}

fn spins(time: f64) -> Work {
    Arc::new(move |_| spin(millis(time)))
}

/// Sleeps, marked as a wait.
fn wait(wait: Wait, time: Duration) {
    let _waiting = kato_probe::thread::waiting(wait);
    pass(time);
}

fn waits(what: Wait, time: f64) -> Work {
    Arc::new(move |_| wait(what, millis(time)))
}

/// A little of everything, so that no stage is without work.
fn light() -> Pipeline {
    Pipeline {
        load: spins(0.05),
        learn: spins(0.05),
        learners: 1,
        commit: spins(0.05),
        route: None,
    }
}

fn loading(load: Work) -> Pipeline {
    Pipeline { load, ..light() }
}

fn learning(learners: usize, learn: Work) -> Pipeline {
    Pipeline {
        learn,
        learners,
        ..light()
    }
}

fn committing(commit: Work) -> Pipeline {
    Pipeline { commit, ..light() }
}

/// Works under one lock for all threads.
fn locks(time: f64) -> Work {
    let lock = Mutex::new(());
    Arc::new(move |_| {
        let waiting = kato_probe::thread::waiting(Wait::Lock);
        let _held = lock.lock().unwrap();
        drop(waiting);
        // Holding a lock is work; asleep, so that other programs do not matter.
        pass(millis(time));
    })
}

/// Appends to a file of each thread; then waits as long as a slow disk would take, or for a real
/// flush and some time.
fn writes(folder: &std::path::Path, bytes: usize, time: f64, flush: bool) -> Work {
    let files: Vec<Mutex<File>> = (0..4)
        .map(|_| Mutex::new(tempfile::tempfile_in(folder).unwrap()))
        .collect();
    let content = vec![7; bytes];
    Arc::new(move |thread| {
        let _waiting = kato_probe::thread::waiting(Wait::Disk);
        let mut file = files[thread].lock().unwrap();
        file.write_all(&content).unwrap();
        if flush {
            file.sync_data().unwrap();
        }
        pass(millis(time));
    })
}

/// Calls a server so many times for an item.
fn calls(server: CallProbe, times: usize, time: f64) -> Work {
    Arc::new(move |_| {
        for _ in 0..times {
            let call = server.start();
            wait(Wait::Server, millis(time));
            call.finish();
        }
    })
}

/// A pipeline that calls a server, with the probe that watches the calls.
fn calling(
    name: &str,
    stage: &'static str,
    cause: Cause,
    pipeline: impl FnOnce(CallProbe) -> Pipeline,
) -> Case {
    let probe = Probe::on(STAGES);
    let pipeline = pipeline(probe.calls("server"));
    Case {
        probe,
        ..case(name, stage, cause, pipeline)
    }
}

/// Waits for input before each item.
fn starves(time: f64) -> Work {
    Arc::new(move |_| {
        let _starved = kato_probe::thread::during(ThreadState::Starved);
        pass(millis(time));
    })
}

fn skewed(learners: usize, learn: Work, route: fn(usize) -> usize) -> Pipeline {
    Pipeline {
        route: Some(route),
        ..learning(learners, learn)
    }
}

fn cases(folder: &std::path::Path) -> Vec<Case> {
    use Cause::{
        Cpu, CpuContention, DiskFlush, DiskThroughput, Latency, Lock, MemoryPressure, Server, Skew,
        Source, Unmarked,
    };
    const MIB: usize = 1 << 20;
    let to_one: fn(usize) -> usize = |_| 0;
    let mut cases = vec![
        case(
            "computing, one learner",
            "learn",
            Cpu,
            learning(1, spins(2.0)),
        ),
        case(
            "computing, two learners",
            "learn",
            Cpu,
            learning(2, spins(4.0)),
        ),
        case(
            "computing, committer",
            "commit",
            Cpu,
            committing(spins(2.0)),
        ),
        case("computing, loader", "load", Cpu, loading(spins(2.0))),
        case(
            "crowded machine, 70 %",
            "learn",
            CpuContention,
            learning(1, spins(2.0)),
        )
        .edited(crowded(0.7)),
        case(
            "crowded machine, 85 %",
            "learn",
            CpuContention,
            learning(2, spins(3.0)),
        )
        .edited(crowded(0.85)),
        case(
            "crowded machine, committer",
            "commit",
            CpuContention,
            committing(spins(2.0)),
        )
        .edited(crowded(0.7)),
        case(
            "quota, 60 %",
            "learn",
            CpuContention,
            learning(1, spins(2.0)),
        )
        .edited(|snapshot, seconds| snapshot.cpu.throttled_seconds = Some(0.6 * seconds)),
        case(
            "one lock, two learners",
            "learn",
            Lock,
            learning(2, locks(3.0)),
        ),
        case(
            "one lock, three learners",
            "learn",
            Lock,
            learning(3, locks(3.0)),
        ),
        case(
            "one lock, four learners",
            "learn",
            Lock,
            learning(4, locks(2.0)),
        ),
        case(
            "one lock, held long",
            "learn",
            Lock,
            learning(3, locks(10.0)),
        ),
        case(
            "slow disk, 1 MiB",
            "commit",
            DiskThroughput,
            committing(writes(folder, MIB, 15.0, false)),
        ),
        case(
            "slow disk, 4 MiB",
            "commit",
            DiskThroughput,
            committing(writes(folder, 4 * MIB, 40.0, false)),
        ),
        case(
            "slow disk, two learners",
            "learn",
            DiskThroughput,
            learning(2, writes(folder, MIB, 20.0, false)),
        ),
        case(
            "slow disk, reading",
            "load",
            DiskThroughput,
            loading(waits(Wait::Disk, 10.0)),
        )
        .edited(|snapshot, seconds| {
            snapshot.disk.read_bytes = Some((60e6 * seconds) as u64);
        }),
        case(
            "flushes, 4 KiB",
            "commit",
            DiskFlush,
            committing(writes(folder, 4096, 6.0, true)),
        ),
        case(
            "flushes, 16 KiB",
            "commit",
            DiskFlush,
            committing(writes(folder, 16 * 1024, 10.0, true)),
        ),
        case(
            "flushes, 64 KiB",
            "commit",
            DiskFlush,
            committing(writes(folder, 64 * 1024, 10.0, true)),
        ),
        case(
            "flushes, two learners",
            "learn",
            DiskFlush,
            learning(2, writes(folder, 4096, 8.0, true)),
        ),
        calling("slow server, one learner", "learn", Server, |server| {
            learning(1, calls(server, 1, 40.0))
        }),
        calling("slow server, three learners", "learn", Server, |server| {
            learning(3, calls(server, 1, 40.0))
        }),
        calling("full server, four learners", "learn", Server, |server| {
            learning(4, calls(server, 2, 5.0))
        }),
        calling("slow server, committer", "commit", Server, |server| {
            committing(calls(server, 1, 50.0))
        }),
        calling("latency, 1 ms", "learn", Latency, |server| {
            learning(1, calls(server, 8, 1.0))
        }),
        calling("latency, 3 ms", "learn", Latency, |server| {
            learning(1, calls(server, 1, 3.0))
        }),
        calling("latency, committer", "commit", Latency, |server| {
            committing(calls(server, 4, 2.0))
        }),
        case(
            "latency, calls not timed",
            "learn",
            Latency,
            learning(1, waits(Wait::Server, 5.0)),
        ),
        case(
            "memory stalls, 40 %",
            "learn",
            MemoryPressure,
            learning(1, spins(2.0)),
        )
        .edited(|snapshot, seconds| {
            let mut pressure = PressureSnapshot::default();
            pressure.memory_some = Some(0.4 * seconds);
            snapshot.pressure = Some(pressure);
            snapshot.process.major_faults = Some((500.0 * seconds) as u64);
        }),
        case(
            "memory stalls in the cgroup",
            "commit",
            MemoryPressure,
            committing(spins(2.0)),
        )
        .edited(|snapshot, seconds| {
            let mut pressure = PressureSnapshot::default();
            pressure.memory_some = Some(0.3 * seconds);
            snapshot.cgroup_pressure = Some(pressure);
        }),
        case(
            "full cgroup, pages come back",
            "learn",
            MemoryPressure,
            learning(2, spins(3.0)),
        )
        .edited(|snapshot, seconds| {
            snapshot.memory.cgroup_limit = Some(1_000_000_000);
            snapshot.memory.cgroup_used = Some(985_000_000);
            snapshot.process.major_faults = Some((400.0 * seconds) as u64);
        }),
        case(
            "memory stalls while on disk",
            "learn",
            MemoryPressure,
            learning(1, waits(Wait::Disk, 5.0)),
        )
        .edited(|snapshot, seconds| {
            let mut pressure = PressureSnapshot::default();
            pressure.memory_some = Some(0.6 * seconds);
            snapshot.pressure = Some(pressure);
            snapshot.process.major_faults = Some((2000.0 * seconds) as u64);
        }),
        case(
            "one of two works",
            "learn",
            Skew,
            skewed(2, spins(2.0), to_one),
        ),
        case(
            "one of three works",
            "learn",
            Skew,
            skewed(3, spins(2.0), to_one),
        ),
        case(
            "one of four does most",
            "learn",
            Skew,
            skewed(4, spins(2.0), |item| {
                if item % 10 == 0 { 1 + item / 10 % 3 } else { 0 }
            }),
        ),
        case(
            "one of three calls a server",
            "learn",
            Skew,
            skewed(3, waits(Wait::Server, 5.0), to_one),
        ),
        case("slow source, 5 ms", "load", Source, loading(starves(5.0))),
        case("slow source, 10 ms", "load", Source, loading(starves(10.0))),
        case(
            "slow source, two learners",
            "load",
            Source,
            Pipeline {
                load: starves(8.0),
                ..learning(2, spins(1.0))
            },
        ),
        case(
            "sleeping without a mark",
            "learn",
            Unmarked,
            learning(1, asleep(5.0)),
        ),
    ];
    cases.push(Case {
        stage: None,
        ..case("nothing to do", "load", Cause::Idle, light())
    });
    cases
}

/// What the rule of thresholds would have to say; it has no word for the other causes.
fn by_thresholds(cause: Cause) -> Option<Option<Resource>> {
    match cause {
        Cause::Idle => Some(None),
        Cause::Cpu | Cause::CpuContention => Some(Some(Resource::Cpu)),
        Cause::MemoryPressure => Some(Some(Resource::Memory)),
        Cause::DiskThroughput | Cause::DiskFlush => Some(Some(Resource::Disk)),
        Cause::Server | Cause::Latency => Some(Some(Resource::Network)),
        _ => None,
    }
}

#[test]
fn nine_of_ten_injected_bottlenecks_are_named_at_the_first_answer() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases(folder.path());
    let n = cases.len();
    assert!(n >= 30);
    let (mut right, mut rule_right) = (0, 0);
    println!(
        "| injected | truth | answer | confidence | | rule of thresholds | |\n|---|---|---|---|---|---|---|"
    );
    for case in cases {
        let (name, stage, cause) = (case.name.clone(), case.stage, case.cause);
        let summary = case.run();
        let verdict = &summary.verdict;
        let is_right = verdict.cause == cause && verdict.stage.as_deref() == stage;
        let (resource, score) = thresholds::judge(&summary);
        let is_rule_right = by_thresholds(cause) == Some(resource);
        right += usize::from(is_right);
        rule_right += usize::from(is_rule_right);
        let mark = |right| if right { "right" } else { "wrong" };
        println!(
            "| {name} | {} {cause:?} | {} {:?} | {:.2} | {} | {} {:.2} | {} |",
            stage.unwrap_or("-"),
            verdict.stage.as_deref().unwrap_or("-"),
            verdict.cause,
            verdict.confidence,
            mark(is_right),
            resource.map_or_else(|| "none".to_owned(), |resource| resource.to_string()),
            score,
            mark(is_rule_right),
        );
        if !is_right {
            for evidence in &verdict.evidence {
                println!(
                    "    {} = {:.3}: {}",
                    evidence.name, evidence.value, evidence.text
                );
            }
        }
    }
    println!("attribution: {right} of {n} right; rule of thresholds: {rule_right} of {n}");
    assert!(right * 10 >= n * 9, "{right} of {n}");
    assert!(right > rule_right, "{right} and {rule_right} of {n}");
}
