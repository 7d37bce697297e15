//! KATO's layout to the letter: what is written, and what a KATO wrote.

use kato_model::emotives::EmotiveWindow;
use kato_model::{Attributes, EmotiveMap, LearnBatch, Metadata, PatternName, Symbol};
use kato_mongodb::{Guard, MongoRuns};
use kato_store::conformance::{CallSymbol, LearnCall, Lessons};
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{PatternStore, StoreError};
use mongodb::bson::{Document, doc};
use serde_json::json;

use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

/// Documents with equal keys and values, whatever the order of the keys.
fn assert_same(mut found: Vec<Document>, mut expected: Vec<Document>) {
    fn sorted(document: &mut Document) {
        let mut entries: Vec<_> = std::mem::take(document).into_iter().collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        document.extend(entries);
    }
    found.iter_mut().for_each(sorted);
    expected.iter_mut().for_each(sorted);
    assert_eq!(found, expected);
}

const ABC: &str = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
const AB: &str = "395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4";

#[test]
fn a_text_run_is_written_as_kato_writes_it_and_nothing_else() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        let node = format!("node{guard:?}");
        let run = format!("{run}{guard:?}").parse().unwrap();
        let store = builder(&uri, &run, guard)
            .create(&[node.as_str(), "top"], json!(null))
            .unwrap();
        let event = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| CallSymbol::Text(text.to_owned()))
                .collect()
        };
        let lessons = Lessons::new(
            2,
            vec![
                LearnCall::text(0, &["a", "b", "c"]),
                LearnCall::with_events(0, vec![event(&["a", "b"])]),
                LearnCall::new(1, [CallSymbol::Learned(0), CallSymbol::Learned(0)]),
            ],
        );
        for picked in [[0, 1, 2].as_slice(), &[0]] {
            let staged = store.stage(lessons.batch(picked)).unwrap();
            store.commit(vec![staged], json!(null)).unwrap();
        }
        let database = format!("{run}_{node}_kato");
        assert_same(
            raw.all(&database, "patterns_kb"),
            vec![
                doc! {"name": AB, "pattern_data": [["a", "b"]], "length": 2, "frequency": 1, "emotives": {}, "metadata": {}},
                doc! {"name": ABC, "pattern_data": [["a"], ["b"], ["c"]], "length": 3, "frequency": 2, "emotives": {}, "metadata": {}},
            ],
        );
        assert_same(
            raw.all(&database, "symbols_kb"),
            vec![
                doc! {"name": "a", "pattern_member_frequency": 3, "frequency": 3},
                doc! {"name": "b", "pattern_member_frequency": 3, "frequency": 3},
                doc! {"name": "c", "pattern_member_frequency": 2, "frequency": 2},
            ],
        );
        assert_same(
            raw.all(&database, "metadata"),
            vec![
                doc! {"class": "totals", "total_pattern_frequencies": 3, "total_symbol_frequencies": 8, "total_symbols_in_patterns_frequencies": 8},
            ],
        );
        let top = format!("{run}_top_kato");
        assert_same(
            raw.all(&top, "symbols_kb"),
            vec![
                doc! {"name": format!("PTRN|{ABC}"), "pattern_member_frequency": 1, "frequency": 2},
            ],
        );
        assert!(raw.all(&database, "predictions_kb").is_empty());
        assert!(raw.all(&database, "associative_action_kb").is_empty());
    }
}

#[test]
fn attributes_stand_where_kato_has_them() {
    for guard in [Guard::Transaction, Guard::Journal] {
        attributes_under(guard);
    }
}

