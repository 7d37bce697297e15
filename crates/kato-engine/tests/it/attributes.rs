//! Emotives, metadata and affinity: KATO 3.10.1's way, and the sound one.

use kato_engine::config::StmMode;
use kato_engine::options::AttributeScope;
use kato_engine::{Engine, EngineOptions, LearnOutcome, Observation, Session, SessionConfig};
use kato_model::{MetadataValue, PatternRecord};
use kato_prediction::config::RankMetric;

use crate::support::{NODE, learn, session, words};

fn scoped(scope: AttributeScope, config: SessionConfig) -> Session {
    let mut options = EngineOptions::default();
    options.attribute_scope = scope;
    Engine::in_memory_with(&[NODE], options)
        .node(NODE)
        .unwrap()
        .session(config)
}

fn observe_all(session: &mut Session, observations: impl IntoIterator<Item = Observation>) {
    for observation in observations {
        session.observe(observation).unwrap();
    }
}

fn record(session: &Session, outcome: LearnOutcome) -> PatternRecord {
    let name = outcome.name().unwrap();
    session.node().pattern(&name).unwrap().unwrap()
}

/// Observes `a` with joy and a book, learns `a b`, then learns `c d`.
fn two_patterns(session: &mut Session) -> [PatternRecord; 2] {
    let book = MetadataValue::Text("1".to_owned());
    let with = Observation::strings(["a"])
        .with_emotive("joy", 0.5)
        .with_metadata("book", book);
    observe_all(session, [with, Observation::strings(["b"])]);
    let first = session.learn().unwrap();
    observe_all(session, words(&["c", "d"]));
    let second = session.learn().unwrap();
    [record(session, first), record(session, second)]
}

#[test]
fn as_in_kato_what_gathered_goes_to_every_pattern_until_it_is_cleared() {
    let mut session = session();
    let [first, second] = two_patterns(&mut session);
    assert_eq!(
        (first.emotives.len(), first.metadata),
        (1, second.metadata.clone())
    );
    assert_eq!(second.emotives, first.emotives);
    assert!(second.metadata.values("book").eq(["1"]));
    // The affinity of every symbol grows by the mean, at every learn.
    for symbol in ["a", "b", "c", "d"] {
        assert_eq!(session.node().affinity(symbol).unwrap()["joy"], 0.5);
    }
}

#[test]
fn in_the_scope_of_a_pattern_they_belong_to_what_is_learned_next() {
    let mut session = scoped(AttributeScope::Pattern, SessionConfig::default());
    let [first, second] = two_patterns(&mut session);
    assert_eq!(first.emotives.len(), 1);
    assert!(second.emotives.is_empty() && second.metadata.is_empty());
}

#[test]
fn an_auto_learn_attaches_only_in_the_scope_of_a_pattern() {
    for (scope, n_emotives) in [(AttributeScope::Session, 0), (AttributeScope::Pattern, 2)] {
        let config = SessionConfig::builder()
            .with_max_pattern_length(2)
            .build()
            .unwrap();
        let mut session = scoped(scope, config);
        let joy = |symbol: &str| Observation::strings([symbol]).with_emotive("joy", 1.0);
        session.observe(joy("a")).unwrap();
        let name = session.observe(joy("b")).unwrap().auto_learned.unwrap();
        let record = session.node().pattern(&name).unwrap().unwrap();
        assert_eq!(record.emotives.len(), n_emotives, "{scope:?}");
    }
}

#[test]
fn rolling_learns_overlapping_patterns() {
    let config = SessionConfig::builder()
        .with_max_pattern_length(3)
        .with_stm_mode(StmMode::Rolling)
        .build()
        .unwrap();
    let mut session = scoped(AttributeScope::Session, config);
    observe_all(&mut session, words(&["a", "b", "c", "d", "e"]));
    assert_eq!(session.node().totals().patterns, 3);
    let left: Vec<_> = session
        .stm()
        .iter()
        .flat_map(|event| event.symbols())
        .collect();
    assert_eq!(left, ["d", "e"]);
}

#[test]
fn a_session_sorts_by_itself_only_where_the_options_let_it() {
    let config = SessionConfig::builder()
        .with_sort_symbols(false)
        .build()
        .unwrap();
    for (own, expected) in [(false, ["a", "z"]), (true, ["z", "a"])] {
        let mut options = EngineOptions::default();
        options.session_sort_symbols = own;
        let engine = Engine::in_memory_with(&[NODE], options);
        let mut session = engine.node(NODE).unwrap().session(config.clone());
        session.observe(Observation::strings(["z", "a"])).unwrap();
        assert_eq!(session.stm()[0].symbols(), expected);
    }
}

#[test]
fn a_session_ranks_by_itself_only_where_the_options_let_it() {
    let config = SessionConfig::builder()
        .with_rank_sort_algo(RankMetric::Frequency)
        .build()
        .unwrap();
    for (own, expected) in [(false, "exact"), (true, "often")] {
        let mut options = EngineOptions::default();
        options.session_rank_sort_algo = own;
        let engine = Engine::in_memory_with(&[NODE], options);
        let mut session = engine.node(NODE).unwrap().session(config.clone());
        learn(&mut session, &["a", "b", "exact"]);
        for _ in 0..3 {
            learn(&mut session, &["a", "x", "y", "often"]);
        }
        observe_all(&mut session, words(&["a", "b"]));
        let best = &session.predict().unwrap().predictions[0];
        let last = best.future.last().map(|event| event.symbols()[0].as_str());
        assert_eq!(last, Some(expected));
    }
}

/// Similarities to `a b c` of its first symbol and of its first two, for a session set to
/// characters.
fn similarities_by_characters(options: EngineOptions) -> [f64; 2] {
    let config = SessionConfig::builder()
        .with_character_matching()
        .build()
        .unwrap();
    let engine = Engine::in_memory_with(&[NODE], options);
    [&["a"][..], &["a", "b"]].map(|observed| {
        let mut session = engine.node(NODE).unwrap().session(config.clone());
        learn(&mut session, &["a", "b", "c"]);
        observe_all(&mut session, words(observed));
        session.predict().unwrap().predictions[0].similarity
    })
}

#[test]
fn one_symbol_is_compared_as_the_engine_says_whatever_the_session_says_and_several_as_the_session_does()
 {
    // By characters: `a` and `a b` against `a b c`, twice the common part over both lengths.
    let (one, two) = (2.0 * 1.0 / 6.0, 2.0 * 3.0 / 8.0);
    let by = |use_token_matching, session_use_token_matching| {
        let mut options = EngineOptions::default();
        options.use_token_matching = use_token_matching;
        options.session_use_token_matching = session_use_token_matching;
        similarities_by_characters(options)
    };
    assert_alike(
        similarities_by_characters(EngineOptions::default()),
        [0.5, two],
    );
    assert_alike(by(true, false), [0.5, two]);
    assert_alike(by(false, false), [one, two]);
    assert_alike(by(true, true), [one, two]);
}

fn assert_alike(found: [f64; 2], expected: [f64; 2]) {
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(
        found.iter().zip(&expected).all(is_close),
        "{found:?} instead of {expected:?}"
    );
}
