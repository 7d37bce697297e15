//! Export and import are inverse, byte for byte, and a bad line imports nothing.

use std::io::{self, BufReader, Cursor, Read, Write};
use std::num::NonZeroUsize;

use kato_model::{AttributeLimits, PatternName};
use kato_store::conformance::{Fixture, LearnCall, Lessons, assert_same_content};
use kato_store::{
    EmbeddedStore, ExchangeError, KnowledgeBase, MemoryStore, PatternStore, StoreError, Tombstones,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::random::lessons;
use crate::support::{Embedded, InMemory, always_merging, cases, commit};

fn export(store: &dyn PatternStore, node_idx: usize) -> String {
    let mut bytes = Vec::new();
    let count = KnowledgeBase::at(store, node_idx)
        .unwrap()
        .export(&mut bytes)
        .unwrap();
    assert_eq!(count, store.count_patterns(node_idx).unwrap());
    String::from_utf8(bytes).unwrap()
}

fn import(store: &dyn PatternStore, node_idx: usize, lines: &str) -> Result<u64, ExchangeError> {
    KnowledgeBase::at(store, node_idx)
        .unwrap()
        .import(lines.as_bytes())
}

/// Imports what every node exports into a new store of the same nodes and limits.
fn copied<F: Fixture>(fixture: &F, store: &dyn PatternStore) -> F::Store {
    let nodes: Vec<&str> = store.nodes().iter().map(String::as_str).collect();
    let copy = fixture.create(
        &nodes,
        store.configuration().clone(),
        store.attribute_limits(),
    );
    for node_idx in 0..nodes.len() {
        import(&copy, node_idx, &export(store, node_idx)).unwrap();
    }
    copy
}

const ABC: &str = r#"{"name":"b98534b32c1d7489d4ce1a48724aa65aeecbdba9","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":1,"emotives":[],"metadata":{}}"#;

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn what_was_exported_imports_to_the_same_knowledge_base(lessons in lessons()) {
        let embedded = Embedded::new(always_merging());
        let store = embedded.create(&["node0", "node1", "node2"], Value::Null, lessons.limits());
        for idx in 0..lessons.len() {
            commit(&store, &lessons, &[idx], json!(idx));
        }
        let memory = copied(&InMemory, &store);
        let copy = copied(&embedded, &memory);
        copy.compact().unwrap();
        assert_same_content(&copy, &memory, 0);
        for node_idx in 0..3 {
            let lines = export(&store, node_idx);
            prop_assert_eq!(&export(&memory, node_idx), &lines);
            prop_assert_eq!(&export(&copy, node_idx), &lines);
            prop_assert_eq!(store.totals(node_idx).unwrap(), copy.totals(node_idx).unwrap());
        }
    }

    #[test]
    fn an_exported_line_is_the_record_that_the_model_writes(lessons in lessons()) {
        let store = InMemory.create(&["node0", "node1", "node2"], Value::Null, lessons.limits());
        let all: Vec<usize> = (0..lessons.len()).collect();
        commit(&store, &lessons, &all, Value::Null);
        for node_idx in 0..3 {
            let records = store.scan(node_idx).unwrap().map(|pattern| pattern.unwrap().into_record().unwrap());
            let lines: String = records.map(|record| record.to_json().unwrap() + "\n").collect();
            prop_assert_eq!(export(&store, node_idx), lines);
        }
    }
}

