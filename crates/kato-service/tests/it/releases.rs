//! Directories of the release before: format version 1, without marks, witness and folds.

use std::path::Path;

use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use kato_engine::LearnOutcome;
use kato_engine::node::Lesson;
use kato_service::figures::DataLoss;
use kato_service::{Service, ServiceError, ServiceOptions};

use crate::support::{create, frequency, lesson};

/// The pattern that the journals teach.
fn ab() -> String {
    let name = lesson(["a", "b"]).pattern_name().unwrap();
    name.to_string()
}

fn key(processor_id: &str, rest: &[u8]) -> Vec<u8> {
    let length = (processor_id.len() as u16).to_be_bytes();
    [&length[..], processor_id.as_bytes(), rest].concat()
}

fn batch() -> Vec<Lesson> {
    vec![lesson(["c", "d"]), lesson(["x"])]
}

/// Writes a journal in which node `n` was taught one pattern under each of these numbers, and
/// answered a batch under key `k`.
fn write_old_journal(dir: &Path, numbers: &[u64]) {
    let db = Database::builder(dir.join("journal")).open().unwrap();
    let table = |name: &str| db.keyspace(name, KeyspaceCreateOptions::default).unwrap();
    table("meta")
        .insert("format_version", 1_u64.to_be_bytes().to_vec())
        .unwrap();
    for name in ["sessions", "states", "runs"] {
        table(name);
    }
    let mut all = db.batch();
    let node = br#"{"node_id":"n","created":1,"genes":{}}"#;
    all.insert(&table("nodes"), "n_kato", node.to_vec());
    for number in numbers {
        // Variant 0: taught these.
        let taught = postcard::to_stdvec(&(0_u32, vec![lesson(["a", "b"])])).unwrap();
        all.insert(
            &table("lessons"),
            key("n_kato", &number.to_be_bytes()),
            taught,
        );
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"learn-batch\0");
    serde_json::to_writer(&mut hasher, &batch()).unwrap();
    let name = batch()[0].pattern_name().unwrap();
    let outcomes = vec![LearnOutcome::New(name), LearnOutcome::TooShort];
    let answer = postcard::to_stdvec(&("n", outcomes)).unwrap();
    let until = 250_000_000_000_000_000_u64;
    let record = (*hasher.finalize().as_bytes(), until, answer);
    let stored = key("n_kato", b"k");
    all.insert(
        &table("keys"),
        stored.clone(),
        postcard::to_stdvec(&record).unwrap(),
    );
    all.insert(
        &table("key_times"),
        [&until.to_be_bytes()[..], &stored].concat(),
        Vec::new(),
    );
    all.commit().unwrap();
    db.persist(PersistMode::SyncAll).unwrap();
}

#[test]
fn a_directory_of_the_release_before_is_read_and_made_one_of_this() {
    let dir = tempfile::tempdir().unwrap();
    write_old_journal(dir.path(), &[1, 2, 3]);
    for round in 0..2 {
        let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
        assert!(service.losses().is_empty(), "{:?}", service.losses());
        assert_eq!(frequency(&service, "n", &ab()), 3);
        let id = create(&service, "n");
        let again = service.learn_batch(&id, batch(), Some("k")).unwrap();
        assert!(again.replayed(), "{round}");
        let outcomes = again.wait().unwrap().outcomes;
        assert!(matches!(
            outcomes[..],
            [LearnOutcome::New(_), LearnOutcome::TooShort]
        ));
        let other = service.learn_batch(&id, vec![lesson(["e", "f"])], Some("k"));
        assert!(matches!(other, Err(ServiceError::KeyReused { .. })));
        service.close().unwrap();
    }
    assert!(dir.path().join("WITNESS").exists());
}

#[test]
fn lessons_that_are_missing_between_others_or_before_them_are_told() {
    for (numbers, missing) in [(&[1, 3][..], (2, 2)), (&[4, 5][..], (1, 3))] {
        let dir = tempfile::tempdir().unwrap();
        write_old_journal(dir.path(), numbers);
        let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
        let told = service.losses();
        assert!(
            matches!(&told[..], [DataLoss::Lessons { first, last, .. }] if (*first, *last) == missing),
            "{told:?}"
        );
        let refused = service.symbols("n").unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains(&format!("number {} to {}", missing.0, missing.1)),
            "{text}"
        );
        assert!(
            text.contains("\"n\"") && text.contains("put it back from a copy"),
            "{text}"
        );
        drop(service);
        let options = ServiceOptions::default().with_accept_losses(true);
        let service = Service::open(dir.path(), options).unwrap();
        assert_eq!(frequency(&service, "n", &ab()), 2);
        drop(service);
        let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
        assert_eq!(frequency(&service, "n", &ab()), 2);
        assert!(matches!(
            service.losses()[..],
            [DataLoss::Earlier { count: 1, .. }]
        ));
    }
}
