//! Vectors: named, stored with the node on learning, and found again by nearness.

use kato_engine::{Engine, Observation, SessionConfig};
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
