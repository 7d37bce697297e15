//! Over a network the stream is the local one, whatever happens on the way, or it says why not.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use kato_fetch::{FetchError, Timeouts};
use kato_hub_standin::{Dataset, Fault, HubStandin, PlainFile, When};
use kato_loader::bad_record::{BadReason, SkippedExtent};
use kato_loader::ignored::IgnoredReason;
use kato_loader::{
    Document, Format, LoadError, OnBadRecord, Order, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder,
};
use kato_test_needs::is_thorough;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::sync::Arc;

use crate::standin::{fetcher, remote, retry};
use crate::support::{Folder, builder, gzip, texts};

/// Text that does not compress to nothing.
fn text(file: usize, row: usize) -> String {
    let mut text = format!("{file}:{row}");
    let mut state = (file * 7919 + row + 1) as u64;
    for _ in 0..20 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.push_str(&format!(" {:x}", state >> 40));
    }
    text
}

fn rows(file: usize, n: usize) -> Vec<String> {
    (0..n).map(|row| text(file, row)).collect()
}

fn json_lines(rows: &[String]) -> Vec<u8> {
    let line = |text: &String| serde_json::json!({"text": text}).to_string() + "\n";
    rows.iter().map(line).collect::<String>().into_bytes()
}

/// Four columns, of which the text is the third and about a fifth of the bytes.
fn wide(rows: &[String], rows_per_group: usize) -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows.len() as i64));
    let repeated = |n: usize, salt: usize| -> ArrayRef {
        let values = rows.iter().enumerate();
        Arc::new(StringArray::from_iter_values(values.map(|(at, _)| {
            (0..n).map(|part| text(salt + part, at)).collect::<String>()
        })))
    };
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows));
    let batch = RecordBatch::try_from_iter([
        ("n", numbers),
        ("before", repeated(2, 100)),
        ("text", texts),
        ("behind", repeated(2, 200)),
    ])
    .unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

const N_ROWS: usize = 1500;

/// The files of the corpus, sorted by name.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.parquet", wide(&rows(0, N_ROWS), 400)),
        ("b.jsonl", json_lines(&rows(1, N_ROWS))),
        ("c.jsonl.gz", gzip(&json_lines(&rows(2, N_ROWS)))),
        ("d.parquet", wide(&rows(3, N_ROWS), N_ROWS)),
    ]
}

/// The same files everywhere.
fn everywhere() -> (HubStandin, Folder) {
    let folder = Folder::new();
    let (mut tables, mut lines) = (Dataset::new("me/tables"), Dataset::new("me/lines"));
    let mut standin = HubStandin::builder();
    for (name, bytes) in files() {
        folder.write(name, &bytes);
        let path = format!("data/train-{name}");
        match name.ends_with(".parquet") {
            true => tables = tables.file(&path, bytes.clone()),
            false => lines = lines.file(&path, bytes.clone()),
        }
        standin = standin.file(name, PlainFile::new(bytes.clone()));
        standin = standin.object("bucket", &format!("corpus/{name}"), bytes);
    }
    let standin = standin.dataset(tables).dataset(lines);
    (standin.start().unwrap(), folder)
}

/// All files by https.
fn by_url(
    standin: &HubStandin,
    fetcher: kato_fetch::FetcherBuilder,
) -> StreamingDatasetLoaderBuilder {
    let urls = files().into_iter().map(|(name, _)| standin.file_url(name));
    builder()
        .with_inputs(urls)
        .with_fetcher(fetcher.build().unwrap())
}

fn orders() -> [Order; 2] {
    [
        Order::Sequential,
        Order::shuffled(3).with_window_bytes(150_000),
    ]
}

