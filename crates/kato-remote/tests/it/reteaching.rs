//! New nodes are taught what another run has learned, from its files, and the corpus goes on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kato_client::calls::CallKind;
use kato_learner::HierarchicalConceptLearner;
use kato_remote::{RemoteBackend, RemoteError};
use kato_scheduler::RunConfiguration;
use tempfile::TempDir;

use crate::proxy::Proxy;
use crate::support::{
    TestServer, assert_equal, backend, backend_of, builder, corpus, documents, learner, own_error,
    train_there, trained_here,
};

/// Documents of the run that ended.
const LEARNED: u64 = 12;

/// A run that ended after some documents of a corpus, and an empty server for another.
struct Place {
    text: String,
    dir: TempDir,
    server: TestServer,
}

impl Place {
    fn new() -> Self {
        let (text, dir) = (corpus(30), tempfile::tempdir().unwrap());
        let state = dir.path().join("first.json");
        let server = TestServer::start(&dir.path().join("first"), false);
        let first = backend(server.addr, &state, 4).unwrap();
        let some = documents(&text).with_max_documents(LEARNED);
        train_there(&first, some, 2).unwrap();
        drop(first);
        server.end();
        let server = TestServer::start(&dir.path().join("second"), false);
        Self { text, dir, server }
    }

    /// The state of the new run.
    fn state(&self) -> PathBuf {
        self.dir.path().join("second.json")
    }

    fn create(
        &self,
        from: &str,
        learner: &HierarchicalConceptLearner,
    ) -> Result<RemoteBackend, RemoteError> {
        self.create_at(&self.server, from, learner)
    }

    fn create_at(
        &self,
        server: &TestServer,
        from: &str,
        learner: &HierarchicalConceptLearner,
    ) -> Result<RemoteBackend, RemoteError> {
        builder(server.addr, &self.state(), 4)
            .with_reteaching(self.dir.path().join(from))
            .create(learner, &RunConfiguration::from_learner(learner))
    }

    /// The number of files and directories whose names begin so.
    fn files(&self, name: &str) -> usize {
        let names = fs::read_dir(self.dir.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|found| found.starts_with(name)).count()
    }

    /// Begins the new run in a session that adds no document.
    fn teach_again(&self) {
        let second = self.create("first.json", &learner()).unwrap();
        let none = documents(&self.text).with_max_documents(LEARNED);
        train_there(&second, none, 2).unwrap();
    }
}

#[test]
fn new_nodes_are_taught_what_another_run_has_learned_and_the_run_goes_on() {
    let place = Place::new();
    place.teach_again();
    let second = backend(place.server.addr, &place.state(), 4).unwrap();
    let report = train_there(&second, documents(&place.text), 2).unwrap();
    assert_eq!(
        (report.documents_processed, report.session_documents),
        (30, 30 - LEARNED)
    );
    drop(second);
    assert_equal(
        &place.server.stop(),
        &trained_here(&place.text),
        "taught again",
    );
}

#[test]
fn what_was_taught_again_and_lost_is_noticed_before_anything_is_added() {
    let place = Place::new();
    place.teach_again();
    let proxy = Proxy::hiding(place.server.addr, u64::MAX);
    let proxy = place.server.runtime.block_on(proxy);
    let patience = Duration::from_millis(100);
    let impatient = builder(proxy.addr, &place.state(), 4).with_patience(patience);
    let second = backend_of(impatient, &place.state()).unwrap();
    let error = train_there(&second, documents(&place.text), 2).unwrap_err();
    let own = own_error(&error);
    assert!(matches!(own, Some(RemoteError::Lost { .. })), "{error:?}");
    assert_eq!(second.calls().of(CallKind::ObserveSequence), 0);
    drop(second);
    place.server.end();
}

#[test]
fn what_cannot_be_taught_again_is_refused_and_what_was_stays() {
    let place = Place::new();
    let refused =
        |from: &str, learner: &HierarchicalConceptLearner| match place.create(from, learner) {
            Err(RemoteError::State { action, .. }) => action,
            other => panic!("{other:?}"),
        };
    assert_eq!(refused("none.json", &learner()), "find");
    let other = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([4, 3, 3])
        .build()
        .unwrap();
    assert_eq!(refused("first.json", &other), "copy");
    assert_eq!(place.files("second.json"), 0);
    let ours = TestServer::start(&place.dir.path().join("ours"), true);
    let error = place
        .create_at(&ours, "first.json", &learner())
        .unwrap_err();
    let is_told = matches!(error, RemoteError::State { action, .. } if action == "teach again");
    assert!(is_told, "{error}");
    assert_eq!(place.files("second.json"), 0);
    ours.end();
    place.teach_again();
    // Without its state, what lies beside that is still some run's.
    for entry in fs::read_dir(place.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_file() && name.starts_with("second.json") {
            fs::remove_file(&path).unwrap();
        }
    }
    assert_eq!(refused("first.json", &learner()), "begin");
    place.server.end();
}
