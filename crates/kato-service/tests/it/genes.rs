//! Genes of nodes.

use std::thread;

use kato_engine::config::StmMode;
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceOptions};
use serde_json::{Map, json};

use crate::support::{create, object};

#[test]
fn genes_are_settings_of_sessions_that_have_no_own() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let plain = create(&service, "n");
    let own = NewSession {
        config: Some(object(json!({"max_pattern_length": 7}))),
        ..NewSession::new("n")
    };
    let own = service
        .create_session(own)
        .unwrap()
        .wait()
        .unwrap()
        .session_id;
    let genes = object(json!({
        "max_pattern_length": 4, "stm_mode": "ROLLING", "recall_threshold": "odd", "colour": "green"
    }));
    service.set_genes("n", &genes).unwrap().wait().unwrap();
    let check = |service: &Service| {
        let later = create(service, "n");
        let lengths = [&plain, &own, &later].map(|id| {
            let config = service.config(id).unwrap();
            (
                config.max_pattern_length,
                config.stm_mode,
                config.recall_threshold,
            )
        });
        let (mode, threshold) = (StmMode::Rolling, 0.1);
        assert_eq!(
            lengths,
            [
                (4, mode, threshold),
                (7, mode, threshold),
                (4, mode, threshold)
            ]
        );
        let readable = service.genes("n");
        assert_eq!(readable["colour"], "green");
        assert_eq!(readable["kb_id"], "n_kato");
        assert_eq!(readable["max_predictions"], 100);
    };
    check(&service);
    drop(service);
    check(&Service::open(dir.path(), ServiceOptions::default()).unwrap());
}

#[test]
fn sessions_that_are_made_while_genes_are_set_have_them() {
    let service = Service::in_memory(ServiceOptions::default());
    // Settings that take a while to look through: genes are set in the middle of it.
    let filters = object(json!({"filter_pipeline": vec!["bloom"; 1000]}));
    let make = || {
        let new = NewSession {
            config: Some(filters.clone()),
            ..NewSession::new("n")
        };
        let made = service.create_session(new).unwrap();
        made.wait().unwrap().session_id
    };
    for length in 1..=20 {
        let made: Vec<_> = thread::scope(|scope| {
            let make_some = || (0..10).map(|_| make()).collect::<Vec<_>>();
            let makers: Vec<_> = (0..4).map(|_| scope.spawn(make_some)).collect();
            while service.n_sessions() == 0 && !makers[0].is_finished() {
                thread::yield_now();
            }
            let genes = object(json!({"max_pattern_length": length}));
            service.set_genes("n", &genes).unwrap().wait().unwrap();
            let made = makers.into_iter().map(|maker| maker.join().unwrap());
            made.flatten().collect()
        });
        for id in made {
            assert_eq!(service.config(&id).unwrap().max_pattern_length, length);
            service.delete_session(&id).unwrap().wait().unwrap();
        }
    }
}

#[test]
fn genes_that_are_set_side_by_side_are_all_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let service = open();
    create(&service, "n");
    thread::scope(|scope| {
        for thread in 0..8 {
            let service = &service;
            scope.spawn(move || {
                for idx in 0..20 {
                    let mut genes = Map::new();
                    genes.insert(format!("gene-{thread}-{idx}"), json!(idx));
                    service.set_genes("n", &genes).unwrap().wait().unwrap();
                }
            });
        }
    });
    let before = service.genes("n");
    assert!(before.len() >= 160);
    drop(service);
    assert_eq!(open().genes("n"), before);
}
