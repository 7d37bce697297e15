//! Interrupted runs, and work that is sent again after a crash.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_remote::{RemoteBackend, RemoteError};
use kato_scheduler::{
    Backend as _, BackendErrorKind, RunConfiguration, TrainError, loader_at_checkpoint,
    train_parallel_with,
};

use crate::proxy::Proxy;
use crate::support::{
    TestServer, assert_equal, backend, backend_of, builder, client, corpus, documents, learner,
    options, own_error, train_there, train_there_with, trained_here,
};

#[test]
fn an_interrupted_run_goes_on_where_it_ended() {
    let text = corpus(50);
    let dir = tempfile::tempdir().unwrap();
    for extensions in [true, false] {
        let state = dir.path().join(format!("state-{extensions}.json"));
        let server = TestServer::start(&dir.path().join(format!("data-{extensions}")), extensions);
        for limit in [17, 33, 50] {
            // A new process each time: the file is all that is left of the one before.
            let backend = backend(server.addr, &state, 4).unwrap();
            let report = train_there(&backend, documents(&text).with_max_documents(limit), 2);
            assert_eq!(report.unwrap().documents_processed, limit);
        }
        assert_equal(&server.stop(), &trained_here(&text), "interrupted");
    }
}

#[test]
fn a_run_onto_nodes_that_were_taught_before_goes_on_where_it_was_interrupted() {
    let text = corpus(30);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), false);
    let resumed = || {
        let builder = builder(server.addr, &state, 4).with_taught_nodes(true);
        backend_of(builder, &state).unwrap()
    };
    let mut is_complete = false;
    let mut n_sessions = 0;
    // Stopped with the first documents of each process: the others are in the middle of theirs.
    while !is_complete {
        let (backend, options) = (resumed(), options(3));
        let stop = options.stop.clone();
        let mut loader = loader_at_checkpoint(documents(&text), &backend.checkpoint()).unwrap();
        let on_event = |_event| stop.stop();
        let report = train_parallel_with(&mut loader, &learner(), &backend, &options, on_event);
        is_complete = report.unwrap().complete;
        n_sessions += 1;
    }
    assert!(n_sessions > 3, "{n_sessions}");
    assert_equal(&server.stop(), &trained_here(&text), "onto taught nodes");
}

/// All files of a run's state, as a crash would leave them.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

#[test]
fn work_that_was_done_behind_the_last_commit_counts_once_when_it_is_sent_again() {
    // Without extensions every observation is a request.
    for (extensions, n) in [(true, 50), (false, 25)] {
        let text = corpus(n);
        for (first, second) in [(12, 40), (0, 8), (32, 50), (12, 16)] {
            let (first, second) = (first * n / 50, second * n / 50);
            let how = format!("extensions {extensions}, killed between {first} and {second}");
            let dir = tempfile::tempdir().unwrap();
            let place = dir.path().join("run");
            fs::create_dir(&place).unwrap();
            let state = place.join("state.json");
            let server = TestServer::start(&dir.path().join("data"), extensions);
            let train = |limit, workers| {
                let backend = backend(server.addr, &state, 4).unwrap();
                let documents = documents(&text).with_max_documents(limit);
                // One commit, in the end.
                let mut options = options(workers);
                options.commit_interval = Duration::from_secs(3600);
                train_there_with(&backend, documents, &options).unwrap()
            };
            train(first, 2);
            let committed = files(&place);
            train(second, 2);

            // As if the trainer had been killed before it could commit any of that; what was to be
            // sent was written down before.
            for path in files(&place).into_keys() {
                let is_journal = path
                    .extension()
                    .is_some_and(|extension| extension == "sent");
                match committed.get(&path) {
                    Some(old) if !is_journal => fs::write(&path, old).unwrap(),
                    None if !is_journal => fs::remove_file(&path).unwrap(),
                    _ => {}
                }
            }
            let report = train(n, 3);
            assert_eq!(report.documents_processed, n, "{how}");
            assert_equal(&server.stop(), &trained_here(&text), &how);
        }
    }
}

#[test]
fn a_damaged_state_goes_back_to_the_commit_before() {
    let text = corpus(50);
    for extensions in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state.json");
        let server = TestServer::start(&dir.path().join("data"), extensions);
        let train = |limit| {
            let backend = backend(server.addr, &state, 4)?;
            train_there(&backend, documents(&text).with_max_documents(limit), 2)
        };
        for limit in [8, 20, 32] {
            train(limit).unwrap();
            let mut damaged = fs::read(&state).unwrap();
            let at = damaged.len() / 2;
            damaged[at] ^= 4;
            fs::write(&state, damaged).unwrap();
        }
        assert_eq!(train(50).unwrap().documents_processed, 50);
        assert_equal(&server.stop(), &trained_here(&text), "damaged");
    }
}

