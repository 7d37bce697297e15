//! What goes wrong on the way: what passes is borne, what does not is said.

use std::time::Duration;

use kato_fetch::FetchError;
use kato_hub_standin::{Fault, HubStandin, PlainFile, When};

use crate::support::{builder, eager, noise, open, read_all, serving, timeouts};

const SIZE: usize = 100_000;

fn standin() -> HubStandin {
    serving(noise(SIZE, 1))
}

fn transient() -> Vec<Fault> {
    let mut faults: Vec<Fault> = [408, 425, 429, 500, 502, 503, 504, 520]
        .map(|status| Fault::Status(status, None))
        .into();
    faults.extend([
        Fault::Status(429, Some("0".to_owned())),
        Fault::Status(503, Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned())),
        Fault::ResetBeforeHead,
        Fault::ResetAfterHead,
        Fault::Truncate(70_000),
        Fault::ShortChunks(70_000),
        Fault::WrongRange,
        Fault::WholeFile,
        Fault::Stall,
        Fault::StallAfter(30_000),
    ]);
    faults
}

#[test]
fn every_transient_fault_is_borne_and_what_arrived_is_kept() {
    let bytes = noise(SIZE, 1);
    for fault in transient() {
        let standin = standin();
        let fetcher = builder(&standin)
            .with_timeouts(timeouts(&fault))
            .build()
            .unwrap();
        let reader = open(&fetcher, &standin.file_url("a"));
        standin.forget_requests();
        standin.add_fault("/files/", When::First(1), fault.clone());
        assert!(
            reader.read(1..SIZE as u64).unwrap() == bytes[1..],
            "{fault:?}"
        );
        assert_eq!(
            (fetcher.figures().retries, standin.requests().len()),
            (1, 2),
            "{fault:?}"
        );
        let second = standin.requests()[1].range.clone().unwrap();
        let resumed = match fault {
            Fault::Truncate(n) | Fault::ShortChunks(n) | Fault::StallAfter(n) => n + 1,
            _ => 1,
        };
        assert_eq!(second, format!("bytes={resumed}-{}", SIZE - 1), "{fault:?}");

        standin.clear_faults();
        standin.add_fault("/files/", When::First(1), fault.clone());
        assert!(read_all(&reader, 2).unwrap() == bytes[2..], "{fault:?}");
    }
}

#[test]
fn a_fault_that_stays_is_a_typed_error_and_never_short_data() {
    let policy = eager().with_attempts(3);
    for fault in transient() {
        let standin = standin();
        let fetcher = builder(&standin)
            .with_timeouts(timeouts(&fault))
            .with_retry(policy.clone())
            .build()
            .unwrap();
        let reader = open(&fetcher, &standin.file_url("a"));
        let fault = match fault {
            // Nothing gets on.
            Fault::Truncate(_) => Fault::Truncate(0),
            Fault::ShortChunks(_) => Fault::ShortChunks(0),
            Fault::StallAfter(_) => Fault::StallAfter(0),
            fault => fault,
        };
        standin.forget_requests();
        standin.add_fault("/files/", When::Always, fault.clone());
        // A silence at the same place takes its time and says the same again.
        let attempts = match fault {
            Fault::StallAfter(_) => 2,
            _ => 3,
        };
        let error = reader.read(1..SIZE as u64).unwrap_err();
        assert!(
            error.is_transient()
                && error
                    .to_string()
                    .contains(&format!("after {attempts} attempts")),
            "{fault:?}: {error}"
        );
        assert_eq!(standin.requests().len(), attempts, "{fault:?}");
        let error = read_all(&reader, 1).unwrap_err();
        assert!(
            FetchError::within(&error).is_some_and(FetchError::is_transient),
            "{fault:?}: {error}"
        );
    }
}

