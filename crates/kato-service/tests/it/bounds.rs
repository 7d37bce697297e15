//! What clients may have kept, and what all sessions may take.

use kato_engine::{Observation, Sequence};
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceError, ServiceOptions};
use serde_json::json;

use crate::support::{create, lesson, object, settings, words};

fn is_too_large<T>(result: &Result<T, ServiceError>) -> bool {
    matches!(result, Err(ServiceError::TooLarge { limit: 2000, .. }))
}

#[test]
fn what_is_kept_has_a_limit_and_what_is_refused_changes_nothing() {
    let service = Service::in_memory(ServiceOptions::default().with_max_kept_bytes(2000));
    let long = "x".repeat(2001);
    for new in [
        NewSession::new(long.clone()),
        NewSession {
            metadata: object(json!({"a": long})),
            ..NewSession::new("n")
        },
        NewSession {
            config: Some(object(json!({"affinity_emotive": long}))),
            ..NewSession::new("n")
        },
    ] {
        assert!(is_too_large(&service.create_session(new)));
    }
    assert_eq!(service.n_sessions(), 0);

    let id = create(&service, "n");
    let before = service.config(&id).unwrap();
    let filters = settings(json!({"filter_pipeline": vec!["zzz"; 400], "max_predictions": 7}));
    assert!(is_too_large(&service.update_config(&id, filters)));
    assert_eq!(service.config(&id).unwrap(), before);

    let genes = |value: &str| object(json!({"colour": value}));
    service
        .set_genes("n", &genes("green"))
        .unwrap()
        .wait()
        .unwrap();
    assert!(is_too_large(&service.set_genes("n", &genes(&long))));
    assert_eq!(service.genes("n")["colour"], "green");
}

#[test]
fn settings_that_there_are_not_leave_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let unknown = || {
        let entries = (0..1000).map(|idx| (format!("unknown-{idx}"), json!({"": 0})));
        let mut map: serde_json::Map<_, _> = entries.collect();
        map.insert("max_pattern_length".to_owned(), json!(7));
        map
    };
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let new = NewSession {
        config: Some(unknown()),
        ..NewSession::new("n")
    };
    let made = service.create_session(new).unwrap().wait().unwrap();
    let id = made.session_id;
    service
        .update_config(&id, settings(unknown().into()))
        .unwrap()
        .wait()
        .unwrap();
    let written = service.figures().journal_bytes;
    assert!(written < 10_000, "{written} bytes in the journal");
    // What the session has of its own is still known after a restart: genes do not replace it.
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let genes = object(json!({"max_pattern_length": 3, "recall_threshold": 0.5}));
    service.set_genes("n", &genes).unwrap().wait().unwrap();
    let config = service.config(&id).unwrap();
    assert_eq!(
        (config.max_pattern_length, config.recall_threshold),
        (7, 0.5)
    );
}

#[test]
fn sessions_take_no_more_memory_than_all_may_and_give_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ServiceOptions::default().with_max_session_memory(1_000_000);
    let is_full =
        |error: &ServiceError| matches!(error, ServiceError::MemoryFull { limit: 1_000_000 });
    let observe = |service: &Service, id: &str| {
        let receipt = service.observe(id, Observation::strings(["x".repeat(25_000)]), Some("k"));
        receipt.map(|receipt| drop(receipt.wait().unwrap()))
    };
    for service in [
        Service::in_memory(options()),
        Service::open(dir.path(), options()).unwrap(),
    ] {
        let first = create(&service, "first");
        observe(&service, &first).unwrap();
        let others: Vec<_> = (0..40).map(|_| create(&service, "other")).collect();
        let large = || Observation::strings(["x".repeat(25_000)]);
        let observed = others.iter().map(|id| service.observe(id, large(), None));
        let mut refused = observed.zip(&others).filter_map(|(observed, id)| {
            let error = observed.err()?;
            Some((id, error))
        });
        let (id, error) = refused.next().unwrap();
        assert!(is_full(&error), "{error}");
        assert!(service.stm(id).unwrap().is_empty(), "nothing was taken in");
        assert!(service.stm(&others[2]).unwrap().len() == 1);
        assert!(is_full(
            &service.create_session(NewSession::new("n")).unwrap_err()
        ));
        // What was carried out is known, and what needs no memory goes on.
        observe(&service, &first).unwrap();
        assert!(service.learn(&others[0], None).is_ok());
        assert!(service.clear_stm(&others[1], None).is_ok());
        assert!(service.delete_session(&others[2]).is_ok());
        service
            .observe(&others[0], large(), None)
            .unwrap()
            .wait()
            .unwrap();
        create(&service, "n");
    }
}

