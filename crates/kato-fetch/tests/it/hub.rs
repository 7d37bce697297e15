//! Datasets of the Hub: which files, which commit, who may read them.

use kato_fetch::{FetchError, Fetcher, PassedOver, RemoteFile};
use kato_hub_standin::{Dataset, Fault, HubStandin, When};
use serde_json::json;

use crate::support::{builder, fetcher, list, names, noise, open, read_all};

fn failure(fetcher: &Fetcher, location: &str) -> FetchError {
    fetcher.list(&location.parse().unwrap()).unwrap_err()
}

#[test]
fn the_conversion_is_taken_when_it_is_complete() {
    let dataset = Dataset::new("me/corpus")
        .file("data/train.jsonl", "{}")
        .converted("default/train/0010.parquet", noise(5000, 1))
        .converted("default/train/0002.parquet", noise(5000, 2))
        .converted("default/test/0000.parquet", noise(5000, 3));
    let commit = dataset.commit("refs/convert/parquet").unwrap();
    let standin = HubStandin::builder()
        .dataset(dataset)
        .page_size(1)
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);

    let listing = list(&fetcher, "hf://me/corpus");
    let name = |n: &str| format!("hf://me/corpus@{commit}/default/train/{n}.parquet");
    assert_eq!(names(&listing.files), [name("0002"), name("0010")]);
    let test = "default/test/0000.parquet".to_owned();
    assert_eq!(listing.ignored, [(test, PassedOver::NotInSplit)]);
    assert_eq!(listing.revision.as_deref(), Some(commit.as_str()));
    assert_eq!(
        (listing.config.as_deref(), listing.split.as_deref()),
        (Some("default"), Some("train"))
    );
    assert_eq!(listing.files[0].size, Some(5000));

    assert_eq!(list(&fetcher, "hf://me/corpus:test").files.len(), 1);
    let error = failure(&fetcher, "hf://me/corpus:dev");
    assert!(
        matches!(&error, FetchError::UnknownSplit { available, .. } if *available == ["train"]),
        "{error}"
    );
    // A revision asked for is the repository's own.
    assert_eq!(list(&fetcher, "hf://me/corpus@main").files.len(), 1);
}

#[test]
fn a_partial_conversion_is_never_taken_for_the_dataset() {
    let partial =
        Dataset::new("me/large").converted("default/partial-train/0000.parquet", noise(5000, 1));
    let own = partial
        .clone()
        .file("train-1.jsonl", "{}")
        .file("train-2.jsonl", "{}");
    let standin = HubStandin::builder().dataset(partial).start().unwrap();
    let fetcher = fetcher(&standin);
    let error = failure(&fetcher, "hf://me/large");
    assert!(
        matches!(error, FetchError::PartialConversionOnly { .. }),
        "{error}"
    );

    standin.put_dataset(own);
    let listing = list(&fetcher, "hf://me/large");
    assert_eq!(listing.files.len(), 2);
    assert!(
        listing.notes[0].contains("only a part"),
        "{:?}",
        listing.notes
    );
}

#[test]
fn configurations_come_from_the_card() {
    let card = json!({"configs": [
        {"config_name": "en", "data_files": [{"split": "train", "path": "en/*.jsonl"}, {"split": "validation", "path": "en/dev.txt"}]},
        {"config_name": "de", "data_files": "de/**"},
    ]});
    let dataset = Dataset::new("me/many")
        .card(card)
        .file("en/a.jsonl", "{}")
        .file("en/dev.txt", "x")
        .file("de/b/c.csv", "text\nx")
        .file("README.md", "hello");
    let with_default = json!({"configs": [
        {"config_name": "en", "data_files": "en/*.jsonl"},
        {"config_name": "de", "data_files": "de/**", "default": true},
    ]});
    let standin = HubStandin::builder()
        .dataset(dataset.clone())
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);
    let error = failure(&fetcher, "hf://me/many");
    assert!(
        matches!(&error, FetchError::UnknownConfig { available, asked: None, .. } if *available == ["de", "en"]),
        "{error}"
    );
    let error = failure(&fetcher, "hf://me/many/fr");
    assert!(
        matches!(&error, FetchError::UnknownConfig { asked: Some(_), .. }),
        "{error}"
    );
    let ends = |location: &str, end: &str| {
        let listing = list(&fetcher, location);
        assert!(
            listing.files.len() == 1 && listing.files[0].name.ends_with(end),
            "{listing:?}"
        );
    };
    ends("hf://me/many/en", "/en/a.jsonl");
    ends("hf://me/many/en:validation", "/en/dev.txt");
    ends("hf://me/many/de", "/de/b/c.csv");
    let error = failure(&fetcher, "hf://me/many/de:test");
    assert!(matches!(error, FetchError::UnknownSplit { .. }), "{error}");

    standin.put_dataset(dataset.card(with_default));
    ends("hf://me/many", "/de/b/c.csv");
}