#[test]
fn importing_adds_to_what_is_there_and_keeps_the_checkpoint() {
    let fixture = Embedded::default();
    let store = fixture.create(&["node0"], Value::Null, AttributeLimits::default());
    let lessons = Lessons::new(1, vec![LearnCall::text(0, &["a", "b", "c"])]);
    commit(&store, &lessons, &[0], json!({"samples": 7}));
    let lines = ABC
        .replace("\"frequency\":1", "\"frequency\":41")
        .replace("{}", r#"{"book":["2","1","2"]}"#);
    assert_eq!(
        import(&store, 0, &format!("{lines}\n\n  {lines}\r\n")).unwrap(),
        2
    );
    let expected = ABC
        .replace("\"frequency\":1", "\"frequency\":83")
        .replace("{}", r#"{"book":["1","2"]}"#);
    assert_eq!(export(&store, 0), expected + "\n");
    assert_eq!(store.checkpoint(), json!({"samples": 7}));
    assert_eq!(store.totals(0).unwrap().learned_symbols, 3 * 83);
}

#[test]
fn lines_of_kato_itself_are_taken() {
    let store = InMemory.create(&["node0"], Value::Null, AttributeLimits::default());
    let line = r#"{"_id":{"$oid":"1"},"length":2,"metadata":{"b":["2","1"]},"pattern_data":[["é","\ud83d\ude00"]],"emotives":{},"frequency":3,"name":"NAME"}"#;
    let name = PatternName::of_events(&[["é", "😀"]]);
    import(&store, 0, &line.replace("NAME", &name.to_string())).unwrap();
    let expected = r#"{"name":"NAME","pattern_data":[["é","😀"]],"length":2,"frequency":3,"emotives":[],"metadata":{"b":["1","2"]}}"#;
    assert_eq!(
        export(&store, 0),
        expected.replace("NAME", &name.to_string()) + "\n"
    );
}

#[test]
fn emotives_keep_their_order_and_every_bit_within_the_window() {
    let limits = AttributeLimits {
        persistence: NonZeroUsize::new(3).unwrap(),
        ..AttributeLimits::default()
    };
    let fixture = Embedded::default();
    let store = fixture.create(&["node0"], Value::Null, limits);
    let window = r#"[{"joy":0.30000000000000004},{},{"fear":-0.0,"joy":1e-308}]"#;
    let line = ABC.replace("[],\"meta", &format!("{window},\"meta"));
    import(&store, 0, &line).unwrap();
    assert_eq!(export(&store, 0), line.clone() + "\n");
    import(
        &store,
        0,
        &line.replace("[{\"joy\":0.3", "[{\"joy\":9.5},{\"joy\":0.3"),
    )
    .unwrap();
    assert_eq!(
        KnowledgeBase::at(&store, 0)
            .unwrap()
            .scan()
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .emotives
            .entries()
            .len(),
        3
    );
}

#[test]
fn a_line_that_cannot_be_taken_imports_nothing_and_is_named() {
    let cases = [
        (
            "not json",
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("[\"a\"]", "[\"x\"]"),
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("\"length\":3", "\"length\":2"),
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("[],", "[{\"joy\":1e999}],"),
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("\"frequency\":1", "\"frequency\":-1"),
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("\"length\"", "\"tombstone\":\"buried\",\"length\""),
            "line 3 cannot be imported, so nothing was: correct or remove it",
        ),
        (
            &ABC.replace("\"frequency\":1", "\"frequency\":0"),
            "line 3 gives pattern b98534b32c1d7489d4ce1a48724aa65aeecbdba9 the frequency 0, so nothing was imported: remove the \
             line",
        ),
    ];
    let fixture = Embedded::default();
    let stores: [Box<dyn PatternStore>; 2] = [
        Box::new(fixture.create(&["node0"], Value::Null, AttributeLimits::default())),
        Box::new(InMemory.create(&["node0"], Value::Null, AttributeLimits::default())),
    ];
    for store in &stores {
        let before = store.disk_bytes();
        for (line, message) in &cases {
            let error =
                import(store.as_ref(), 0, &format!("{ABC}\n\n{line}\n{ABC}\n")).unwrap_err();
            assert_eq!(error.to_string(), *message, "{line}");
            assert_eq!(
                (store.count_patterns(0).unwrap(), store.disk_bytes()),
                (0, before),
                "{line}"
            );
        }
    }
}

#[test]
fn a_retired_name_that_nobody_learned_is_exported_and_imported() {
    let fixture = Embedded::default();
    let create = || fixture.create(&["node0"], Value::Null, AttributeLimits::default());
    let store = create();
    import(&store, 0, &format!("{ABC}\n")).unwrap();
    let learned = PatternName::of_events(&[["a"], ["b"], ["c"]]);
    let mut names: Vec<PatternName> = (0..20u8)
        .map(|n| PatternName::of_events(&[[format!("{n}")], ["z".to_owned()]]))
        .chain([learned])
        .collect();
    names.sort();
    let mut tombstones = Tombstones::of_store(&store).unwrap();
    for name in &names {
        tombstones[0].retire(*name);
    }
    store
        .bury(tombstones.clone(), &[Vec::new()], Value::Null)
        .unwrap();

    // Among the patterns, in the order of names, and counted as none.
    let lines = export(&store, 0);
    let told = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["tombstone"], "retired");
        line["name"].as_str().unwrap().parse().unwrap()
    });
    assert_eq!(told.collect::<Vec<PatternName>>(), names);
    let copy = create();
    assert_eq!(import(&copy, 0, &lines).unwrap(), 1);
    assert_eq!(Tombstones::of_store(&copy).unwrap(), tombstones);
    assert_eq!(export(&copy, 0), lines);

    // Nothing else makes up for a pattern.
    let line = lines
        .lines()
        .find(|line| !line.contains("pattern_data"))
        .unwrap();
    for line in [
        line.replace("retired", "purged"),
        line.replace("name", "title"),
        line.replace("tombstone", "stone"),
    ] {
        let error = import(&copy, 0, &line).unwrap_err();
        assert!(
            matches!(error, ExchangeError::Record { line: 1, .. }),
            "{line}"
        );
    }
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_passed_over() {
    let store = MemoryStore::new(&["node0"], Value::Null);
    assert_eq!(import(&store, 0, &format!("\u{feff}{ABC}\r\n")).unwrap(), 1);
    assert_eq!(import(&store, 0, "\u{feff}").unwrap(), 0);
    let error = import(&store, 0, &format!("{ABC}\n\u{feff}{ABC}\n")).unwrap_err();
    assert!(matches!(error, ExchangeError::Record { line: 2, .. }));
}

