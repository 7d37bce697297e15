//! Vectors: named, stored with the node on learning, and found again by nearness.

use kato_embeddings::Embeddings;
use kato_engine::{Engine, EngineError, EngineOptions, Observation, Sequence, SessionConfig};
use kato_model::VectorName;

use crate::support::NODE;

fn vector(elements: &[f64]) -> Observation {
    Observation::vectors(vec![elements.to_vec()])
}

fn names(vectors: &[&[f64]]) -> Vec<String> {
    let mut names: Vec<VectorName> = vectors
        .iter()
        .map(|vector| VectorName::of_vector(vector))
        .collect();
    names.sort();
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn up_to_three_nearest_stored_vectors_join_the_own_name() {
    let engine = Engine::in_memory(&[NODE]);
    let node = engine.node(NODE).unwrap();
    let mut session = node.session(SessionConfig::default());
    for element in [0.0, 1.0, 2.0, 3.0, 100.0] {
        let observed = session.observe(vector(&[element, 0.0])).unwrap();
        // Not learned yet, so not found.
        assert_eq!(session.stm()[observed.stm_length - 1].len(), 1);
    }
    session.learn().unwrap();
    let mut other = node.session(SessionConfig::default());
    let mut found = |elements: &[f64]| {
        other.clear_stm();
        other.observe(vector(elements)).unwrap();
        other.stm()[0].symbols().to_vec()
    };
    assert_eq!(
        found(&[1.1, 0.0]),
        names(&[&[1.1, 0.0], &[1.0, 0.0], &[2.0, 0.0], &[0.0, 0.0]])
    );
    assert_eq!(
        found(&[1.0, 0.0]),
        names(&[&[0.0, 0.0], &[1.0, 0.0], &[2.0, 0.0]])
    );
    assert_eq!(found(&[7.0]), names(&[&[7.0]]));
}

#[test]
fn vectors_of_differing_lengths_are_refused_wherever_they_meet_if_that_is_asked_for() {
    let mut options = EngineOptions::default();
    options.one_vector_length = true;
    let engine = Engine::in_memory_with(&[NODE], options);
    let node = engine.node(NODE).unwrap();
    let mut session = node.session(SessionConfig::default());
    let refused = |outcome: Result<(), EngineError>, lengths: (usize, usize)| {
        let error = outcome.unwrap_err();
        assert!(
            matches!(&error, EngineError::VectorLength { node, expected, found }
                if node == NODE && (*expected, *found) == lengths),
            "{error}"
        );
    };
    // In a sequence, before anything is taken in.
    let sequence = Sequence::new([vector(&[1.0, 2.0]), vector(&[1.0, 2.0, 3.0])]);
    refused(session.observe_sequence(sequence).map(drop), (2, 3));
    assert!(session.stm().is_empty());
    // In one session.
    session.observe(vector(&[1.0, 2.0])).unwrap();
    refused(session.observe(vector(&[1.0])).map(drop), (2, 1));
    refused(session.observe(vector(&[])).map(drop), (2, 0));
    assert_eq!(session.stm().len(), 1);
    // In two sessions, of which neither has learned: who learns first decides.
    let mut other = node.session(SessionConfig::default());
    other.observe(vector(&[1.0, 2.0, 3.0])).unwrap();
    other.observe(Observation::strings(["a"])).unwrap();
    session.observe(Observation::strings(["a"])).unwrap();
    session.learn().unwrap();
    refused(other.learn().map(drop), (2, 3));
    assert_eq!((other.stm().len(), node.totals().patterns), (2, 1));
    other.clear_stm();
    // With what the node has learned.
    refused(other.observe(vector(&[1.0, 2.0, 3.0])).map(drop), (2, 3));
    other.observe(vector(&[3.0, 4.0])).unwrap();
    // One element is added to every other, as in KATO.
    let added = Observation::vectors(vec![vec![1.0], vec![3.0, 4.0]]);
    other.observe(added).unwrap();
    node.clear().unwrap();
    let mut fresh = node.session(SessionConfig::default());
    fresh.observe(vector(&[])).unwrap();
    fresh.observe(vector(&[1.0, 2.0, 3.0])).unwrap();
}

#[test]
fn vectors_of_a_memory_that_was_cleared_are_not_stored() {
    let engine = Engine::in_memory(&[NODE]);
    let mut session = engine.node(NODE).unwrap().session(SessionConfig::default());
    session.observe(vector(&[1.0])).unwrap();
    session.clear_stm();
    session.observe(Observation::strings(["a", "b"])).unwrap();
    session.learn().unwrap();
    session.observe(vector(&[2.0])).unwrap();
    assert_eq!(session.stm()[0].len(), 1);
}

#[test]
fn vectors_of_a_sequence_are_stored_by_its_learn_although_the_memory_is_emptied_in_between() {
    let engine = Engine::in_memory(&[NODE]);
    let mut session = engine.node(NODE).unwrap().session(SessionConfig::default());
    let items = [vector(&[1.0]), Observation::strings(["a", "b"])];
    let sequence = Sequence::new(items).clear_stm_between().learn_at_end();
    session.observe_sequence(sequence).unwrap();
    session.observe(vector(&[2.0])).unwrap();
    assert_eq!(session.stm()[0].symbols(), names(&[&[1.0], &[2.0]]));
}

#[test]
fn vectors_of_a_text_have_the_names_of_its_decimals_when_read_as_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.txt");
    std::fs::write(
        &path,
        "golden 0.1 0.2\nword 0.418 0.24968\nexact 0.5 -0.25\n",
    )
    .unwrap();
    let doubles = Embeddings::builder(&path).with_doubles().open().unwrap();
    let singles = Embeddings::builder(&path).open().unwrap();
    let engine = Engine::in_memory(&[NODE]);
    let mut session = engine.node(NODE).unwrap().session(SessionConfig::default());
    let mut name = |observation: Observation| {
        session.clear_stm();
        session.observe(observation).unwrap();
        session.stm()[0].symbols()[0].clone()
    };
    // What KATO names `[0.1, 0.2]`: a client that reads the text with Python's `float()` sends just
    // that.
    assert_eq!(
        name(Observation::vector(doubles.get("golden").unwrap())),
        "VCTR|fbd0d25c46cc588385eb177fe8d44fe380ef16c1"
    );
    let [inexact, exact] = ["word", "exact"].map(|word| {
        let double = name(Observation::vector(doubles.get(word).unwrap()));
        (
            double,
            name(Observation::vector(singles.get(word).unwrap())),
        )
    });
    // 0.418 as an `f32` has another eighth digit; halves and quarters are the same in both.
    assert_eq!(
        inexact.0,
        VectorName::of_vector(&[0.418, 0.24968]).to_string()
    );
    assert_ne!(inexact.0, inexact.1);
    let widened = [0.418_f32, 0.24968].map(f64::from);
    assert_eq!(inexact.1, VectorName::of_vector(&widened).to_string());
    assert_eq!(exact.0, exact.1);
}