fn attributes_under(guard: Guard) {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let raw = Raw::new(&uri);
    let store = builder(&uri, &run, guard)
        .create(&["node0"], json!(null))
        .unwrap();
    let mut attributes = Attributes::default();
    let joy = EmotiveMap::from([("joy".to_owned(), 0.4), ("fear".to_owned(), -1.0)]);
    attributes.emotives.learn(
        (3, 1),
        joy.clone(),
        kato_model::emotives::DEFAULT_PERSISTENCE,
    );
    attributes
        .metadata
        .insert_text("book", "1".to_owned(), None);
    attributes
        .metadata
        .insert_text("book", "0".to_owned(), None);
    attributes.affinity = joy;
    let mut odd = Attributes::default();
    for key in ["", "a.b", "$set", "nul\0", "plain"] {
        odd.metadata.insert_text(key, "value".to_owned(), None);
    }
    let lessons = Lessons::new(
        1,
        vec![
            LearnCall::text(0, &["a", "b", "c"]).with_attributes(attributes.clone()),
            LearnCall::text(0, &["odd"]).with_attributes(odd.clone()),
        ],
    );
    let staged = store.stage(lessons.batch(&[0, 1])).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
    let mut found = raw.all(&format!("{run}_node0_kato"), "patterns_kb");
    found.retain(|document| document.get_str("name").unwrap() == ABC);
    assert_same(
        found,
        vec![doc! {
            "name": ABC, "pattern_data": [["a"], ["b"], ["c"]], "length": 3, "frequency": 1,
            "emotives": [{"fear": -1.0, "joy": 0.4}],
            "metadata": {"book": ["0", "1"]},
            "kato_rs": {"positions": [["3", "1"]], "affinity": {"fear": -1.0, "joy": 0.4}},
        }],
    );
    // Every symbol of the pattern adds the mean that the learn carried.
    let mut symbols = raw.all(&format!("{run}_node0_kato"), "symbols_kb");
    symbols.retain(|document| document.get_str("name").unwrap() != "odd");
    let of = |name| doc! {"name": name, "pattern_member_frequency": 1, "frequency": 1, "emotives": {"fear": -1.0, "joy": 0.4}};
    assert_same(symbols, vec![of("a"), of("b"), of("c")]);
    let pattern = store.pattern(0, &lessons.name(0)).unwrap().unwrap();
    assert_eq!(
        (pattern.emotives, pattern.affinity),
        (attributes.emotives, attributes.affinity)
    );
    let pattern = store.pattern(0, &lessons.name(1)).unwrap().unwrap();
    assert_eq!(pattern.metadata, odd.metadata);
}