#[test]
fn a_remote_corpus_is_the_local_one() {
    let (standin, folder) = everywhere();
    for order in orders() {
        let expected = texts(builder().with_input(folder.path()).with_order(order));
        assert_eq!(expected.len(), 4 * N_ROWS);
        for workers in [0, 2] {
            let with = |builder: StreamingDatasetLoaderBuilder| {
                texts(builder.with_order(order).with_workers(workers))
            };
            assert!(with(by_url(&standin, fetcher(&standin))) == expected);
            assert!(with(remote(&standin, "s3://bucket/corpus/")) == expected);
            // The Hub reads files of one kind.
            for (dataset, names) in [
                ("me/tables", ["a.parquet", "d.parquet"]),
                ("me/lines", ["b.jsonl", "c.jsonl.gz"]),
            ] {
                let local = builder().with_inputs(names.map(|name| folder.at(name)));
                let on_hub = remote(&standin, &format!("hf://{dataset}"));
                assert!(with(on_hub) == texts(local.with_order(order)), "{dataset}");
            }
        }
    }
}

#[test]
fn what_a_bucket_holds_beside_text_is_read_where_it_is_asked_for() {
    let (lines, notes) = (rows(0, 3), rows(1, 3));
    let standin = HubStandin::builder()
        .object("bucket", "corpus/a.jsonl", json_lines(&lines))
        .object("bucket", "corpus/notes", json_lines(&notes))
        .start()
        .unwrap();
    let all = || remote(&standin, "s3://bucket/corpus/");
    let listed = all().build().unwrap();
    let ignored = listed.ignored_files().into_iter();
    let ignored: Vec<_> = ignored.map(|file| file.reason).collect();
    assert_eq!(ignored, [IgnoredReason::UnknownExtension]);
    assert_eq!(texts(all()), lines);
    assert_eq!(
        texts(remote(&standin, "s3://bucket/corpus/notes")),
        notes.clone()
    );
    let told = texts(all().with_format(Format::JsonLines));
    assert_eq!(told, [lines, notes].concat());
}

#[test]
fn a_pattern_or_a_folder_of_a_bucket_gives_what_it_gives_in_the_file_system() {
    for n_files in [1, 2] {
        let folder = Folder::new();
        let mut standin = HubStandin::builder();
        for file in 0..n_files {
            let (name, text) = (format!("a/{file}.py"), text(file, 0));
            folder.write(&name, &text);
            standin = standin.object("bucket", &name, text);
        }
        let standin = standin.start().unwrap();
        let matched = texts(remote(&standin, "s3://bucket/**/*.py"));
        assert_eq!(matched.len(), n_files);
        assert_eq!(matched, texts(builder().with_input(folder.at("**/*.py"))));

        for location in ["s3://bucket/a/", "s3://bucket"] {
            let refused = remote(&standin, location).build();
            let told = refused.unwrap_err().to_string();
            let local = builder().with_input(folder.at("a")).build().unwrap_err();
            let local = local.to_string();
            let place = folder.at("a").display().to_string();
            assert_eq!(told, local.replace(&place, location));
        }
    }
}

#[test]
fn what_grants_access_is_not_shown_of_a_loader_that_is_not_yet_built() {
    let shown = format!(
        "{:?}",
        builder().with_input("https://me:hush@x.org/a?token=hush")
    );
    assert!(
        shown.contains("https://x.org/a") && !shown.contains("hush"),
        "{shown}"
    );
}

#[test]
fn a_dataset_of_the_hub_is_read_from_its_conversion() {
    let parquet = wide(&rows(0, 500), 100);
    let dataset = Dataset::new("me/converted")
        .file("train.jsonl", json_lines(&rows(9, 3)))
        .converted("default/train/0000.parquet", parquet.clone())
        .converted("default/train/0001.parquet", wide(&rows(1, 100), 100));
    let standin = HubStandin::builder().dataset(dataset).start().unwrap();
    let mut expected = rows(0, 500);
    expected.extend(rows(1, 100));
    assert_eq!(texts(remote(&standin, "hf://me/converted:train")), expected);
}

