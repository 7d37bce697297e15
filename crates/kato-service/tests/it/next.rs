//! What comes next: as counted from scratch, whatever was taught in between.

use std::path::Path;

use kato_engine::Observation;
use kato_engine::node::Lesson;
use kato_head::{Head, HeadOptions, Weights};
use kato_model::batch::BatchSymbol;
use kato_model::{Event, FirstSeen, LearnBatch, PatternName};
use kato_prediction::Cancel;
use kato_service::answer::{NewSession, NextOutcome, NextQuestion};
use kato_service::{Service, ServiceError, ServiceOptions};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use kato_test_needs::is_thorough;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{create, lesson, object, teach, words};

const NODES: [&str; 3] = ["n0", "n1", "n2"];
const WORDS: [&str; 4] = ["a", "b", "c", "d"];

/// A step of a session of `n0` and of those who teach.
#[derive(Debug, Clone)]
enum Step {
    /// Teach a level one of the patterns.
    Teach(usize, prop::sample::Index),
    Observe(&'static str),
    /// Ask with so many levels.
    Ask(usize),
    Clear(usize),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3usize, any::<prop::sample::Index>()).prop_map(|(level, which)| Step::Teach(level, which)),
        2 => prop::sample::select(&WORDS[..]).prop_map(Step::Observe),
        4 => (1..4usize).prop_map(Step::Ask),
        1 => (0..3usize).prop_map(Step::Clear),
        1 => Just(Step::Restart),
    ]
}

/// Patterns of words, of names of those, and of names of any of these: some may be taught to levels
/// where they do not belong, or before those that they refer to.
fn patterns() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let word = prop::sample::select(&WORDS[..]);
    let low = prop::collection::vec(prop::collection::vec(word, 2..5), 3);
    let refer =
        || prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 2..4), 3);
    (low, refer(), refer()).prop_map(|(low, middle, high)| {
        let of = |word: &&str| Event::new([*word]);
        let mut all: Vec<Vec<Event>> = low
            .iter()
            .map(|words| words.iter().map(of).collect())
            .collect();
        for indexes in [middle, high] {
            let name = |index: &prop::sample::Index| {
                Event::new([PatternName::of_events(index.get::<Vec<Event>>(&all))
                    .prefixed()
                    .to_string()])
            };
            let new: Vec<Vec<Event>> = indexes
                .iter()
                .map(|indexes| indexes.iter().map(name).collect())
                .collect();
            all.extend(new);
        }
        all
    })
}

/// A store of what was taught to the lowest levels.
fn store_of(taught: &[(usize, Vec<Event>)], n_levels: usize) -> MemoryStore {
    let store = MemoryStore::new(&NODES[..n_levels], json!(null));
    let mut batch = LearnBatch::new(n_levels);
    for (level, events) in taught.iter().filter(|(level, _)| *level < n_levels) {
        let symbols: Vec<BatchSymbol> = events
            .iter()
            .map(|event| BatchSymbol::Literal(batch.literal(&event.symbols()[0])))
            .collect();
        batch.learn(*level, PatternName::of_events(events), symbols);
    }
    store
        .commit(vec![store.stage(batch.seal()).unwrap()], json!(null))
        .unwrap();
    store
}

/// Counts from scratch what was taught to the lowest levels.
fn scratch(taught: &[(usize, Vec<Event>)], n_levels: usize) -> Head {
    Head::from_store(&store_of(taught, n_levels), HeadOptions::default()).unwrap()
}

/// What a head says after a history, in full.
fn said(head: &Head, history: &[&str]) -> (Vec<(String, u64)>, u64) {
    let mut read = head.history();
    history.iter().for_each(|word| head.read(&mut read, word));
    let next = head.next(&read, &Weights::new(), None).distribution();
    let text = |(symbol, p): (_, f64)| (head.text(symbol).unwrap().to_owned(), p.to_bits());
    (
        next.top(1000).into_iter().map(text).collect(),
        next.of_unknown().to_bits(),
    )
}

fn bits(answer: &NextOutcome) -> (Vec<(String, u64)>, u64) {
    let next = answer
        .next
        .iter()
        .map(|(symbol, p)| (symbol.clone(), p.to_bits()));
    (next.collect(), answer.other.to_bits())
}

