//! Time limits hold, whatever happens; cancelling ends an analysis.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kato_hardware::step::{Step, StepEvent};
use kato_hardware::{Cancellation, HardwareAnalyzer, HardwareError};

use crate::support::{assert_empty, reason, short};

#[test]
fn a_quick_analysis_takes_less_than_ten_seconds_and_measures_everything_local() {
    let dir = tempfile::tempdir().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let start = Instant::now();
    let profile = HardwareAnalyzer::builder()
        .with_directory(dir.path())
        .with_quick(true)
        .on_step(move |event| heard.lock().unwrap().push(event))
        .build()
        .unwrap()
        .analyze_full();
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let benchmarks = &profile.benchmarks;
    let mut figures = vec![
        ("copy", &benchmarks.memory.copy_all_cores),
        ("triad", &benchmarks.memory.triad_one_core),
        ("names", &benchmarks.naming.tokens_all_cores),
        ("decoding", &benchmarks.decoding),
        ("sequential write", &benchmarks.disk.sequential_write),
        ("random read", &benchmarks.disk.random_read),
        ("flush", &benchmarks.disk.flush_latency),
        ("loopback", &benchmarks.loopback_latency),
    ];
    if cfg!(feature = "tokenizer") {
        figures.push(("tokenizing", &benchmarks.tokenizing));
    }
    if cfg!(feature = "store") {
        figures.push(("store, write", &benchmarks.store.write));
        figures.push(("store, read", &benchmarks.store.read));
        figures.push(("store, long", &benchmarks.store.stage_long));
    }
    for (name, figure) in figures {
        let figure = figure.known().unwrap_or_else(|| panic!("{name}: {figure}"));
        assert!(figure.value > 0.0 && figure.value.is_finite(), "{name}");
        assert!(
            figure.validity.samples > 0 && figure.validity.seconds > 0.0,
            "{name}"
        );
    }
    assert!(reason(&benchmarks.mongodb.insert_latency).contains("no MongoDB was named"));
    assert!(reason(&benchmarks.kato.health_latency).contains("no KATO server was named"));
    assert_empty(dir.path());
    let events = events.lock().unwrap();
    let started = |of: Step| {
        events
            .iter()
            .filter(|event| matches!(event, StepEvent::Started { step, .. } if *step == of))
            .count()
    };
    assert_eq!(
        (
            started(Step::Disk),
            started(Step::Memory),
            started(Step::Kato)
        ),
        (1, 1, 0)
    );
}

#[test]
fn cancelling_ends_an_analysis_and_what_was_not_measured_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let cancellation = Cancellation::new();
    let analyzer = HardwareAnalyzer::builder()
        .with_directory(dir.path())
        .with_cancellation(cancellation.clone())
        // In the middle of filling the file.
        .on_step(move |event| {
            if matches!(
                event,
                StepEvent::Started {
                    step: Step::Disk,
                    ..
                }
            ) {
                let cancellation = cancellation.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(300));
                    cancellation.cancel();
                });
            }
        })
        .with_time_limit(Duration::from_secs(20))
        .build()
        .unwrap();
    let start = Instant::now();
    let profile = analyzer.analyze_full();
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
    let benchmarks = &profile.benchmarks;
    assert!(benchmarks.naming.tokens_one_core.known().is_some());
    for figure in [
        &benchmarks.disk.sequential_write,
        &benchmarks.disk.flush_latency,
        &benchmarks.store.write,
        &benchmarks.loopback_latency,
    ] {
        assert!(reason(figure).contains("cancelled"), "{figure}");
    }
    assert!(
        profile
            .rating
            .tier
            .known()
            .is_none_or(|tier| *tier == kato_hardware::tier::Tier::Low)
    );
    assert_empty(dir.path());
}

#[test]
fn an_analysis_without_time_tells_so_and_keeps_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let analyzer = short(dir.path())
        .with_time_limit(Duration::from_secs(1))
        .build();
    let profile = analyzer.unwrap().analyze_full();
    // A second, and what thirteen looks at the clock take.
    assert!(
        start.elapsed() < Duration::from_millis(2500),
        "{:?}",
        start.elapsed()
    );
    assert!(profile.cpu.architecture.len() > 2);
}

#[test]
fn time_limits_that_make_no_sense_are_refused() {
    let built = HardwareAnalyzer::builder()
        .with_time_limit(Duration::ZERO)
        .build();
    let error = built.unwrap_err();
    assert!(matches!(
        error,
        HardwareError::OutOfRange {
            setting: "time_limit",
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "time_limit is 0 s: give one second to an hour"
    );
}

#[test]
fn what_is_no_address_is_refused_before_anything_is_measured() {
    for text in [
        "nonsense",
        "mailto:me",
        "",
        "http://",
        "mongodb://",
        "ftp://a",
        "user:secret@host:1",
        "http://:8000",
        "http://host:port",
        "http://host:70000",
        "http://a host",
        "mongodb://user:secret@",
        "mongodb://a:1,b:0",
    ] {
        let built = HardwareAnalyzer::builder().with_kato(text).build();
        assert_eq!(
            built.unwrap_err().to_string(),
            "`with_kato` is no address: give http://host:port"
        );
        let built = HardwareAnalyzer::builder().with_mongodb(text);
        let taken = built.build().map(drop);
        assert_eq!(
            taken.map_err(|error| error.to_string()),
            Err("`with_mongodb` is no address: give mongodb://host:port".to_owned())
        );
    }
    for text in ["http://localhost", "https://[::1]:8000/path"] {
        assert!(HardwareAnalyzer::builder().with_kato(text).build().is_ok());
    }
    for text in ["mongodb://user:a:b@a:1,b/?replicaSet=c", "mongodb+srv://a"] {
        let built = HardwareAnalyzer::builder().with_mongodb(text).build();
        assert!(built.is_ok(), "{text}");
    }
}