#[test]
fn only_the_needed_column_is_fetched_over_few_connections() {
    let bytes = wide(&rows(0, 20_000), 20_000);
    let standin = HubStandin::builder()
        .file("a.parquet", PlainFile::new(bytes.clone()))
        .start()
        .unwrap();
    for order in [Order::Sequential, Order::shuffled(1)] {
        standin.forget_requests();
        let fetcher = fetcher(&standin).build().unwrap();
        let builder = builder()
            .with_input(standin.file_url("a.parquet"))
            .with_fetcher(fetcher.clone())
            .with_order(order);
        let before = standin.connections();
        assert_eq!(texts(builder.with_workers(2)).len(), 20_000);
        let figures = fetcher.figures();
        let share = figures.bytes_received as f64 / bytes.len() as f64;
        assert!(share < 0.35, "{share} of {} bytes", bytes.len());
        let per_mb = standin.requests().len() as f64 / (figures.bytes_received as f64 / 1e6);
        assert!(per_mb < 8.0, "{} requests", standin.requests().len());
        assert!(standin.connections() - before <= 4);
    }
}

#[test]
fn what_is_decoded_ahead_is_fetched_once() {
    let texts_of: Vec<_> = (0..3000)
        .map(|row| format!("{row} {}", "lorem ipsum ".repeat(900)))
        .collect();
    let bytes = json_lines(&texts_of);
    assert!(bytes.len() > 30 << 20, "several parts");
    let standin = HubStandin::builder()
        .file("a.jsonl", PlainFile::new(bytes.clone()))
        .start()
        .unwrap();
    for order in [Order::Sequential, Order::shuffled(1)] {
        let fetcher = fetcher(&standin).build().unwrap();
        let builder = builder()
            .with_input(standin.file_url("a.jsonl"))
            .with_fetcher(fetcher.clone())
            .with_order(order)
            .with_workers(2);
        let found = texts(builder);
        assert_eq!(found == texts_of, order == Order::Sequential);
        let received = fetcher.figures().bytes_received as f64 / bytes.len() as f64;
        assert!((1.0..1.1).contains(&received), "{order:?}: {received}");
    }
}

fn transient() -> impl Strategy<Value = Fault> {
    prop_oneof![
        prop::sample::select(vec![408, 429, 500, 503])
            .prop_map(|status| Fault::Status(status, None)),
        Just(Fault::Status(429, Some("0".to_owned()))),
        Just(Fault::ResetBeforeHead),
        Just(Fault::ResetAfterHead),
        (0..100_000_usize).prop_map(Fault::Truncate),
        (0..100_000_usize).prop_map(Fault::ShortChunks),
        Just(Fault::WrongRange),
        Just(Fault::WholeFile),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 16 } else { 8 }))]

    #[test]
    fn any_plan_of_transient_faults_gives_the_same_stream(
        faults in prop::collection::vec((transient(), 1..30_u8, any::<u64>()), 1..4),
        shuffled: bool,
        workers in 0..4_usize,
    ) {
        let (standin, folder) = everywhere();
        let order = orders()[usize::from(shuffled)];
        for (fault, percent, seed) in faults {
            standin.add_fault("/files/", When::Chance(percent, seed), fault);
        }
        let builder = by_url(&standin, fetcher(&standin).with_retry(retry(200)));
        let found = texts(builder.with_order(order).with_workers(workers));
        prop_assert!(found == texts(super::support::builder().with_input(folder.path()).with_order(order)));
    }
}

/// Reads until an error; what came before it, and the error.
fn until_error(loader: &mut StreamingDatasetLoader) -> (Vec<Document>, Option<LoadError>) {
    let mut documents = Vec::new();
    for document in loader {
        match document {
            Ok(document) => documents.push(document),
            Err(error) => return (documents, Some(error)),
        }
    }
    (documents, None)
}

