//! Bounded by what is allowed, not by what is sent.

use std::time::{Duration, Instant};

use kato_fetch::defaults::DEFAULT_RETRY;
use kato_fetch::{FetchError, Fetcher, PrivateRedirects, RetryPolicy, Timeouts, TransferLimits};
use kato_hub_standin::{Dataset, Fault, HubStandin, PlainFile, Raw, When};

use crate::support::{builder, eager, list, noise, open, read_all};

fn failure(fetcher: &Fetcher, location: &str) -> FetchError {
    fetcher.list(&location.parse().unwrap()).unwrap_err()
}

/// Fails unless an error names the limit.
fn names(error: &FetchError, expected: &str) {
    assert!(
        matches!(error, FetchError::TooMuch { setting, .. } if *setting == expected),
        "{error}"
    );
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn an_answer_without_end_is_cut_at_the_limit() {
    let endless = |path: &str, kind: &'static str| {
        HubStandin::builder()
            .script(path, move |_| {
                let head = Raw::status(200).header("Content-Type", "application/json");
                let (head, piece) = match kind {
                    "long" => (
                        head.header("Content-Length", (1_u64 << 40).to_string()),
                        " ".repeat(1 << 16),
                    ),
                    "chunks" => (
                        head.header("Transfer-Encoding", "chunked"),
                        format!("10000\r\n{}\r\n", " ".repeat(1 << 16)),
                    ),
                    // A text of spaces, compressed a thousand times.
                    _ => {
                        let mut gzip =
                            flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                        std::io::Write::write_all(&mut gzip, &[b' '; 1 << 24]).unwrap();
                        let bytes = gzip.finish().unwrap();
                        let head = head
                            .header("Content-Encoding", "gzip")
                            .header("Connection", "close");
                        return head.body("").repeat(bytes, 1 << 20, Duration::ZERO);
                    }
                };
                head.body("").repeat(piece, 1 << 40, Duration::ZERO)
            })
            .start()
            .unwrap()
    };
    for kind in ["long", "chunks", "gzip"] {
        let standin = endless("/api/datasets/me/corpus", kind);
        let fetcher = builder(&standin).build().unwrap();
        let error = failure(&fetcher, "hf://me/corpus");
        names(&error, "answer_bytes");
        assert_eq!(fetcher.figures().retries, 0, "{kind}: it will not pass");
    }
}

#[test]
fn a_listing_without_end_is_cut_at_the_limit() {
    // Each page has another one behind it.
    let page = |seen: &kato_hub_standin::Seen| {
        let n: u64 = seen
            .query
            .rsplit_once("cursor=")
            .map_or(0, |(_, n)| n.parse().unwrap());
        let entry = format!("[{{\"type\":\"file\",\"path\":\"{n}.txt\",\"size\":1,\"oid\":\"\"}}]");
        Raw::status(200)
            .header("Content-Length", entry.len().to_string())
            .header("Connection", "close")
            .header(
                "Link",
                format!("<?recursive=true&cursor={}>; rel=\"next\"", n + 1),
            )
            .body(entry)
    };
    let info = r#"{"id": "me/corpus", "sha": "0a"}"#;
    let standin = HubStandin::builder()
        .script("/api/datasets/me/corpus", move |_| {
            Raw::status(200)
                .header("Content-Length", info.len().to_string())
                .header("Connection", "close")
                .body(info)
        })
        .script("/api/datasets/me/corpus/tree/0a", page)
        .start()
        .unwrap();
    let mut limits = TransferLimits::default();
    limits.listing_bytes = 10_000;
    let fetcher = builder(&standin).with_limits(limits).build().unwrap();
    names(&failure(&fetcher, "hf://me/corpus"), "listing_bytes");
    assert!(fetcher.figures().requests < 300);
}

