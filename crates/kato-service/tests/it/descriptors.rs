//! File descriptors are bounded, however many nodes there are and however often they are folded.

#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kato_engine::Observation;
use kato_service::{Descriptors, Durability, Service, ServiceOptions};
use kato_test_needs::is_thorough;
use rlimit::Resource;

use crate::support::{create, frequency, teach, timed};

const DIR: &str = "KATO_SERVICE_TEST_DESCRIPTORS_DIR";

/// The limit of the process, which it cannot raise.
const LIMIT: u64 = 256;

const FOLDED_NODES: usize = 20;

/// Returns how often nodes are folded.
fn folds() -> u64 {
    if is_thorough() { 60 } else { 24 }
}

/// Returns the number of nodes that are taught: more than may be open.
fn taught_nodes() -> usize {
    if is_thorough() { 600 } else { 280 }
}

fn n_open() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Nodes, segments and the journal, and none of the half that is the connections'.
#[track_caller]
fn assert_few(when: &str) -> usize {
    let (open, most) = (
        n_open(),
        LIMIT as usize - Descriptors::of_process().connections(),
    );
    assert!(open <= most, "{open} open {when}, and {most} at most");
    open
}

fn folded(n: usize) -> String {
    format!("folded-{n}")
}

fn taught(n: usize) -> String {
    format!("taught-{n}")
}

fn check_all(service: &Service, name: &str) {
    for n in 0..FOLDED_NODES {
        assert_eq!(frequency(service, &folded(n), name), folds(), "{n}");
    }
    for n in 0..taught_nodes() {
        assert_eq!(frequency(service, &taught(n), name), 1, "{n}");
    }
    assert_few("when all nodes were asked");
}

/// The process with the low limit.
#[test]
#[ignore = "started by the test that limits it"]
fn child() {
    let dir = env::var(DIR).unwrap();
    let dir = Path::new(&dir);
    Resource::NOFILE.set(LIMIT, LIMIT).unwrap();
    assert_eq!(Descriptors::raise().limit(), LIMIT);
    let (options, clock) = timed();
    let options: ServiceOptions = options
        .with_session_ttl(1_000_000)
        .with_durability(Durability::Os);
    let service = Service::open(dir, options.clone()).unwrap();
    // All sessions live to the end.
    let sessions: Vec<_> = (0..FOLDED_NODES)
        .map(|n| create(&service, &folded(n)))
        .collect();
    let mut name = String::new();
    let mut open = Vec::new();
    for _ in 0..folds() {
        for id in &sessions {
            name = teach(&service, id, ["a", "b"]);
        }
        clock.advance(Duration::from_secs(60));
        assert_eq!(service.maintain().unwrap().nodes_folded, FOLDED_NODES);
        open.push(assert_few("after a fold"));
    }
    // Flat: the second half of the folds takes no more than the first.
    let (first, second) = open.split_at(open.len() / 2);
    assert!(second.iter().max() <= first.iter().max(), "{open:?}");

    let kept = &sessions[0];
    let observed = service.observe(kept, Observation::strings(["kept"]), None);
    observed.unwrap().wait().unwrap();
    let mut last = String::new();
    for n in 0..taught_nodes() {
        clock.advance(Duration::from_millis(1));
        last = create(&service, &taught(n));
        assert_eq!(teach(&service, &last, ["a", "b"]), name);
        assert_few("while nodes were taught");
        if n % 100 == 99 {
            clock.advance(Duration::from_secs(60));
            service.maintain().unwrap();
        }
    }
    let loaded = service.figures().nodes_loaded;
    assert!(loaded <= Descriptors::of_process().nodes() + 1, "{loaded}");
    // Its node went and came back; what the session remembers stayed.
    assert_eq!(service.stm(kept).unwrap().len(), 1);
    let observed = service.observe(kept, Observation::strings(["more"]), None);
    assert_eq!(observed.unwrap().wait().unwrap().observed.stm_length, 2);
    check_all(&service, &name);
    drop(service);

    let service = Service::open(dir, options.clone()).unwrap();
    assert_few("after a restart");
    assert!(service.losses().is_empty(), "{:?}", service.losses());
    assert_eq!(service.stm(kept).unwrap().len(), 2);
    assert!(service.check(&last));
    check_all(&service, &name);
    service.close().unwrap();
    assert_few("after closing");
    drop(service);
    check_all(&Service::open(dir, options).unwrap(), &name);
}

#[test]
fn nodes_and_folds_beyond_the_limit_go_on_and_a_restart_works() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "descriptors::child", "--ignored", "--nocapture"])
        .env(DIR, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{failed}");
}
