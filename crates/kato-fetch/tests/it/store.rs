//! Object stores, by S3's protocol.

use std::time::{Duration, Instant};

use kato_fetch::{FetchError, Fetcher, Listing, Location, PassedOver, TransferLimits};
use kato_hub_standin::{Fault, HubStandin, Raw, When};

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

/// Keys with characters that URLs, patterns or XML give a meaning.
const KEYS: [&str; 12] = [
    "k/a%20b.txt",
    "k/a b.txt",
    "k/%41.txt",
    "k/A.txt",
    "k/100%.txt",
    "k/{1,2}.txt",
    "k/1.txt",
    "k/[ab].txt",
    "k/a.txt",
    "k/w*?#.txt",
    "k/<&>\"'.txt",
    "k/ä+\\~^`|.txt",
];

#[test]
fn keys_are_taken_as_they_are_written() {
    let mut standin = HubStandin::builder().page_size(3);
    for key in KEYS {
        standin = standin.object("corpus", key, key);
    }
    let standin = standin
        .object("corpus", "x{1}/a.txt", "braces")
        .object("corpus", "x1/a.txt", "none")
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);
    for key in KEYS {
        let name = format!("s3://corpus/{key}");
        let location: Location = name.parse().unwrap();
        assert_eq!(location.to_string(), name);
        let listing = list(&fetcher, &name);
        assert_eq!(names(&listing.files), [name.as_str()]);
        assert_eq!(listing.files[0].path_name(), key[2..]);
        let reader = fetcher.open(&listing.files[0]).unwrap();
        assert_eq!(read_all(&reader, 0).unwrap(), key.as_bytes());
    }
    let mut all: Vec<String> = KEYS.map(|key| format!("s3://corpus/{key}")).into();
    all.sort();
    let mut listed = list(&fetcher, "s3://corpus/k/").files;
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(names(&listed), all);
    let check = |location: &str, expected: &[&str]| {
        assert_eq!(
            names(&list(&fetcher, location).files),
            expected,
            "{location}"
        );
    };
    // A folder of that very name comes before the pattern.
    check("s3://corpus/x{1}/", &["s3://corpus/x{1}/a.txt"]);
    check("s3://corpus/x{1,2}/*", &["s3://corpus/x1/a.txt"]);
    check("s3://corpus/x[{]1[}]/*", &["s3://corpus/x{1}/a.txt"]);
    check("s3://corpus/k/[[]ab].*", &["s3://corpus/k/[ab].txt"]);
    check("s3://corpus/k/a%*", &["s3://corpus/k/a%20b.txt"]);
}

#[test]
fn an_odd_key_does_not_hide_the_others() {
    let standin = HubStandin::builder()
        .object("corpus", "d/a.txt", "a")
        .object("corpus", "d//b.txt", "b")
        .object("corpus", "d/../c.txt", "c")
        .object("corpus", "d/e/", "")
        .object("corpus", "d/z.txt", "z")
        .object("odd", "d//b.txt", "b")
        .page_size(2)
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);
    let listing = list(&fetcher, "s3://corpus/d/");
    assert_eq!(
        names(&listing.files),
        ["s3://corpus/d/a.txt", "s3://corpus/d/z.txt"]
    );
    let ignored = |listing: &Listing, expected: &[(&str, PassedOver)]| {
        let found = listing.ignored.iter();
        let found: Vec<_> = found.map(|(path, why)| (path.as_str(), *why)).collect();
        assert_eq!(found, expected);
    };
    ignored(
        &listing,
        &[
            ("d/../c.txt", PassedOver::OddName),
            ("d//b.txt", PassedOver::OddName),
            ("d/e/", PassedOver::Empty),
        ],
    );
    ignored(
        &list(&fetcher, "s3://corpus/d/a.*"),
        &[
            ("d/../c.txt", PassedOver::NotMatched),
            ("d//b.txt", PassedOver::NotMatched),
            ("d/e/", PassedOver::NotMatched),
            ("d/z.txt", PassedOver::NotMatched),
        ],
    );
    assert!(
        listing.notes[0].starts_with("2 keys"),
        "{:?}",
        listing.notes
    );
    assert!(list(&fetcher, "s3://corpus/d/*.txt").notes.is_empty());
    // Alone, or named outright, it is an error that says why.
    let error = fetcher.list(&"s3://odd/d/".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("`//`"), "{error}");
    let error = fetcher
        .list(&"s3://corpus/d//b.txt".parse().unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("`//`"), "{error}");
}

#[test]
fn a_store_without_credentials_says_so_at_once() {
    let standin = standin();
    standin.add_fault("/machine/", When::Always, Fault::Stall);
    let fetcher = Fetcher::builder()
        .with_store_option("AWS_ENDPOINT_URL", standin.s3_url())
        .with_store_option("AWS_ALLOW_HTTP", "true")
        .with_store_option(
            "AWS_METADATA_ENDPOINT",
            format!("{}/machine", standin.url()),
        );
    let without = fetcher.clone().build().unwrap();
    for location in [
        "s3://corpus/a/",
        "s3://corpus/a/part-2.txt",
        "s3://corpus/**/*.txt",
    ] {
        let begun = Instant::now();
        let error = without.list(&location.parse().unwrap()).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10), "{location}");
        assert!(matches!(error, FetchError::NoCredentials { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("s3://corpus/") && text.contains("AWS_ACCESS_KEY_ID"),
            "{text}"
        );
    }
    let anonymous = fetcher.with_store_option("AWS_SKIP_SIGNATURE", "true");
    assert_eq!(
        list(&anonymous.build().unwrap(), "s3://corpus/a/")
            .files
            .len(),
        3
    );
}

#[test]
fn lists_of_objects_are_bounded() {
    let page = |next: u64, objects: &str| {
        format!(
            "<ListBucketResult>{objects}<IsTruncated>true</IsTruncated>\
             <NextContinuationToken>{next}</NextContinuationToken></ListBucketResult>"
        )
    };
    let standin = HubStandin::builder()
        .script("/s3/pages", move |seen| {
            let token = seen.query.split("continuation-token=").nth(1);
            let n = token.map_or(0, |token| token.split('&').next().unwrap().parse().unwrap());
            let object = format!(
                "<Contents><Key>{n}</Key><LastModified>1994-11-06T08:49:37.000Z</LastModified><Size>1</Size></Contents>"
            );
            let body = page(n + 1, &object);
            Raw::status(200)
                .header("Content-Length", body.len().to_string())
                .header("Connection", "close")
                .body(body)
        })
        .script("/s3/long", |_| {
            Raw::status(200)
                .header("Transfer-Encoding", "chunked")
                .body("")
                .repeat(format!("10000\r\n{}\r\n", " ".repeat(1 << 16)), 1 << 40, Duration::ZERO)
        })
        .start()
        .unwrap();
    let mut limits = TransferLimits::default();
    limits.listing_bytes = 20_000;
    let fetcher = builder(&standin).with_limits(limits).build().unwrap();
    for (location, expected) in [
        ("s3://pages/", "listing_bytes"),
        ("s3://long/", "answer_bytes"),
    ] {
        let error = fetcher.list(&location.parse().unwrap()).unwrap_err();
        assert!(
            matches!(error, FetchError::TooMuch { setting, .. } if setting == expected),
            "{error}"
        );
    }
}
