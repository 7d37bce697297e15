//! Runs in a MongoDB: the same operations, and what cannot be done there.

use std::sync::atomic::{AtomicU64, Ordering};

use kato_mongo_server::{ServerOptions, is_installed, shared};
use kato_mongodb::{MongoStore, MongoStoreBuilder};
use kato_runs::manifest::{BackendKind, RunState};
use kato_runs::{Archive, RunLocation, Runs, RunsError};
use kato_scheduler::RunConfiguration;
use kato_store::{EmbeddedStore, PatternStore};

use crate::support::{N_DOCUMENTS, Place, content, learner, message, name};

/// A server for all tests; `None` where none is installed.
fn server() -> Option<String> {
    is_installed().then(|| shared(ServerOptions::default()))
}

/// A name that no other run of the server has.
fn fresh(what: &str) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{what}_{}_{number}", std::process::id())
}

fn builder(uri: &str, run: &str) -> MongoStoreBuilder {
    MongoStore::builder(uri, name(run))
}

/// Changes what a server holds, behind the back of all runs.
fn on<T>(uri: &str, change: impl AsyncFnOnce(mongodb::Client) -> mongodb::error::Result<T>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime
        .block_on(async { change(mongodb::Client::with_uri_str(uri).await?).await })
        .unwrap();
}

/// Trains a run up to a number of documents; goes on with it if it is there.
fn train(place: &Place, uri: &str, run: &str, documents: u64) -> MongoStore {
    let store = match builder(uri, run).exists().unwrap() {
        true => builder(uri, run).open().unwrap(),
        false => {
            let learner = learner();
            let configuration = RunConfiguration::from_learner(&learner).to_json();
            let nodes = learner.node_names();
            builder(uri, run).create(&nodes, configuration).unwrap()
        }
    };
    place.train_into(&store, documents);
    store
}

#[test]
fn a_run_tells_what_its_last_commit_says() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    let wiki = fresh("wiki");
    let store = train(&place, &uri, &wiki, N_DOCUMENTS / 2);
    assert_eq!(runs.show(&wiki).unwrap().manifest.state, RunState::Running);
    drop(store);
    let run = runs.show(&wiki).unwrap();
    assert_eq!(run.problem, None);
    assert_eq!(run.manifest.state, RunState::Interrupted);
    assert_eq!(run.location, RunLocation::Database(wiki.clone()));
    assert_eq!(run.manifest.backend.kind, BackendKind::Mongodb);
    assert_eq!(
        run.manifest.levels[1].database,
        format!("{wiki}_node1_kato")
    );
    assert_eq!(run.manifest.results.unwrap().documents, N_DOCUMENTS / 2);

    let store = train(&place, &uri, &wiki, u64::MAX);
    let learned = store.totals(0).unwrap().learns;
    drop(store);
    let run = runs.show(&wiki).unwrap();
    assert_eq!(run.manifest.state, RunState::Complete);
    assert_eq!(run.manifest.results.unwrap().levels[0].learns, learned);
    assert_eq!(run.manifest.corpus.unwrap().files, 1);
}

#[test]
fn a_run_taken_elsewhere_goes_on_to_the_same_result() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    place.train("whole", u64::MAX);
    let whole = place.content("whole");
    let [half, cloned, imported] = ["half", "cloned", "imported"].map(fresh);
    drop(train(&place, &uri, &half, N_DOCUMENTS / 2));
    runs.clone_run(&half, &name(&cloned)).unwrap();
    let archive = runs.export(&half, place.path("out")).unwrap();
    let import = runs.import(place.path("out"), Some(&name(&imported)));
    assert_eq!(import.unwrap().manifest.state, RunState::Interrupted);
    for run in [&half, &cloned, &imported] {
        let store = train(&place, &uri, run, u64::MAX);
        assert_eq!(content(&store), whole, "{run}");
    }

    // And into a directory, and from there into the MongoDB.
    let here = place.runs().import(archive.dir(), Some(&name("here")));
    assert_eq!(here.unwrap().manifest.state, RunState::Interrupted);
    place.train("here", u64::MAX);
    assert_eq!(place.content("here"), whole);
    place.runs().export("here", place.path("back")).unwrap();
    let back = fresh("back");
    runs.import(place.path("back"), Some(&name(&back))).unwrap();
    let store = builder(&uri, &back).open_read_only().unwrap();
    assert_eq!(content(&store), whole);
}

#[test]
fn names_that_are_taken_and_runs_in_use_are_refused() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    let [wiki, other] = ["wiki", "other"].map(fresh);
    drop(train(&place, &uri, &other, 3));
    let store = train(&place, &uri, &wiki, 3);
    let taken = runs.clone_run(&wiki, &name(&other));
    assert!(
        matches!(taken, Err(RunsError::NameTaken { .. })),
        "{taken:?}"
    );
    let out = place.path("out");
    for refused in [
        runs.clone_run(&wiki, &name(&fresh("copy"))).map(drop),
        runs.export(&wiki, &out).map(drop),
        runs.delete(&wiki).map(drop),
    ] {
        assert!(
            matches!(refused, Err(RunsError::InUse { .. })),
            "{refused:?}"
        );
    }
    assert!(!out.exists());
    drop(store);
    let renamed = message(runs.rename(&wiki, &name(&fresh("renamed"))));
    assert!(
        renamed.contains("its databases are named after it"),
        "{renamed}"
    );

    let copy = fresh("copy");
    runs.clone_run(&wiki, &name(&copy)).unwrap();
    runs.delete(&wiki).unwrap();
    let gone = runs.show(&wiki);
    assert!(matches!(gone, Err(RunsError::Unknown { .. })), "{gone:?}");
    assert!(!builder(&uri, &wiki).exists().unwrap());
    assert_eq!(runs.show(&copy).unwrap().problem, None);
}