#[test]
fn an_error_has_the_reason_as_its_source() {
    let store = InMemory.create(&["node0"], Value::Null, AttributeLimits::default());
    let error = import(&store, 0, &ABC.replace("[\"a\"]", "[\"x\"]")).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("its events have the name"), "{source}");
}

#[test]
fn bytes_that_are_not_text_and_endless_lines_are_refused() {
    let store = InMemory.create(&["node0"], Value::Null, AttributeLimits::default());
    let node = KnowledgeBase::at(&store, 0).unwrap();
    assert!(matches!(
        node.import(b"\xff\n".as_slice()),
        Err(ExchangeError::NotUtf8 { line: 1 })
    ));
    let endless = BufReader::new(io::repeat(b' '));
    assert!(matches!(
        node.import(endless),
        Err(ExchangeError::TooLong { line: 1, .. })
    ));
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is out"))
    }
}

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is out"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn readers_and_writers_that_fail_are_reported() {
    let store = InMemory.create(&["node0"], Value::Null, AttributeLimits::default());
    let node = KnowledgeBase::at(&store, 0).unwrap();
    let line = format!("{ABC}\n");
    let lines = BufReader::new(Cursor::new(line).chain(Broken));
    assert!(matches!(
        node.import(lines),
        Err(ExchangeError::Read { line: 2, .. })
    ));
    assert_eq!(node.count_patterns().unwrap(), 0);
    node.import(ABC.as_bytes()).unwrap();
    assert!(matches!(
        node.export(Broken),
        Err(ExchangeError::Write {
            patterns_written: 1,
            ..
        })
    ));
}

#[test]
fn a_name_that_is_not_that_of_its_content_is_not_exported() {
    let store = MemoryStore::new(&["node0"], Value::Null);
    let mut batch = kato_model::LearnBatch::new(1);
    let symbols = [kato_model::batch::BatchSymbol::Literal(batch.literal("a"))];
    batch.learn(0, PatternName::from_bytes([7; 20]), symbols);
    store
        .commit(vec![store.stage(batch.seal()).unwrap()], Value::Null)
        .unwrap();
    let exported = KnowledgeBase::at(&store, 0).unwrap().export(io::sink());
    assert!(matches!(
        exported,
        Err(ExchangeError::Store(StoreError::NameMismatch { .. }))
    ));
}

#[test]
fn an_import_goes_to_a_store_that_was_opened_again() {
    let fixture = Embedded::default();
    let store = fixture.create(&["node0"], Value::Null, AttributeLimits::default());
    import(&store, 0, ABC).unwrap();
    let store = fixture.reopen(store);
    import(&store, 0, ABC).unwrap();
    let reader = EmbeddedStore::open_read_only(store.dir()).unwrap();
    assert_eq!(
        export(&reader, 0),
        ABC.replace("\"frequency\":1", "\"frequency\":2") + "\n"
    );
    assert!(matches!(
        import(&reader, 0, ABC),
        Err(ExchangeError::Store(StoreError::ReadOnly { .. }))
    ));
}
