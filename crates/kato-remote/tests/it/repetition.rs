//! Interrupted runs, and work that is sent again after a crash.

use std::fs;

use kato_scheduler::{Backend, TrainError};

use crate::support::{
    TestServer, assert_equal, backend, corpus, documents, train_there, trained_here,
};

#[test]
fn an_interrupted_run_goes_on_where_it_ended() {
    let text = corpus(50);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    for extensions in [true, false] {
        let server = TestServer::start(&dir.path().join(format!("data-{extensions}")), extensions);
        for limit in [17, 33, 50] {
            // A new process each time: the file is all that is left of the one before.
            let backend = backend(server.addr, &state, 4).unwrap();
            let report = train_there(&backend, documents(&text).with_max_documents(limit), 2);
            assert_eq!(report.unwrap().samples_processed, limit);
        }
        assert_equal(&server.stop(), &trained_here(&text), "interrupted");
        fs::remove_file(&state).unwrap();
    }
}

#[test]
fn work_that_was_done_behind_the_last_commit_counts_once_when_it_is_sent_again() {
    let text = corpus(50);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), true);
    let first = backend(server.addr, &state, 4).unwrap();
    train_there(&first, documents(&text).with_max_documents(12), 2).unwrap();
    drop(first);
    let committed = fs::read(&state).unwrap();
    let second = backend(server.addr, &state, 4).unwrap();
    train_there(&second, documents(&text).with_max_documents(40), 2).unwrap();
    drop(second);

    // As if the trainer had been killed before it could commit any of that.
    fs::write(&state, committed).unwrap();
    let third = backend(server.addr, &state, 4).unwrap();
    let report = train_there(&third, documents(&text), 3).unwrap();

    assert_eq!(report.samples_processed, 50);
    assert_equal(&server.stop(), &trained_here(&text), "sent again");
}

#[test]
fn sending_again_in_batches_of_another_size_is_refused_and_teaches_nothing() {
    let text = corpus(40);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), true);
    let first = backend(server.addr, &state, 4).unwrap();
    drop(train_there(&first, documents(&text).with_max_documents(4), 1).unwrap());
    drop(first);
    let committed = fs::read(&state).unwrap();
    let second = backend(server.addr, &state, 4).unwrap();
    drop(train_there(&second, documents(&text).with_max_documents(20), 1).unwrap());
    drop(second);
    fs::write(&state, committed).unwrap();

    let other = backend(server.addr, &state, 5).unwrap();
    let refused = train_there(&other, documents(&text).with_max_documents(20), 1);
    assert!(
        matches!(refused, Err(TrainError::Teach { .. })),
        "{refused:?}"
    );
    drop(other);
    let same = backend(server.addr, &state, 4).unwrap();
    assert!(!same.checkpoint().is_null());
    train_there(&same, documents(&text).with_max_documents(20), 1).unwrap();

    let expected: String = text
        .lines()
        .take(20)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_equal(&server.stop(), &trained_here(&expected), "refused once");
}

#[test]
fn two_trainers_of_one_run_and_another_run_in_its_file_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), true);
    let first = backend(server.addr, &state, 4).unwrap();
    let second = backend(server.addr, &state, 4).map(|_| ());
    assert!(
        matches!(second, Err(TrainError::State { action: "lock", .. })),
        "{second:?}"
    );

    train_there(&first, documents(&corpus(3)), 1).unwrap();
    drop(first);
    let mut text = fs::read_to_string(&state).unwrap();
    text = text.replace("\"test_run\"", "\"other_run\"");
    fs::write(&state, text).unwrap();
    let other = backend(server.addr, &state, 4).map(|_| ());
    assert!(
        matches!(other, Err(TrainError::OtherConfiguration { .. })),
        "{other:?}"
    );
    server.stop();
}