#[test]
fn what_will_not_pass_is_not_tried_again() {
    for (status, expected) in [
        (400, 400),
        (401, 401),
        (403, 403),
        (404, 404),
        (410, 404),
        (416, 416),
        (501, 501),
    ] {
        let standin = standin();
        let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
        standin.forget_requests();
        standin.add_fault("/files/", When::Always, Fault::Status(status, None));
        let error = reader.read(0..9).unwrap_err();
        let said = match &error {
            FetchError::NotFound { .. } => 404,
            FetchError::Unauthorized { status, .. } | FetchError::Status { status, .. } => *status,
            other => panic!("{status}: {other}"),
        };
        assert_eq!((said, error.is_transient()), (expected, false));
        assert_eq!(standin.requests().len(), 1, "{status}");
    }
}

#[test]
fn time_bounds_attempts_too() {
    let standin = standin();
    let policy = eager().with_attempts(1000).with_patience(Duration::ZERO);
    let fetcher = builder(&standin).with_retry(policy).build().unwrap();
    let reader = open(&fetcher, &standin.file_url("a"));
    standin.add_fault(
        "/files/",
        When::Always,
        Fault::Status(503, Some("30".to_owned())),
    );
    let error = reader.read(0..9).unwrap_err();
    assert!(
        matches!(error, FetchError::Status { attempts: 1, retry_after: Some(after), .. } if after.as_secs() == 30),
        "{error}"
    );
}

#[test]
fn a_transfer_that_gets_on_may_break_as_often_as_it_likes() {
    let bytes = noise(8 << 20, 2);
    let standin = serving(bytes.clone());
    let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
    standin.add_fault("/files/", When::Always, Fault::Truncate(1_100_000));
    assert!(
        read_all(&reader, 0).unwrap() == bytes,
        "8 breaks, 5 attempts"
    );
    assert!(reader.read(0..8 << 20).unwrap() == bytes);
}

#[test]
fn a_file_that_changes_under_way_is_noticed() {
    for plain in [
        PlainFile::new(noise(SIZE, 1)),
        PlainFile::new(noise(SIZE, 1)).without_ranges(),
    ] {
        let standin = HubStandin::builder()
            .file("a", plain.clone())
            .start()
            .unwrap();
        let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
        standin.add_fault("/files/", When::Nth(0), Fault::Truncate(500));
        standin.add_fault("/files/", When::Nth(1), Fault::OtherEtag);
        let error = read_all(&reader, 0).unwrap_err();
        assert!(
            matches!(FetchError::within(&error), Some(FetchError::Changed { .. })),
            "{error}"
        );
    }
}

#[test]
fn without_ranges_a_stream_starts_anew_and_passes_over_what_it_had() {
    let bytes = noise(SIZE, 1);
    let plain = PlainFile::new(bytes.clone()).without_ranges();
    for file in [plain.clone(), plain.clone().chunked()] {
        let standin = HubStandin::builder().file("a", file).start().unwrap();
        let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
        standin.add_fault("/files/", When::First(3), Fault::Truncate(40_000));
        assert!(read_all(&reader, 10).unwrap() == bytes[10..]);
    }
    let standin = HubStandin::builder()
        .file("a", plain.without_validator())
        .start()
        .unwrap();
    let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
    standin.add_fault("/files/", When::First(1), Fault::Truncate(40_000));
    let error = read_all(&reader, 0).unwrap_err();
    assert!(
        matches!(
            FetchError::within(&error),
            Some(FetchError::NotResumable { position: 1.., .. })
        ),
        "nothing proves that it is the same file: {error}"
    );
}

#[test]
fn no_server_at_all_is_a_connection_error() {
    let url = {
        let standin = standin();
        standin.file_url("a")
    };
    let other = standin();
    let error = builder(&other)
        .build()
        .unwrap()
        .list(&url.parse().unwrap())
        .unwrap_err();
    assert!(
        matches!(error, FetchError::Connection { attempts: 5, .. }),
        "{error}"
    );
}