#[test]
fn a_fault_that_stays_is_an_error_that_names_the_file_and_the_cursor_goes_on_once_it_is_gone() {
    let (standin, folder) = everywhere();
    for order in orders() {
        let expected = texts(builder().with_input(folder.path()).with_order(order));
        for workers in [0, 2] {
            for file in ["a.parquet", "b.jsonl", "c.jsonl.gz", "d.parquet"] {
                for skipped in [3, 5] {
                    let open = || {
                        by_url(&standin, fetcher(&standin).with_retry(retry(2)))
                            .with_order(order)
                            .with_workers(workers)
                    };
                    let mut loader = open().build().unwrap();
                    standin.add_fault(file, When::Nth(skipped), Fault::Status(503, None));
                    standin.add_fault(file, When::Always, Fault::Status(503, None));
                    let (documents, error) = until_error(&mut loader);
                    let mut found: Vec<_> = documents
                        .into_iter()
                        .map(|document| document.text)
                        .collect();
                    let error = error.expect("an early end is no success");
                    let record = error.record().unwrap();
                    assert!(record.file.ends_with(file), "{error}");
                    assert!(
                        matches!(record.reason, BadReason::Unreadable { .. }),
                        "{error}"
                    );
                    assert!(error.to_string().contains("503"), "{error}");
                    let state = loader.state();
                    drop(loader);
                    standin.clear_faults();
                    found.extend(texts(open().with_state(state)));
                    assert!(found == expected, "{file}, {workers} workers, {order:?}");
                }
            }
        }
    }
}

#[test]
fn a_fault_that_stays_is_listed_under_the_other_policies() {
    let (standin, _folder) = everywhere();
    for order in orders() {
        for policy in [OnBadRecord::Skip, OnBadRecord::SkipFile] {
            for (file, number) in [("a.parquet", 0), ("b.jsonl", 1), ("c.jsonl.gz", 2)] {
                let open = by_url(&standin, fetcher(&standin).with_retry(retry(2)));
                let builder = open.with_order(order).on_bad_record(policy);
                let mut loader = builder.with_workers(2).build().unwrap();
                standin.add_fault(file, When::Always, Fault::Status(503, None));
                let (documents, error) = until_error(&mut loader);
                standin.clear_faults();
                assert!(error.is_none(), "{error:?}");
                let others = (0..4).filter(|other| *other != number);
                for other in others {
                    let of_other = format!("{other}:");
                    let n = documents
                        .iter()
                        .filter(|document| document.text.starts_with(&of_other));
                    assert_eq!(n.count(), N_ROWS, "{file}, {policy:?}, {order:?}");
                }
                let ledger = loader.take_bad_records();
                assert!(!ledger.is_empty() && loader.counts().bad == ledger.len() as u64);
                for record in ledger {
                    assert!(record.file.ends_with(file), "{record}");
                    assert!(matches!(
                        record.lost,
                        SkippedExtent::RestOfFile | SkippedExtent::RestOfBlock
                    ));
                }
            }
        }
    }
}

#[test]
fn shuffled_order_is_not_planned_without_a_footer() {
    let (standin, folder) = everywhere();
    let open = || {
        by_url(&standin, fetcher(&standin).with_retry(retry(2)))
            .with_order(Order::shuffled(1))
            .on_bad_record(OnBadRecord::Skip)
    };
    let identity = open().build().unwrap().identity();
    standin.add_fault("d.parquet", When::Always, Fault::Truncate(0));
    let refused = open().build().unwrap_err().to_string();
    assert!(refused.contains("d.parquet"), "{refused}");
    // Listed, but out of reach when its footer is wanted.
    standin.clear_faults();
    let listing_takes = {
        standin.forget_requests();
        drop(by_url(&standin, fetcher(&standin)).build().unwrap());
        let seen = standin.requests();
        seen.iter()
            .filter(|seen| seen.path.contains("d.parquet"))
            .count() as u64
    };
    for number in listing_takes..listing_takes + 2 {
        standin.add_fault("d.parquet", When::Nth(number), Fault::Status(500, None));
    }
    let refused = open().build().unwrap_err();
    assert!(matches!(refused, LoadError::Footer { .. }), "{refused}");
    standin.clear_faults();
    let builder = open().with_identity(identity);
    assert_eq!(
        texts(builder),
        texts(
            super::support::builder()
                .with_input(folder.path())
                .with_order(Order::shuffled(1))
        )
    );
}

