//! Blocking outside, async inside: on any thread, cancelled at once, gone when dropped.

use std::io::Read as _;
use std::time::{Duration, Instant};

use kato_fetch::{CancellationToken, FetchError, Fetcher};
use kato_hub_standin::{Fault, HubStandin, When};

use crate::support::{builder, eager, fetcher, noise, open, read_all, serving, timeouts};

fn standin() -> HubStandin {
    serving(noise(100_000, 1))
}

#[test]
fn a_thread_of_an_async_runtime_only_blocks() {
    let standin = standin();
    for multi in [true, false] {
        let mut runtime = match multi {
            true => tokio::runtime::Builder::new_multi_thread(),
            false => tokio::runtime::Builder::new_current_thread(),
        };
        runtime.build().unwrap().block_on(async {
            let fetcher = fetcher(&standin);
            let reader = open(&fetcher, &standin.file_url("a"));
            assert_eq!(reader.read(0..9).unwrap(), noise(9, 1));
            let mut stream = reader.stream(0);
            stream.read_exact(&mut [0; 10]).unwrap();
            drop(fetcher);
            drop(reader);
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            assert_eq!(rest.len(), 99_990);
        });
    }
}

#[test]
fn cancelling_ends_reads_that_block_and_those_to_come() {
    let standin = standin();
    let fetcher = fetcher(&standin);
    let reader = open(&fetcher, &standin.file_url("a"));
    standin.forget_requests();
    standin.add_fault("/files/", When::Always, Fault::Stall);
    let cancel = CancellationToken::new();
    let cancelled = reader.clone().with_cancel(&cancel);
    let mut stream = cancelled.stream(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let read = scope.spawn(|| cancelled.read(0..9));
        let streamed = scope.spawn(|| stream.read(&mut [0; 9]));
        while standin.requests().len() < 2 {
            std::thread::yield_now();
        }
        cancel.cancel();
        assert!(matches!(read.join().unwrap(), Err(FetchError::Cancelled)));
        let error = streamed.join().unwrap().unwrap_err();
        assert!(matches!(
            FetchError::within(&error),
            Some(FetchError::Cancelled)
        ));
    });
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "idle time-outs are longer"
    );
    assert!(matches!(cancelled.read(0..9), Err(FetchError::Cancelled)));
    let error = read_all(&cancelled, 0).unwrap_err();
    assert!(matches!(
        FetchError::within(&error),
        Some(FetchError::Cancelled)
    ));
    standin.clear_faults();
    assert_eq!(reader.read(0..9).unwrap(), noise(9, 1), "others go on");
}

#[test]
fn dropping_waits_for_nothing() {
    let standin = standin();
    let fetcher = fetcher(&standin);
    let reader = open(&fetcher, &standin.file_url("a"));
    standin.add_fault("/files/", When::Always, Fault::Stall);
    let stream = reader.stream(0);
    let started = Instant::now();
    drop((stream, reader, fetcher));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn all_threads_may_read_at_once() {
    let standin = standin();
    let reader = open(
        &builder(&standin).with_max_requests(3).build().unwrap(),
        &standin.file_url("a"),
    );
    let bytes = noise(100_000, 1);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (reader, bytes) = (reader.clone(), &bytes);
            scope.spawn(move || {
                for i in 0..20 {
                    let start = thread * 1000 + i * 37;
                    let expected = &bytes[start as usize..start as usize + 100];
                    assert_eq!(reader.read(start..start + 100).unwrap(), expected);
                }
            });
        }
    });
}

/// Returns a server that answers nothing below a path, and who asks it once, for one thing at a time and for so
/// long.
fn one_request_of_a_silent_server(path: &str) -> (HubStandin, Fetcher, Duration) {
    let standin = standin();
    standin.add_fault(path, When::Always, Fault::Stall);
    let timeouts = timeouts(&Fault::Stall);
    let idle = timeouts.idle;
    let fetcher = builder(&standin)
        .with_max_requests(1)
        .with_retry(eager().with_attempts(1))
        .with_timeouts(timeouts)
        .build()
        .unwrap();
    (standin, fetcher, idle)
}

#[test]
fn asking_about_a_file_counts_as_a_request() {
    let (standin, fetcher, idle) = one_request_of_a_silent_server("/files/");
    let location = standin.file_url("a").parse().unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| fetcher.list(&location).unwrap_err());
        }
    });
    // A server that has not answered before is given two thirds of the time.
    assert!(started.elapsed() >= idle * 4 / 3, "one after the other");
}

#[test]
fn a_list_of_a_store_counts_as_a_request() {
    let (_standin, fetcher, idle) = one_request_of_a_silent_server("/s3/");
    let started = Instant::now();
    std::thread::scope(|scope| {
        // Lists of one bucket wait for each other anyway.
        for bucket in ["s3://one/", "s3://two/"] {
            let fetcher = &fetcher;
            scope.spawn(move || fetcher.list(&bucket.parse().unwrap()).unwrap_err());
        }
    });
    assert!(started.elapsed() >= idle * 2, "one after the other");
}

#[test]
fn settings_that_cannot_work_are_named() {
    let check = |result: Result<Fetcher, FetchError>, expected: &str| match result {
        Err(FetchError::InvalidSetting { setting, .. }) => assert_eq!(setting, expected),
        other => panic!("{other:?}"),
    };
    check(
        Fetcher::builder().with_hub_endpoint("hub").build(),
        "with_hub_endpoint",
    );
    check(
        Fetcher::builder().with_hub_token("a\nb").build(),
        "with_hub_token",
    );
    check(
        Fetcher::builder().with_header("x", "a b", "c").build(),
        "with_header",
    );
    check(
        Fetcher::builder().with_max_requests(0).build(),
        "with_max_requests",
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Fetcher::builder()
        .with_cache(file.path(), 1)
        .build()
        .unwrap_err();
    assert!(matches!(error, FetchError::Cache { .. }), "{error}");
}
