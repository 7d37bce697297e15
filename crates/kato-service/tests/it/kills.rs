//! Kills in the middle of scripts of all kinds of operations: afterwards each worker's sessions and
//! node are as a service in memory has them after the same operations, each exactly once.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use kato_engine::{EngineError, Observation, Sequence};
use kato_model::PatternName;
use kato_service::{Durability, Receipt, Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, known, lesson, settings, words};

const DIR: &str = "KATO_SERVICE_TEST_KILLS_DIR";
const IDS: &str = "KATO_SERVICE_TEST_KILLS_IDS";
const STARTS: &str = "KATO_SERVICE_TEST_KILLS_STARTS";
const DURABILITY: &str = "KATO_SERVICE_TEST_KILLS_DURABILITY";

const WORKERS: usize = 4;

fn options(durability: Durability) -> ServiceOptions {
    // Every round of maintenance folds.
    ServiceOptions::default()
        .with_fold_interval(Duration::ZERO)
        .with_durability(durability)
        .with_index_after_patterns(1)
        .with_index_after_percent(1)
}

/// Every worker has a session on a node of its own.
fn node_of(worker: usize) -> String {
    format!("n{worker}")
}

/// The event of a pattern that sequences meet on their way when it is retired.
const RETIRED: [&str; 2] = ["p", "q"];

/// The name of a lesson's pattern.
fn name_of(pattern: [&str; 2]) -> PatternName {
    PatternName::of_events(&pattern.map(|symbol| [symbol]))
}

/// Carries out a worker's operation number `n`, the same whenever it is asked; whether it had been
/// carried out before.
fn act(service: &Service, id: &str, n: usize) -> Result<bool, ServiceError> {
    match carry_out(service, id, n) {
        // It was retired by one before: refused as often as it is asked.
        Err(ServiceError::Engine(EngineError::Retired { .. })) => Ok(false),
        done => done,
    }
}

fn carry_out(service: &Service, id: &str, n: usize) -> Result<bool, ServiceError> {
    fn settle<T>(receipt: Receipt<T>) -> Result<bool, ServiceError> {
        let replayed = receipt.replayed();
        receipt.wait().map(|_| replayed)
    }

    let key = format!("op-{n}");
    let word = format!("w{}", n % 17);
    let key = Some(key.as_str());
    match n % 13 {
        0 | 1 | 6 => settle(service.observe(id, Observation::strings([&word, "z"]), key)?),
        2 => settle(service.learn(id, key)?),
        3 | 7 | 9 => {
            let items = vec![
                lesson(["x", &word]),
                lesson(["y", &word]),
                lesson(["x", &word]),
            ];
            settle(service.learn_batch(id, items, key)?)
        }
        4 if n.is_multiple_of(2) => {
            let events = [["o", word.as_str()], RETIRED].map(Observation::strings);
            settle(service.observe_sequence(id, Sequence::new(events).learn_after_each(), key)?)
        }
        4 => settle(service.observe_sequence(
            id,
            Sequence::new(words([&word, "b"])).learn_at_end(),
            key,
        )?),
        5 => settle(service.observe_sequence(id, Sequence::new(words([&word, "c", "d"])), key)?),
        10 => {
            let of_sequence = PatternName::of_events(&[RETIRED]);
            let doomed = [name_of(["x", &word]), name_of(["y", &word]), of_sequence];
            match n % 3 {
                0 => settle(service.retire(id, &doomed, key)?),
                1 => settle(service.purge(id, None, 1, key)?),
                _ => settle(service.unretire(id, &doomed, key)?),
            }
        }
        8 if n.is_multiple_of(3) => settle(service.clear_all(id, key)?),
        8 => settle(service.clear_stm(id, key)?),
        _ => {
            let length = (n % 2) * 4;
            let change = settings(json!({"max_pattern_length": length}));
            settle(service.update_config(id, change)?)
        }
    }
}