#[test]
fn a_file_that_changed_is_refused_with_what_changed() {
    for order in orders() {
        let (standin, _folder) = everywhere();
        let open = || by_url(&standin, fetcher(&standin)).with_order(order);
        let mut loader = open().with_workers(0).build().unwrap();
        assert_eq!(loader.by_ref().take(10).map(Result::unwrap).count(), 10);
        let (state, identity) = (loader.state(), loader.identity());
        let mut changed = json_lines(&rows(1, N_ROWS));
        changed[20] ^= 1;
        standin.put_file("b.jsonl", PlainFile::new(changed));
        // Under way.
        let (_, error) = until_error(&mut loader);
        let error = error.expect("the file is another one");
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        assert!(error.record().unwrap().file.ends_with("b.jsonl"), "{error}");
        assert!(format!("{error} {cause:?}").contains("changed"), "{error}");
        // When opened again.
        let refused = open().with_state(state.clone()).build().unwrap_err();
        assert!(
            matches!(refused, LoadError::OtherCorpus { .. }),
            "{refused}"
        );
        let refused = open()
            .with_state(state)
            .with_identity(identity)
            .build()
            .unwrap_err();
        assert!(
            refused.to_string().contains("b.jsonl` changed"),
            "{refused}"
        );
    }
}

#[test]
fn damage_is_told_from_faults_on_the_way() {
    let good = wide(&rows(0, 1000), 250);
    let cut = good[..good.len() - 100].to_vec();
    let mut corrupt = good.clone();
    let middle = good.len() / 2;
    corrupt[middle..middle + 2000].fill(0xAA);
    let lines = json_lines(&rows(0, 1000));
    let mut gz = gzip(&lines);
    gz.truncate(gz.len() / 2);
    for (name, bytes) in [
        ("a.parquet", cut),
        ("a.parquet", corrupt),
        ("a.jsonl.gz", gz),
    ] {
        let folder = Folder::new();
        let path = folder.write(name, &bytes);
        let standin = HubStandin::builder()
            .file(name, PlainFile::new(bytes))
            .start()
            .unwrap();
        let skip = OnBadRecord::Skip;
        let read = |builder: StreamingDatasetLoaderBuilder| {
            let mut loader = builder.on_bad_record(skip).build().unwrap();
            let texts: Vec<_> = loader
                .by_ref()
                .map(|document| document.unwrap().text)
                .collect();
            let ledger = loader.take_bad_records();
            let reasons: Vec<_> = ledger
                .into_iter()
                .map(|record| (record.record, record.lost, record.reason))
                .collect();
            (texts, reasons)
        };
        let remote = read(remote(&standin, &standin.file_url(name)));
        assert_eq!(remote, read(builder().with_input(&path)), "{name}");
        assert!(
            remote
                .1
                .iter()
                .all(|(_, _, reason)| matches!(reason, BadReason::Corrupt { .. }))
        );
    }
}

#[test]
fn a_compressed_file_that_breaks_off_on_the_way_is_not_called_damaged() {
    let bytes = gzip(&json_lines(&rows(0, 5000)));
    let standin = HubStandin::builder()
        .file("a.jsonl.gz", PlainFile::new(bytes))
        .start()
        .unwrap();
    let fetcher = fetcher(&standin).with_retry(retry(2)).build().unwrap();
    let mut loader = builder()
        .with_input(standin.file_url("a.jsonl.gz"))
        .with_fetcher(fetcher)
        .build()
        .unwrap();
    standin.add_fault("a.jsonl", When::Nth(0), Fault::Truncate(100_000));
    standin.add_fault("a.jsonl", When::Always, Fault::Truncate(0));
    let (documents, error) = until_error(&mut loader);
    assert!(documents.len() < 5000);
    let error = error.unwrap();
    let reason = &error.record().unwrap().reason;
    assert!(matches!(reason, BadReason::Unreadable { .. }), "{error}");
}