fn all_of(n_levels: usize) -> NextQuestion {
    NextQuestion {
        top: 1000,
        above: NODES[1..n_levels]
            .iter()
            .map(|&node| node.to_owned())
            .collect(),
        ..NextQuestion::default()
    }
}

fn ask(service: &Service, id: &str, query: &NextQuestion) -> Result<NextOutcome, ServiceError> {
    service.next(id, query, &Cancel::new())
}

fn open(dir: Option<&Path>) -> Service {
    match dir {
        Some(dir) => Service::open(dir, ServiceOptions::default()).unwrap(),
        None => Service::in_memory(ServiceOptions::default()),
    }
}

fn check(dir: Option<&Path>, patterns: &[Vec<Event>], steps: &[Step]) -> Result<(), TestCaseError> {
    let mut service = open(dir);
    let ids = NODES.map(|node| create(&service, node));
    let (mut taught, mut history) = (Vec::new(), Vec::new());
    let end = [1, 2, 3].map(Step::Ask);
    for step in steps.iter().chain(&end) {
        match step {
            Step::Teach(level, which) => {
                let events = which.get(patterns).clone();
                let lessons = vec![Lesson::new(events.clone())];
                service
                    .learn_batch(&ids[*level], lessons, None)
                    .unwrap()
                    .wait()
                    .unwrap();
                taught.push((*level, events));
            }
            Step::Observe(word) => {
                let observation = Observation::strings([*word]);
                service
                    .observe(&ids[0], observation, None)
                    .unwrap()
                    .wait()
                    .unwrap();
                history.push(*word);
            }
            Step::Clear(level) => {
                service
                    .clear_all(&ids[*level], None)
                    .unwrap()
                    .wait()
                    .unwrap();
                taught.retain(|(of, _)| of != level);
                if *level == 0 {
                    history.clear();
                }
            }
            Step::Restart if dir.is_some() => {
                service.close().unwrap();
                drop(service);
                service = open(dir);
            }
            Step::Restart => {}
            Step::Ask(n_levels) => {
                let answer = ask(&service, &ids[0], &all_of(*n_levels)).unwrap();
                let head = scratch(&taught, *n_levels);
                prop_assert_eq!(bits(&answer), said(&head, &history), "{} levels", n_levels);
                let sum: f64 = answer.next.iter().map(|(_, p)| p).sum();
                prop_assert!((sum + answer.other - 1.0).abs() < 1e-9);
                prop_assert_eq!(answer.outcomes, head.n_outcomes());
                prop_assert_eq!(answer.history, history.len());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 96 } else { 24 }))]

    #[test]
    fn what_is_taught_in_memory_is_counted_as_from_scratch(
        patterns in patterns(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        check(None, &patterns, &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 12 } else { 4 }))]

    #[test]
    fn what_is_taught_on_disk_is_counted_as_from_scratch(
        patterns in patterns(),
        steps in prop::collection::vec(step(), 0..30),
    ) {
        let dir = tempfile::tempdir().unwrap();
        check(Some(dir.path()), &patterns, &steps)?;
    }
}

#[test]
fn lessons_of_a_session_are_counted_and_stay_its_history_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let text: Vec<&str> = "a b c a b d a b c d".split(' ').collect();
    let events = |words: &[&str]| words.iter().map(|word| Event::new([*word])).collect();
    for mode in ["CLEAR", "ROLLING"] {
        let service = Service::open(dir.path().join(mode), ServiceOptions::default()).unwrap();
        let config = object(json!({"max_pattern_length": 3, "stm_mode": mode}));
        let new = NewSession {
            config: Some(config),
            ..NewSession::new("n0")
        };
        let id = service
            .create_session(new)
            .unwrap()
            .wait()
            .unwrap()
            .session_id;
        let mut taught = Vec::new();
        for (idx, word) in text.iter().enumerate() {
            service
                .observe(&id, Observation::strings([*word]), None)
                .unwrap()
                .wait()
                .unwrap();
            let end = idx + 1;
            let is_lesson = match mode {
                "CLEAR" => end.is_multiple_of(3),
                _ => end >= 3,
            };
            if is_lesson {
                taught.push((0, events(&text[end - 3..end])));
            }
            let answer = ask(&service, &id, &all_of(1)).unwrap();
            assert_eq!(
                bits(&answer),
                said(&scratch(&taught, 1), &text[..end]),
                "{mode} {end}"
            );
        }
        let before = ask(&service, &id, &all_of(1)).unwrap();
        service.close().unwrap();
        drop(service);
        let service = Service::open(dir.path().join(mode), ServiceOptions::default()).unwrap();
        assert_eq!(ask(&service, &id, &all_of(1)).unwrap(), before);
        service.clear_stm(&id, None).unwrap().wait().unwrap();
        assert_eq!(ask(&service, &id, &all_of(1)).unwrap().history, 0);
    }
}

