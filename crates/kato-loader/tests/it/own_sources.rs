//! Sources that are no files: they are read as files of the same documents are.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use kato_loader::{
    Document, LoadError, OnBadRecord, Order, Records, Shard, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder,
};

/// A table of numbered texts.
#[derive(Debug, Clone)]
struct Table {
    n_records: u64,
    version: u32,
    /// Records that cannot be read.
    damaged: Range<u64>,
    /// Calls so far.
    n_reads: Arc<AtomicU64>,
}

impl Table {
    fn new(n_records: u64) -> Self {
        Self {
            n_records,
            version: 1,
            damaged: 0..0,
            n_reads: Arc::default(),
        }
    }
}

impl Records for Table {
    fn n_records(&self) -> u64 {
        self.n_records
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<Document>> {
        self.n_reads.fetch_add(1, Ordering::Relaxed);
        if range.clone().any(|number| self.damaged.contains(&number)) {
            return Err(io::Error::other("the table is locked"));
        }
        let document = |number: u64| Document::from((format!("row {number}"), text(number)));
        Ok(range.map(document).collect())
    }

    fn fingerprint(&self) -> String {
        format!("table, version {}", self.version)
    }

    fn mean_bytes(&self) -> u64 {
        // Four records are read at once, and 32 are shuffled together at least.
        256 << 10
    }
}

fn text(number: u64) -> String {
    format!("the text of row {number}")
}

fn open(table: &Table) -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder().with_records("table", table.clone())
}

fn ids(builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    let loader = builder.build().unwrap();
    loader
        .map(|document| {
            let document = document.unwrap();
            let number: u64 = document.text.rsplit(' ').next().unwrap().parse().unwrap();
            assert_eq!(document.id.to_string(), format!("row {number}"));
            document.id.to_string()
        })
        .collect()
}

fn rows(range: Range<u64>) -> Vec<String> {
    range.map(|number| format!("row {number}")).collect()
}

fn orders() -> [Order; 3] {
    let shuffled = Order::shuffled(7).with_window_bytes(16 << 20);
    [Order::Sequential, shuffled, shuffled.with_epoch(1)]
}

#[test]
fn records_come_once_in_every_order_and_for_any_number_of_threads() {
    for n_records in [0, 1, 31, 32, 33, 200] {
        let table = Table::new(n_records);
        assert_eq!(ids(open(&table).allow_empty()), rows(0..n_records));
        for order in orders() {
            let alone = ids(open(&table).allow_empty().with_order(order).with_workers(0));
            let ahead = ids(open(&table).allow_empty().with_order(order).with_workers(3));
            assert_eq!(alone, ahead);
            let mut sorted = alone;
            sorted.sort_by_key(|id| id[4..].parse::<u64>().unwrap());
            assert_eq!(sorted, rows(0..n_records));
        }
    }
}

#[test]
fn reading_goes_on_at_any_record() {
    let table = Table::new(70);
    for order in orders() {
        let all = ids(open(&table).with_order(order));
        for workers in [0, 2] {
            for n_read in 0..=70 {
                let build = || open(&table).with_order(order).with_workers(workers);
                let mut first = build().build().unwrap();
                assert_eq!(first.by_ref().take(n_read).count(), n_read);
                let rest = ids(build().with_cursor(first.cursor()));
                assert_eq!(rest, all[n_read..]);
                let skipping = build().allow_empty().with_skip_records(n_read as u64);
                assert_eq!(ids(skipping), all[n_read..]);
            }
        }
    }
}

#[test]
fn what_lies_in_front_of_a_position_is_not_read() {
    let table = Table::new(3200);
    let mut first = open(&table).with_skip_records(3000).build().unwrap();
    assert_eq!(first.next().unwrap().unwrap().text, text(3000));
    // 200 records, of which 4 are read at once.
    assert!(first.count() == 199 && table.n_reads.load(Ordering::Relaxed) <= 80);
}

#[test]
fn shards_together_are_the_source() {
    let table = Table::new(200);
    for order in orders() {
        let shard = |index| {
            ids(open(&table)
                .with_order(order)
                .with_shard(Shard::new(index, 3)))
        };
        let mut all: Vec<String> = (0..3).flat_map(shard).collect();
        all.sort_by_key(|id| id[4..].parse::<u64>().unwrap());
        assert_eq!(all, rows(0..200));
    }
}

