//! New nodes are taught what another run has learned, from its files, and the corpus goes on.

use std::fs;

use kato_learner::HierarchicalConceptLearner;
use kato_remote::RemoteError;
use kato_scheduler::RunConfiguration;

use crate::support::{
    TestServer, assert_equal, backend, builder, corpus, documents, learner, train_there,
    trained_here,
};

#[test]
fn new_nodes_are_taught_what_another_run_has_learned_and_the_run_goes_on() {
    let text = corpus(30);
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    let server = TestServer::start(&place("first"), false);
    let first = backend(server.addr, &place("first.json"), 4).unwrap();
    train_there(&first, documents(&text).with_max_documents(12), 2).unwrap();
    drop(first);
    server.end();

    let server = TestServer::start(&place("second"), false);
    let create = |from: &str, learner: &HierarchicalConceptLearner| {
        builder(server.addr, &place("second.json"), 4)
            .with_reteaching(place(from))
            .create(learner, &RunConfiguration::from_learner(learner))
    };
    let refused = |from: &str, learner: &HierarchicalConceptLearner| match create(from, learner) {
        Err(RemoteError::State { action, .. }) => action,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused("none.json", &learner()), "find");
    let other = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([4, 3, 3])
        .build()
        .unwrap();
    assert_eq!(refused("first.json", &other), "copy");
    // Taught with the first session, though it adds no document, and not again with the second.
    let second = create("first.json", &learner()).unwrap();
    train_there(&second, documents(&text).with_max_documents(12), 2).unwrap();
    drop(second);
    let second = backend(server.addr, &place("second.json"), 4).unwrap();
    let report = train_there(&second, documents(&text), 2).unwrap();
    assert_eq!(
        (report.documents_processed, report.session_documents),
        (30, 18)
    );
    drop(second);
    // What it taught stays, though its state is gone.
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_file() && name.starts_with("second.json") {
            fs::remove_file(&path).unwrap();
        }
    }
    assert_eq!(refused("first.json", &learner()), "begin");
    assert_equal(&server.stop(), &trained_here(&text), "taught again");
}