#[test]
fn an_answer_explains_itself_and_names_what_nobody_knows() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n0");
    teach(&service, &id, ["the", "cat", "sleeps"]);
    teach(&service, &id, ["the", "cat", "sits"]);
    teach(&service, &id, ["the", "cat", "sleeps"]);
    service.clear_stm(&id, None).unwrap().wait().unwrap();
    for word in ["the", "cat"] {
        service
            .observe(&id, Observation::strings([word]), None)
            .unwrap()
            .wait()
            .unwrap();
    }
    let query = NextQuestion {
        top: 1,
        symbols: ["sits", "dog"].map(str::to_owned).to_vec(),
        explain: true,
        ..NextQuestion::default()
    };
    let answer = ask(&service, &id, &query).unwrap();
    assert_eq!(answer.next[0].0, "sleeps");
    assert_eq!((answer.levels.len(), answer.levels[0].patterns), (1, 2));
    assert!(answer.asked[0].is_known && !answer.asked[1].is_known);
    assert_eq!(answer.asked[1].probability, answer.other);
    let [why] = &answer.explanations[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(
        (why.symbol.as_str(), why.probability),
        ("sits", answer.asked[0].probability)
    );
    let sum: f64 = why.parts.iter().map(|part| part.contribution).sum();
    assert_eq!(sum, why.probability);
    // Without a symbol the best is explained, though nothing is listed.
    let query = NextQuestion {
        top: 0,
        explain: true,
        ..NextQuestion::default()
    };
    let answer = ask(&service, &id, &query).unwrap();
    assert!(answer.next.is_empty());
    assert_eq!(answer.explanations[0].symbol, "sleeps");
}

#[test]
fn a_service_names_the_patterns_that_a_store_would_name() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let ids = ["n0", "n1"].map(|node| create(&service, node));
    let chunks = [
        ["the", "cat", "sat"],
        ["on", "the", "mat"],
        ["the", "cat", "ran"],
    ];
    let events_of =
        |words: &[&str]| -> Vec<Event> { words.iter().map(|word| Event::new([*word])).collect() };
    let mut taught: Vec<(usize, Vec<Event>)> =
        chunks.iter().map(|chunk| (0, events_of(chunk))).collect();
    let name = |chunk: &[&str]| {
        PatternName::of_events(&events_of(chunk))
            .prefixed()
            .to_string()
    };
    let pair = [name(&chunks[0]), name(&chunks[1])];
    taught.push((1, pair.iter().map(|name| Event::new([name])).collect()));
    for (level, events) in &taught {
        let lessons = vec![Lesson::new(events.clone())];
        service
            .learn_batch(&ids[*level], lessons, None)
            .unwrap()
            .wait()
            .unwrap();
    }
    for word in ["the", "cat", "sat"] {
        service
            .observe(&ids[0], Observation::strings([word]), None)
            .unwrap()
            .wait()
            .unwrap();
    }
    let query = NextQuestion {
        symbols: vec!["on".to_owned(), "the".to_owned()],
        explain: true,
        patterns: 2,
        fit: true,
        ..all_of(2)
    };
    let store = store_of(&taught, 2);
    let head = Head::from_store(&store, HeadOptions::default()).unwrap();
    let (mut read, mut weights) = (head.history(), Weights::new());
    for word in ["the", "cat", "sat"] {
        head.learn_weights(&mut weights, &read, None, head.symbol(word));
        head.read(&mut read, word);
    }
    let next = head.next(&read, &weights, None);
    let mut expected: Vec<_> = ["on", "the"]
        .iter()
        .map(|word| next.explain(head.symbol(word).unwrap()))
        .collect();
    head.name_patterns(&store, &mut expected, 2).unwrap();
    // Once counted anew, once with what is there already, and once from the disk.
    for _ in 0..2 {
        assert_eq!(
            ask(&service, &ids[0], &query).unwrap().explanations,
            expected
        );
    }
    service.close().unwrap();
    drop(service);
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    assert_eq!(
        ask(&service, &ids[0], &query).unwrap().explanations,
        expected
    );
    // "sat on" crosses the border that the pattern above spans.
    let named = expected[0].patterns_mut().map(|pattern| pattern.level);
    assert!(named.collect::<Vec<_>>().contains(&1));
}

