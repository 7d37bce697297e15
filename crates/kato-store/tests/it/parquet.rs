//! Parquet files out of knowledge bases and into them: what is carried, which files are taken, and
//! that a bad one adds nothing.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{self, Cursor, Write};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use bytes::Bytes;
use kato_model::emotives::EmotiveWindow;
use kato_model::{AttributeLimits, Attributes, EmotiveMap, Metadata};
use kato_store::conformance::{CallSymbol, Fixture, LearnCall, Lessons};
use kato_store::parquet::{ParquetError, RowError};
use kato_store::{KnowledgeBase, MemoryStore, PatternStore, StoreError};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::random::lessons;
use crate::support::{Embedded, InMemory, always_merging, cases, commit};

const NODES: [&str; 3] = ["node0", "node1", "node2"];

fn node(store: &dyn PatternStore, node_idx: usize) -> KnowledgeBase<'_> {
    KnowledgeBase::at(store, node_idx).unwrap()
}

fn lines(store: &dyn PatternStore, node_idx: usize) -> String {
    let mut bytes = Vec::new();
    node(store, node_idx).export(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn file(store: &dyn PatternStore, node_idx: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = node(store, node_idx).export_parquet(&mut bytes).unwrap();
    assert_eq!(count, store.count_patterns(node_idx).unwrap());
    bytes
}

fn import(store: &dyn PatternStore, node_idx: usize, file: &[u8]) -> Result<u64, ParquetError> {
    node(store, node_idx).import_parquet(Cursor::new(file.to_vec()))
}

fn empty() -> MemoryStore {
    MemoryStore::new(&["node0"], Value::Null)
}

/// The rows of a file as this library reads them, one a line, without the names of columns.
fn rows(file: Vec<u8>) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// A column of a file that has one batch of rows.
fn column(file: &[u8], name: &str) -> String {
    let rows = rows(file.to_vec());
    let mut text = String::new();
    for batch in &rows {
        write!(text, "{:?}", batch.column_by_name(name).unwrap()).unwrap();
    }
    // As they are printed, quotes within a text are escaped.
    text.replace('\\', "").split_whitespace().collect()
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn what_was_exported_imports_to_the_same_knowledge_base(lessons in lessons()) {
        let embedded = Embedded::new(always_merging());
        let store = embedded.create(&NODES, Value::Null, lessons.limits());
        let taught = InMemory.create(&NODES, Value::Null, lessons.limits());
        for idx in 0..lessons.len() {
            commit(&store, &lessons, &[idx], json!(idx));
            commit(&taught, &lessons, &[idx], json!(idx));
        }
        let copy = embedded.create(&NODES, Value::Null, lessons.limits());
        let memory = InMemory.create(&NODES, Value::Null, lessons.limits());
        for node_idx in 0..NODES.len() {
            let file = file(&store, node_idx);
            // Equal knowledge, whatever keeps it.
            prop_assert!(file == self::file(&taught, node_idx));
            import(&copy, node_idx, &file).unwrap();
            import(&memory, node_idx, &file).unwrap();
        }
        copy.compact().unwrap();
        for node_idx in 0..NODES.len() {
            let expected = lines(&store, node_idx);
            prop_assert_eq!(&lines(&copy, node_idx), &expected);
            prop_assert_eq!(&lines(&memory, node_idx), &expected);
            prop_assert_eq!(store.totals(node_idx).unwrap(), copy.totals(node_idx).unwrap());
        }
    }
}

/// Texts alone, names alone, both, events of several symbols, and all attributes.
fn of_all_kinds() -> MemoryStore {
    let text = |text: &str| CallSymbol::Text(text.to_owned());
    let mut metadata = Metadata::default();
    metadata.insert_text("book", "é".to_owned(), None);
    let mut emotives = EmotiveWindow::default();
    let joy = EmotiveMap::from([("joy".to_owned(), 0.1 + 0.2)]);
    emotives.learn((0, 0), joy, AttributeLimits::default().persistence);
    let attributes = Attributes {
        extra_frequency: 6,
        metadata,
        emotives,
        ..Attributes::default()
    };
    let lessons = vec![
        LearnCall::text(0, &["a", "b", "a"]),
        LearnCall::new(1, [CallSymbol::Learned(0), CallSymbol::Learned(0)]),
        LearnCall::with_events(
            1,
            vec![vec![CallSymbol::Learned(0), text("x")], vec![text("y")]],
        )
        .with_attributes(attributes),
    ];
    let lessons = Lessons::new(2, lessons).with_provenance();
    let store = MemoryStore::new(&NODES[..2], Value::Null);
    commit(&store, &lessons, &[0, 1, 2], Value::Null);
    store
}

#[test]
fn texts_are_symbols_names_are_children_and_what_was_not_recorded_is_null() {
    let store = of_all_kinds();
    let aba = node(&store, 0)
        .scan()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .name;
    let below = file(&store, 0);
    assert_eq!(rows(below.clone())[0].num_rows(), 1);
    assert!(column(&below, "name").contains(&format!("\"{aba}\"")));
    assert!(column(&below, "symbols").contains(r#"["a","b","a",]"#));
    for absent in ["children", "event_lengths", "emotives", "metadata"] {
        assert!(column(&below, absent).contains("null"), "{absent}");
    }
    let above = rows(file(&store, 1));
    let above = &above[0];
    let texts = |name: &str| -> Vec<Option<Vec<String>>> {
        use arrow_array::cast::AsArray;
        let lists = above.column_by_name(name).unwrap().as_list::<i32>();
        let list = |list: ArrayRef| {
            let texts = list.as_string::<i32>().iter();
            texts.map(|text| text.unwrap().to_owned()).collect()
        };
        lists.iter().map(|row| row.map(list)).collect()
    };
    let bare = aba.to_string();
    let mut symbols = texts("symbols");
    let mut children = texts("children");
    symbols.sort();
    children.sort();
    let both = vec![aba.prefixed().to_string(), "x".to_owned(), "y".to_owned()];
    assert_eq!(symbols, [None, Some(both)]);
    assert_eq!(
        children,
        [Some(vec![bare.clone()]), Some(vec![bare.clone(), bare])]
    );
    let file = file(&store, 1);
    assert!(column(&file, "frequency").contains('7'));
    assert!(column(&file, "emotives").contains(r#"[{"joy":0.30000000000000004}]"#));
    assert!(column(&file, "metadata").contains(r#"{"book":["é"]}"#));
    assert!(column(&file, "event_lengths").contains("[2,1,]"));
    assert!(!column(&file, "first_document").contains("null"));
}

#[test]
fn the_file_says_that_it_is_sorted_by_name_and_compressed() {
    let names: Vec<String> = (0..500).map(|number| format!("w{number}")).collect();
    let lessons = names
        .iter()
        .map(|name| LearnCall::text(0, &[name.as_str(), "."]));
    let lessons = Lessons::new(1, lessons.collect());
    let store = empty();
    let all: Vec<usize> = (0..lessons.len()).collect();
    commit(&store, &lessons, &all, Value::Null);
    let file = file(&store, 0);
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file.clone())).unwrap();
    let group = reader.metadata().row_group(0);
    let sorted = &group.sorting_columns().unwrap()[0];
    assert_eq!((sorted.column_idx, sorted.descending), (0, false));
    for column in group.columns() {
        assert!(format!("{:?}", column.compression()).starts_with("ZSTD"));
    }
    let batches = rows(file);
    let mut names: Vec<String> = Vec::new();
    for batch in &batches {
        use arrow_array::cast::AsArray;
        let column = batch.column_by_name("name").unwrap().as_string::<i32>();
        names.extend(column.iter().map(|name| name.unwrap().to_owned()));
    }
    assert_eq!(names.len(), 500);
    assert!(names.is_sorted());
}

#[test]
fn importing_adds_to_what_is_there_and_leaves_first_sightings_out() {
    let store = of_all_kinds();
    let file = file(&store, 1);
    assert_eq!(import(&store, 1, &file).unwrap(), 2);
    assert_eq!(node(&store, 1).totals().unwrap().learns, 16);
    let copy = MemoryStore::new(&NODES[..2], Value::Null);
    import(&copy, 1, &file).unwrap();
    let patterns: Vec<_> = copy.scan(1).unwrap().map(Result::unwrap).collect();
    assert!(patterns.iter().all(|pattern| pattern.first_seen.is_none()));
}

/// A file of these columns.
fn written(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    written_with(columns, None)
}

fn written_with(columns: Vec<(&str, ArrayRef)>, version: Option<&str>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    if let Some(version) = version {
        let pair = KeyValue::new("kato.patterns".to_owned(), version.to_owned());
        writer.append_key_value_metadata(pair);
    }
    writer.close().unwrap();
    bytes
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn numbers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Lists of texts, one a row.
fn lists(rows: &[Option<&[Option<&str>]>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for row in rows {
        for value in row.iter().flat_map(|values| values.iter()) {
            builder.values().append_option(*value);
        }
        builder.append(row.is_some());
    }
    Arc::new(builder.finish())
}

const ABC: &str = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
const SYMBOLS: &[Option<&str>] = &[Some("a"), Some("b"), Some("c")];

/// The columns of a file of one pattern, with some replaced; those without values are left out.
fn with(replaced: &[(&'static str, Option<ArrayRef>)]) -> Vec<u8> {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("name", texts(&[Some(ABC)])),
        ("symbols", lists(&[Some(SYMBOLS)])),
        ("frequency", numbers(&[4])),
    ];
    for (name, values) in replaced {
        columns.retain(|(column, _)| column != name);
        columns.extend(values.clone().map(|values| (*name, values)));
    }
    written(columns)
}

#[test]
fn files_of_other_writers_are_taken() {
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![4]));
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![4]));
    let mut lengths = ListBuilder::new(Int64Builder::new());
    lengths.append_value([Some(1), Some(1), Some(1)]);
    let lengths: ArrayRef = Arc::new(lengths.finish());
    let null = texts(&[None]);
    let prefixed = texts(&[Some(format!("PTRN|{ABC}").as_str())]);
    let files = [
        with(&[]),
        with(&[("frequency", Some(wide))]),
        with(&[("frequency", Some(narrow))]),
        with(&[("event_lengths", Some(lengths))]),
        with(&[
            ("emotives", Some(Arc::clone(&null))),
            ("metadata", Some(null)),
        ]),
        with(&[("colour", Some(numbers(&[7])))]),
        with(&[("name", Some(prefixed))]),
        with(&[("children", Some(lists(&[None])))]),
        with(&[("children", Some(lists(&[Some(&[])])))]),
    ];
    for (idx, file) in files.iter().enumerate() {
        let store = empty();
        assert_eq!(import(&store, 0, file).unwrap(), 1, "file {idx}");
        let line = lines(&store, 0);
        assert!(
            line.contains(r#""pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":4,"#),
            "{line}"
        );
    }
}

/// The messages of an error and its causes.
fn chain(error: &ParquetError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        write!(text, ": {cause}").unwrap();
        source = cause.source();
    }
    text
}

#[test]
fn a_bad_file_adds_nothing_and_says_what_is_wrong() {
    let one = |text: &str| Some(texts(&[Some(text)]));
    let mut lengths = ListBuilder::new(Int64Builder::new());
    lengths.append_value([Some(1), Some(1)]);
    let lengths: ArrayRef = Arc::new(lengths.finish());
    let child: &[Option<&str>] = &[Some(ABC)];
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"name,symbols\n".to_vec(), "failed to read a Parquet file"),
        (Vec::new(), "failed to read a Parquet file"),
        (
            with(&[("name", None)]),
            "no column name, so nothing was imported: it has symbols, frequency",
        ),
        (with(&[("frequency", None)]), "no column frequency"),
        (with(&[("symbols", None)]), "no column symbols"),
        (
            with(&[("frequency", one("4"))]),
            "column frequency holds Utf8 and not whole numbers",
        ),
        (
            with(&[("symbols", one("a b c"))]),
            "column symbols holds Utf8 and not lists of text",
        ),
        (
            with(&[("name", Some(numbers(&[1])))]),
            "column name holds Int64 and not text",
        ),
        (
            with(&[("metadata", Some(numbers(&[1])))]),
            "column metadata holds Int64 and not text",
        ),
        (
            with(&[("name", Some(texts(&[None])))]),
            "row 1 cannot be imported, so nothing was: correct or remove it: name is null",
        ),
        (with(&[("name", one("abc"))]), "name holds what is no name"),
        (
            with(&[("name", one(&"0f".repeat(20)))]),
            "its symbols have the name b98534b3",
        ),
        (
            with(&[("symbols", Some(lists(&[Some(&[Some("a"), None])])))]),
            "symbols is null, or has an element that is null",
        ),
        (
            with(&[("symbols", Some(lists(&[None])))]),
            "row 1 cannot be imported, so nothing was: correct or remove it: symbols and children are both null",
        ),
        (
            with(&[("frequency", Some(numbers(&[0])))]),
            "frequency is 0",
        ),
        (
            with(&[("frequency", Some(numbers(&[-3])))]),
            "frequency is -3",
        ),
        (
            with(&[("event_lengths", Some(lengths))]),
            "do not add up to its 3 symbols",
        ),
        (
            with(&[("children", Some(lists(&[Some(child)])))]),
            "children are not the names",
        ),
        (
            with(&[("emotives", one("[{\"joy\":1e999}]"))]),
            "emotives is not the JSON of an export",
        ),
        (
            with(&[("metadata", one("[]"))]),
            "metadata is not the JSON of an export",
        ),
        (
            written_with(vec![("name", texts(&[Some(ABC)]))], Some("2")),
            "version 2 of patterns, and this build reads version 1",
        ),
    ];
    let fixture = Embedded::default();
    let store = fixture.create(&["node0"], Value::Null, AttributeLimits::default());
    let before = store.disk_bytes();
    for (file, expected) in &cases {
        let error = import(&store, 0, file).unwrap_err();
        let message = chain(&error);
        assert!(message.contains(expected), "{message}\nand not {expected}");
        assert_eq!(
            (store.count_patterns(0).unwrap(), store.disk_bytes()),
            (0, before),
            "{message}"
        );
    }
}

#[test]
fn a_bad_row_behind_good_ones_adds_none_of_them() {
    let file = written(vec![
        ("name", texts(&[Some(ABC), Some(ABC)])),
        ("symbols", lists(&[Some(SYMBOLS), Some(&SYMBOLS[..2])])),
        ("frequency", numbers(&[1, 1])),
    ]);
    let store = empty();
    let error = import(&store, 0, &file).unwrap_err();
    let ParquetError::Row { row: 2, source } = error else {
        panic!("{error:?}");
    };
    assert!(matches!(*source, RowError::NameMismatch { .. }));
    assert_eq!(store.count_patterns(0).unwrap(), 0);
}

#[test]
fn a_file_that_was_cut_short_or_damaged_is_taken_whole_or_not_at_all() {
    let whole = {
        let store = of_all_kinds();
        file(&store, 1)
    };
    for length in 0..whole.len() {
        let store = empty();
        assert!(
            import(&store, 0, &whole[..length]).is_err(),
            "{length} bytes"
        );
        assert_eq!(store.count_patterns(0).unwrap(), 0);
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        let store = empty();
        // What is not read at all may be damaged.
        let expected = import(&store, 0, &damaged).unwrap_or(0);
        assert_eq!(store.count_patterns(0).unwrap(), expected, "byte {place}");
    }
}

/// A disk that is full at once.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_is_full_is_reported() {
    let store = of_all_kinds();
    let error = node(&store, 0).export_parquet(Full).unwrap_err();
    assert!(matches!(error, ParquetError::Write { .. }), "{error:?}");
    assert!(
        chain(&error).contains("the disk is full"),
        "{}",
        chain(&error)
    );
}

#[test]
fn what_a_file_cannot_hold_is_not_exported() {
    // A name that is not that of its content.
    let store = empty();
    let mut batch = kato_model::LearnBatch::new(1);
    let symbols = [kato_model::batch::BatchSymbol::Literal(batch.literal("a"))];
    batch.learn(0, kato_model::PatternName::from_bytes([7; 20]), symbols);
    commit_batch(&store, batch);
    let error = node(&store, 0).export_parquet(io::sink()).unwrap_err();
    assert!(matches!(
        error,
        ParquetError::Store(StoreError::NameMismatch { .. })
    ));
    // A frequency beyond signed numbers, which only an import brings.
    let store = empty();
    let huge = format!(
        r#"{{"name":"{ABC}","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":18446744073709551615}}"#
    );
    node(&store, 0).import(huge.as_bytes()).unwrap();
    let error = node(&store, 0).export_parquet(io::sink()).unwrap_err();
    assert!(
        matches!(
            error,
            ParquetError::TooLarge {
                column: "frequency",
                ..
            }
        ),
        "{error}"
    );
}

fn commit_batch(store: &MemoryStore, batch: kato_model::LearnBatch) {
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], Value::Null).unwrap();
}

#[test]
fn a_node_without_patterns_is_a_file_without_rows() {
    let store = empty();
    let file = file(&store, 0);
    assert_eq!(import(&store, 0, &file).unwrap(), 0);
}
