//! Files of web servers, with their various habits.

use kato_fetch::{FetchError, RemoteFile};
use kato_hub_standin::{HubStandin, PlainFile};

use crate::support::{builder, fetcher, list, noise, open, read_all, serving};

#[test]
fn ranges_are_read_in_the_order_asked_for() {
    let bytes = noise(300_000, 1);
    let standin = HubStandin::builder()
        .file("a.bin", PlainFile::new(bytes.clone()))
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);
    let reader = open(&fetcher, &standin.file_url("a.bin"));
    assert_eq!((reader.size(), reader.has_ranges()), (Some(300_000), true));
    assert_eq!(reader.name(), standin.file_url("a.bin"));

    assert_eq!(reader.read(5..105).unwrap(), bytes[5..105]);
    assert_eq!(reader.read(7..7).unwrap(), "");
    assert_eq!(reader.read(0..300_000).unwrap(), bytes);

    standin.forget_requests();
    let many = reader
        .read_many(&[299_000..300_000, 0..10, 100..200, 50..60])
        .unwrap();
    assert_eq!(
        many,
        [
            &bytes[299_000..],
            &bytes[0..10],
            &bytes[100..200],
            &bytes[50..60]
        ]
    );
    assert_eq!(standin.requests().len(), 2, "near ranges share a request");

    let outside = reader.read(299_999..300_001).unwrap_err();
    assert!(
        matches!(outside, FetchError::InvalidRange { size: 300_000, .. }),
        "{outside}"
    );
    assert_eq!(standin.requests().len(), 2, "nothing was asked for that");
}

#[test]
fn long_ranges_are_read_by_several_requests() {
    let bytes = noise(20 << 20, 2);
    let standin = HubStandin::builder()
        .file("a.bin", PlainFile::new(bytes.clone()))
        .start()
        .unwrap();
    let reader = open(&fetcher(&standin), &standin.file_url("a.bin"));
    standin.forget_requests();
    assert!(reader.read(3..20 << 20).unwrap() == bytes[3..]);
    assert_eq!(standin.requests().len(), 3);
}

#[test]
fn connections_are_used_again() {
    let standin = serving(noise(10_000, 3));
    let fetcher = fetcher(&standin);
    let reader = open(&fetcher, &standin.file_url("a"));
    for i in 0..50 {
        reader.read(i * 10..i * 10 + 10).unwrap();
    }
    assert_eq!(fetcher.figures().requests, 51);
    assert!(standin.connections() <= 2, "{}", standin.connections());
}

#[test]
fn servers_differ_and_the_bytes_do_not() {
    let bytes = noise(100_000, 4);
    let plain = PlainFile::new(bytes.clone());
    let cases = [
        ("usual", plain.clone(), Some(100_000), true),
        ("no-head", plain.clone().without_head(), Some(100_000), true),
        ("no-etag", plain.clone().without_etag(), Some(100_000), true),
        (
            "no-validator",
            plain.clone().without_validator(),
            Some(100_000),
            true,
        ),
        (
            "no-ranges",
            plain.clone().without_ranges(),
            Some(100_000),
            false,
        ),
        (
            "no-ranges-no-head",
            plain.clone().without_ranges().without_head(),
            Some(100_000),
            false,
        ),
        (
            "chunked",
            plain.clone().chunked().without_ranges(),
            None,
            false,
        ),
        ("empty", PlainFile::new(""), Some(0), true),
    ];
    for (name, file, size, has_ranges) in cases {
        let expected = if name == "empty" {
            &bytes[..0]
        } else {
            &bytes[..]
        };
        let standin = HubStandin::builder().file(name, file).start().unwrap();
        let reader = open(&fetcher(&standin), &standin.file_url(name));
        assert_eq!(
            (reader.size(), reader.has_ranges()),
            (size, has_ranges),
            "{name}"
        );
        assert!(read_all(&reader, 0).unwrap() == expected, "{name}");
        if has_ranges && size != Some(0) {
            assert_eq!(reader.read(10..20).unwrap(), bytes[10..20], "{name}");
            assert!(
                read_all(&reader, 99_000).unwrap() == bytes[99_000..],
                "{name}"
            );
        }
        if !has_ranges {
            assert!(
                matches!(reader.read(0..1), Err(FetchError::NoRanges { .. })),
                "{name}"
            );
            assert!(
                read_all(&reader, 99_000).unwrap() == bytes[99_000..],
                "{name}"
            );
        }
        assert!(
            read_all(&reader, 200_000).unwrap().is_empty(),
            "{name}: behind the end"
        );
    }
}