#[test]
fn a_service_says_where_patterns_of_a_trained_knowledge_base_were_first_seen() {
    let dir = tempfile::tempdir().unwrap();
    let node = dir
        .path()
        .join("nodes")
        .join(kato_model::naming::processor_id("n0", "kato"));
    std::fs::create_dir_all(node.parent().unwrap()).unwrap();
    let store = EmbeddedStore::create(&node, &["n0"], json!(null)).unwrap();
    let events = ["a", "b", "c"].map(|word| Event::new([word]));
    let mut batch = LearnBatch::new(1);
    batch.record_document(7, "seven.txt");
    let symbols = ["a", "b", "c"].map(|word| BatchSymbol::Literal(batch.literal(word)));
    let learned = batch.learn(0, PatternName::of_events(&events), symbols);
    let seen = FirstSeen {
        document_idx: 7,
        token_idx: 0,
    };
    batch.record_first_seen(0, learned, seen);
    store
        .commit(vec![store.stage(batch.seal()).unwrap()], json!(null))
        .unwrap();
    drop(store);
    let service = Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let id = create(&service, "n0");
    service
        .observe(&id, Observation::strings(["a"]), None)
        .unwrap()
        .wait()
        .unwrap();
    let query = NextQuestion {
        symbols: vec!["b".to_owned()],
        explain: true,
        patterns: 1,
        ..NextQuestion::default()
    };
    let mut answer = ask(&service, &id, &query).unwrap();
    let mut named = answer.explanations[0].patterns_mut();
    let source = named.next().unwrap().source.clone().unwrap();
    assert_eq!(
        (
            source.document.as_deref(),
            source.document_idx,
            source.token_idx
        ),
        (Some("seven.txt"), 7, 0)
    );
}

#[test]
fn a_history_that_teaches_the_weights_says_what_a_head_says() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n0");
    teach(&service, &id, ["a", "b", "c"]);
    service.clear_stm(&id, None).unwrap().wait().unwrap();
    let text: Vec<&str> = "a b c a b d a b c".split(' ').collect();
    for word in &text {
        service
            .observe(&id, Observation::strings([*word]), None)
            .unwrap()
            .wait()
            .unwrap();
    }
    let plain = ask(&service, &id, &all_of(1)).unwrap();
    let fitted = ask(
        &service,
        &id,
        &NextQuestion {
            fit: true,
            ..all_of(1)
        },
    )
    .unwrap();
    assert_ne!(bits(&plain), bits(&fitted));
    let head = scratch(
        &[(0, ["a", "b", "c"].map(|word| Event::new([word])).to_vec())],
        1,
    );
    let (mut read, mut weights) = (head.history(), Weights::new());
    for word in &text {
        head.learn_weights(&mut weights, &read, None, head.symbol(word));
        head.read(&mut read, word);
    }
    let next = head.next(&read, &weights, None).distribution();
    let expected = next
        .top(1000)
        .into_iter()
        .map(|(symbol, p)| (head.text(symbol).unwrap().to_owned(), p.to_bits()));
    assert_eq!(
        bits(&fitted),
        (expected.collect(), next.of_unknown().to_bits())
    );
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n0");
    let with = |change: &dyn Fn(&mut NextQuestion)| {
        let mut query = NextQuestion::default();
        change(&mut query);
        ask(&service, &id, &query)
    };
    let above = |nodes: &[&str]| {
        nodes
            .iter()
            .map(|&node| node.to_owned())
            .collect::<Vec<_>>()
    };
    let asks_too_much = |answer| matches!(answer, Err(ServiceError::AskedTooMuch { .. }));
    assert!(asks_too_much(with(&|query| query.top = 1001)));
    assert!(asks_too_much(with(
        &|query| query.symbols = vec![String::new(); 101]
    )));
    assert!(asks_too_much(with(
        &|query| query.above = vec!["n1".to_owned(); 16]
    )));
    assert!(asks_too_much(with(&|query| query.patterns = 101)));
    assert!(asks_too_much(with(&|query| {
        query.symbols = vec![String::new(); 11];
        (query.explain, query.patterns) = (true, 1);
    })));
    let unknown = with(&|query| query.above = above(&["nowhere"]));
    assert!(matches!(unknown, Err(ServiceError::UnknownNode { node_id }) if node_id == "nowhere"));
    // Ids that KATO cannot tell apart are one node.
    create(&service, "n-1");
    let twice = with(&|query| query.above = above(&["n-1", "n_1"]));
    assert!(matches!(twice, Err(ServiceError::RepeatedNode { node_id }) if node_id == "n_1"));
    assert!(matches!(
        with(&|query| query.above = above(&["n0"])),
        Err(ServiceError::RepeatedNode { .. })
    ));
    let gone = service.next("session-none", &NextQuestion::default(), &Cancel::new());
    assert!(matches!(gone, Err(ServiceError::SessionNotFound { .. })));
    // An empty node knows nothing, and says so.
    let empty = with(&|_| {}).unwrap();
    assert_eq!((empty.other, empty.outcomes, empty.next.len()), (1.0, 1, 0));
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = service.next(&id, &NextQuestion::default(), &cancel);
    assert!(matches!(cancelled, Err(ServiceError::Cancelled(_))));
}