#[test]
fn what_a_kato_wrote_is_read_and_gone_on_with() {
    let Some(uri) = server() else { return };
    let run = fresh_run();
    let raw = Raw::new(&uri);
    let database = format!("{run}_old_kato");
    raw.insert(
        &database,
        "patterns_kb",
        vec![
            doc! {"name": ABC, "pattern_data": [["a"], ["b"], ["c"]], "length": 3, "frequency": 4, "emotives": {}, "metadata": {}},
            doc! {"name": AB, "pattern_data": [["a", "b"]], "length": 2, "frequency": 1_i64, "emotives": [{"joy": 0.5}, {"joy": 1}], "metadata": {"book": ["v1", "v10", "v2"]}},
            // Without what older code left out.
            doc! {"name": PatternName::of_events(&[["z"]]).to_string(), "pattern_data": [["z"]], "frequency": 1.0},
        ],
    );
    raw.insert(
        &database,
        "symbols_kb",
        vec![
            doc! {"name": "a", "pattern_member_frequency": 5, "frequency": 5, "emotives": {"joy": 1.5}},
            doc! {"name": "b", "frequency": 5},
        ],
    );
    raw.insert(
        &database,
        "metadata",
        vec![doc! {"class": "totals", "total_pattern_frequencies": 6}],
    );

    let store = builder(&uri, &run, Guard::Auto)
        .open_foreign(&[("old", &database)])
        .unwrap();
    assert_eq!(
        store.totals(0).unwrap(),
        Totals {
            learns: 6,
            ..Totals::default()
        }
    );
    let name = AB.parse().unwrap();
    let pattern = store.pattern(0, &name).unwrap().unwrap();
    let joy = |value| EmotiveMap::from([("joy".to_owned(), value)]);
    assert_eq!(pattern.emotives.clone().into_maps(), [joy(0.5), joy(1.0)]);
    assert!(pattern.metadata.values("book").eq(["v1", "v10", "v2"]));
    assert_eq!(pattern.event_lengths.as_deref(), Some([2].as_slice()));
    let counts: Vec<_> = store
        .symbol_counts(0)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        counts[1],
        (
            Symbol::from("b"),
            SymbolCounts {
                frequency: 5,
                member_frequency: 0
            }
        )
    );
    assert_eq!(store.scan(0).unwrap().filter(Result::is_ok).count(), 3);
    assert!(matches!(
        store.commit(Vec::new(), json!(1)),
        Err(StoreError::ReadOnly { .. })
    ));
    drop(store);

    // A node that has learned nothing yet is one, and what is not there is none.
    let (upper, nowhere) = (format!("{run}_upper_raw"), format!("{run}_nowhere_raw"));
    raw.insert(&upper, "metadata", vec![doc! {"class": "totals"}]);
    let open = |nodes: &[(&str, &str)]| builder(&uri, &run, Guard::Auto).open_foreign(nodes);
    let both = open(&[("old", &database), ("upper", &upper)]).unwrap();
    assert_eq!(both.totals(1).unwrap(), Totals::default());
    assert_eq!(both.count_patterns(1).unwrap(), 0);
    for nodes in [
        &[("upper", upper.as_str())][..],
        &[("old", database.as_str()), ("upper", nowhere.as_str())],
    ] {
        let missing = open(nodes).unwrap_err();
        assert!(matches!(missing, StoreError::Missing { .. }), "{missing:?}");
    }

    let runs = MongoRuns::connect(&uri).unwrap();
    let found = runs.discover().unwrap();
    let found = found
        .iter()
        .find(|found| found.run == run.as_str())
        .unwrap();
    assert_eq!(found.nodes, [("old".to_owned(), database.clone())]);

    let store = builder(&uri, &run, Guard::Auto)
        .adopt(&[("old", &database)], json!(null))
        .unwrap();
    let mut emotives = EmotiveWindow::default();
    emotives.learn((1, 0), joy(2.0), kato_model::emotives::DEFAULT_PERSISTENCE);
    let mut batch = LearnBatch::new(1);
    let symbols =
        ["a", "b"].map(|text| kato_model::batch::BatchSymbol::Literal(batch.literal(text)));
    let occurrence = batch.learn(0, name, symbols);
    let attributes = Attributes {
        event_lengths: Some([2].into()),
        emotives,
        metadata: Metadata::default(),
        ..Attributes::default()
    };
    batch.attach(0, occurrence, attributes);
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!("adopted")).unwrap();
    let pattern = store.pattern(0, &name).unwrap().unwrap();
    assert_eq!(pattern.frequency, 2);
    assert_eq!(pattern.emotives.into_maps(), [joy(0.5), joy(1.0), joy(2.0)]);
    drop(store);
    assert!(
        runs.discover()
            .unwrap()
            .iter()
            .all(|found| found.run != run.as_str())
    );
}

#[test]
fn a_stores_size_is_that_of_its_nodes_databases() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = fresh_run();
    let store = builder(&uri, &run, Guard::Auto)
        .create(&["node0", "node1"], json!(null))
        .unwrap();
    let sizes = || ["node0", "node1"].map(|node| raw.bytes(&format!("{run}_{node}_kato")));
    assert_eq!(store.disk_bytes(), Some(sizes().iter().sum()));
    let before = store.disk_bytes();
    let lessons = Lessons::new(2, vec![LearnCall::text(0, &["a", "b", "c"])]);
    let staged = store.stage(lessons.batch(&[0])).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
    assert_eq!(store.disk_bytes(), Some(sizes().iter().sum()));
    assert!(store.disk_bytes() > before);
}