#[test]
fn a_body_whose_end_cannot_be_told_from_a_cut_is_refused() {
    let file = PlainFile::new(noise(5000, 5))
        .without_ranges()
        .close_delimited();
    let standin = HubStandin::builder().file("a", file).start().unwrap();
    let reader = open(&fetcher(&standin), &standin.file_url("a"));
    let error = read_all(&reader, 0).unwrap_err();
    assert!(
        matches!(
            FetchError::within(&error),
            Some(FetchError::Unsupported { .. })
        ),
        "{error}"
    );
}

#[test]
fn redirects_are_followed_once_and_remembered() {
    let bytes = noise(5000, 6);
    let standin = serving(bytes.clone());
    let fetcher = builder(&standin)
        .with_header("127.0.0.1", "authorization", "Basic secret")
        .build()
        .unwrap();
    let reader = open(&fetcher, &standin.redirect_url("a"));
    standin.forget_requests();
    for _ in 0..3 {
        assert_eq!(reader.read(1..9).unwrap(), bytes[1..9]);
    }
    let requests = standin.requests();
    assert_eq!(requests.len(), 4, "one redirect for three reads");
    for request in requests {
        let is_first_hop = request.path.starts_with("/redirect/");
        assert_eq!(
            request.has_authorization, is_first_hop,
            "the header is for its host only"
        );
    }
}

#[test]
fn a_file_opens_elsewhere_by_what_was_listed_and_refuses_another_content() {
    let standin = serving(noise(5000, 7));
    let listed = list(&fetcher(&standin), &standin.file_url("a"))
        .files
        .remove(0);
    let text = serde_json::to_string(&listed).unwrap();
    let elsewhere: RemoteFile = serde_json::from_str(&text).unwrap();
    assert_eq!(elsewhere, listed);

    let fetcher = fetcher(&standin);
    standin.forget_requests();
    let reader = fetcher.open(&elsewhere).unwrap();
    assert_eq!(standin.requests().len(), 0, "all is known");
    assert_eq!(reader.read(0..5000).unwrap(), noise(5000, 7));

    standin.put_file("a", PlainFile::new(noise(5000, 8)));
    let error = reader.read(0..10).unwrap_err();
    assert!(
        matches!(error, FetchError::Changed { .. }) && !error.is_transient(),
        "{error}"
    );
    let by_name = RemoteFile::new(&listed.name).with_size(4999);
    assert!(matches!(
        fetcher.open(&by_name),
        Err(FetchError::Changed { what: "size", .. })
    ));
}

#[test]
fn secrets_of_urls_stay_in_the_process() {
    let standin = serving("x".repeat(100));
    let fetcher = fetcher(&standin);
    let url = format!(
        "{}?part=1&sig=hush",
        standin.file_url("a").replace("http://", "http://me:hush@")
    );
    let listed = list(&fetcher, &url).files.remove(0);
    assert_eq!(listed.name, format!("{}?part=1", standin.file_url("a")));
    let reader = fetcher.open(&listed).unwrap();
    assert_eq!(reader.read(0..3).unwrap(), "xxx");
    let last = standin.requests().pop().unwrap();
    assert!(last.has_authorization && last.query.contains("sig=hush"));

    standin.put_file("a", PlainFile::new("y"));
    let error = reader.read(0..3).unwrap_err();
    for text in [
        format!("{listed:?}"),
        format!("{reader:?}"),
        format!("{fetcher:?}"),
        format!("{error:?} {error}"),
        serde_json::to_string(&listed).unwrap(),
    ] {
        assert!(!text.contains("hush"), "{text}");
    }
}

#[test]
fn what_is_not_there_or_not_allowed_is_said_at_once() {
    let standin = HubStandin::builder().start().unwrap();
    let fetcher = fetcher(&standin);
    let error = fetcher
        .list(&standin.file_url("none").parse().unwrap())
        .unwrap_err();
    assert!(matches!(error, FetchError::NotFound { .. }), "{error}");
    assert_eq!(standin.requests().len(), 1);
    for name in ["a", "ftp://x/y", "hf://a/b", "hf://a/b@c", "s3://bucket//"] {
        let error = fetcher.open(&RemoteFile::new(name)).unwrap_err();
        assert!(
            matches!(error, FetchError::InvalidLocation { .. }),
            "{name}: {error}"
        );
    }
}
