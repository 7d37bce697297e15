//! KATO servers that work, refuse, hang, break off or are none.

use std::time::Duration;

use kato_hardware::HardwareProfile;
use kato_hardware::figure::Measured;
use kato_hardware::prediction::{Workload, WorkloadStore};

use crate::support::{analyzed_in_time, closed_port, reason, short, stand_in};

const HEALTHY: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{\"status\":\"healthy\"}";
const BROKEN: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 20\r\n\r\n{\"status\":\"healthy\"}";
const UNHEALTHY: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 22\r\n\r\n{\"status\":\"unhealthy\"}";
const OTHER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>";
const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 6000\r\n\r\n{";

fn analyze(url: &str) -> HardwareProfile {
    analyzed_in_time(|builder| builder.with_kato(url))
}

fn health(url: &str) -> Measured {
    analyze(url).benchmarks.kato.health_latency
}

#[test]
fn a_known_delay_is_recovered() {
    let address = stand_in(Some(HEALTHY), Duration::from_millis(5));
    let dir = tempfile::tempdir().unwrap();
    let analyzer = short(dir.path()).with_time_limit(Duration::from_secs(8));
    let profile = analyzer
        .with_kato(format!("http://{address}"))
        .build()
        .unwrap()
        .analyze_full();
    let health = profile.benchmarks.kato.health_latency.known().unwrap();
    assert!((5_000.0..8_000.0).contains(&health.value), "{health:?}");
    assert!(health.validity.samples >= 3);
    let workload = Workload::of_samples(1000)
        .with_chunk_size(8)
        .with_levels(4)
        .with_backend(WorkloadStore::Kato);
    let prediction = profile.predict(&workload).unwrap();
    // 16 calls a sample, twice the delay each.
    assert_eq!(prediction.calls.iter().sum::<u64>(), 16);
    let rate = prediction.samples_per_second.known().unwrap();
    assert!(rate.expected < 1.0 / (16.0 * 0.01), "{rate}");
}

#[test]
fn a_server_that_is_down_is_unknown() {
    let found = health(&format!("http://{}", closed_port()));
    assert!(reason(&found).contains("cannot be reached"), "{found}");
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let address = stand_in(None, Duration::ZERO);
    let found = health(&format!("http://{address}"));
    assert!(reason(&found).contains("in time"), "{found}");
}

#[test]
fn answers_that_are_no_health_are_no_latency() {
    for (answer, expected) in [
        (BROKEN, "503"),
        (UNHEALTHY, "unhealthy"),
        (OTHER, "no KATO server"),
        (CUT, "server"),
    ] {
        let address = stand_in(Some(answer), Duration::ZERO);
        let found = health(&format!("http://{address}"));
        assert!(reason(&found).contains(expected), "{found}");
    }
}

#[test]
fn an_address_that_cannot_be_read_is_told_without_its_password() {
    let found = health("http://user:secret@[::1");
    assert!(reason(&found).contains("address"), "{found}");
    assert!(!reason(&found).contains("secret"), "{found}");
}