#[test]
fn a_stock_server_that_was_cleared_is_noticed() {
    let text = corpus(30);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), false);
    let first = backend(server.addr, &state, 4).unwrap();
    train_there(&first, documents(&text).with_max_documents(20), 2).unwrap();
    drop(first);
    server.end();
    fs::remove_dir_all(dir.path().join("data")).unwrap();
    let server = TestServer::start(&dir.path().join("data"), false);
    let again = backend(server.addr, &state, 4).unwrap();
    let error = train_there(&again, documents(&text), 1).unwrap_err();
    let own = own_error(&error);
    assert!(matches!(own, Some(RemoteError::Lost { .. })), "{error:?}");
    drop(again);
    server.end();
}

#[test]
fn what_a_server_shows_only_later_is_waited_for() {
    let text = corpus(30);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), false);
    for limit in [20, 30] {
        let proxy = server.runtime.block_on(Proxy::hiding(server.addr, 2));
        let backend = backend(proxy.addr, &state, 4).unwrap();
        let report = train_there(&backend, documents(&text).with_max_documents(limit), 2);
        assert_eq!(report.unwrap().documents_processed, limit);
        assert!(proxy.n_hidden() > 0);
    }
    assert_equal(&server.stop(), &trained_here(&text), "shown later");
}

/// Where a session ended in the middle of a batch, it is cut there again, whatever the next one is
/// told and however far the run goes back.
#[test]
fn batches_are_cut_the_same_way_whatever_happened() {
    let text = corpus(40);
    for extensions in [true, false] {
        for (batch, limit) in [(4, 40), (7, 40), (2, 33)] {
            let how = format!("extensions {extensions}, batch {batch}, limit {limit}");
            let dir = tempfile::tempdir().unwrap();
            let state = dir.path().join("state.json");
            let server = TestServer::start(&dir.path().join("data"), extensions);
            let train = |limit, batch| {
                let backend = backend(server.addr, &state, batch)?;
                let mut options = options(2);
                options.commit_interval = Duration::from_secs(3600);
                let documents = documents(&text).with_max_documents(limit);
                train_there_with(&backend, documents, &options)
            };
            train(10, 4).unwrap();
            train(17, 4).unwrap();
            // Back to 10 documents, where 7 were sent behind them.
            let mut damaged = fs::read(&state).unwrap();
            let at = damaged.len() / 2;
            damaged[at] ^= 4;
            fs::write(&state, damaged).unwrap();
            if !extensions {
                for name in ["MANIFEST", "MANIFEST.twin"] {
                    let manifest = state.with_added_extension("taught").join(name);
                    fs::write(&manifest, b"damaged").unwrap();
                }
            }
            let short = train(16, batch);
            if let Err(error) = short {
                let own = own_error(&error);
                assert!(
                    matches!(own, Some(RemoteError::Cut { .. })),
                    "{how}: {error:?}"
                );
            }
            train(limit, batch).unwrap();
            let expected: String = text
                .lines()
                .take(usize::try_from(limit).unwrap())
                .map(|line| format!("{line}\n"))
                .collect();
            assert_equal(&server.stop(), &trained_here(&expected), &how);
        }
    }
}

#[test]
fn two_trainers_of_one_run_and_another_run_in_its_file_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let server = TestServer::start(&dir.path().join("data"), true);
    let first = backend(server.addr, &state, 4).unwrap();
    let second = backend(server.addr, &state, 4).map(|_| ());
    assert!(
        matches!(second, Err(RemoteError::Locked { .. })),
        "{second:?}"
    );

    drop(first);
    let learner = learner();
    let other = RemoteBackend::builder(client(server.addr), "other_run".parse().unwrap(), &state)
        .create(&learner, &RunConfiguration::from_learner(&learner))
        .unwrap();
    train_there(&other, documents(&corpus(3)), 1).unwrap();
    drop(other);
    let other = backend(server.addr, &state, 4).unwrap_err();
    assert!(matches!(other, RemoteError::OtherRun { .. }), "{other:?}");
    let message = other.to_string();
    assert!(
        message.contains("state of run other_run and not of test_run: use that name"),
        "{message}"
    );
    server.end();
}

/// No server keeps where a pattern was first seen, so that is refused before one is asked.
#[test]
fn what_no_server_keeps_is_refused_in_its_own_words() {
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([4])
        .with_recording(Recording {
            provenance: true,
            metadata: false,
        })
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let nowhere = ([127, 0, 0, 1], 9).into();
    let run = crate::support::RUN.parse().unwrap();
    let error = RemoteBackend::builder(client(nowhere), run, dir.path().join("state.json"))
        .create(&learner, &RunConfiguration::from_learner(&learner))
        .unwrap_err();
    assert!(matches!(error, RemoteError::Provenance), "{error:?}");
    let error = TrainError::from(error);
    assert_eq!(error.to_string(), "a KATO server keeps no provenance");
    let is_unsupported =
        matches!(&error, TrainError::Backend(own) if own.kind() == BackendErrorKind::Unsupported);
    assert!(is_unsupported, "{error:?}");
}