#[test]
fn an_import_that_cannot_be_leaves_no_run() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    place.train("wiki", u64::MAX);
    let out = place.path("out");
    place.runs().export("wiki", &out).unwrap();
    let lines = std::fs::read_to_string(out.join("node1.jsonl")).unwrap();
    std::fs::write(out.join("node1.jsonl"), &lines[..lines.len() / 2]).unwrap();
    let wiki = fresh("wiki");
    assert!(runs.import(&out, Some(&name(&wiki))).is_err());
    assert!(!builder(&uri, &wiki).exists().unwrap());

    // One whose process died is no run, and the next change clears it away.
    std::fs::write(out.join("node1.jsonl"), &lines).unwrap();
    let archive = Archive::open(&out).unwrap();
    let (learner, configuration) = (learner(), archive.manifest().configuration.clone());
    let store = builder(&uri, &wiki).create(&learner.node_names(), configuration);
    let store = store.unwrap();
    store
        .commit(Vec::new(), serde_json::json!({"import": "unfinished"}))
        .unwrap();
    drop(store);
    assert!(matches!(runs.show(&wiki), Err(RunsError::Unknown { .. })));
    let again = runs.import(&out, Some(&name(&wiki))).unwrap();
    assert_eq!(again.manifest.state, RunState::Complete);
    let embedded = EmbeddedStore::open_read_only(place.path("runs/wiki")).unwrap();
    let store = builder(&uri, &wiki).open_read_only().unwrap();
    assert_eq!(content(&store), content(&embedded));
}

#[test]
fn databases_of_others_are_shown_and_exported_and_left_alone() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    let kato = fresh("kato");
    let store = train(&place, &uri, &kato, u64::MAX);
    let (_, lines) = content(&store);
    drop(store);
    // Without the record it is what another program made.
    on(&uri, async |client| {
        client.database(&format!("{kato}_kato_rs")).drop().await
    });
    let run = runs.show(&kato).unwrap();
    assert!(!run.is_recorded);
    assert_eq!(run.manifest.levels.len(), 2);
    assert!(runs.discover().unwrap().contains(&run));
    for refused in [
        runs.delete(&kato).map(drop),
        runs.clone_run(&kato, &name(&fresh("copy"))).map(drop),
    ] {
        assert!(message(refused).contains("no run of ours has its databases"));
    }
    let out = place.path("out");
    runs.export(&kato, &out).unwrap();
    let exported = std::fs::read_to_string(out.join("node1.jsonl")).unwrap();
    assert_eq!(exported, lines[1]);
}

#[test]
fn a_node_of_others_that_has_learned_nothing_yet_keeps_no_run_from_being_read() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    let kato = fresh("kato");
    drop(train(&place, &uri, &kato, u64::MAX));
    on(&uri, async |client| {
        client.database(&format!("{kato}_kato_rs")).drop().await?;
        let upper = client.database(&format!("{kato}_node1_kato"));
        let patterns = upper.collection::<mongodb::bson::Document>("patterns_kb");
        patterns.delete_many(mongodb::bson::doc! {}).await
    });
    let run = runs.show(&kato).unwrap();
    assert_eq!(run.problem, None);
    let learned = &run.manifest.results.as_ref().unwrap().levels;
    assert_eq!(learned.len(), 2);
    let out = place.path("out");
    runs.export(&kato, &out).unwrap();
    let lines = |node| std::fs::read_to_string(out.join(format!("{node}.jsonl"))).unwrap();
    assert!(!lines("node0").is_empty());
    assert_eq!(lines("node1"), "");
}

#[test]
fn a_run_in_the_middle_of_a_commit_is_running_and_one_that_nobody_finishes_says_so() {
    let Some(uri) = server() else {
        return;
    };
    let (place, runs) = (Place::new(), Runs::in_mongodb(&uri).unwrap());
    let wiki = fresh("wiki");
    let store = train(&place, &uri, &wiki, 3);
    on(&uri, async |client| {
        let record = client.database(&format!("{wiki}_kato_rs"));
        let record = record.collection::<mongodb::bson::Document>("run");
        let pending = mongodb::bson::doc! {
            "number": 9_i64, "token": mongodb::bson::oid::ObjectId::new(), "action": "learn",
            "staged": [], "guard": "journal", "chunk": 1_i64,
        };
        let set = mongodb::bson::doc! {"$set": {"pending": pending}};
        record.update_one(mongodb::bson::doc! {}, set).await
    });
    let run = runs.show(&wiki).unwrap();
    assert_eq!(run.problem, None);
    assert_eq!(run.manifest.state, RunState::Running);
    let results = run.manifest.results.unwrap();
    assert_eq!((results.documents, results.levels.len()), (3, 0));
    drop(store);
    let left = runs.show(&wiki).unwrap();
    assert_eq!(left.manifest.state, RunState::Interrupted);
    let problem = left.problem.unwrap();
    assert!(problem.contains("no writer finishes"), "{problem}");
    runs.delete(&wiki).unwrap();
}

#[test]
fn credentials_show_nowhere() {
    let uri = "mongodb://user:secret@127.0.0.1:9/?serverSelectionTimeoutMS=50&connectTimeoutMS=50";
    let runs = Runs::in_mongodb(uri).unwrap();
    assert!(!format!("{runs:?}").contains("secret"));
}
