//! A KATO and the store open each other's databases, whoever came first.

use kato_model::{PatternName, RunName, Symbol};
use kato_mongodb::{Guard, MongoStore};
use kato_store::conformance::{CallSymbol, LearnCall, Lessons};
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::{PatternStore, StoreError, StoreErrorKind};
use mongodb::bson::{Document, doc};
use serde_json::json;

use crate::kato::Kato;
use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

const NODES: [&str; 2] = ["node0", "node1"];

fn databases(run: &RunName) -> [String; 2] {
    NODES.map(|node| format!("{run}_{node}_kato"))
}

/// `a b c` on the lower node, its name twice on the upper.
fn teach(store: &MongoStore) {
    let lessons = Lessons::new(
        2,
        vec![
            LearnCall::text(0, &["a", "b", "c"]),
            LearnCall::new(1, [CallSymbol::Learned(0), CallSymbol::Learned(0)]),
        ],
    );
    let staged = store.stage(lessons.batch(&[0, 1])).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
}

fn frequency(store: &MongoStore, node_idx: usize, name: &PatternName) -> u64 {
    let pattern = store.pattern(node_idx, name).unwrap();
    pattern.map_or(0, |pattern| pattern.frequency)
}

fn counts_of(store: &MongoStore, symbol: &str) -> SymbolCounts {
    let mut counts = store.symbol_counts(0).unwrap().map(Result::unwrap);
    let found = counts.find(|(found, _)| *found == Symbol::from(symbol));
    found.unwrap().1
}

/// A KATO opens all nodes and learns once on each: a pattern that is there, and a new one.
fn learn_as_kato(raw: &Raw, run: &RunName) {
    let [lower, upper] = databases(run);
    let kato = Kato::open(raw, &lower).unwrap();
    let name = kato
        .learn(&[&["a"], &["b"], &["c"]], &[])
        .prefixed()
        .to_string();
    kato.learn(&[&["a"], &["a", "b"]], &[("book", &["v1"])]);
    let kato = Kato::open(raw, &upper).unwrap();
    kato.learn(&[&[&name], &[&name]], &[]);
}

/// Every index as KATO makes it.
fn assert_katos(raw: &Raw, run: &RunName) {
    let index =
        |name: &str, key: Document| doc! {"name": name, "key": key.to_string(), "background": true};
    let by_frequency = || index("frequency_-1_name_1", doc! {"frequency": -1, "name": 1});
    let by_name = || {
        let mut by_name = index("name_1", doc! {"name": 1});
        by_name.insert("unique", true);
        by_name
    };
    for database in databases(run) {
        let by_content = index("pattern_data_1_name_1", doc! {"pattern_data": 1, "name": 1});
        for (collection, expected) in [
            ("patterns_kb", vec![by_frequency(), by_name(), by_content]),
            ("symbols_kb", vec![by_frequency(), by_name()]),
            (
                "associative_action_kb",
                vec![index("symbol_1", doc! {"symbol": 1})],
            ),
            (
                "predictions_kb",
                vec![index(
                    "unique_id_1_time_-1",
                    doc! {"unique_id": 1, "time": -1},
                )],
            ),
        ] {
            let mut found = raw.indexes(&database, collection);
            for (found, expected) in found.iter_mut().zip(&expected) {
                assert!(
                    found
                        .iter()
                        .all(|(key, value)| expected.get(key) == Some(value)),
                    "{found}"
                );
                assert_eq!(found.len(), expected.len(), "{found}");
            }
            assert_eq!(found.len(), expected.len(), "{database} {collection}");
        }
    }
}

#[test]
fn a_kato_opens_what_the_store_wrote_and_the_store_goes_on_with_what_both_learned() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        for kato_first in [false, true] {
            let run = fresh_run();
            if kato_first {
                for database in databases(&run) {
                    Kato::open(&raw, &database).unwrap();
                }
            }
            let store = builder(&uri, &run, guard)
                .create(&NODES, json!(null))
                .unwrap();
            assert_katos(&raw, &run);
            teach(&store);
            drop(store);
            learn_as_kato(&raw, &run);
            let store = builder(&uri, &run, guard).open().unwrap();
            teach(&store);
            drop(store);
            learn_as_kato(&raw, &run);
            assert_katos(&raw, &run);

            let store = builder(&uri, &run, guard).open().unwrap();
            let abc = PatternName::of_events(&[["a"], ["b"], ["c"]]);
            let aba = PatternName::of_events::<_, &str>(&[vec!["a"], vec!["a", "b"]]);
            let above = abc.prefixed().to_string();
            let above = PatternName::of_events(&[[&above], [&above]]);
            assert_eq!(frequency(&store, 0, &abc), 4);
            assert_eq!(frequency(&store, 0, &aba), 2);
            assert_eq!(frequency(&store, 1, &above), 4);
            let aba = store.pattern(0, &aba).unwrap().unwrap();
            assert!(aba.metadata.values("book").eq(["v1"]));
            assert_eq!(
                store.totals(0).unwrap(),
                Totals {
                    learns: 6,
                    learned_symbols: 18,
                    member_symbols: 16,
                }
            );
            assert_eq!(
                counts_of(&store, "a"),
                SymbolCounts {
                    frequency: 8,
                    member_frequency: 6,
                }
            );
        }
    }
}

