//! Streams: bounded, resumable, independent of each other.

use std::io::{BufRead as _, Read as _};

use kato_hub_standin::{Fault, When};

use crate::support::{builder, noise, open, serving};

#[test]
fn many_streams_that_wait_for_their_readers_hold_up_nobody() {
    let bytes = noise(1 << 20, 1);
    let standin = serving(bytes.clone());
    let fetcher = builder(&standin)
        .with_max_requests(2)
        .with_read_ahead(10_000)
        .build()
        .unwrap();
    let reader = open(&fetcher, &standin.file_url("a"));
    let mut streams: Vec<_> = (0..8).map(|i| reader.stream(i * 1000)).collect();
    let mut first = [0];
    for (i, stream) in streams.iter_mut().enumerate() {
        stream.read_exact(&mut first).unwrap();
        assert_eq!(first[0], bytes[i * 1000]);
    }
    assert_eq!(reader.read(5..10).unwrap(), bytes[5..10]);
    for (i, mut stream) in streams.into_iter().enumerate() {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest == bytes[i * 1000 + 1..]);
        assert_eq!(stream.position(), 1 << 20);
    }
}

#[test]
fn reading_ahead_is_bounded_by_its_budget() {
    let standin = serving(noise(64 << 20, 1));
    let fetcher = builder(&standin).with_read_ahead(1 << 20).build().unwrap();
    let mut stream = open(&fetcher, &standin.file_url("a")).stream(0);
    stream.fill_buf().unwrap();
    let mut before = 0;
    // Until nothing more arrives.
    loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let received = fetcher.figures().bytes_received;
        if received == before {
            break;
        }
        before = received;
    }
    assert!(before <= 3 << 20, "{before}");
}

#[test]
fn an_error_comes_after_the_bytes_before_it_and_stays() {
    let bytes = noise(100_000, 1);
    let standin = serving(bytes.clone());
    let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
    standin.add_fault("/files/", When::Nth(0), Fault::Truncate(60_000));
    standin.add_fault("/files/", When::Always, Fault::Status(404, None));
    let mut stream = reader.stream(0);
    let mut received = Vec::new();
    let error = stream.read_to_end(&mut received).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(received == bytes[..60_000]);
    assert_eq!(stream.position(), 60_000);
    assert!(stream.read(&mut [0]).is_err(), "never an end");
}
