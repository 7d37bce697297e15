//! Metadata where KATO has it, also when a KATO and the store take turns.

use kato_model::{Attributes, PatternName};
use kato_mongodb::{Guard, MongoStore};
use kato_store::PatternStore;
use kato_store::conformance::{LearnCall, Lessons};
use mongodb::bson::{Document, doc};
use serde_json::json;

use crate::kato::Kato;
use crate::raw::Raw;
use crate::support::{builder, fresh_run, server};

/// Teaches `a b` with metadata.
fn teach(store: &MongoStore, metadata: &[(&str, &str)]) -> PatternName {
    let mut attributes = Attributes::default();
    for (key, value) in metadata {
        attributes
            .metadata
            .insert_text(key, (*value).to_owned(), None);
    }
    let lesson = LearnCall::text(0, &["a", "b"]).with_attributes(attributes);
    let lessons = Lessons::new(1, vec![lesson]);
    let staged = store.stage(lessons.batch(&[0])).unwrap();
    store.commit(vec![staged], json!(null)).unwrap();
    lessons.name(0)
}

/// The one pattern's document, without what the tests here do not look at.
fn held(raw: &Raw, database: &str) -> Document {
    let [found] = raw.all(database, "patterns_kb").try_into().unwrap();
    let keep = ["frequency", "metadata", "emotives", "kato_rs"];
    let kept = keep
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), found.get(key)?.clone())));
    kept.collect()
}

fn values(store: &MongoStore, name: &PatternName, key: &str) -> Vec<String> {
    let pattern = store.pattern(0, name).unwrap().unwrap();
    pattern.metadata.values(key).map(str::to_owned).collect()
}

#[test]
fn a_dot_leads_into_a_document_and_nothing_lies_beside_katos_fields() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        let run = fresh_run();
        let database = format!("{run}_node0_kato");
        let store = builder(&uri, &run, guard)
            .create(&["node0"], json!(null))
            .unwrap();
        let name = teach(&store, &[("a.b", "v2"), ("title", "one")]);
        assert_eq!(
            held(&raw, &database),
            doc! {"frequency": 1, "metadata": {"a": {"b": ["v2"]}, "title": ["one"]}, "emotives": {}}
        );
        let kato = Kato::open(&raw, &database).unwrap();
        kato.learn(
            &[&["a"], &["b"]],
            &[("a.b", &["v1", "v2"]), ("a.c", &["w"])],
        );
        assert_eq!(values(&store, &name, "a.b"), ["v1", "v2"]);
        assert_eq!(values(&store, &name, "a.c"), ["w"]);
        // What KATO appended is sorted by the next learn with metadata.
        teach(&store, &[("a.b", "v0")]);
        assert_eq!(
            held(&raw, &database),
            doc! {
                "frequency": 3,
                "metadata": {"a": {"b": ["v0", "v1", "v2"], "c": ["w"]}, "title": ["one"]},
                "emotives": {},
            }
        );
    }
}

#[test]
fn keys_that_kato_fails_to_learn_are_kept_beside_and_what_it_adds_is_read() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        let run = fresh_run();
        let database = format!("{run}_node0_kato");
        let store = builder(&uri, &run, guard)
            .create(&["node0"], json!(null))
            .unwrap();
        let odd = ["", "$set", "a.", "a..b", "nul\0", "title.below"];
        let mut taught: Vec<(&str, &str)> = odd.iter().map(|&key| (key, "value")).collect();
        taught.push(("title", "one"));
        let name = teach(&store, &taught);
        let found = held(&raw, &database);
        assert_eq!(
            found.get_document("metadata").unwrap(),
            &doc! {"title": ["one"]}
        );

        let kato = Kato::open(&raw, &database).unwrap();
        kato.learn(&[&["a"], &["b"]], &[("title", &["two"])]);
        for key in odd {
            assert_eq!(values(&store, &name, key), ["value"], "{key:?}");
        }
        assert_eq!(values(&store, &name, "title"), ["one", "two"]);
    }
}

#[test]
fn a_key_with_a_dot_of_an_earlier_build_is_read_and_moves_to_katos_place() {
    let Some(uri) = server() else { return };
    let raw = Raw::new(&uri);
    for guard in [Guard::Transaction, Guard::Journal] {
        let run = fresh_run();
        let database = format!("{run}_node0_kato");
        let store = builder(&uri, &run, guard)
            .create(&["node0"], json!(null))
            .unwrap();
        let name = teach(&store, &[]);
        let mut attributes = Attributes::default();
        attributes
            .metadata
            .insert_text("a.b", "v1".to_owned(), None);
        let attributes = serde_json::to_string(&attributes).unwrap();
        let earlier = doc! {"$set": {"kato_rs": {"attributes": attributes}}};
        let updates = [doc! {"q": {"name": name.to_string()}, "u": earlier}];
        raw.command(
            &database,
            doc! {"update": "patterns_kb", "updates": updates},
        )
        .unwrap();
        assert_eq!(values(&store, &name, "a.b"), ["v1"]);
        teach(&store, &[("a.b", "v0")]);
        assert_eq!(
            held(&raw, &database),
            doc! {"frequency": 2, "metadata": {"a": {"b": ["v0", "v1"]}}, "emotives": {}}
        );
        assert_eq!(values(&store, &name, "a.b"), ["v0", "v1"]);
    }
}