#[test]
fn expired_signatures_are_renewed() {
    let parquet = wide(&rows(0, 4000), 200);
    let dataset = Dataset::new("me/corpus").file("a.parquet", parquet);
    let standin = HubStandin::builder()
        .dataset(dataset)
        .signature_uses(3)
        .start()
        .unwrap();
    for workers in [0, 2] {
        let builder = remote(&standin, "hf://me/corpus").with_workers(workers);
        let mut loader = builder.build().unwrap();
        let mut found: Vec<_> = loader.by_ref().take(100).map(|d| d.unwrap().text).collect();
        standin.expire_signatures();
        found.extend(loader.map(|document| document.unwrap().text));
        assert!(found == rows(0, 4000));
    }
}

#[test]
fn with_a_cache_the_second_pass_asks_for_no_data() {
    let (standin, folder) = everywhere();
    let cache = Folder::new();
    for order in orders() {
        let expected = texts(builder().with_input(folder.path()).with_order(order));
        let mut passes = Vec::new();
        for _ in 0..2 {
            let fetcher = fetcher(&standin)
                .with_cache(cache.path(), 1 << 30)
                .build()
                .unwrap();
            let urls = files().into_iter().map(|(name, _)| standin.file_url(name));
            let builder = builder().with_inputs(urls).with_fetcher(fetcher.clone());
            assert!(texts(builder.with_order(order).with_workers(2)) == expected);
            passes.push(fetcher.figures().bytes_received);
        }
        assert_eq!(passes[1], 0, "{order:?}: {passes:?}");
    }
}