/// The process that is killed: every worker goes on with its script where it is told to, and says
/// what was acknowledged.
#[test]
#[ignore = "started by the test that kills it"]
fn child() {
    let said = |name| env::var(name).unwrap();
    let durability = if said(DURABILITY) == "Disk" {
        Durability::Disk
    } else {
        Durability::Os
    };
    let service = Service::open(Path::new(&said(DIR)), options(durability)).unwrap();
    let (ids, starts) = (said(IDS), said(STARTS));
    thread::scope(|scope| {
        for (worker, (id, start)) in ids.split(',').zip(starts.split(',')).enumerate() {
            let (service, start) = (&service, start.parse().unwrap());
            scope.spawn(move || {
                for n in start.. {
                    act(service, id, n).unwrap();
                    println!("\ndone {worker} {n} .");
                }
            });
        }
        scope.spawn(|| {
            loop {
                service.maintain().unwrap();
            }
        });
        scope.spawn(|| {
            loop {
                // Indexes are written all the time, and killed in the middle of it.
                assert_eq!(service.write_indexes().faults, []);
            }
        });
    });
}

/// Starts the child, kills it after so many acknowledgements, and moves the workers' next
/// operations on.
fn run_and_kill(
    dir: &Path,
    durability: Durability,
    ids: &[String],
    next: &mut [usize],
    after: usize,
) {
    let starts: Vec<_> = next.iter().map(ToString::to_string).collect();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .env(DURABILITY, format!("{durability:?}"))
        .env(IDS, ids.join(","))
        .env(STARTS, starts.join(","))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut n_lines = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        let ["done", worker, n, "."] = words[..] else {
            continue;
        };
        next[worker.parse::<usize>().unwrap()] = n.parse::<usize>().unwrap() + 1;
        n_lines += 1;
        if n_lines == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
}

/// What a session and its node have.
fn state(service: &Service, id: &str, worker: usize) -> String {
    let stm = service.stm(id).unwrap();
    let percept = service.percept(id).unwrap();
    let config = service.config(id).unwrap();
    format!(
        "{stm:?} {percept:?} {config:?} {}",
        known(service, &node_of(worker))
    )
}

#[test]
fn scripts_that_were_killed_end_as_scripts_that_were_not() {
    for durability in [Durability::Disk, Durability::Os] {
        let dir = tempfile::tempdir().unwrap();
        let service = Service::open(dir.path(), options(durability)).unwrap();
        let twin = Service::in_memory(options(durability));
        let ids: Vec<_> = (0..WORKERS)
            .map(|worker| create(&service, &node_of(worker)))
            .collect();
        let twins: Vec<_> = (0..WORKERS)
            .map(|worker| create(&twin, &node_of(worker)))
            .collect();
        drop(service);
        let mut next = [0; WORKERS];
        let mut done = [0; WORKERS];
        for run in 0..4 {
            run_and_kill(dir.path(), durability, &ids, &mut next, 25 + 60 * run);
            let service = Service::open(dir.path(), options(durability)).unwrap();
            for worker in 0..WORKERS {
                let (id, twin_id) = (&ids[worker], &twins[worker]);
                for n in done[worker]..next[worker] {
                    act(&twin, twin_id, n).unwrap();
                }
                // The next one was begun perhaps: all of it is there, or nothing.
                let (found, expected) =
                    (state(&service, id, worker), state(&twin, twin_id, worker));
                act(&twin, twin_id, next[worker]).unwrap();
                let after = state(&twin, twin_id, worker);
                assert!(
                    found == expected || found == after,
                    "worker {worker}, run {run}:\n{found}\n{expected}\n{after}"
                );
                // Once more, or for the first time: it counts once.
                let replayed = act(&service, id, next[worker]).unwrap();
                assert!(!replayed || found == after);
                assert_eq!(
                    state(&service, id, worker),
                    after,
                    "worker {worker}, run {run}"
                );
                next[worker] += 1;
                done[worker] = next[worker];
            }
            if run % 2 == 0 {
                service.close().unwrap();
            }
        }
    }
}