fn is_full<T>(result: &Result<T, ServiceError>) -> bool {
    matches!(
        result,
        Err(ServiceError::SessionMemoryFull { limit: 100_000, .. })
    )
}

#[test]
fn one_session_takes_no_more_than_a_sixteenth_of_the_memory_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ServiceOptions::default().with_max_session_memory(1_600_000);
    for service in [
        Service::in_memory(options()),
        Service::open(dir.path(), options()).unwrap(),
    ] {
        let id = create(&service, "n");
        let observe = |n_bytes| {
            let observation = Observation::strings(["x".repeat(n_bytes)]);
            service.observe(&id, observation, None)
        };
        // It is remembered twice: as an event, and as what was observed last.
        observe(60_000).unwrap().wait().unwrap();
        let sequence = Sequence::new(words(["a", "b"])).learn_at_end();
        let lessons = || vec![lesson(["a", "b"])];
        let change = || settings(json!({"max_predictions": 7}));
        assert!(is_full(&observe(1)));
        assert!(is_full(&service.observe_sequence(&id, sequence, None)));
        assert!(is_full(&service.learn_batch(&id, lessons(), None)));
        assert!(is_full(&service.update_config(&id, change())));
        assert!(is_full(&service.extend_session(&id, 10)));
        assert_eq!(service.stm(&id).unwrap().len(), 1, "nothing was taken in");
        assert!(service.symbols("n").unwrap().is_empty());
        // Others have room, and what makes it smaller goes on.
        let other = create(&service, "n");
        let taught = service.learn_batch(&other, lessons(), None);
        taught.unwrap().wait().unwrap();
        service.learn(&id, None).unwrap().wait().unwrap();
        observe(60_000).unwrap().wait().unwrap();
        assert!(is_full(&observe(1)));
        service.clear_stm(&id, None).unwrap().wait().unwrap();
        observe(1).unwrap().wait().unwrap();
        observe(60_000).unwrap().wait().unwrap();
        service.delete_session(&id).unwrap().wait().unwrap();
        assert_eq!(service.session_bytes(&id), 0);
    }
}

#[test]
fn a_session_whose_memory_is_in_the_journal_alone_takes_as_much_of_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ServiceOptions::default().with_max_session_memory(1_600_000);
    let service = Service::open(dir.path(), options()).unwrap();
    let id = create(&service, "n");
    let large = Observation::strings(["x".repeat(60_000)]);
    service.observe(&id, large, None).unwrap().wait().unwrap();
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), options()).unwrap();
    assert!(service.session_bytes(&id) > 100_000);
    assert!(is_full(&service.extend_session(&id, 10)));
    service.clear_stm(&id, None).unwrap().wait().unwrap();
    assert!(service.session_bytes(&id) < 10_000);
    service.extend_session(&id, 10).unwrap().wait().unwrap();
}

#[test]
fn no_more_nodes_are_made_than_are_allowed_and_those_that_there_are_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ServiceOptions::default().with_max_nodes(2);
    let is_refused = |error: ServiceError| {
        assert!(
            matches!(error, ServiceError::TooManyNodes { limit: 2 }),
            "{error}"
        );
    };
    let genes = || object(json!({"colour": "green"}));
    for service in [
        Service::in_memory(options()),
        Service::open(dir.path(), options()).unwrap(),
    ] {
        let first = create(&service, "first");
        service
            .set_genes("second", &genes())
            .unwrap()
            .wait()
            .unwrap();
        is_refused(
            service
                .create_session(NewSession::new("third"))
                .unwrap_err(),
        );
        is_refused(service.set_genes("third", &genes()).unwrap_err());
        assert_eq!((service.n_nodes(), service.n_sessions()), (2, 1));
        // Those that there are go on, also by another name of theirs.
        let observed = service.observe(&first, Observation::strings(["a"]), None);
        observed.unwrap().wait().unwrap();
        create(&service, "second");
        service
            .set_genes("first", &genes())
            .unwrap()
            .wait()
            .unwrap();
    }
    // Fewer than there are: all of them are known all the same.
    let fewer = ServiceOptions::default().with_max_nodes(1);
    let service = Service::open(dir.path(), fewer).unwrap();
    assert_eq!(service.n_nodes(), 2);
    create(&service, "first");
    assert!(service.create_session(NewSession::new("third")).is_err());
}

#[test]
fn a_node_of_which_nothing_was_kept_makes_room_for_another() {
    let service = Service::in_memory(ServiceOptions::default().with_max_nodes(1));
    let id = create(&service, "first");
    assert!(service.create_session(NewSession::new("second")).is_err());
    service.delete_session(&id).unwrap().wait().unwrap();
    service.maintain().unwrap();
    create(&service, "second");
}

