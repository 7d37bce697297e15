//! Kills at any moment: what was acknowledged is there, once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use kato_engine::Observation;
use kato_service::{Service, ServiceOptions};

use crate::support::{create, export, lesson};

const DIR: &str = "KATO_SERVICE_TEST_DIR";
const RUN: &str = "KATO_SERVICE_TEST_RUN";

fn options() -> ServiceOptions {
    // Every round of maintenance folds.
    ServiceOptions::default().with_fold_interval(Duration::ZERO)
}

/// What a request with this key teaches.
fn batch(key: &str) -> Vec<kato_engine::node::Lesson> {
    vec![lesson(["x", key]), lesson(["y", key])]
}

/// The process that is killed: learns in batches and by observing, folds all the while, and says
/// what was acknowledged.
#[test]
#[ignore = "started by the test that kills it"]
fn child() {
    let (dir, run) = (env::var(DIR).unwrap(), env::var(RUN).unwrap());
    let service = Service::open(Path::new(&dir), options()).unwrap();
    thread::scope(|scope| {
        for worker in 0..3 {
            let (service, run) = (&service, &run);
            scope.spawn(move || {
                let id = create(service, "n");
                for n in 0..1_000_000 {
                    let key = format!("{run}-{worker}-{n}");
                    let learned = service.learn_batch(&id, batch(&key), Some(&key));
                    learned.unwrap().wait().unwrap();
                    println!("\nlearned {key}");
                    let observed = Observation::strings([key.as_str()]);
                    let observed = service.observe(&id, observed, None).unwrap();
                    let length = observed.wait().unwrap().observed.stm_length;
                    println!("\nobserved {id} {length}");
                }
            });
        }
        scope.spawn(|| {
            loop {
                service.maintain().unwrap();
            }
        });
    });
}

#[derive(Default)]
struct Acknowledged {
    keys: BTreeSet<String>,
    /// Session and least length of its short-term memory.
    observed: Vec<(String, usize)>,
}

/// Starts the child, kills it after so many acknowledgements, and returns all of them.
fn run_and_kill(dir: &Path, run: usize, after: usize) -> Acknowledged {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crashes::child", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .env(RUN, run.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Acknowledged::default();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut n_lines = 0;
    for line in lines {
        let line = line.unwrap();
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            // A line that was cut short names a shorter number, which was acknowledged before.
            (Some("learned"), Some(key), None) => drop(acknowledged.keys.insert(key.to_owned())),
            (Some("observed"), Some(id), Some(length)) => {
                let length = length.parse().unwrap_or(0);
                acknowledged.observed.push((id.to_owned(), length));
            }
            _ => continue,
        }
        n_lines += 1;
        if n_lines == after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged_and_doubles_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = BTreeSet::new();
    for run in 0..5 {
        let acknowledged = run_and_kill(dir.path(), run, 30 + 111 * run);
        keys.extend(acknowledged.keys);
        let service = Service::open(dir.path(), options()).unwrap();
        for (id, length) in acknowledged.observed {
            assert!(service.stm(&id).unwrap().len() >= length);
        }
        let symbols = service.symbols("n").unwrap();
        let id = create(&service, "n");
        for key in &keys {
            assert_eq!(
                symbols.get(key).map(|counts| counts.frequency),
                Some(2),
                "{key}"
            );
            let again = service.learn_batch(&id, batch(key), Some(key)).unwrap();
            assert!(again.replayed(), "{key}");
        }
        // What was not acknowledged is there as a whole or not at all, and repeating it makes it
        // whole.
        for (key, counts) in symbols {
            if key.len() > 1 && keys.insert(key.clone()) {
                assert_eq!(counts.frequency, 2, "{key}");
                let again = service.learn_batch(&id, batch(&key), Some(&key)).unwrap();
                assert!(again.replayed(), "{key}");
            }
        }
        if run % 2 == 0 {
            service.close().unwrap();
        }
    }
    let service = Service::open(dir.path(), options()).unwrap();
    service.close().unwrap();
    let exported = export(dir.path(), "n_kato");
    assert_eq!(exported.len(), 2 * keys.len());
    assert!(
        exported
            .iter()
            .all(|line| line.contains("\"frequency\":1,"))
    );
}
