//! Genes of nodes.

use kato_engine::StmMode;
use kato_service::{NewSession, Service, ServiceOptions};
use serde_json::json;

use crate::support::{create, object};

#[test]
fn genes_are_settings_of_sessions_that_have_no_own() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let plain = create(&service, "n");
    let own = NewSession {
        config: Some(object(json!({"max_pattern_length": 7}))),
        ..NewSession::of("n")
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