#[test]
fn what_a_kato_founded_and_filled_is_adopted_with_its_indexes() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = fresh_run();
    learn_as_kato(&raw, &run);
    let [lower, upper] = databases(&run);
    let store = builder(&uri, &run, Guard::Auto)
        .adopt(&[("node0", &lower), ("node1", &upper)], json!(null))
        .unwrap();
    teach(&store);
    let abc = PatternName::of_events(&[["a"], ["b"], ["c"]]);
    assert_eq!(frequency(&store, 0, &abc), 2);
    drop(store);
    learn_as_kato(&raw, &run);
    assert_katos(&raw, &run);
}

/// Makes an index as builds before did: without `background`.
fn make_plain(
    raw: &Raw,
    database: &str,
    collection: &str,
    key: Document,
    name: &str,
    unique: bool,
) {
    let drop = doc! {"dropIndexes": collection, "index": name};
    raw.command(database, drop).unwrap();
    let mut index = doc! {"key": key, "name": name};
    if unique {
        index.insert("unique", true);
    }
    let create = doc! {"createIndexes": collection, "indexes": [index]};
    raw.command(database, create).unwrap();
}

/// A run whose lower node is as an earlier build left it.
fn earlier_run(uri: &str, raw: &Raw) -> RunName {
    let run = fresh_run();
    let store = builder(uri, &run, Guard::Auto)
        .create(&NODES, json!(null))
        .unwrap();
    teach(&store);
    drop(store);
    let [lower, _] = databases(&run);
    for (collection, key, name, unique) in [
        ("patterns_kb", doc! {"name": 1}, "name_1", true),
        (
            "patterns_kb",
            doc! {"frequency": -1, "name": 1},
            "frequency_-1_name_1",
            false,
        ),
        (
            "patterns_kb",
            doc! {"pattern_data": 1, "name": 1},
            "pattern_data_1_name_1",
            false,
        ),
        ("symbols_kb", doc! {"name": 1}, "name_1", true),
        (
            "symbols_kb",
            doc! {"frequency": -1, "name": 1},
            "frequency_-1_name_1",
            false,
        ),
        (
            "associative_action_kb",
            doc! {"symbol": 1},
            "symbol_1",
            false,
        ),
        (
            "predictions_kb",
            doc! {"unique_id": 1, "time": -1},
            "unique_id_1_time_-1",
            false,
        ),
    ] {
        make_plain(raw, &lower, collection, key, name, unique);
    }
    run
}

#[test]
fn opening_for_writing_mends_the_indexes_of_an_earlier_build_and_reading_leaves_them() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = earlier_run(&uri, &raw);
    let [lower, _] = databases(&run);
    let abc = PatternName::of_events(&[["a"], ["b"], ["c"]]);
    let before = raw.indexes(&lower, "patterns_kb");

    let reader = builder(&uri, &run, Guard::Auto).open_read_only().unwrap();
    assert_eq!(frequency(&reader, 0, &abc), 1);
    drop(reader);
    assert_eq!(raw.indexes(&lower, "patterns_kb"), before);
    let refused = Kato::open(&raw, &lower).err().unwrap();
    assert!(refused.contains("IndexKeySpecsConflict"), "{refused}");

    let store = builder(&uri, &run, Guard::Auto).open().unwrap();
    assert_katos(&raw, &run);
    teach(&store);
    assert_eq!(frequency(&store, 0, &abc), 2);
    drop(store);
    learn_as_kato(&raw, &run);
    let store = builder(&uri, &run, Guard::Auto).open().unwrap();
    assert_eq!(frequency(&store, 0, &abc), 3);
}

#[test]
fn an_index_that_went_while_it_was_mended_is_there_after_opening() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = earlier_run(&uri, &raw);
    let [lower, _] = databases(&run);
    let drop_index = doc! {"dropIndexes": "patterns_kb", "index": "name_1"};
    raw.command(&lower, drop_index).unwrap();
    drop(builder(&uri, &run, Guard::Auto).open().unwrap());
    assert_katos(&raw, &run);
}

#[test]
fn an_index_of_a_katos_with_options_in_another_order_is_left() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = fresh_run();
    let [lower, _] = databases(&run);
    let index = doc! {"key": {"name": 1}, "name": "name_1", "unique": true, "background": true};
    let create = doc! {"createIndexes": "patterns_kb", "indexes": [&index]};
    raw.command(&lower, create.clone()).unwrap();
    let store = builder(&uri, &run, Guard::Auto)
        .create(&NODES, json!(null))
        .unwrap();
    teach(&store);
    drop(store);
    drop(builder(&uri, &run, Guard::Auto).open().unwrap());
    // The same call still succeeds: nothing was made anew.
    raw.command(&lower, create).unwrap();
}

#[test]
fn an_index_in_the_place_of_the_unique_one_is_refused_by_name() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    let run = fresh_run();
    let [lower, _] = databases(&run);
    let index = doc! {"key": {"name": 1}, "name": "name_1"};
    let create = doc! {"createIndexes": "symbols_kb", "indexes": [index]};
    raw.command(&lower, create).unwrap();
    let refused = builder(&uri, &run, Guard::Auto).create(&NODES, json!(null));
    match refused {
        Err(
            error @ StoreError::Backend {
                kind: StoreErrorKind::Refused,
                ..
            },
        ) => {
            let source = std::error::Error::source(&error).unwrap().to_string();
            let told = format!("{error} {source}");
            assert!(
                told.contains("symbols_kb") && told.contains("name_1"),
                "{told}"
            );
        }
        other => panic!("{other:?}"),
    }
}