#[test]
fn counts_take_no_more_memory_than_they_may_and_make_room_for_others() {
    let limit = 3 << 20;
    let service = Service::in_memory(ServiceOptions::default().with_max_head_memory(limit));
    let small = create(&service, "small");
    teach(&service, &small, ["a", "b", "c"]);
    let other = create(&service, "other");
    teach(&service, &other, ["c", "b", "a"]);
    // Each takes a megabyte, of what may wait for it; the fourth makes room.
    for idx in 0..4 {
        let id = create(&service, &format!("n{idx}"));
        ask(&service, &id, &NextQuestion::default()).unwrap();
    }
    let before = ask(&service, &small, &all_of(1)).unwrap();
    ask(&service, &other, &all_of(1)).unwrap();
    assert_eq!(ask(&service, &small, &all_of(1)).unwrap(), before);
    // One that alone takes more is refused, and nothing else changes.
    let large = create(&service, "large");
    let lessons = (0..20_000).map(|idx| {
        let words = (0..5).map(|word| Event::new([format!("w{}", idx * 5 + word)]));
        Lesson::new(words)
    });
    service
        .learn_batch(&large, lessons.collect(), None)
        .unwrap()
        .wait()
        .unwrap();
    let refused = ask(&service, &large, &NextQuestion::default());
    assert!(
        matches!(refused, Err(ServiceError::HeadMemoryFull { limit: found }) if found == limit),
        "{refused:?}"
    );
    assert_eq!(ask(&service, &small, &all_of(1)).unwrap(), before);
}

#[test]
fn lessons_that_nobody_asks_for_are_counted_all_the_same() {
    let service = Service::in_memory(ServiceOptions::default());
    let id = create(&service, "n0");
    teach(&service, &id, ["a", "b"]);
    ask(&service, &id, &all_of(1)).unwrap();
    // More than waits for a head.
    let lessons = || {
        (0..9_000)
            .map(|idx| lesson(["a", ["b", "c"][idx % 2], "d"]))
            .collect()
    };
    service
        .learn_batch(&id, lessons(), None)
        .unwrap()
        .wait()
        .unwrap();
    let live = ask(&service, &id, &all_of(1)).unwrap();
    let other = Service::in_memory(ServiceOptions::default());
    let other_id = create(&other, "n0");
    teach(&other, &other_id, ["a", "b"]);
    other
        .learn_batch(&other_id, lessons(), None)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(
        bits(&live),
        bits(&ask(&other, &other_id, &all_of(1)).unwrap())
    );
}