#[test]
fn a_conversion_that_lacks_a_configuration_does_not_decide() {
    let card = json!({"configs": [
        {"config_name": "default", "data_files": "a/*"}, {"config_name": "extra", "data_files": "b/*"},
    ]});
    let dataset = Dataset::new("me/two")
        .card(card)
        .file("a/1.txt", "a")
        .file("b/1.txt", "b")
        .converted("extra/train/0000.parquet", noise(2000, 1));
    let standin = HubStandin::builder().dataset(dataset).start().unwrap();
    let fetcher = fetcher(&standin);
    assert!(
        list(&fetcher, "hf://me/two").files[0]
            .name
            .ends_with("/a/1.txt")
    );
    assert!(
        list(&fetcher, "hf://me/two/extra").files[0]
            .name
            .ends_with("/0000.parquet")
    );
}

#[test]
fn two_segments_are_a_dataset_or_a_configuration() {
    let short = Dataset::new("wiki")
        .file("simple/train.txt", "x")
        .file("full/train.txt", "y");
    let standin = HubStandin::builder().dataset(short).start().unwrap();
    let fetcher = fetcher(&standin);
    let listing = list(&fetcher, "hf://wiki/simple");
    assert_eq!(listing.config.as_deref(), Some("simple"));
    assert!(listing.files[0].name.starts_with("hf://wiki@") && listing.files.len() == 1);

    standin.put_dataset(Dataset::new("wiki/simple").file("a.txt", "z"));
    assert!(
        list(&fetcher, "hf://wiki/simple").files[0]
            .name
            .starts_with("hf://wiki/simple@")
    );
    let error = failure(&fetcher, "hf://nobody/nothing");
    assert!(
        matches!(error, FetchError::Unauthorized { status: 401, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("HF_TOKEN"), "{error}");
}

#[test]
fn a_renamed_dataset_is_found_and_named_as_it_is_now() {
    let dataset = Dataset::new("Sales/wikitext")
        .formerly("wikitext")
        .file("train.txt", "x");
    let standin = HubStandin::builder().dataset(dataset).start().unwrap();
    let listing = list(&fetcher(&standin), "hf://wikitext");
    assert!(
        listing.files[0].name.starts_with("hf://Sales/wikitext@"),
        "{listing:?}"
    );
}

#[test]
fn a_pinned_name_opens_later_though_the_dataset_moved_on() {
    let (old, new) = (noise(5000, 1), noise(5000, 2));
    let first = Dataset::new("me/corpus").file("train.txt", old.clone());
    let commit = first.commit("main").unwrap();
    let standin = HubStandin::builder()
        .dataset(first.clone())
        .start()
        .unwrap();
    let listed = list(&fetcher(&standin), "hf://me/corpus").files.remove(0);
    assert_eq!(listed.name, format!("hf://me/corpus@{commit}/train.txt"));

    // The old commit stays reachable, as under a tag.
    let moved = Dataset::new("me/corpus")
        .file("train.txt", new)
        .file_at("main", "other.txt", "x");
    standin.put_dataset(moved);
    let gone = fetcher(&standin)
        .open(&listed)
        .unwrap()
        .read(0..9)
        .unwrap_err();
    assert!(matches!(gone, FetchError::NotFound { .. }), "{gone}");
    standin.put_dataset(first);
    for file in [listed.clone(), RemoteFile::new(&listed.name)] {
        let reader = fetcher(&standin).open(&file).unwrap();
        assert_eq!(reader.size(), Some(5000));
        assert_eq!(reader.validator(), listed.validator.as_deref());
        assert_eq!(reader.read(0..5000).unwrap(), old);
    }
}

#[test]
fn the_token_goes_to_the_hub_and_not_to_the_cdn() {
    let dataset = Dataset::new("me/gated")
        .gated("hf_secret")
        .file("train.txt", noise(5000, 1));
    let standin = HubStandin::builder().dataset(dataset).start().unwrap();
    let anonymous = fetcher(&standin);
    let listed = list(&anonymous, "hf://me/gated").files.remove(0);
    let error = anonymous.open(&listed).unwrap().read(0..9).unwrap_err();
    assert!(matches!(error, FetchError::Unauthorized { .. }), "{error}");
    assert!(
        error.to_string().contains("gated") && error.to_string().contains("HF_TOKEN"),
        "{error}"
    );

    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("token"), "hf_secret\n").unwrap();
    for fetcher in [
        builder(&standin)
            .with_hub_token("hf_secret")
            .build()
            .unwrap(),
        builder(&standin)
            .with_hub_home(home.path())
            .build()
            .unwrap(),
    ] {
        standin.forget_requests();
        let reader = fetcher.open(&listed).unwrap();
        assert_eq!(reader.read(0..9).unwrap(), noise(5000, 1)[..9]);
        for request in standin.requests() {
            assert_eq!(
                request.has_authorization,
                !request.path.starts_with("/cdn/"),
                "{request:?}"
            );
        }
        assert!(!format!("{fetcher:?} {reader:?}").contains("hf_secret"));
    }
}

#[test]
fn a_private_dataset_needs_its_token() {
    let dataset = Dataset::new("me/private")
        .private("hf_secret")
        .file("train.txt", "x");
    let standin = HubStandin::builder().dataset(dataset).start().unwrap();
    let error = failure(&fetcher(&standin), "hf://me/private");
    assert!(matches!(error, FetchError::Unauthorized { .. }), "{error}");
    let fetcher = builder(&standin)
        .with_hub_token("hf_secret")
        .build()
        .unwrap();
    assert_eq!(list(&fetcher, "hf://me/private").files.len(), 1);
}

#[test]
fn an_expired_signature_is_asked_for_again() {
    let bytes = noise(50_000, 1);
    let dataset = Dataset::new("me/corpus").file("train.txt", bytes.clone());
    let standin = HubStandin::builder()
        .dataset(dataset)
        .signature_uses(2)
        .start()
        .unwrap();
    let reader = open(&fetcher(&standin), "hf://me/corpus");
    standin.forget_requests();
    for i in 0..10 {
        assert_eq!(
            reader.read(i * 100..i * 100 + 50).unwrap(),
            bytes[i as usize * 100..][..50]
        );
    }
    let resolved = standin
        .requests()
        .iter()
        .filter(|request| request.path.contains("/resolve/"))
        .count();
    assert_eq!(resolved, 5, "each signature is used as long as it lasts");
    standin.expire_signatures();
    assert!(read_all(&reader, 0).unwrap() == bytes);
}

#[test]
fn small_files_come_from_the_hub_itself() {
    let standin = HubStandin::builder()
        .dataset(Dataset::new("me/small").file("train.txt", "hello world"))
        .start()
        .unwrap();
    let reader = open(&fetcher(&standin), "hf://me/small");
    assert_eq!(reader.read(6..11).unwrap(), "world");
    assert_eq!(read_all(&reader, 6).unwrap(), b"world");
}

#[test]
fn another_content_behind_the_same_name_is_noticed() {
    let standin = HubStandin::builder()
        .dataset(Dataset::new("me/c").file("train.txt", noise(5000, 1)))
        .start()
        .unwrap();
    let reader = open(&fetcher(&standin), "hf://me/c");
    reader.read(0..9).unwrap();
    standin.add_fault("/cdn/", When::Always, Fault::OtherEtag);
    assert!(matches!(reader.read(0..9), Err(FetchError::Changed { .. })));
    standin.clear_faults();
    standin.expire_signatures();
    standin.add_fault("/resolve/", When::Always, Fault::OtherEtag);
    assert!(matches!(reader.read(0..9), Err(FetchError::Changed { .. })));
}

#[test]
fn faults_of_the_api_are_tried_again() {
    let dataset = Dataset::new("me/c")
        .file("train-1.txt", "1")
        .file("train-2.txt", "2")
        .file("train-3.txt", "3");
    let standin = HubStandin::builder()
        .dataset(dataset)
        .page_size(1)
        .fault(
            "/api/",
            When::Nth(0),
            Fault::Status(503, Some("0".to_owned())),
        )
        .fault("/tree/", When::Nth(1), Fault::ResetAfterHead)
        .fault("/tree/", When::Nth(3), Fault::Truncate(10))
        .fault("/tree/", When::Nth(5), Fault::ShortChunks(5))
        .start()
        .unwrap();
    let fetcher = fetcher(&standin);
    assert_eq!(list(&fetcher, "hf://me/c").files.len(), 3);
    assert!(fetcher.figures().retries >= 3);
}