/// Teaches a session's node so many patterns of its own.
fn teach_many(service: &Service, id: &str, n_patterns: usize) -> Result<(), ServiceError> {
    let batch = (0..n_patterns).map(|idx| lesson([&format!("a{idx}"), &format!("b{idx}")]));
    let batch = batch.collect();
    service.learn_batch(id, batch, None)?.wait()?;
    Ok(())
}

#[test]
fn nodes_leave_memory_when_what_they_learned_fills_it_and_a_large_one_learns_no_more() {
    let knowledge = |service: &Service| service.figures().knowledge_bytes;
    let dir = tempfile::tempdir().unwrap();
    let open = |limit| {
        let options = ServiceOptions::default().with_max_knowledge_memory(limit);
        Service::open(dir.path(), options).unwrap()
    };
    let service = open(usize::MAX);
    let ids: Vec<String> = ["a", "b"].map(|node| create(&service, node)).into();
    teach_many(&service, &ids[0], 2_000).unwrap();
    assert!(knowledge(&service) > 2_000 * 2 * 20);
    service.close().unwrap();
    drop(service);
    // It takes somewhat more when it is loaded at once.
    let service = open(usize::MAX);
    service.stm(&ids[0]).unwrap();
    let of_one = knowledge(&service);
    drop(service);

    // Room for one and a half.
    let limit = of_one + of_one / 2;
    let service = open(limit);
    let in_memory = || service.figures().nodes_loaded;
    service.stm(&ids[0]).unwrap();
    assert_eq!((knowledge(&service), service.keep_room()), (of_one, 0));
    teach_many(&service, &ids[1], 2_000).unwrap();
    assert!(knowledge(&service) > limit);
    assert_eq!((service.keep_room(), in_memory()), (1, 1));
    assert!(knowledge(&service) <= limit);

    // One node may take three quarters; it is asked as before.
    let mut refused = None;
    for round in 0..100 {
        refused = teach_many(&service, &ids[1], 2_000 + round * 100).err();
        if refused.is_some() {
            break;
        }
    }
    assert!(
        matches!(refused, Some(ServiceError::KnowledgeMemoryFull { .. })),
        "{refused:?}"
    );
    // Waiting makes room as well, which no client would guess.
    let told = refused.unwrap().to_string();
    assert!(told.contains("has written an index"), "{told}");
    assert!(service.stm(&ids[1]).unwrap().is_empty());
    // Clearing it makes room.
    service.clear_all(&ids[1], None).unwrap().wait().unwrap();
    teach_many(&service, &ids[1], 10).unwrap();
    // The other one comes back with all that it knows.
    service.stm(&ids[0]).unwrap();
    service.keep_room();
    let view = service.nodes().into_iter().find(|view| view.node_id == "a");
    assert_eq!(view.unwrap().totals.unwrap().patterns, 2_000);
}

#[test]
fn a_service_in_memory_learns_no_more_than_fits_into_it() {
    let options = ServiceOptions::default().with_max_knowledge_memory(1 << 20);
    let service = Service::in_memory(options);
    let ids: Vec<String> = ["a", "b"].map(|node| create(&service, node)).into();
    let refused = |round: &usize| teach_many(&service, &ids[round % 2], round * 100).err();
    let (n_rounds, refused) = (1..1_000)
        .find_map(|round| Some((round, refused(&round)?)))
        .unwrap();
    assert!((3..900).contains(&n_rounds), "{n_rounds}");
    // Neither another node nor waiting would help.
    let told = refused.to_string();
    assert!(told.contains("; clear nodes, or have"), "{told}");
    service.clear_all(&ids[0], None).unwrap().wait().unwrap();
    teach_many(&service, &ids[0], 10).unwrap();
}

#[test]
fn names_and_genes_of_all_nodes_take_no_more_memory_than_they_may() {
    let options = ServiceOptions::default().with_max_node_memory(10_000);
    let service = Service::in_memory(options);
    let genes = |bytes| object(json!({"colour": "x".repeat(bytes)}));
    let set = |node: &str, bytes| {
        let set = service.set_genes(node, &genes(bytes));
        set.unwrap().wait().unwrap();
    };
    set("a", 7_000);
    for refused in [
        service.set_genes("b", &genes(7_000)).unwrap_err(),
        service.set_genes("a", &genes(12_000)).unwrap_err(),
        service
            .create_session(NewSession::new("y".repeat(9_000)))
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(
            matches!(refused, ServiceError::NodeMemoryFull { limit: 10_000 }),
            "{refused}"
        );
    }
    assert_eq!(
        service.genes("a")["colour"].as_str().map(str::len),
        Some(7_000)
    );
    // Fewer are always taken, and leave room.
    set("a", 10);
    set("b", 7_000);
}
