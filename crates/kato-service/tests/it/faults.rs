//! Real faults from outside: a disk with no room, and a panic at every step at which the service
//! asks for the time.

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use kato_engine::Observation;
use kato_service::clock::Clock;
use kato_service::figures::ServiceHealth;
use kato_service::{Durability, Service, ServiceError, ServiceOptions};

use crate::support::{create, lesson};

const DIR: &str = "KATO_SERVICE_TEST_FULL_DIR";

fn batch(key: &str) -> Vec<kato_engine::node::Lesson> {
    // Long enough to reach any limit soon.
    (0..20)
        .map(|n| lesson([&format!("{key}-{n}-{}", "x".repeat(100)), key]))
        .collect()
}

fn options() -> ServiceOptions {
    ServiceOptions::default().with_durability(Durability::Os)
}

fn count(service: &Service, key: &str) -> u64 {
    let symbols = service.symbols("n").unwrap();
    symbols.get(key).map_or(0, |counts| counts.frequency)
}

/// The process whose files may not grow: learns until it is told that storage failed.
#[test]
#[ignore = "started by the test that limits it"]
fn child() {
    let dir = env::var(DIR).unwrap();
    let service = Service::open(Path::new(&dir), options()).unwrap();
    let id = create(&service, "n");
    for n in 0.. {
        let key = format!("k{n}");
        let learned = service.learn_batch(&id, batch(&key), Some(&key));
        match learned.and_then(kato_service::Receipt::wait) {
            Ok(_) => println!("\nlearned {key}"),
            Err(error) => {
                assert!(matches!(error, ServiceError::StorageFailed { .. }));
                break;
            }
        }
    }
    let observed = service.observe(&id, Observation::strings(["a"]), None);
    assert!(matches!(observed, Err(ServiceError::StorageFailed { .. })));
    let ServiceHealth::Failed(failure) = service.health() else {
        unreachable!("a service that takes no writes says so");
    };
    println!("\nfailed {}", failure.system_error().unwrap());
    assert_eq!(count(&service, "k0"), 20);
    assert!(service.stm(&id).unwrap().is_empty());
    assert!(service.close().is_err());
}

#[test]
#[cfg(unix)]
fn a_full_disk_stops_all_writes_and_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    drop(Service::open(dir.path(), options()).unwrap());
    // Without the signal a file at its limit gives an error, as a full disk does.
    let limited = r#"trap "" XFSZ; ulimit -f 300; exec "$0" "$@""#;
    let output = Command::new("sh")
        .args(["-c", limited])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "faults::child", "--ignored", "--nocapture"])
        .env(DIR, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let failed = said.lines().find_map(|line| line.strip_prefix("failed "));
    assert!(failed.unwrap().contains("os error"));
    let acknowledged = said
        .lines()
        .filter(|line| line.starts_with("learned "))
        .count();
    assert!(acknowledged > 3);

    let service = Service::open(dir.path(), options()).unwrap();
    let id = create(&service, "n");
    // The one behind the last was begun: all of it is there, or nothing.
    assert!([0, 20].contains(&count(&service, &format!("k{acknowledged}"))));
    for n in 0..=acknowledged {
        let key = format!("k{n}");
        let again = service.learn_batch(&id, batch(&key), Some(&key)).unwrap();
        assert!(again.replayed() || n == acknowledged, "{key}");
        again.wait().unwrap();
        assert_eq!(count(&service, &key), 20, "{key}");
    }
    assert_eq!(count(&service, &format!("k{}", acknowledged + 1)), 0);
    service.close().unwrap();
}

/// A clock that panics once, at the call it is told.
#[derive(Debug, Default)]
struct FailingClock {
    left: AtomicI64,
}

impl Clock for FailingClock {
    fn now(&self) -> SystemTime {
        assert_ne!(self.left.fetch_sub(1, Ordering::SeqCst), 1, "injected");
        UNIX_EPOCH
    }
}

#[test]
fn a_panic_at_any_step_leaves_no_lesson_without_its_key() {
    type Act = fn(&Service, &str) -> Result<(), ServiceError>;
    let acts: [(&str, Act); 3] = [
        ("learn-batch", |service, id| {
            service
                .learn_batch(id, batch("b"), Some("k"))?
                .wait()
                .map(drop)
        }),
        ("learn", |service, id| {
            service.learn(id, Some("k"))?.wait().map(drop)
        }),
        ("clear-all", |service, id| {
            service.clear_all(id, Some("k"))?.wait().map(drop)
        }),
    ];
    for (name, act) in acts {
        for step in 1.. {
            let dir = tempfile::tempdir().unwrap();
            let clock = Arc::new(FailingClock::default());
            let options = options().with_clock(Arc::clone(&clock) as _);
            let service = Service::open(dir.path(), options.clone()).unwrap();
            let id = create(&service, "n");
            for word in ["p", "q"] {
                let observed = service.observe(&id, Observation::strings([word]), None);
                observed.unwrap().wait().unwrap();
            }
            clock.left.store(step, Ordering::SeqCst);
            let ended = panic::catch_unwind(AssertUnwindSafe(|| act(&service, &id)));
            clock.left.store(0, Ordering::SeqCst);
            // Nothing but the node is concerned, and that is loaded again.
            assert!(matches!(service.health(), ServiceHealth::Healthy));
            if step % 2 == 0 {
                act(&service, &id).unwrap();
            }
            service.close().unwrap();
            drop(service);

            let service = Service::open(dir.path(), options).unwrap();
            act(&service, &id)
                .unwrap_or_else(|error| assert!(ended.is_ok(), "{name} {step}: {error}"));
            let learned = service.symbols("n").unwrap();
            let expected = match name {
                "learn-batch" => 20,
                "learn" => 1,
                _ => 0,
            };
            let symbol = if name == "learn" { "q" } else { "b" };
            let found = learned.get(symbol).map_or(0, |counts| counts.frequency);
            assert_eq!(found, expected, "{name}, panic at step {step}");
            if ended.is_ok() {
                assert!(step > 2, "{name}");
                break;
            }
        }
    }
}
