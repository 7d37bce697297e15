//! Input that means harm: a typed error or a right answer, in bounded time, and nothing changed by
//! an error.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use kato_engine::node::Lesson;
use kato_engine::session::SessionState;
use kato_engine::{
    Engine, EngineError, EngineOptions, Observation, Sequence, Session, SessionConfig,
};
use kato_model::{Event, KatoGeneration, MetadataValue};
use proptest::prelude::*;

use crate::support::{NODE, learn, session, words};

/// The session refuses the observation and is as before.
fn refuses(session: &mut Session, observation: Observation) -> EngineError {
    let before = session.state().clone();
    let error = session.observe(observation.clone()).unwrap_err();
    assert_eq!(*session.state(), before);
    let sequence = Sequence::new([Observation::strings(["fine"]), observation]).learn_after_each();
    session.observe_sequence(sequence).unwrap_err();
    assert_eq!(*session.state(), before);
    assert_eq!(session.node().totals().patterns, 0);
    error
}

#[test]
fn what_is_not_a_finite_number_is_refused() {
    let mut session = session();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        let emotive = Observation::strings(["a"]).with_emotive("joy", value);
        let error = refuses(&mut session, emotive);
        assert!(matches!(error, EngineError::EmotiveRange { .. }));
    }
    let error = refuses(
        &mut session,
        Observation::vectors(vec![vec![1.0], vec![f64::NAN]]),
    );
    assert!(matches!(
        error,
        EngineError::VectorNotFinite { vector_idx: 1 }
    ));
    let error = refuses(
        &mut session,
        Observation::vectors(vec![vec![1.0; 2], vec![1.0; 3]]),
    );
    assert!(matches!(error, EngineError::Vectors(_)));
}

#[test]
fn limits_hold() {
    let mut options = EngineOptions::default();
    options.limits.symbol_bytes = 8;
    options.limits.observation_strings = 3;
    options.limits.vector_elements = 4;
    options.limits.attributes = 1;
    options.limits.metadata_bytes = 10;
    options.limits.sequence_observations = 2;
    options.limits.stm_bytes = 20;
    let engine = Engine::in_memory_with(&[NODE], options);
    let mut session = engine.node(NODE).unwrap().session(SessionConfig::default());
    let too_large: [Observation; 5] = [
        Observation::strings(["123456789"]),
        Observation::strings(["a"; 4]),
        Observation::vectors(vec![vec![0.0; 3], vec![0.0; 3]]),
        Observation::strings(["a"])
            .with_emotive("x", 0.0)
            .with_emotive("y", 0.0),
        // `[1, 2, 3]` as text has nine characters.
        Observation::strings(["a"]).with_metadata(
            "ab",
            MetadataValue::List([1, 2, 3].map(MetadataValue::Integer).into()),
        ),
    ];
    for observation in too_large {
        let error = refuses(&mut session, observation);
        assert!(matches!(error, EngineError::TooLarge { .. }), "{error}");
    }
    assert!(
        session
            .observe_sequence(Sequence::new(words(&["a", "b", "c"])))
            .is_err()
    );
    session
        .observe(Observation::strings(["12345678"; 2]))
        .unwrap();
    let error = session
        .observe(Observation::strings(["12345678"]))
        .unwrap_err();
    assert!(
        matches!(error, EngineError::TooLarge { found: 24, .. }),
        "{error}"
    );
    session.clear_stm();
    let fits = Observation::strings(["12345678"])
        .with_metadata("a", MetadataValue::Text("nine char".to_owned()));
    session.observe(fits).unwrap();
    let mut lesson = Lesson::new([["a"], ["b"]].map(Event::new));
    lesson
        .metadata
        .insert_text("a", "nine char".to_owned(), None);
    engine.node(NODE).unwrap().teach(&lesson).unwrap();
    lesson.metadata.insert_text("a", "b".to_owned(), None);
    assert!(lesson.check(&options.limits).is_err());
    let mut lesson = Lesson::new([["a"], ["b"]].map(Event::new));
    let elements = vec![0.0; 5];
    let name = kato_model::VectorName::of_vector(&elements);
    lesson.vectors.push((name, elements));
    let error = lesson.check(&options.limits).unwrap_err();
    assert!(
        matches!(error, EngineError::TooLarge { found: 5, .. }),
        "{error}"
    );
}

