//! Nodes and their knowledge bases.

use std::fs;
use std::time::Duration;

use kato_model::KatoGeneration;
use kato_service::{Service, ServiceError, ServiceOptions};
use kato_store::EmbeddedStore;
use serde_json::json;

use crate::support::{create, export, frequency, teach, timed};

#[test]
fn an_unknown_node_answers_as_an_empty_one_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    assert_eq!(service.processor_id("user-1"), "user_1_kato");
    assert!(
        service
            .pattern("x", "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4")
            .unwrap()
            .is_none()
    );
    assert!(service.pattern("x", "no name").unwrap().is_none());
    assert!(
        service.symbols("x").unwrap().is_empty() && service.affinities("x").unwrap().is_empty()
    );
    assert!(service.affinity("x", "a").unwrap().is_empty());
    assert!(service.nodes().is_empty());
    let id = create(&service, "seen");
    teach(&service, &id, ["alone"]);
    service.close().unwrap();
    assert_eq!(fs::read_dir(dir.path().join("nodes")).unwrap().count(), 0);
}

#[test]
fn odd_node_ids_have_knowledge_bases() {
    let dir = tempfile::tempdir().unwrap();
    let ids = ["", "..", "a/b", "a\0b", "%00", "ü x", &"long".repeat(100)];
    // From 5.x on some of them meet.
    let options = || ServiceOptions::default().with_generation(KatoGeneration::V3_10);
    let service = Service::open(dir.path(), options()).unwrap();
    for id in ids {
        let session = create(&service, id);
        teach(&service, &session, ["a", "b"]);
    }
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), options()).unwrap();
    assert!(service.unreached_nodes().is_empty());
    for id in ids {
        assert_eq!(service.symbols(id).unwrap().len(), 2, "{id:?}");
    }
    assert_eq!(
        fs::read_dir(dir.path().join("nodes")).unwrap().count(),
        ids.len()
    );
    drop(service);
    // Another generation reaches those whose names it makes as well, and tells of the others.
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let mut unreached = service.unreached_nodes();
    unreached.sort();
    assert_eq!(unreached, ["%00", "a\0b", "ü x"]);
    assert!(service.symbols("%00").unwrap().is_empty());
    assert_eq!(service.symbols("a/b").unwrap().len(), 2);
}

#[test]
fn idle_nodes_leave_memory_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let service = Service::open(dir.path(), options.with_max_loaded_nodes(1)).unwrap();
    let mut names = Vec::new();
    for node in ["a", "b", "c"] {
        let id = create(&service, node);
        names.push(teach(&service, &id, ["x", node]));
        clock.advance(Duration::from_secs(1));
        if node != "b" {
            service.delete_session(&id).unwrap().wait().unwrap();
        }
    }
    assert_eq!(service.maintain().unwrap().nodes_evicted, 1);
    let loaded = |node: &str| {
        let nodes = service.nodes();
        nodes
            .iter()
            .any(|view| view.node_id == node && view.totals.is_some())
    };
    assert_eq!([loaded("a"), loaded("b"), loaded("c")], [false, true, true]);
    assert_eq!(frequency(&service, "a", &names[0]), 1);
    assert_eq!(frequency(&service, "c", &names[2]), 1);
}

#[test]
fn a_node_leaves_memory_without_a_fold_and_is_folded_when_it_is_due() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let options = options
        .with_fold_interval(Duration::from_secs(60))
        .with_max_loaded_nodes(0);
    let service = Service::open(dir.path(), options.clone()).unwrap();
    let id = create(&service, "a");
    let name = teach(&service, &id, ["x", "y"]);
    service.delete_session(&id).unwrap().wait().unwrap();
    let store = dir.path().join("nodes").join("a_kato");

    let maintained = service.maintain().unwrap();
    assert_eq!((maintained.nodes_evicted, maintained.nodes_folded), (1, 0));
    assert!(!EmbeddedStore::exists(&store));
    assert_eq!(service.figures().uncommitted_learns, 1);

    // It comes back with what the journal alone has, and is not due before its time.
    clock.advance(Duration::from_secs(30));
    assert_eq!(frequency(&service, "a", &name), 1);
    assert_eq!(service.maintain().unwrap().nodes_folded, 0);

    clock.advance(Duration::from_secs(31));
    let maintained = service.maintain().unwrap();
    assert_eq!(maintained.nodes_folded, 1);
    assert!(EmbeddedStore::exists(&store));
    assert_eq!(service.figures().uncommitted_learns, 0);
    assert_eq!(service.maintain().unwrap().nodes_folded, 0);

    // Nothing of it is counted twice when all is read again.
    drop(service);
    let service = Service::open(dir.path(), options).unwrap();
    assert_eq!(frequency(&service, "a", &name), 1);
}

#[test]
fn a_node_that_nobody_used_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(
        dir.path(),
        ServiceOptions::default().with_max_loaded_nodes(0),
    )
    .unwrap();
    let id = create(&service, "n");
    assert_eq!(service.nodes().len(), 1);
    service.delete_session(&id).unwrap().wait().unwrap();
    service.maintain().unwrap();
    assert!(service.nodes().is_empty());
}

#[test]
fn a_knowledge_base_made_elsewhere_is_served_if_it_has_one_node() {
    let dir = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let maker = Service::open(other.path(), ServiceOptions::default()).unwrap();
    let name = teach(&maker, &create(&maker, "n"), ["a", "b"]);
    maker.close().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let nodes = dir.path().join("nodes");
    crate::support::copy(&other.path().join("nodes/n_kato"), &nodes.join("mine_kato"));
    assert_eq!(frequency(&service, "mine", &name), 1);
    drop(EmbeddedStore::create(nodes.join("two_kato"), &["a", "b"], json!({})).unwrap());
    let refused = service.symbols("two").unwrap_err();
    assert!(matches!(
        &refused,
        ServiceError::SeveralNodes { node_id, found: 2, .. } if node_id == "two"
    ));
}

#[test]
fn clearing_empties_the_node_for_all_and_keeps_other_memories() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    for service in [Service::in_memory(ServiceOptions::default()), on_disk] {
        let (alice, bob) = (create(&service, "n"), create(&service, "n"));
        let old = teach(&service, &alice, ["a", "b"]);
        service.maintain().unwrap();
        let observed = kato_engine::Observation::strings(["c", "d"]);
        service
            .observe(&bob, observed, None)
            .unwrap()
            .wait()
            .unwrap();
        service.clear_all(&alice, None).unwrap().wait().unwrap();
        assert_eq!(
            (
                frequency(&service, "n", &old),
                service.stm(&bob).unwrap().len()
            ),
            (0, 1)
        );
        let new = service
            .learn(&bob, None)
            .unwrap()
            .wait()
            .unwrap()
            .outcome
            .to_string();
        assert_eq!(frequency(&service, "n", &new), 1);
        service.close().unwrap();
    }
    assert_eq!(export(dir.path(), "n_kato").len(), 1);
}
