//! The life of sessions.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kato_engine::Observation;
use kato_engine::config::StmMode;
use kato_model::KatoGeneration;
use kato_service::answer::{ActiveSession, NewSession, SessionPage};
use kato_service::clock::SystemClock;
use kato_service::{Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, object, settings, teach, timed};

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
    let refused = || NewSession {
        config: Some(object(json!({"max_pattern_length": 3, "persistence": 0}))),
        ..NewSession::new("user-1")
    };
    assert!(matches!(
        service.create_session(refused()),
        Err(ServiceError::Config(_))
    ));
    // Up to 5.x one wrong value makes all of them defaults.
    let options = ServiceOptions::default().with_generation(KatoGeneration::V3_10);
    let older = Service::in_memory(options);
    let made = older.create_session(refused()).unwrap().wait().unwrap();
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
    let refused = service.create_session(NewSession::new("n"));
    assert!(matches!(
        refused,
        Err(ServiceError::TooManySessions { limit: 2 })
    ));
    clock.advance(Duration::from_secs(3600));
    create(&service, "n");
    assert_eq!(service.n_sessions(), 1);
}

#[test]
fn no_session_lives_longer_than_any_may() {
    let dir = tempfile::tempdir().unwrap();
    let day = 24 * 60 * 60;
    let (options, clock) = timed();
    let open = |max_days: u64| {
        let options = options.clone().with_max_session_ttl(max_days * day);
        Service::open(dir.path(), options).unwrap()
    };
    let service = open(30);
    let new = NewSession {
        ttl_seconds: Some(100 * 365 * day),
        ..NewSession::new("n")
    };
    let made = service.create_session(new).unwrap().wait().unwrap();
    let id = made.session_id;
    assert_eq!(
        (made.ttl_seconds, made.remaining_seconds),
        (30 * day, 30 * day)
    );
    let extended = service.extend_session(&id, i64::MAX).unwrap();
    assert_eq!(extended.wait().unwrap(), 30 * day);
    assert_eq!(service.session(&id).unwrap().remaining_seconds, 30 * day);
    clock.advance(Duration::from_secs(29 * day));
    observe(&service, &id, "a").unwrap();
    assert_eq!(service.session(&id).unwrap().remaining_seconds, 30 * day);
    drop(service);

    // A smaller maximum counts for the sessions that are there.
    let service = open(1);
    assert_eq!(service.session(&id).unwrap().remaining_seconds, day);
    observe(&service, &id, "b").unwrap();
    clock.advance(Duration::from_secs(day));
    assert!(!service.check(&id));
}

#[test]
fn the_least_recently_used_session_makes_room_and_those_in_use_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (options, clock) = timed();
    let options = options.with_max_sessions(3).with_session_ttl(100);
    let service = Service::open(dir.path(), options.clone()).unwrap();
    let make = |service: &Service| {
        let new = NewSession {
            ttl_seconds: Some(100_000),
            ..NewSession::new("n")
        };
        let made = service.create_session(new);
        made.map(|made| made.wait().unwrap().session_id)
    };
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(make(&service).unwrap());
        clock.advance(Duration::from_secs(20));
    }
    let is_full = |made: Result<String, ServiceError>| {
        assert!(matches!(
            made,
            Err(ServiceError::TooManySessions { limit: 3 })
        ));
    };
    // All of them were used lately, and reading is use.
    is_full(make(&service));
    service.stm(&ids[0]).unwrap();
    clock.advance(Duration::from_secs(61));
    let fourth = make(&service).unwrap();
    assert!(!service.check(&ids[1]));
    assert!(service.check(&ids[0]) && service.check(&ids[2]) && service.check(&fourth));
    is_full(make(&service));
    let figures = service.figures();
    assert_eq!((figures.sessions, figures.sessions_evicted), (3, 1));
    drop(service);

    // It has not come back, and sessions that were not written to for long are still known to be
    // unused.
    let service = Service::open(dir.path(), options).unwrap();
    assert_eq!(service.n_sessions(), 3);
    let fifth = make(&service).unwrap();
    assert!(!service.check(&ids[0]));
    assert!(service.check(&ids[2]) && service.check(&fourth) && service.check(&fifth));
}

#[test]
fn hundreds_of_unused_sessions_make_room_one_by_one() {
    let (options, clock) = timed();
    let service = Service::in_memory(options.with_max_sessions(500).with_session_ttl(10));
    let make = || {
        let new = NewSession {
            ttl_seconds: Some(1000),
            ..NewSession::new("n")
        };
        let made = service.create_session(new).unwrap();
        made.wait().unwrap().session_id
    };
    let old: Vec<String> = (0..500)
        .map(|_| {
            clock.advance(Duration::from_millis(1));
            make()
        })
        .collect();
    clock.advance(Duration::from_secs(10));
    for idx in 0..500 {
        make();
        assert!(!service.exists(&old[idx]).exists);
        assert!(old.get(idx + 1).is_none_or(|id| service.exists(id).exists));
    }
    assert_eq!(service.n_sessions(), 500);
}

