//! Object stores, by S3's protocol.

use kato_fetch::FetchError;
use kato_hub_standin::{Fault, HubStandin, When};

use crate::support::{builder, fetcher, list, names, noise, open, read_all, timeouts};

fn standin() -> HubStandin {
    HubStandin::builder()
        .object("corpus", "a/part-10.txt", noise(50_000, 1))
        .object("corpus", "a/part-2.txt", noise(50_000, 2))
        .object("corpus", "a/deep/part-1.txt", noise(10, 3))
        .object("corpus", "b/x y?.csv", "text")
        .page_size(2)
        .start()
        .unwrap()
}

#[test]
fn one_object_a_folder_and_a_pattern() {
    let standin = standin();
    let fetcher = fetcher(&standin);
    let check = |location: &str, expected: &[&str]| {
        assert_eq!(
            names(&list(&fetcher, location).files),
            expected,
            "{location}"
        );
    };
    check("s3://corpus/a/part-2.txt", &["s3://corpus/a/part-2.txt"]);
    check(
        "s3://corpus/a/",
        &[
            "s3://corpus/a/deep/part-1.txt",
            "s3://corpus/a/part-2.txt",
            "s3://corpus/a/part-10.txt",
        ],
    );
    check(
        "s3://corpus/a/part-*.txt",
        &["s3://corpus/a/part-2.txt", "s3://corpus/a/part-10.txt"],
    );
    check("s3://corpus/**/*.{csv,tsv}", &["s3://corpus/b/x y?.csv"]);
    assert_eq!(list(&fetcher, "s3://corpus/").files.len(), 4);
    assert_eq!(list(&fetcher, "s3://corpus").files.len(), 4);

    let error = fetcher
        .list(&"s3://corpus/none/".parse().unwrap())
        .unwrap_err();
    assert!(matches!(error, FetchError::NoFiles { .. }), "{error}");
    let error = fetcher
        .list(&"s3://corpus/none".parse().unwrap())
        .unwrap_err();
    assert!(matches!(error, FetchError::NotFound { .. }), "{error}");
}

#[test]
fn objects_are_read_as_any_file() {
    let standin = standin();
    let fetcher = fetcher(&standin);
    let bytes = noise(50_000, 2);
    let reader = open(&fetcher, "s3://corpus/a/part-2.txt");
    assert_eq!(reader.read(10..5000).unwrap(), bytes[10..5000]);
    assert!(read_all(&reader, 3).unwrap() == bytes[3..]);
    let odd = list(&fetcher, "s3://corpus/b/").files.remove(0);
    assert_eq!(fetcher.open(&odd).unwrap().read(0..4).unwrap(), "text");

    standin.put_object("corpus", "a/part-2.txt", noise(50_000, 9));
    let error = reader.read(0..9).unwrap_err();
    assert!(matches!(error, FetchError::Changed { .. }), "{error}");
}

#[test]
fn faults_of_stores_follow_the_same_policy() {
    for fault in [
        Fault::Status(503, Some("0".to_owned())),
        Fault::Status(429, None),
        Fault::ResetBeforeHead,
        Fault::Truncate(1000),
        Fault::ShortChunks(1000),
        Fault::WholeFile,
        Fault::WrongRange,
        Fault::Stall,
    ] {
        let standin = standin();
        let fetcher = builder(&standin)
            .with_timeouts(timeouts(&fault))
            .build()
            .unwrap();
        let reader = open(&fetcher, "s3://corpus/a/part-2.txt");
        standin.add_fault("part-2", When::First(1), fault.clone());
        assert_eq!(
            reader.read(1..50_000).unwrap(),
            noise(50_000, 2)[1..],
            "{fault:?}"
        );
        assert_eq!(fetcher.figures().retries, 1, "{fault:?}");
        standin.clear_faults();
        if fault == Fault::ShortChunks(1000) || fault == Fault::Truncate(1000) {
            continue;
        }
        standin.add_fault("part-2", When::Always, fault.clone());
        let error = reader.read(1..50_000).unwrap_err();
        // What comes is not what was asked for: that is said sooner than a fault of the network.
        let attempts = match fault {
            Fault::WholeFile | Fault::WrongRange => "after 3 attempts",
            _ => "after 5 attempts",
        };
        assert!(
            error.is_transient() && error.to_string().contains(attempts),
            "{fault:?}: {error}"
        );
    }
    let standin = standin();
    standin.add_fault("/s3/", When::Always, Fault::Status(403, None));
    let error = fetcher(&standin)
        .list(&"s3://corpus/a/part-2.txt".parse().unwrap())
        .unwrap_err();
    assert!(
        matches!(error, FetchError::Unauthorized { status: 403, .. }),
        "{error}"
    );
}
