//! The marks through their public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

use std::sync::mpsc;
use std::time::{Duration, Instant};

use kato_probe::reading::StageReading;
use kato_probe::{Probe, Reading, ThreadState, Wait};
use kato_test_needs::wait_until;

fn stage(reading: &Reading, name: &str) -> StageReading {
    let found = reading.stages.iter().find(|stage| stage.name == name);
    found.unwrap().clone()
}

#[test]
fn an_unmarked_thread_may_mark_what_it_likes() {
    kato_probe::thread::set(ThreadState::Busy);
    kato_probe::thread::add_items(3);
    drop(kato_probe::thread::waiting(Wait::Lock));
    let off = Probe::off();
    off.node("node0").learned(1);
    off.queue("mail", 1).pushed(1);
    off.calls("kato").start().finish();
    assert!(!off.throttle("learn", 0.5));
    assert_eq!(off.read(), None);
}

#[test]
fn the_states_of_a_thread_add_up_to_its_time() {
    let probe = Probe::on(["learn"]);
    let start = Instant::now();
    let _thread = probe.thread("learn");
    kato_probe::thread::set(ThreadState::Busy);
    let learn = || stage(&probe.read().unwrap(), "learn").seconds;
    wait_until("it works", || learn().busy >= 0.005);
    {
        let _waiting = kato_probe::thread::waiting(Wait::Server);
        wait_until("it waits", || learn().blocked_server >= 0.005);
    }
    kato_probe::thread::set(ThreadState::Starved);
    let before = start.elapsed().as_secs_f64();
    let seconds = stage(&probe.read().unwrap(), "learn").seconds;
    let after = start.elapsed().as_secs_f64();
    let sum = seconds.idle + seconds.present();
    assert!(
        sum <= after && sum >= before - 1e-3,
        "{sum} of {before} to {after}"
    );
    assert!(seconds.busy >= 0.005 && seconds.blocked_server >= 0.005);
}

#[test]
fn a_wait_that_lasts_is_seen_before_it_ends() {
    let probe = Probe::on(["learn"]);
    let _thread = probe.thread("learn");
    let _waiting = kato_probe::thread::waiting(Wait::Disk);
    wait_until("it is seen", || {
        stage(&probe.read().unwrap(), "learn").seconds.blocked_disk >= 0.005
    });
    let learn = stage(&probe.read().unwrap(), "learn");
    assert_eq!(learn.threads[0].state, ThreadState::Blocked(Wait::Disk));
    assert!(learn.threads[0].in_state >= 0.005);
}

#[test]
fn a_guard_goes_back_to_what_was_before_it() {
    let probe = Probe::on(["learn"]);
    let _thread = probe.thread("learn");
    let now = || stage(&probe.read().unwrap(), "learn").threads[0].state;
    kato_probe::thread::set(ThreadState::Starved);
    let outer = kato_probe::thread::during(ThreadState::Busy);
    let inner = kato_probe::thread::waiting(Wait::Lock);
    assert_eq!(now(), ThreadState::Blocked(Wait::Lock));
    drop(inner);
    assert_eq!(now(), ThreadState::Busy);
    drop(outer);
    assert_eq!(now(), ThreadState::Starved);
}

#[test]
fn threads_that_have_left_stay_in_the_sums_and_take_no_memory() {
    let probe = Probe::on([]);
    for _ in 0..50 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _thread = probe.thread("learn");
                kato_probe::thread::add_items(2);
            });
        });
    }
    let learn = stage(&probe.read().unwrap(), "learn");
    assert_eq!(learn.items, 100);
    assert_eq!(learn.ended_threads, 50);
    assert!(learn.threads.is_empty());
}

#[test]
fn sums_never_shrink_while_threads_come_and_go() {
    let probe = Probe::on(["learn"]);
    let (done, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (probe, done) = (probe.clone(), done.clone());
                scope.spawn(move || {
                    for _ in 0..200 {
                        let _thread = probe.thread("learn");
                        for _ in 0..20 {
                            kato_probe::thread::set(ThreadState::Busy);
                            kato_probe::thread::add_items(1);
                            kato_probe::thread::set(ThreadState::Starved);
                        }
                    }
                    done.send(()).unwrap();
                })
            })
            .collect();
        let mut before = stage(&probe.read().unwrap(), "learn");
        while !workers.iter().all(|worker| worker.is_finished()) {
            let now = stage(&probe.read().unwrap(), "learn");
            assert!(now.items >= before.items);
            // Sums of floating-point numbers in changing order.
            assert!(now.seconds.busy >= before.seconds.busy - 1e-9);
            assert!(now.seconds.starved >= before.seconds.starved - 1e-9);
            before = now;
        }
    });
    assert_eq!(ended.try_iter().count(), 2);
    assert_eq!(stage(&probe.read().unwrap(), "learn").items, 2 * 200 * 20);
}

