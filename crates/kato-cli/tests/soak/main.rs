//! A server left alone with many clients, on little: 1,024 open files, 2 GB of address space.
//!
//! `KATO_SOAK_SECONDS` sets how long: an hour every night, and before a release.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod client;
mod figures;
mod load;
mod served;

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::figures::{Figures, Sample};
use crate::load::{Asker, Load};
use crate::served::Served;

/// Clients of short requests at a time, with 200 sessions among them.
const CLIENTS: usize = 20;
/// Clients that ask for predictions of long patterns all the time.
const ASKERS: usize = 3;

/// How long, where the environment says nothing: enough to see that it works.
const SECONDS: u64 = 15;

/// Seconds from which on the first half has met all that there is to meet, the folds of every
/// minute included.
const STEADY: u64 = 300;

/// Time between two looks at what the server takes.
const SAMPLED: Duration = Duration::from_millis(500);

/// Looks that make a minute, and a line.
const TOLD: usize = 120;

/// Open files at most: the server's shares of 1,024 for nodes and segments, what is kept back, and
/// the connections of the test.
const MOST_FILES: usize = 512;

/// Short requests take no longer, but for one in a hundred: generous, as the machine of a test is
/// busy with other things. Measured on a machine of its own it is 50 ms (docs/server.md).
const P99: Duration = Duration::from_millis(500);

#[test]
fn a_server_on_little_stays_flat_and_refuses_nothing_but_by_its_rules() {
    let seconds = env::var("KATO_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let served = Served::start(dir.path());
    let load = Load::new(served.addr());
    load.teach_long_patterns();
    let is_over = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_secs(seconds);
    let (figures, samples) = thread::scope(|scope| {
        let (is_over, load) = (&is_over, &load);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|idx| scope.spawn(move || load.send_short(idx, CLIENTS, is_over)))
            .collect();
        let askers: Vec<_> = (0..ASKERS)
            .map(|idx| scope.spawn(move || Asker::new(load, idx).ask(is_over)))
            .collect();
        let mut samples = Vec::new();
        while Instant::now() < until {
            thread::sleep(SAMPLED);
            samples.push(served.sample());
            if samples.len().is_multiple_of(TOLD) {
                let minute = &samples[samples.len() - TOLD..];
                println!("minute {}: {}", samples.len() / TOLD, peak(minute));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let mut figures = Figures::default();
        for client in clients {
            figures.add(client.join().unwrap());
        }
        for asker in askers {
            figures.add(asker.join().unwrap());
        }
        (figures, samples)
    });
    println!("{figures}");
    println!(
        "first half {}, second half {}",
        peak(halves(&samples).0),
        peak(halves(&samples).1)
    );
    figures.assert_legal();
    assert!(figures.p99() <= P99, "{figures}");
    assert_bounded(&samples);
    if seconds >= STEADY {
        assert_flat(&samples);
    }
    let n_learned = load.count_learned();
    assert_eq!(n_learned, figures.n_learned(), "learned and acknowledged");
    served.terminate();
}

fn halves(samples: &[Sample]) -> (&[Sample], &[Sample]) {
    samples.split_at(samples.len() / 2)
}

fn peak(samples: &[Sample]) -> Sample {
    Sample {
        files: samples.iter().map(|sample| sample.files).max().unwrap_or(0),
        resident_kb: samples
            .iter()
            .map(|sample| sample.resident_kb)
            .max()
            .unwrap_or(0),
    }
}

/// Files are far from the limit at every moment; that of memory the system enforces.
fn assert_bounded(samples: &[Sample]) {
    let peak = peak(samples);
    assert!(peak.files <= MOST_FILES, "{peak}");
}

/// The second half takes about what the first one took.
fn assert_flat(samples: &[Sample]) {
    let (first, second) = halves(samples);
    let (before, after) = (peak(first), peak(second));
    assert!(
        after.files <= before.files + before.files / 10 + 8,
        "{before}, then {after}"
    );
    // The first half begins with nothing.
    let allowed = before.resident_kb + before.resident_kb / 4 + (64 << 10);
    assert!(after.resident_kb <= allowed, "{before}, then {after}");
}