#[test]
fn what_a_session_remembers_is_weighed() {
    let mut session = session();
    let mut before = session.state().memory_bytes();
    for observation in [
        Observation::strings(["x".repeat(1000)]),
        Observation::vector(&[1.0; 125]),
        Observation::default().with_emotive("x".repeat(1000), 1.0),
        Observation::default().with_metadata("m", MetadataValue::Text("x".repeat(1000))),
    ] {
        session.observe(observation).unwrap();
        let bytes = session.state().memory_bytes();
        assert!(bytes > before + 900, "{before} and then {bytes}");
        // What was observed last does not count any more.
        session.observe(Observation::default()).unwrap();
        let bytes = session.state().memory_bytes();
        assert!(bytes > before + 900 && bytes < before + 2000);
        before = bytes;
    }
    session.clear_stm();
    assert_eq!(session.state().memory_bytes(), 0);
}

#[test]
fn odd_symbols_are_learned_and_found() {
    let odd = [
        "",
        "'",
        "\"",
        "'\"\\",
        "nul\0x",
        "DROP TABLE",
        "😀",
        "PTRN|x",
        "VCTR|",
    ];
    let mut session = session();
    learn(&mut session, &odd);
    for symbol in odd {
        session.clear_stm();
        session.observe(Observation::strings([symbol])).unwrap();
        // Only the first symbol of a pattern finds it alone.
        assert_eq!(
            session.predict().unwrap().predictions.len(),
            usize::from(symbol.is_empty())
        );
    }
    session.clear_stm();
    session
        .observe_sequence(Sequence::new(words(&["'\"\\", "nul\0x"])))
        .unwrap();
    let future = &session.predict().unwrap().predictions[0].future;
    assert_eq!(future[0].symbols(), ["DROP TABLE"]);
}

#[test]
fn a_megabyte_symbol_and_a_hundred_thousand_symbols_are_taken_in() {
    let mut session = session();
    let long = "x".repeat(1 << 20);
    let many: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    session.observe(Observation::strings([long])).unwrap();
    session.observe(Observation::strings(many)).unwrap();
    let name = session.learn().unwrap().name().unwrap();
    let record = session.node().pattern(&name).unwrap().unwrap();
    assert_eq!(record.pattern.length(), 100_001);
    assert_eq!(record.pattern.name(), name);
}

#[test]
fn a_long_sequence_is_reported_whole_and_kept_to_its_last_1000_events() {
    let mut session = session();
    let observations = (0..100_000).map(|number| {
        Observation::strings([format!("s{number}")]).with_emotive("joy", f64::from(number))
    });
    let outcome = session
        .observe_sequence(Sequence::new(observations))
        .unwrap();
    assert_eq!(
        (outcome.final_stm_length, session.stm().len()),
        (100_000, 1000)
    );
    assert_eq!(session.stm()[0].symbols(), ["s99000"]);
    assert_eq!(session.state().emotives().len(), 1000);
    let observed = session.observe(Observation::strings(["t"])).unwrap();
    assert_eq!((observed.stm_length, observed.time), (1000, 100_001));
    assert_eq!(session.stm()[0].symbols(), ["s99001"]);
}

