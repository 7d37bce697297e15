//! Learning in batches.

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_model::{EmotiveMap, Event, MetadataValue};
use kato_service::{Service, ServiceError, ServiceOptions};

use crate::support::{create, export, frequency, lesson, teach};

#[test]
fn a_batch_learns_as_sessions_do() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let (one, batch) = (create(&service, "one"), create(&service, "batch"));
    let observed = |strings: [&str; 2]| {
        let observation = Observation::strings(strings)
            .with_emotive("joy", 0.5)
            .with_metadata("page", MetadataValue::Integer(7));
        service
            .observe(&one, observation, None)
            .unwrap()
            .wait()
            .unwrap();
        service.learn(&one, None).unwrap().wait().unwrap();
        service.clear_stm(&one, None).unwrap().wait().unwrap();
    };
    observed(["b", "a"]);
    teach(&service, &one, ["c", "d"]);
    teach(&service, &one, ["c", "d"]);
    let metadata = [("page".to_owned(), MetadataValue::Integer(7))].into();
    let unsorted = Lesson::new([Event::in_given_order(vec!["b".to_owned(), "a".to_owned()])])
        .with_emotives(EmotiveMap::from([("joy".to_owned(), 0.5)]))
        .with_metadata(&metadata);
    service
        .observe(&batch, Observation::strings(["kept"]), None)
        .unwrap()
        .wait()
        .unwrap();
    let items = vec![
        unsorted,
        lesson(["c", "d"]),
        lesson(["x"]),
        lesson(["c", "d"]),
    ];
    let outcome = service
        .learn_batch(&batch, items, None)
        .unwrap()
        .wait()
        .unwrap();
    let names: Vec<_> = outcome.outcomes.iter().map(ToString::to_string).collect();
    assert_eq!(names[0], "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4");
    assert_eq!((names[2].as_str(), &names[1]), ("", &names[3]));
    assert_eq!(service.stm(&batch).unwrap().len(), 1);
    service.close().unwrap();
    assert_eq!(
        export(dir.path(), "batch_kato"),
        export(dir.path(), "one_kato")
    );
}

#[test]
fn a_batch_that_is_refused_teaches_nothing() {
    let mut options = ServiceOptions::default().with_max_batch_sequences(3);
    options.engine.limits.symbol_bytes = 3;
    let service = Service::in_memory(options);
    let id = create(&service, "n");
    let fine = || lesson(["a", "b"]);
    let odd = Lesson::new([Event::new(["a", "b"])])
        .with_emotives(EmotiveMap::from([("joy".to_owned(), f64::NAN)]));
    let refused = [
        service.learn_batch(&id, vec![fine(), fine(), fine(), fine()], Some("k")),
        service.learn_batch(&id, vec![fine(), Lesson::default()], Some("k")),
        service.learn_batch(&id, vec![fine(), lesson(["a", "long"])], Some("k")),
        service.learn_batch(&id, vec![fine(), odd], Some("k")),
    ];
    let errors: Vec<_> = refused.into_iter().map(Result::unwrap_err).collect();
    assert!(matches!(
        errors[0],
        ServiceError::BatchTooLarge { found: 4, limit: 3 }
    ));
    assert!(matches!(errors[1], ServiceError::EmptySequence { idx: 1 }));
    assert!(matches!(errors[2], ServiceError::Engine(_)));
    assert!(matches!(errors[3], ServiceError::Engine(_)));
    assert!(service.symbols("n").unwrap().is_empty());
    let empty = service
        .learn_batch(&id, Vec::new(), None)
        .unwrap()
        .wait()
        .unwrap();
    assert!(empty.outcomes.is_empty());
}

#[test]
fn a_repeated_batch_acts_once() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n");
    let batch = || vec![lesson(["a", "b"]), lesson(["a", "b"])];
    let first = service
        .learn_batch(&id, batch(), Some("k"))
        .unwrap()
        .wait()
        .unwrap();
    let again = service.learn_batch(&id, batch(), Some("k")).unwrap();
    assert!(again.replayed());
    assert_eq!(again.wait().unwrap(), first);
    assert_eq!(frequency(&service, "n", &first.outcomes[0].to_string()), 2);
}