#[test]
fn a_thread_may_work_for_another_stage_meanwhile() {
    let probe = Probe::on(["load", "learn"]);
    let _outer = probe.thread("load");
    kato_probe::thread::set(ThreadState::Busy);
    let loading = || stage(&probe.read().unwrap(), "load").threads[0].state;
    {
        let _inner = probe.thread("learn");
        kato_probe::thread::add_items(1);
        assert_eq!(loading(), ThreadState::Idle);
    }
    assert_eq!(loading(), ThreadState::Busy);
    kato_probe::thread::add_items(10);
    let reading = probe.read().unwrap();
    assert_eq!(stage(&reading, "learn").items, 1);
    assert_eq!(stage(&reading, "load").items, 10);
}

#[test]
fn guards_of_stages_may_be_dropped_in_any_order() {
    let probe = Probe::on(["load", "learn", "commit"]);
    let state = |name| stage(&probe.read().unwrap(), name).threads[0].state;
    let outer = probe.thread("load");
    kato_probe::thread::set(ThreadState::Busy);
    let inner = probe.thread("learn");
    drop(outer);
    kato_probe::thread::set(ThreadState::Starved);
    assert_eq!(
        state("learn"),
        ThreadState::Starved,
        "it still works for it"
    );
    let _last = probe.thread("commit");
    kato_probe::thread::set(ThreadState::Blocked(Wait::Disk));
    drop(inner);
    assert_eq!(state("commit"), ThreadState::Blocked(Wait::Disk));
}

#[test]
fn a_state_goes_back_in_its_own_stage_only() {
    let probe = Probe::on(["load", "learn"]);
    let state = |name| stage(&probe.read().unwrap(), name).threads[0].state;
    let outer = probe.thread("load");
    kato_probe::thread::set(ThreadState::Busy);
    let waiting = kato_probe::thread::waiting(Wait::Lock);
    let inner = probe.thread("learn");
    kato_probe::thread::set(ThreadState::Starved);
    drop(waiting);
    assert_eq!(state("learn"), ThreadState::Starved);
    drop(inner);
    assert_eq!(state("load"), ThreadState::Busy);
    let waiting = kato_probe::thread::waiting(Wait::Lock);
    drop(outer);
    drop(waiting);
    assert!(stage(&probe.read().unwrap(), "load").threads.is_empty());
}

#[test]
fn a_throttled_stage_takes_its_share_longer() {
    let probe = Probe::on(["learn"]);
    assert!(!probe.throttle("no such stage", 1.0));
    assert!(probe.throttle("learn", 1.0));
    let _thread = probe.thread("learn");
    let start = Instant::now();
    let mut worked = Duration::ZERO;
    for _ in 0..20 {
        kato_probe::thread::set(ThreadState::Busy);
        let piece = Instant::now();
        while piece.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        worked += piece.elapsed();
        kato_probe::thread::set(ThreadState::Starved);
    }
    // All that was owed is paid but for less than one pause, and never less than that.
    assert!(start.elapsed() + Duration::from_millis(2) >= worked * 2);
    let busy = stage(&probe.read().unwrap(), "learn").seconds.busy;
    assert!(
        busy + 0.002 >= 2.0 * worked.as_secs_f64(),
        "pauses count as work"
    );
}

#[test]
fn calls_end_answered_or_failed() {
    let probe = Probe::on([]);
    let calls = probe.calls("kato");
    let first = calls.start();
    let second = calls.start();
    let reading = probe.read().unwrap();
    assert_eq!(reading.calls[0].in_flight, 2);
    first.finish();
    drop(second);
    let reading = probe.read().unwrap();
    assert_eq!(reading.calls[0].in_flight, 0);
    assert_eq!(reading.calls[0].failed, 1);
    assert_eq!(reading.calls[0].latency.count(), 1);
}

#[test]
fn one_name_is_one_node_one_queue_one_peer() {
    let probe = Probe::on([]);
    probe.node("node0").learned(2);
    probe.node("node0").learned(3);
    probe.node("node0").timed(5, Duration::from_millis(5));
    probe.queue("mail", 4).pushed(3);
    probe.queue("mail", 4).popped(1);
    let reading = probe.read().unwrap();
    assert_eq!(reading.nodes.len(), 1);
    assert_eq!(reading.nodes[0].learns, 5);
    assert_eq!(reading.nodes[0].latency.count(), 5);
    assert!((reading.nodes[0].latency.mean_seconds().unwrap() - 1e-3).abs() < 1e-9);
    assert_eq!((reading.queues[0].len, reading.queues[0].capacity), (2, 4));
}

#[test]
fn a_reading_survives_json() {
    let probe = Probe::on(["learn"]);
    let _thread = probe.thread("learn");
    probe.node("node0").timed(1, Duration::from_micros(10));
    let reading = probe.read().unwrap();
    let json = serde_json::to_string(&reading).unwrap();
    assert_eq!(serde_json::from_str::<Reading>(&json).unwrap(), reading);
}