#[test]
fn teaching_and_asking_side_by_side_ends_exact() {
    let service = Service::in_memory(ServiceOptions::default());
    let ids = [
        create(&service, "n0"),
        create(&service, "n0"),
        create(&service, "n0"),
    ];
    std::thread::scope(|scope| {
        for (idx, id) in ids.iter().enumerate() {
            let service = &service;
            scope.spawn(move || {
                for round in 0..200usize {
                    let word = |n: usize| WORDS[(idx + round * n) % 4];
                    let taught = vec![lesson([word(1), word(2), word(3)])];
                    service
                        .learn_batch(id, taught, None)
                        .unwrap()
                        .wait()
                        .unwrap();
                    let answer = ask(service, id, &all_of(1)).unwrap();
                    let sum: f64 = answer.next.iter().map(|(_, p)| p).sum();
                    assert!((sum + answer.other - 1.0).abs() < 1e-9);
                }
            });
        }
    });
    let mut taught = Vec::new();
    for idx in 0..3 {
        for round in 0..200 {
            let word = |n: usize| Event::new([WORDS[(idx + round * n) % 4]]);
            taught.push((0, vec![word(1), word(2), word(3)]));
        }
    }
    let answer = ask(&service, &ids[0], &all_of(1)).unwrap();
    assert_eq!(bits(&answer), said(&scratch(&taught, 1), &[]));
    // Observing changes the history of one session and the counts of none.
    let sequence = kato_engine::Sequence::new(words(["a", "b"]));
    service
        .observe_sequence(&ids[1], sequence, None)
        .unwrap()
        .wait()
        .unwrap();
    let after = ask(&service, &ids[1], &all_of(1)).unwrap();
    assert_eq!(bits(&after), said(&scratch(&taught, 1), &["a", "b"]));
    assert_eq!(ask(&service, &ids[0], &all_of(1)).unwrap(), answer);
}

#[test]
fn names_stand_for_the_lowest_level_whoever_taught_them_first() {
    let service = Service::in_memory(ServiceOptions::default());
    let ids = NODES.map(|node| create(&service, node));
    let of =
        |words: &[&str]| -> Vec<Event> { words.iter().map(|word| Event::new([*word])).collect() };
    let name = |events: &[Event]| PatternName::of_events(events).prefixed().to_string();
    let (one, two) = (of(&["a", "b"]), of(&["c", "d"]));
    let high = of(&[&name(&one), &name(&two)]);
    let mut taught = Vec::new();
    let mut learn = |level: usize, events: &Vec<Event>| {
        let lessons = vec![Lesson::new(events.clone())];
        service
            .learn_batch(&ids[level], lessons, None)
            .unwrap()
            .wait()
            .unwrap();
        taught.push((level, events.clone()));
        for n_levels in 1..=3 {
            let answer = ask(&service, &ids[0], &all_of(n_levels)).unwrap();
            assert_eq!(bits(&answer), said(&scratch(&taught, n_levels), &[]));
        }
        scratch(&taught, 3)
    };
    // Where they do not belong, and where they are nothing but names.
    learn(1, &one);
    learn(1, &two);
    let before = learn(2, &high);
    learn(0, &one);
    let after = learn(0, &two);
    let pair = |head: &Head| -> u64 {
        let ids: Option<Vec<_>> = ["b", "c"].iter().map(|word| head.symbol(word)).collect();
        ids.map_or(0, |ids| head.count(&ids))
    };
    assert_eq!((pair(&before), pair(&after)), (0, 1));
    // Again, which changes nothing but frequencies.
    learn(0, &one);
    learn(1, &one);
}

#[test]
fn a_lesson_that_refers_to_a_retired_pattern_is_counted_as_from_scratch() {
    let service = Service::in_memory(ServiceOptions::default());
    let ids = NODES.map(|node| create(&service, node));
    let of =
        |words: &[&str]| -> Vec<Event> { words.iter().map(|word| Event::new([*word])).collect() };
    let name = |events: &[Event]| PatternName::of_events(events).prefixed().to_string();
    let (retired, kept) = (of(&["a", "b"]), of(&["c", "d"]));
    let high = of(&[&name(&kept), &name(&retired), &name(&kept)]);
    let learn = |level: usize, events: &Vec<Event>| {
        let lessons = vec![Lesson::new(events.clone())];
        let learned = service.learn_batch(&ids[level], lessons, None).unwrap();
        learned.wait().unwrap();
    };
    learn(0, &retired);
    learn(0, &kept);
    let names = [PatternName::of_events(&retired)];
    let done = service.retire(&ids[0], &names, None).unwrap();
    done.wait().unwrap();
    // What comes now is counted on top of this.
    ask(&service, &ids[0], &all_of(2)).unwrap();
    learn(1, &high);
    let live = ask(&service, &ids[0], &all_of(2)).unwrap();
    let taught = [(0, kept), (1, high)];
    assert_eq!(bits(&live), said(&scratch(&taught, 2), &[]));
}
