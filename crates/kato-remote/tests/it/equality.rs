//! The knowledge on the server equals the knowledge learned in this process.

use std::panic::panic_any;

use crate::proxy::Proxy;
use crate::support::{
    TestServer, assert_equal, backend, corpus, documents, train_there, trained_here,
};

#[test]
fn a_server_learns_what_a_store_learns_in_both_modes_with_any_number_of_workers() {
    // Without extensions every observation is a request.
    for (extensions, n) in [(true, 60), (false, 20)] {
        let text = corpus(n);
        let expected = trained_here(&text);
        for (workers, batch) in [(1, 1), (1, 7), (4, 5), (8, 3)] {
            let how = format!("extensions {extensions}, {workers} workers, batch {batch}");
            let dir = tempfile::tempdir().unwrap();
            let server = TestServer::start(&dir.path().join("data"), extensions);
            let backend = backend(server.addr, &dir.path().join("state.json"), batch).unwrap();
            let report = train_there(&backend, documents(&text), workers).unwrap();

            assert_eq!(report.documents_processed, n, "{how}");
            let lines = expected.iter().map(|level| level.lines().count() as u64);
            let known = report.levels.iter().map(|level| level.unique_patterns);
            assert!(known.eq(lines.map(Some)), "{how}: {report:?}");
            assert_equal(&server.stop(), &expected, &how);
        }
    }
}

#[test]
fn a_batch_costs_one_request_a_level() {
    let text = corpus(64);
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start(&dir.path().join("data"), true);
    let backend = backend(server.addr, &dir.path().join("state.json"), 16).unwrap();
    train_there(&backend, documents(&text), 1).unwrap();

    let calls = backend.calls();
    assert_eq!(
        calls.of(kato_client::calls::CallKind::LearnBatch),
        4 * 3,
        "{calls:?}"
    );
    assert_eq!(calls.retries, 0);
    server.stop();
}

#[test]
fn a_document_costs_a_stock_server_about_a_request_for_each_odd_chunk() {
    let text = corpus(40);
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start(&dir.path().join("data"), false);
    let backend = backend(server.addr, &dir.path().join("state.json"), 1).unwrap();
    train_there(&backend, documents(&text), 1).unwrap();

    // Worked out from the plans.
    let learner = crate::support::learner();
    let mut scratch = learner.new_scratch();
    let (mut runs, mut odd) = (0, 0);
    for document in documents(&text).build().unwrap() {
        let plan = learner
            .plan(&document.unwrap().text.as_str().into(), &mut scratch)
            .unwrap();
        for (node_idx, node) in learner.nodes().iter().enumerate() {
            let learned = plan.calls(node_idx).filter(|call| call.name.is_some());
            let (even, rest): (Vec<_>, Vec<_>) = learned.partition(|call| {
                let length = match call.symbols {
                    kato_learner::plan::PlannedSymbols::Tokens(ids) => ids.len(),
                    kato_learner::plan::PlannedSymbols::Children(children) => children.len(),
                    other => panic_any(format!("{other:?}")),
                };
                length == node.chunk_size && !call.with_metadata
            });
            runs += u64::from(!even.is_empty());
            odd += rest.len() as u64;
        }
    }
    let calls = backend.calls();
    let found = calls.of(kato_client::calls::CallKind::ObserveSequence);
    // The first ones are small, until it is known how fast the server is.
    let first = 20;
    assert!(found <= runs + odd + first, "{runs} + {odd}: {calls:?}");
    // A new run asks whether its nodes are new: for the counts of symbols, and for some patterns. In
    // the end it asks for the counts of all symbols, and for a share of the patterns.
    let asked = calls.of(kato_client::calls::CallKind::Node);
    let compared = backend.doubts().compared;
    let at_first = asked - 3 - compared;
    assert!((3..=3 + 3 * 8).contains(&at_first), "{calls:?}");
    assert!((64..=3 * (64 + 32)).contains(&compared), "{compared}");
    server.stop();
}

#[test]
fn nothing_is_lost_and_nothing_doubled_through_a_proxy_that_fails() {
    for (extensions, n) in [(true, 60), (false, 20)] {
        let text = corpus(n);
        let expected = trained_here(&text);
        for (workers, batch, seed) in [(1, 1, 1), (4, 3, 2), (8, 2, 3)] {
            let how = format!("extensions {extensions}, {workers} workers, batch {batch}");
            let dir = tempfile::tempdir().unwrap();
            let server = TestServer::start(&dir.path().join("data"), extensions);
            let proxy = server.runtime.block_on(Proxy::start(server.addr, 20, seed));
            let backend = backend(proxy.addr, &dir.path().join("state.json"), batch).unwrap();
            train_there(&backend, documents(&text), workers)
                .unwrap_or_else(|error| panic!("{how}: {}", in_full(&error)));
            let faults = proxy.counts.get();
            assert!(faults.iter().skip(1).all(|n| *n > 0), "{how}: {faults:?}");
            assert_equal(&server.stop(), &expected, &how);
        }
    }
}

fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[test]
fn a_probe_hears_every_request_and_how_long_each_level_takes() {
    let text = corpus(64);
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start(&dir.path().join("data"), true);
    let probe = kato_probe::Probe::on(kato_scheduler::stages::STAGES);
    let learner = crate::support::learner();
    let backend = kato_remote::RemoteBackend::builder(
        crate::support::client(server.addr),
        crate::support::RUN.parse().unwrap(),
        dir.path().join("state.json"),
    )
    .with_batch(16.try_into().unwrap())
    .with_probe(probe.clone())
    .create(
        &learner,
        &kato_scheduler::RunConfiguration::from_learner(&learner),
    )
    .unwrap();
    let report = train_there(&backend, documents(&text), 1).unwrap();

    let reading = probe.read().unwrap();
    let learned = reading
        .calls
        .iter()
        .find(|calls| calls.peer == "learn_batch");
    let learned = learned.unwrap();
    assert_eq!(
        learned.latency.count(),
        backend.calls().of(kato_client::calls::CallKind::LearnBatch)
    );
    assert_eq!((learned.in_flight, learned.failed), (0, 0));
    let timed = reading.nodes.iter().map(|node| node.latency.count());
    assert!(timed.eq(report.levels.iter().map(|level| level.learns)));
    server.stop();
}
