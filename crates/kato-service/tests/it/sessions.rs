//! The life of sessions.

use std::time::Duration;

use kato_engine::{Observation, StmMode};
use kato_service::{NewSession, Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, object, teach, timed};

fn observe(service: &Service, id: &str, word: &str) -> Result<usize, ServiceError> {
    let receipt = service.observe(id, Observation::strings([word]), None)?;
    Ok(receipt.wait()?.observed.stm_length)
}

#[test]
fn a_session_is_as_its_maker_said() {
    let (options, _) = timed();
    let service = Service::in_memory(options);
    let new = NewSession {
        node_id: "user-1".to_owned(),
        metadata: object(json!({"who": "me"})),
        ttl_seconds: Some(60),
        config: Some(object(
            json!({"max_pattern_length": 3, "stm_mode": "ROLLING"}),
        )),
    };
    let made = service.create_session(new).unwrap().wait().unwrap();
    let digits = made.session_id.strip_prefix("session-").unwrap();
    let (hex, millis) = digits.split_once('-').unwrap();
    assert_eq!((hex.len(), millis), (32, "1000000000"));
    assert_eq!((made.ttl_seconds, made.remaining_seconds), (60, 60));
    assert_eq!(made.metadata["who"], "me");
    assert_eq!(made.config.stm_mode, StmMode::Rolling);
    assert_eq!(service.session(&made.session_id).unwrap(), made);
    let refused = NewSession {
        config: Some(object(json!({"max_pattern_length": 3, "persistence": 0}))),
        ..NewSession::of("user-1")
    };
    let made = service.create_session(refused).unwrap().wait().unwrap();
    assert_eq!(
        (made.config.max_pattern_length, made.ttl_seconds),
        (0, 3600)
    );
}

#[test]
fn writes_renew_and_reads_do_not() {
    let (options, clock) = timed();
    let service = Service::in_memory(options.with_session_ttl(10));
    let (read, written) = (create(&service, "n"), create(&service, "n"));
    for _ in 0..3 {
        clock.advance(Duration::from_secs(4));
        service.stm(&read).ok();
        assert_eq!(
            service.check(&written),
            observe(&service, &written, "a").is_ok()
        );
    }
    assert!(!service.check(&read));
    assert_eq!(service.stm(&written).unwrap().len(), 3);
    assert!(matches!(
        service.stm(&read),
        Err(ServiceError::SessionNotFound { session_id }) if session_id == read
    ));
    clock.advance(Duration::from_secs(10));
    let existence = service.exists(&written);
    assert!(existence.expired && !existence.exists);
    assert_eq!(service.maintain().unwrap().sessions_expired, 1);
    assert!(!service.exists(&written).expired);
    assert_eq!(
        (service.n_sessions(), service.figures().sessions_expired),
        (0, 2)
    );
}

#[test]
fn without_automatic_extension_nothing_renews() {
    let (options, clock) = timed();
    let service = Service::in_memory(options.with_session_ttl(10).with_auto_extend(false));
    let id = create(&service, "n");
    clock.advance(Duration::from_secs(9));
    observe(&service, &id, "a").unwrap();
    clock.advance(Duration::from_secs(1));
    assert!(!service.check(&id));
}

#[test]
fn extending_lasts_until_the_next_write() {
    let (options, clock) = timed();
    let service = Service::in_memory(options);
    let id = create(&service, "n");
    service.extend_session(&id, 10_000).unwrap().wait().unwrap();
    assert_eq!(service.session(&id).unwrap().remaining_seconds, 10_000);
    clock.advance(Duration::from_secs(1));
    observe(&service, &id, "a").unwrap();
    assert_eq!(service.session(&id).unwrap().remaining_seconds, 3600);
    assert!(matches!(
        service.extend_session(&id, -1),
        Err(ServiceError::TtlNegative { ttl_seconds: -1 })
    ));
    service
        .extend_session(&id, i64::MAX)
        .unwrap()
        .wait()
        .unwrap();
    service.extend_session(&id, 0).unwrap().wait().unwrap();
    assert!(!service.check(&id));
}

#[test]
fn a_deleted_session_is_gone() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    service.delete_session(&id).unwrap().wait().unwrap();
    assert!(matches!(
        service.delete_session(&id),
        Err(ServiceError::SessionNotFound { .. })
    ));
    assert!(matches!(
        observe(&service, &id, "a"),
        Err(ServiceError::SessionNotFound { .. })
    ));
}

#[test]
fn there_are_as_many_sessions_as_allowed() {
    let (options, clock) = timed();
    let service = Service::in_memory(options.with_max_sessions(2));
    create(&service, "n");
    create(&service, "n");
    let refused = service.create_session(NewSession::of("n"));
    assert!(matches!(
        refused,
        Err(ServiceError::TooManySessions { limit: 2 })
    ));
    clock.advance(Duration::from_secs(3600));
    create(&service, "n");
    assert_eq!(service.n_sessions(), 1);
}

#[test]
fn settings_change_all_or_nothing() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    let wrong = object(json!({"recall_threshold": 0.5, "max_predictions": 0}));
    assert!(matches!(
        service.update_config(&id, &wrong),
        Err(ServiceError::Config(_))
    ));
    assert_eq!(service.config(&id).unwrap().recall_threshold, 0.1);
    let right = object(json!({"recall_threshold": 0.5}));
    service.update_config(&id, &right).unwrap().wait().unwrap();
    assert_eq!(service.config(&id).unwrap().recall_threshold, 0.5);
}

#[test]
fn sessions_share_their_node_and_nothing_else() {
    let service = Service::in_memory(ServiceOptions::default());
    let (alice, bob, other) = (
        create(&service, "n"),
        create(&service, "n"),
        create(&service, "m"),
    );
    observe(&service, &bob, "x").unwrap();
    teach(&service, &alice, ["a", "b", "c"]);
    assert_eq!(service.stm(&bob).unwrap().len(), 1);
    for id in [&bob, &other] {
        service.clear_stm(id, None).unwrap().wait().unwrap();
        observe(&service, id, "a").unwrap();
        observe(&service, id, "b").unwrap();
    }
    assert_eq!(service.predictions(&bob).unwrap().predictions.len(), 1);
    assert_eq!(
        service
            .cognition(&bob)
            .unwrap()
            .predictions
            .predictions
            .len(),
        1
    );
    assert!(service.predictions(&other).unwrap().predictions.is_empty());
    assert_eq!(service.percept(&bob).unwrap().unwrap().strings, ["b"]);
    assert_eq!(service.finalize_training(&bob).unwrap().patterns, 1);
}

#[test]
fn learning_nothing_is_refused() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    assert!(matches!(
        service.learn(&id, None),
        Err(ServiceError::EmptyStm)
    ));
}

#[test]
fn steps_of_a_sequence_have_ids() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    let sequence = json!({"observations": [
        {"strings": ["a"], "unique_id": "mine"}, {"strings": ["b"], "unique_id": ""}, {"strings": ["c"]}
    ]});
    let sequence = serde_json::from_value(sequence).unwrap();
    let answer = service
        .observe_sequence(&id, sequence, None)
        .unwrap()
        .wait()
        .unwrap();
    let ids: Vec<_> = answer
        .outcome
        .steps
        .iter()
        .map(|step| step.unique_id.clone().unwrap())
        .collect();
    assert_eq!(ids[0], "mine");
    for id in &ids[1..] {
        assert_eq!(id.strip_prefix("seq-obs-").map(str::len), Some(32));
    }
    assert_ne!(ids[1], ids[2]);
    assert_eq!(service.figures().observations, 3);
}