#[test]
fn sizes_are_believed_up_to_the_limit() {
    let standin = HubStandin::builder()
        .file("a", PlainFile::new(noise(5000, 1)))
        .object("corpus", "a", noise(5000, 1))
        .dataset(Dataset::new("me/c").file("train.txt", noise(5000, 1)))
        .start()
        .unwrap();
    let mut limits = TransferLimits::default();
    limits.file_bytes = 4999;
    let fetcher = builder(&standin).with_limits(limits).build().unwrap();
    names(&failure(&fetcher, &standin.file_url("a")), "file_bytes");
    names(&failure(&fetcher, "s3://corpus/a"), "file_bytes");
    let listed = list(&fetcher, "hf://me/c");
    names(&fetcher.open(&listed.files[0]).unwrap_err(), "file_bytes");
    limits.file_bytes = 5000;
    let fetcher = builder(&standin).with_limits(limits).build().unwrap();
    let reader = open(&fetcher, &standin.file_url("a"));
    assert_eq!(read_all(&reader, 0).unwrap(), noise(5000, 1));
}

#[test]
fn an_announced_size_reserves_nothing() {
    // 16 TiB, of which the first byte comes.
    let size: u64 = 16 << 40;
    let standin = HubStandin::builder()
        .script("a", move |seen| {
            if seen.range.as_deref() == Some("bytes=0-0") {
                return Raw::status(206)
                    .header("Content-Range", format!("bytes 0-0/{size}"))
                    .header("Content-Length", "1")
                    .header("Connection", "close")
                    .body("x");
            }
            Raw::status(404).header("Connection", "close").body("")
        })
        .start()
        .unwrap();
    let reader = open(&builder(&standin).build().unwrap(), &standin.file_url("a"));
    let error = reader.read(0..size).unwrap_err();
    assert!(matches!(error, FetchError::NotFound { .. }), "{error}");
}

