//! The door: what is opened, how, and what it refuses.

use std::fs;
use std::sync::Arc;

use kato::prelude::*;
use kato::store::StoreError;
use kato::{EngineError, HierarchyError, OpenOptions};

use super::{corpus, knowledge, training};

/// What is opened goes to any thread, in as many handles as there are.
const fn is_shared<T: Clone + Send + Sync + 'static>() {}
const fn is_sendable<T: Send + Sync + 'static>() {}
const _: () = is_shared::<Hierarchy>();
const _: () = is_shared::<OpenOptions>();
const _: () = is_shared::<Engine>();
const _: () = is_sendable::<TextHead>();
const _: () = is_sendable::<Error>();

#[test]
fn what_is_open_for_reading_refuses_to_learn_at_once() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    let before = knowledge(&kb);

    let opened = kato::open(&kb).unwrap();
    let refused = opened.learn("something new that is long enough to be learned");
    let is_read_only = |error: &EngineError| matches!(error, EngineError::Store { source: StoreError::ReadOnly { place }, .. } if place.path() == Some(&kb));
    match refused {
        Err(HierarchyError::Engine(error)) => assert!(is_read_only(&error), "{error:?}"),
        learned => panic!("{learned:?}"),
    }
    let node = opened.engine().node("node0").unwrap();
    let mut session = node.session(SessionConfig::default());
    for symbol in ["a", "b"] {
        session.observe(Observation::strings([symbol])).unwrap();
    }
    assert!(is_read_only(&session.learn().unwrap_err()));
    assert_eq!(node.totals().uncommitted, 0);
    opened.commit().unwrap();
    assert!(opened.forget().is_err());
    assert_eq!(knowledge(&kb), before);
}

#[test]
fn one_may_write_and_others_may_read_meanwhile() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    let writer = OpenOptions::new().for_writing().open(&kb).unwrap();
    let second = OpenOptions::new().for_writing().open(&kb);
    assert!(
        matches!(
            second,
            Err(Error::Store {
                source: StoreError::Locked { .. },
                ..
            })
        ),
        "{second:?}"
    );
    let reader = kato::open(&kb).unwrap();
    writer.learn("a dog ran over the road").unwrap();
    writer.commit().unwrap();
    let of = |hierarchy: &Hierarchy| hierarchy.nodes()[0].totals().learns;
    assert!(of(&reader) < of(&writer));
    assert_eq!(of(&kato::open(&kb).unwrap()), of(&writer));
}

#[test]
fn a_new_knowledge_base_is_one_that_training_goes_on_with() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([3, 2])
        .build()
        .unwrap();
    drop(OpenOptions::new().create(&kb, &rules).unwrap());
    let again = OpenOptions::new().create(&kb, &rules);
    assert!(
        matches!(
            again,
            Err(Error::Store {
                source: StoreError::Exists { .. },
                ..
            })
        ),
        "{again:?}"
    );
    let source = corpus(&place);
    training(&kb, &source).run().unwrap();
    let trained = place.path().join("trained");
    training(&trained, &source).run().unwrap();
    assert_eq!(knowledge(&kb), knowledge(&trained));
}

#[test]
fn any_store_is_opened_by_the_same_options() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    let store = Arc::new(EmbeddedStore::open_read_only(&kb).unwrap());
    let ask = |hierarchy: Hierarchy| {
        let activation = hierarchy.activate("the 1 cat", &ActivationOptions::default());
        activation.unwrap()
    };
    let options = OpenOptions::new();
    let opened = ask(options.open(&kb).unwrap());
    assert_eq!(
        opened,
        ask(options.open_embedded(Arc::clone(&store)).unwrap())
    );
    assert_eq!(opened, ask(options.open_store(store).unwrap()));
    let url = format!("file://{}", kb.display());
    assert_eq!(opened, ask(options.open(url).unwrap()));
}

#[test]
fn addresses_that_lead_nowhere_are_refused_without_their_secrets() {
    for address in [
        "https://somebody:secret@host/kb",
        "ftp://somebody:secret@host/kb",
        // Without the name of a run, or without the feature.
        "mongodb://somebody:secret@host:1/",
    ] {
        let error = kato::open(address).unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
    // A directory may be called like one.
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    let error = kato::open(place.path().join("file")).unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error:?}");
}

#[test]
fn what_is_not_there_is_created_and_what_is_there_opened_by_its_own_rules_alone() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    let rules = |sizes: [usize; 2]| {
        let builder = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2());
        builder.with_chunk_sizes(sizes).build().unwrap()
    };
    let open = |sizes| OpenOptions::new().open_or_create(&kb, &rules(sizes));
    let first = open([3, 2]).unwrap();
    first.learn("the cat sleeps on the mat").unwrap();
    first.commit().unwrap();
    drop(first);
    let error = open([3, 3]).unwrap_err();
    assert!(matches!(error, Error::OtherRules), "{error:?}");
    let again = open([3, 2]).unwrap();
    assert_eq!(again.nodes()[0].totals().learns, 2);
    again.learn("the dog sleeps on the rug").unwrap();
}

#[test]
fn a_head_begins_with_the_weights_that_are_kept_with_its_knowledge_base() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    training(&kb, &corpus(&place)).run().unwrap();
    let open = || kato::open_head(&kb, kato::head::HeadOptions::default());
    let text = "a text that nobody has learned, and that says a text again";
    let first = open().unwrap();
    let mut fitted = open().unwrap();
    fitted.fit(text).unwrap();
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    kato::keep_weights(&store, fitted.weights()).unwrap();

    let kept = open().unwrap();
    assert_eq!(kept.weights(), fitted.weights());
    assert_eq!(kept.score(text).unwrap(), fitted.score(text).unwrap());
    assert_ne!(kept.score(text).unwrap(), first.score(text).unwrap());

    // Every bit of the file counts.
    let file = kb.join("weights.json");
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len() - 1).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        fs::write(&file, damaged).unwrap();
        let refused = open().unwrap_err();
        assert!(matches!(refused, Error::Weights { .. }), "{at}: {refused}");
        assert!(refused.to_string().contains("weights.json"), "{refused}");
    }
    fs::write(&file, &whole).unwrap();
    kato::keep_weights(&store, first.weights()).unwrap();
    assert!(!file.exists());
    assert_eq!(open().unwrap().weights(), first.weights());
}