#[test]
fn half_a_surrogate_pair_is_no_text() {
    for text in [r#"{"strings": ["\ud800"]}"#, r#"{"strings": ["a\udc00b"]}"#] {
        let error = serde_json::from_str::<Observation>(text).unwrap_err();
        assert!(error.is_syntax(), "{error}");
    }
    let pair: Observation = serde_json::from_str(r#"{"strings": ["\ud83d\ude00"]}"#).unwrap();
    assert_eq!(pair.strings, ["😀"]);
}

#[test]
fn settings_that_kato_lets_pass_do_no_harm() {
    let mut session = session();
    learn(&mut session, &["a", "b", "c"]);
    session
        .observe_sequence(Sequence::new(words(&["a", "b"])))
        .unwrap();
    let changes = serde_json::json!({
        "filter_pipeline": vec!["minhash"; 10_000],
        "minhash_num_hashes": u64::MAX,
        "minhash_bands": u64::MAX,
        "minhash_rows": 1,
        "minhash_threshold": 1e-300,
        "max_pattern_length": u64::MAX,
    });
    let changes = changes.as_object().unwrap();
    session
        .config_mut()
        .update(changes, KatoGeneration::V3_10)
        .unwrap();
    let begin = Instant::now();
    assert_eq!(session.predict().unwrap().predictions.len(), 1);
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_stored_memory_of_100_000_events_is_taken_in_and_cut_by_the_next_observation() {
    let begin = Instant::now();
    let stm: Vec<[String; 1]> = (0..100_000).map(|number| [format!("s{number}")]).collect();
    let state = serde_json::json!({ "stm": stm });
    let state: SessionState = serde_json::from_value(state).unwrap();
    let mut first = session();
    learn(&mut first, &["s5", "s6", "s7"]);
    let mut session = first.node().resume(SessionConfig::default(), state);
    // Too unlike for the threshold.
    assert!(session.predict().unwrap().predictions.is_empty());
    session.config_mut().recall_threshold = 1e-9;
    assert_eq!(session.predict().unwrap().predictions.len(), 1);
    session.observe(Observation::strings(["t"])).unwrap();
    assert_eq!(session.stm().len(), 1000);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// One thing to do with a session.
#[derive(Debug, Clone)]
enum Step {
    Observe(Vec<String>, Vec<Vec<f64>>, BTreeMap<String, f64>),
    Learn,
    Clear,
    Sequence(Vec<Vec<String>>, bool, bool, bool),
    MaxPatternLength(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let strings = || prop::collection::vec("[ab'\"]{0,2}", 0..4);
    let number = || prop::sample::select(vec![0.0, 1.0, -2.5, 1e90, f64::NAN, f64::MAX]);
    let vectors = prop::collection::vec(prop::collection::vec(number(), 0..3), 0..3);
    let emotives = prop::collection::btree_map("[xy]", number(), 0..3);
    prop_oneof![
        4 => (strings(), vectors, emotives).prop_map(|(strings, vectors, emotives)| Step::Observe(strings, vectors, emotives)),
        1 => Just(Step::Learn),
        1 => Just(Step::Clear),
        1 => (prop::collection::vec(strings(), 0..4), any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(items, each, end, between)| Step::Sequence(items, each, end, between)),
        1 => (0..4_u64).prop_map(Step::MaxPatternLength),
    ]
}

fn run(session: &mut Session, step: Step) -> Result<String, EngineError> {
    fn shown(value: impl Debug) -> String {
        format!("{value:?}")
    }
    match step {
        Step::Observe(strings, vectors, emotives) => {
            let mut observation = Observation::strings(strings);
            (observation.vectors, observation.emotives) = (vectors, emotives);
            session.observe(observation).map(shown)
        }
        Step::Learn => session.learn().map(shown),
        Step::Clear => {
            session.clear_stm();
            Ok(String::new())
        }
        Step::Sequence(items, each, end, between) => {
            let mut sequence = Sequence::new(items.into_iter().map(Observation::strings));
            sequence.learn_after_each = each;
            sequence.learn_at_end = end;
            sequence.clear_stm_between = between;
            session.observe_sequence(sequence).map(shown)
        }
        Step::MaxPatternLength(length) => {
            session.config_mut().max_pattern_length = length;
            Ok(String::new())
        }
    }
}

proptest! {
    // An error changes nothing, and a session that is stored and resumed after every step goes on as if it had not been.
    #[test]
    fn sessions_never_panic_and_survive_storage(steps in prop::collection::vec(step(), 0..40)) {
        let (mut kept, mut stored) = (session(), session());
        for step in steps {
            let before = kept.state().clone();
            let patterns = kept.node().totals().learns;
            let answer = run(&mut kept, step.clone());
            if answer.is_err() {
                prop_assert_eq!(kept.state(), &before);
                prop_assert_eq!(kept.node().totals().learns, patterns);
            }
            let node = stored.node().clone();
            let (config, state) = stored.into_parts();
            let config = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
            let state: SessionState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            stored = node.resume(config, state);
            let again = run(&mut stored, step);
            prop_assert_eq!(answer.map_err(|error| error.to_string()), again.map_err(|error| error.to_string()));
            prop_assert_eq!(stored.state(), kept.state());
        }
        prop_assert_eq!(kept.predict().unwrap(), stored.predict().unwrap());
    }
}