#[test]
fn another_version_is_another_corpus() {
    let table = Table::new(10);
    let identity = open(&table).build().unwrap().identity();
    let build = |table: &Table| open(table).with_identity(identity.clone()).build();
    assert!(build(&table).is_ok());
    for other in [
        Table {
            version: 2,
            ..table.clone()
        },
        Table::new(11),
    ] {
        let error = build(&other).unwrap_err();
        assert!(matches!(error, LoadError::OtherCorpus { .. }), "{error:?}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_or_is_counted() {
    let table = Table {
        damaged: 40..41,
        ..Table::new(100)
    };
    let mut loader = open(&table).build().unwrap();
    let error = loader.find_map(Result::err).unwrap();
    assert!(error.to_string().contains("table"), "{error}");
    assert!(matches!(error, LoadError::BadRecord { .. }), "{error:?}");
    let cursor = loader.cursor();
    // The rest of the block of 32, from the portion that is damaged.
    let mut lenient = open(&table)
        .on_bad_record(OnBadRecord::Skip)
        .build()
        .unwrap();
    assert_eq!(lenient.by_ref().count(), 40 + 36);
    assert_eq!((lenient.counts().bad, lenient.counts().records), (1, 100));
    // Once it can be read again, nothing is missing.
    let mended = Table {
        damaged: 0..0,
        ..table
    };
    assert_eq!(ids(open(&mended).with_cursor(cursor)), rows(40..100));
}

#[test]
fn documents_of_an_iterator_are_numbered_named_and_gone_on_with() {
    let documents =
        || (0..20).map(|number| Document::from((format!("row {number}"), text(number))));
    let build = || StreamingDatasetLoader::builder().with_documents("rows", documents());
    assert_eq!(ids(build()), rows(0..20));
    for n_read in 0..=20 {
        let mut first = build().build().unwrap();
        assert_eq!(first.by_ref().take(n_read).count(), n_read);
        assert_eq!(
            ids(build().with_cursor(first.cursor())),
            rows(n_read as u64..20)
        );
    }
    // Without names they have those of their places; what is blank is counted.
    let texts = StreamingDatasetLoader::builder().with_documents("texts", ["one", " ", "three"]);
    let mut loader = texts.build().unwrap();
    let found: Vec<_> = loader
        .by_ref()
        .map(|document| {
            document
                .map(|one| (one.index, one.id.to_string(), one.text))
                .unwrap()
        })
        .collect();
    let expected = [(0, "texts#1", "one"), (1, "texts#3", "three")];
    assert_eq!(
        found,
        expected.map(|(index, id, text)| (index, id.to_owned(), text.to_owned()))
    );
    assert_eq!(loader.counts().blank, 1);
    let shuffled = build().with_order(Order::shuffled(1)).build();
    assert!(
        matches!(shuffled, Err(LoadError::Unsupported { .. })),
        "{shuffled:?}"
    );
}

#[test]
fn an_async_stream_is_read_as_its_documents_are() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let (sender, receiver) = async_channel::bounded::<(String, String)>(1);
    // Fed by a runtime, one document at a time.
    runtime.spawn(async move {
        for number in 0..20 {
            let document = (format!("row {number}"), text(number));
            sender.send(document).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let mut streamed = StreamingDatasetLoader::builder()
        .with_stream("rows", receiver)
        .build()
        .unwrap();
    let first: Vec<Document> = streamed.by_ref().take(7).map(Result::unwrap).collect();
    let resumed = StreamingDatasetLoader::builder()
        .with_stream(
            "rows",
            futures_util::stream::iter((0..20).map(|n| (format!("row {n}"), text(n)))),
        )
        .with_cursor(streamed.cursor())
        .build()
        .unwrap();
    let rest: Vec<Document> = resumed.map(Result::unwrap).collect();
    assert_eq!((first.len(), rest.len()), (7, 13));
    let rows = (0..20).map(|n| (format!("row {n}"), text(n)));
    let listed = StreamingDatasetLoader::builder()
        .with_documents("rows", rows)
        .build()
        .unwrap();
    assert_eq!(
        [first, rest].concat(),
        listed.map(Result::unwrap).collect::<Vec<_>>()
    );
}

#[test]
fn waiting_for_an_async_stream_ends_with_the_reading() {
    let stop = Arc::new(AtomicU64::new(0));
    let asked = Arc::clone(&stop);
    let mut loader = StreamingDatasetLoader::builder()
        .with_stream("silence", futures_util::stream::pending::<String>())
        .with_interrupt(move || asked.fetch_add(1, Ordering::Relaxed) > 0)
        .build()
        .unwrap();
    assert!(matches!(loader.next(), Some(Err(LoadError::Interrupted))));
}

#[test]
fn rows_of_record_batches_are_documents() {
    let batch = |ids: Vec<i64>, texts: Vec<Option<&str>>| {
        RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from(ids)) as ArrayRef),
            ("body", Arc::new(StringArray::from(texts))),
        ])
        .unwrap()
    };
    let open = |field: &str, batches: Vec<RecordBatch>| {
        StreamingDatasetLoader::builder()
            .with_record_batches("rows", batches)
            .with_text_field(field)
            .with_id_field("id")
            .build()
            .unwrap()
    };
    let batches = vec![
        batch(vec![7, 8], vec![Some("one"), None]),
        batch(vec![9], vec![Some("two")]),
    ];
    let mut loader = open("body", batches.clone());
    let named = loader
        .by_ref()
        .map(|row| row.map(|row| (row.id.to_string(), row.text)));
    let named: Result<Vec<_>, _> = named.collect();
    let expected = [("7", "one"), ("9", "two")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(named.unwrap(), expected);
    assert_eq!(loader.counts().blank, 1);

    for (field, reason) in [
        ("text", "no column `text`; the columns are id, body"),
        ("id", "holds Int64 and no text"),
    ] {
        let error = open(field, batches.clone()).next().unwrap().unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}