#[test]
fn dropping_ends_a_stalled_read_at_once() {
    let (standin, _folder) = everywhere();
    let mut patient = Timeouts::default();
    patient.idle = Duration::from_secs(600);
    for workers in [0, 3] {
        for order in orders() {
            standin.clear_faults();
            let open = by_url(&standin, fetcher(&standin).with_timeouts(patient));
            let builder = open.with_order(order).with_workers(workers);
            let loader = builder.build().unwrap();
            standin.forget_requests();
            standin.add_fault("/files/", When::Always, Fault::Stall);
            let one = std::num::NonZeroUsize::MIN;
            let stream = loader.into_stream(one).unwrap();
            while standin.requests().is_empty() {
                std::thread::yield_now();
            }
            let begun = Instant::now();
            drop(stream);
            assert!(begun.elapsed() < Duration::from_secs(1));
        }
    }
    // A loader, on whose threads a read stalls that nobody waits for yet.
    standin.clear_faults();
    let builder = by_url(&standin, fetcher(&standin).with_timeouts(patient)).with_workers(3);
    let mut loader = builder.build().unwrap();
    standin.add_fault("b.jsonl", When::Always, Fault::Stall);
    assert!(loader.next().unwrap().is_ok());
    let begun = Instant::now();
    let (done, is_done) = channel();
    std::thread::spawn(move || {
        drop(loader);
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_server_that_limits_is_obeyed() {
    let (standin, folder) = everywhere();
    standin.add_fault(
        "/files/",
        When::Nth(6),
        Fault::Status(429, Some("1".to_owned())),
    );
    let begun = Instant::now();
    let builder = by_url(&standin, fetcher(&standin)).with_workers(2);
    assert!(texts(builder) == texts(super::support::builder().with_input(folder.path())));
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_loader_of_remote_files_can_be_used_inside_a_runtime() {
    let (standin, _folder) = everywhere();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let loader = by_url(&standin, fetcher(&standin)).build().unwrap();
        assert_eq!(loader.map(Result::unwrap).count(), 4 * N_ROWS);
    });
}

#[test]
fn errors_of_the_way_can_be_told_by_their_cause() {
    let (standin, _folder) = everywhere();
    let missing = remote(&standin, &standin.file_url("none.jsonl")).build();
    let LoadError::Remote { source, .. } = missing.unwrap_err() else {
        panic!("another error");
    };
    assert!(matches!(
        source.downcast_ref(),
        Some(FetchError::NotFound { .. })
    ));
}

#[test]
fn a_clone_of_a_dataset_is_read_as_on_the_hub() {
    let card = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: [b/*, .more/a.jsonl]\n---\n";
    let git = "[remote \"origin\"]\n\turl = https://huggingface.co/datasets/me/corpus\n";
    let lines = |n| json_lines(&rows(n, 3));
    let read = |files: &[(&str, &[u8])]| {
        let folder = Folder::new();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let loader = builder().with_input(folder.path()).build();
        loader.map(|loader| {
            loader
                .map(|document| document.unwrap().text)
                .collect::<Vec<_>>()
        })
    };
    let all =
        |numbers: &[usize]| -> Vec<String> { numbers.iter().flat_map(|n| rows(*n, 3)).collect() };
    // By its card, which names what is hidden outright.
    let found = read(&[
        ("README.md", card.as_bytes()),
        ("LICENSE.txt", b"all rights"),
        ("a.jsonl", &lines(0)),
        ("b/1.jsonl", &lines(1)),
        (".more/a.jsonl", &lines(2)),
        (".git/x.jsonl", &lines(3)),
    ]);
    assert_eq!(found.unwrap(), all(&[2, 1]));
    // By convention, where Git says that it is a clone.
    let found = read(&[
        (".git/config", git.as_bytes()),
        ("README.md", b"# Corpus"),
        ("LICENSE.txt", b"all rights"),
        ("train/test_1.jsonl", &lines(1)),
        ("dev/a.jsonl", &lines(2)),
    ]);
    assert_eq!(found.unwrap(), all(&[1]));
    // A folder with a README that is no card is a folder.
    let found = read(&[
        ("README.md", b"---\ntitle: x\n---\nwords"),
        ("train/a.jsonl", &lines(1)),
        ("dev/a.jsonl", &lines(2)),
    ]);
    assert_eq!(found.unwrap().len(), 7);
    // What the card names and is not there is no success.
    let error = read(&[("README.md", card.as_bytes()), ("b/1.jsonl", &lines(1))]);
    let error = error.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("`.more/a.jsonl`"), "{cause}");
}

// Other systems have no names that are not UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn what_a_clone_holds_beside_files_is_told() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use kato_loader::ignored::IgnoredReason;

    let folder = Folder::new();
    let within = |name: &str| folder.path().join(name);
    folder.write(
        "README.md",
        "---\nconfigs:\n- config_name: default\n  data_files: train/*.jsonl\n---\n",
    );
    folder.write("train/a.jsonl", json_lines(&rows(1, 3)));
    folder.write("closed/b.jsonl", json_lines(&rows(2, 3)));
    symlink("nowhere", within("train/dead.jsonl")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(within("train/socket.jsonl")).unwrap();
    let odd = folder.path().join(OsStr::from_bytes(b"train/\xff.jsonl"));
    std::fs::write(&odd, json_lines(&rows(3, 3))).unwrap();
    std::fs::set_permissions(within("closed"), PermissionsExt::from_mode(0o000)).unwrap();
    let is_forbidden = std::fs::read_dir(within("closed")).is_err();
    let loader = builder().with_input(folder.path()).build();
    std::fs::set_permissions(within("closed"), PermissionsExt::from_mode(0o755)).unwrap();
    let loader = loader.unwrap();
    let ignored = loader.ignored_files().into_iter();
    let mut ignored: Vec<_> = ignored
        .map(|file| (file.path.strip_prefix(folder.path()).unwrap(), file.reason))
        .collect();
    ignored.sort();
    // Root may look into everything.
    let closed = match is_forbidden {
        true => ("closed", IgnoredReason::Forbidden),
        false => ("closed/b.jsonl", IgnoredReason::NotInSplit),
    };
    let mut expected = vec![
        (std::path::Path::new("README.md"), IgnoredReason::NotInSplit),
        (std::path::Path::new(closed.0), closed.1),
        (
            std::path::Path::new("train/dead.jsonl"),
            IgnoredReason::DanglingLink,
        ),
        (
            std::path::Path::new("train/socket.jsonl"),
            IgnoredReason::NoFile,
        ),
        (
            odd.strip_prefix(folder.path()).unwrap(),
            IgnoredReason::NotUtf8,
        ),
    ];
    expected.sort();
    assert_eq!(ignored, expected);
    assert_eq!(loader.count(), 3);
}