/// The server keeps the run's record: it is resumed from anywhere, and its name is not used twice.
#[test]
fn a_run_on_a_server_of_ours_is_known_by_the_server() {
    let text = corpus(40);
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start(&dir.path().join("data"), true);
    let here = dir.path().join("here.json");
    let first = backend(server.addr, &here, 4).unwrap();
    train_there(&first, documents(&text).with_max_documents(18), 2).unwrap();
    drop(first);

    let learner = learner();
    let configuration = RunConfiguration::from_learner(&learner);
    let elsewhere = || {
        let run = crate::support::RUN.parse().unwrap();
        RemoteBackend::builder(client(server.addr), run, dir.path().join("elsewhere.json"))
    };
    let again = elsewhere().create(&learner, &configuration).map(|_| ());
    assert!(
        matches!(
            again,
            Err(RemoteError::State {
                action: "begin",
                ..
            })
        ),
        "{again:?}"
    );
    let resumed = elsewhere().open(&learner).unwrap();
    train_there(&resumed, documents(&text), 2).unwrap();
    drop(resumed);
    // The file that was left behind knows less than the server.
    let report = train_there(
        &backend(server.addr, &here, 4).unwrap(),
        documents(&text),
        2,
    );
    let report = report.unwrap();
    assert_eq!(
        (report.documents_processed, report.session_documents),
        (40, 0)
    );
    assert_equal(&server.stop(), &trained_here(&text), "from elsewhere");
}

#[test]
fn the_server_keeps_a_record_of_a_run_unless_it_is_told_to_keep_none() {
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start(&dir.path().join("data"), true);
    let learner = learner();
    for (run, is_kept) in [("measured", false), ("kept", true)] {
        let state = dir.path().join(run).with_extension("json");
        let backend = RemoteBackend::builder(client(server.addr), run.parse().unwrap(), state)
            .with_record(is_kept)
            .create(&learner, &RunConfiguration::from_learner(&learner))
            .unwrap();
        let report = train_there(&backend, documents(&corpus(20)), 2).unwrap();
        assert_eq!(report.documents_processed, 20);
        let asking = client(server.addr).build().unwrap();
        let record = server.runtime.block_on(asking.run_record(run)).unwrap();
        assert_eq!(record.is_some(), is_kept, "{run}");
    }
    server.end();
}

#[test]
fn resuming_what_nobody_knows_and_teaching_what_is_taught_are_errors() {
    let text = corpus(30);
    for extensions in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let server = TestServer::start(&dir.path().join("data"), extensions);
        let learner = learner();
        let configuration = RunConfiguration::from_learner(&learner);
        let builder = |run: &str, state: &str| {
            let state = dir.path().join(state);
            RemoteBackend::builder(client(server.addr), run.parse().unwrap(), state)
        };
        let unknown = builder("unknown", "a.json").open(&learner).map(|_| ());
        assert!(
            matches!(unknown, Err(RemoteError::State { action: "find", .. })),
            "{unknown:?}"
        );

        // Somebody teaches a node that a run of the name would teach.
        let others = kato_client::KatoClient::builder(
            format!("http://{}", server.addr),
            kato_client::SessionOptions::new("taken_node1"),
        );
        let others = others.build().unwrap();
        let item = kato_client::protocol::extension::BatchItem {
            events: vec![vec!["a".to_owned()], vec!["b".to_owned()]],
            ..kato_client::protocol::extension::BatchItem::default()
        };
        let taught = server.runtime.block_on(others.learn_all(&[item], None));
        assert_eq!(taught.unwrap().names.len(), 1);
        let refused = builder("taken", "b.json")
            .create(&learner, &configuration)
            .map_err(TrainError::from)
            .and_then(|backend| train_there(&backend, documents(&text), 1))
            .unwrap_err();
        assert!(
            matches!(own_error(&refused), Some(RemoteError::TaughtBefore { .. })),
            "{refused:?}"
        );
        let asked_for = builder("taken", "c.json")
            .with_taught_nodes(true)
            .create(&learner, &configuration)
            .map_err(TrainError::from)
            .and_then(|backend| train_there(&backend, documents(&text), 1));
        assert_eq!(asked_for.unwrap().documents_processed, 30);
        server.runtime.block_on(others.close()).unwrap();
        server.end();
    }
}