#[test]
fn all_sessions_are_listed_page_by_page() {
    let (options, clock) = timed();
    let service = Service::in_memory(options);
    let mut ids: Vec<String> = (0..10)
        .map(|idx| create(&service, ["a", "b"][idx % 2]))
        .collect();
    clock.advance(Duration::from_secs(5));
    observe(&service, &ids[3], "x").unwrap();
    let used = ids[3].clone();
    ids.sort();
    let page = |node_id: Option<&str>, after: &str, limit| {
        service.list_sessions(&SessionPage {
            node_id: node_id.map(str::to_owned),
            after: after.to_owned(),
            limit,
        })
    };
    let mut listed: Vec<ActiveSession> = Vec::new();
    loop {
        let after = listed.last().map_or("", |last| &last.session_id);
        let more = page(None, after, 4);
        if more.is_empty() {
            break;
        }
        listed.extend(more);
    }
    let found: Vec<&String> = listed.iter().map(|session| &session.session_id).collect();
    assert_eq!(found, ids.iter().collect::<Vec<_>>());
    for session in &listed {
        let seconds = u64::from(session.session_id == used) * 5;
        let used_at = session.created_at + Duration::from_secs(seconds);
        assert_eq!(session.last_used_at, used_at);
        assert_eq!(session.expires_at, used_at + Duration::from_secs(3600));
    }
    assert_eq!(page(Some("b"), "", 100).len(), 5);
    assert!(page(Some("c"), "", 100).is_empty());
    clock.advance(Duration::from_secs(3596));
    assert_eq!(page(None, "", 100).len(), 1, "the others are over");
}

#[test]
fn a_machine_clock_that_jumps_ends_no_session_and_one_that_is_later_at_the_next_start_does() {
    let dir = tempfile::tempdir().unwrap();
    let open = |clock: SystemTime| {
        let options =
            ServiceOptions::default().with_clock(Arc::new(SystemClock::starting_at(clock)));
        Service::open(dir.path(), options).unwrap()
    };
    let began = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    // The machine's clock is decades ahead of this one, as after a jump: it is not looked at again.
    let service = open(began);
    let id = create(&service, "n");
    let first = service.observe(&id, Observation::strings(["a"]), Some("key"));
    assert!(!first.unwrap().replayed());
    assert_eq!(service.maintain().unwrap().sessions_expired, 0);
    let again = service.observe(&id, Observation::strings(["a"]), Some("key"));
    assert!(again.unwrap().replayed());
    assert!(service.session(&id).unwrap().created_at < began + Duration::from_secs(3600));
    drop(service);

    let service = open(began + Duration::from_secs(1800));
    assert!(service.check(&id));
    drop(service);
    let service = open(began + Duration::from_secs(7200));
    assert!(!service.check(&id));
}

#[test]
fn the_clock_of_a_service_starts_with_the_machines_and_goes_on_by_itself() {
    let before = SystemTime::now();
    let service = Service::in_memory(ServiceOptions::default());
    let created = service.session(&create(&service, "n")).unwrap().created_at;
    let micros = Duration::from_micros(1);
    assert!(before - micros <= created && created <= SystemTime::now() + micros);
}

#[test]
fn settings_that_a_change_leaves_out_stay() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    for change in [
        json!({"max_predictions": 7}),
        json!({"recall_threshold": 0.5}),
    ] {
        let changed = service.update_config(&id, settings(change));
        changed.unwrap().wait().unwrap();
    }
    assert_eq!(service.config(&id).unwrap().max_predictions, 7);
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

/// Vectors that were observed wait for the learn of their own session. In KATO 3.10.1 they wait in the
/// node, for whoever learns next; see `docs/compatibility.md`.
#[test]
fn observed_vectors_belong_to_their_session_until_it_learns() {
    let dir = tempfile::tempdir().unwrap();
    let mut service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let see = |service: &Service, id: &str, element: f64| {
        let seen = Observation::vectors(vec![vec![element, 1.0]]);
        service.observe(id, seen, None).unwrap().wait().unwrap();
        // Its own name, and those of stored ones.
        service.stm(id).unwrap().last().unwrap().len()
    };
    let learn = |service: &Service, id: &str| {
        for word in ["a", "b"] {
            let seen = Observation::strings([word]);
            service.observe(id, seen, None).unwrap().wait().unwrap();
        }
        service.learn(id, None).unwrap().wait().unwrap();
    };
    let own = create(&service, "n");
    let look = create(&service, "n");
    // Of a session that is deleted, of one that is cleared, and of one that learns nothing by it.
    let deleted = create(&service, "n");
    see(&service, &deleted, 1.0);
    service.delete_session(&deleted).unwrap().wait().unwrap();
    see(&service, &own, 2.0);
    service.clear_stm(&own, None).unwrap().wait().unwrap();
    see(&service, &own, 3.0);
    service.learn(&own, None).unwrap().wait().unwrap();
    // Of one that waits, while another one of the node learns.
    let waiting = create(&service, "n");
    see(&service, &waiting, 4.0);
    learn(&service, &own);
    assert_eq!(see(&service, &look, 5.0), 1, "nothing is stored");

    // Its own learn stores them, also after a restart.
    drop(service);
    service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    learn(&service, &waiting);
    assert_eq!(see(&service, &look, 5.0), 2);
    // Clearing all forgets those that are stored, and those that wait in the session that asks.
    see(&service, &own, 6.0);
    service.clear_all(&own, None).unwrap().wait().unwrap();
    learn(&service, &own);
    service.clear_stm(&look, None).unwrap().wait().unwrap();
    assert_eq!(see(&service, &look, 5.0), 1);
}