#[test]
fn redirects_lead_to_private_addresses_only_where_that_is_allowed() {
    let standin = HubStandin::builder()
        .file("a", PlainFile::new("text"))
        .dataset(Dataset::new("me/c").file("train.txt", noise(5000, 1)))
        .start()
        .unwrap();
    // The stand-in redirects to `localhost`, a name; and to an address.
    let to_address = format!("{}/b", standin.url());
    let target = standin.file_url("a");
    let other = HubStandin::builder()
        .script("/b", move |_| {
            Raw::status(302).header("Location", &target).body("")
        })
        .start()
        .unwrap();
    let to_address = to_address.replace(&standin.url(), &other.url());
    for url in [standin.redirect_url("a"), to_address] {
        let open_with = |redirects| {
            let fetcher = builder(&standin).with_private_redirects(redirects).build();
            fetcher.unwrap().list(&url.parse().unwrap())
        };
        // This server is on a private address itself.
        open_with(PrivateRedirects::FromPrivate).unwrap();
        open_with(PrivateRedirects::Always).unwrap();
        let error = open_with(PrivateRedirects::Never).unwrap_err();
        assert!(matches!(error, FetchError::Redirect { .. }), "{error}");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
    // Not even from this machine to where a cloud hands out credentials; nothing is sent there.
    let to_link = HubStandin::builder()
        .script("a", |_| {
            Raw::status(302)
                .header("Location", "http://169.254.169.254/latest/meta-data/")
                .header("Connection", "close")
                .body("")
        })
        .start()
        .unwrap();
    let fetcher = builder(&to_link).build().unwrap();
    let error = failure(&fetcher, &to_link.file_url("a"));
    assert!(matches!(error, FetchError::Redirect { .. }), "{error}");
    assert_eq!(fetcher.figures().requests, 1);
    // A list that goes on elsewhere is as good as a redirect.
    let info = r#"{"id": "me/corpus", "sha": "0a"}"#;
    let next = format!(
        "<http://localhost:{}/next>; rel=\"next\"",
        standin.address().port()
    );
    let lists = HubStandin::builder()
        .script("/api/datasets/me/corpus", move |_| {
            Raw::status(200)
                .header("Content-Length", info.len().to_string())
                .header("Connection", "close")
                .body(info)
        })
        .script("/api/datasets/me/corpus/tree/0a", move |_| {
            Raw::status(200)
                .header("Content-Length", "2")
                .header("Connection", "close")
                .header("Link", &next)
                .body("[]")
        })
        .start()
        .unwrap();
    for (redirects, is_refused) in [
        (PrivateRedirects::FromPrivate, false),
        (PrivateRedirects::Never, true),
    ] {
        let fetcher = builder(&lists).with_private_redirects(redirects).build();
        let error = failure(&fetcher.unwrap(), "hf://me/corpus");
        let found = matches!(error, FetchError::Redirect { .. });
        assert_eq!(found, is_refused, "{error}");
    }
    // Where the destination is remembered, it is judged all the same.
    let fetcher = builder(&standin)
        .with_private_redirects(PrivateRedirects::Never)
        .build()
        .unwrap();
    let reader = open(&fetcher, "hf://me/c");
    for _ in 0..2 {
        let error = reader.read(0..9).unwrap_err();
        assert!(matches!(error, FetchError::Redirect { .. }), "{error}");
    }
}

#[test]
fn a_limit_of_requests_is_waited_for_as_long_as_it_takes() {
    let limited = |seconds: u64| {
        let dataset = Dataset::new("me/c").file("train.txt", "x");
        let standin = HubStandin::builder().dataset(dataset).start().unwrap();
        let field = format!("\"api\";r=0;t={seconds}");
        standin.add_fault("/api/", When::First(2), Fault::Limit(field));
        standin
    };
    let policy: RetryPolicy = DEFAULT_RETRY.with_first_wait(Duration::ZERO);
    let standin = limited(1);
    let fetcher = builder(&standin)
        .with_retry(policy.clone())
        .build()
        .unwrap();
    let begun = Instant::now();
    list(&fetcher, "hf://me/c");
    assert!(begun.elapsed() >= Duration::from_secs(2));

    // Longer than patience lasts: that is said at once, and nothing is asked in vain.
    let standin = limited(41);
    let patience = Duration::from_secs(40);
    let fetcher = builder(&standin)
        .with_retry(policy.with_patience(patience))
        .build()
        .unwrap();
    let begun = Instant::now();
    let error = failure(&fetcher, "hf://me/c");
    assert!(error.to_string().contains("asks to wait 41 s"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(standin.requests().len(), 1);
}

#[test]
fn a_trickle_is_an_error_though_it_is_never_silent() {
    let standin = HubStandin::builder()
        .script("/api/datasets/me/c", |_| {
            let head = Raw::status(200).header("Content-Length", "100000");
            head.body("")
                .repeat(" ", 100_000, Duration::from_millis(20))
        })
        .start()
        .unwrap();
    let mut timeouts = Timeouts::default();
    timeouts.idle = Duration::from_millis(600);
    let fetcher = builder(&standin).with_timeouts(timeouts).build().unwrap();
    let error = failure(&fetcher, "hf://me/c");
    assert!(
        matches!(error, FetchError::TooSlow { attempts: 1, .. }),
        "{error}"
    );
}

#[test]
fn an_answer_that_takes_too_long_as_a_whole_is_told_as_that_and_not_as_silence() {
    let standin = HubStandin::builder()
        .script("/api/datasets/me/c", |_| {
            let head = Raw::status(200).header("Content-Length", "4000000");
            head.body("")
                .repeat(" ".repeat(400), 10_000, Duration::from_millis(20))
        })
        .start()
        .unwrap();
    let mut timeouts = Timeouts::default();
    timeouts.idle = Duration::from_millis(600);
    let fetcher = builder(&standin)
        .with_timeouts(timeouts)
        .with_retry(eager().with_attempts(1))
        .build()
        .unwrap();
    let error = failure(&fetcher, "hf://me/c");
    assert!(
        matches!(error, FetchError::Unfinished { received, waited, .. }
            if received > 0 && waited == timeouts.idle * 4),
        "{error}"
    );
}
