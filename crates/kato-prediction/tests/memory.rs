//! What an index says that it takes is what the allocator counts: memory is given to nodes by it.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::sync::Arc;

use kato_engine::Engine;
use kato_engine::node::Lesson;
use kato_model::{EmotiveMap, Event, PatternName};
use kato_prediction::PatternIndex;
use kato_prediction::disk::{BuildOptions, build, open};
use kato_store::{EmbeddedStore, PatternStore};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What patterns are of, and so what takes the memory.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// Few texts, so that their places weigh most.
    Ngrams,
    /// Long texts, each in one pattern.
    Texts,
    /// Names of other patterns, each in one.
    Names,
    /// Events of several texts.
    Events,
}

fn pattern(of: Of, number: usize) -> Vec<Event> {
    // Every 900 patterns at other distances, so that none comes twice.
    let mixed = |place: usize| (number * 31 + number / 900 * place * 7 + place * place * 17) % 900;
    let event = |place: usize| match of {
        Of::Ngrams => Event::new([format!("{:08}", mixed(place))]),
        Of::Texts => Event::new([format!("{:0500}", number * 5 + place)]),
        Of::Names => {
            let child = [Event::new([format!("{number} {place}")])];
            Event::new([PatternName::of_events(&child).prefixed().to_string()])
        }
        Of::Events => Event::new([0, 1].map(|at| format!("{:04} {at}", mixed(place)))),
    };
    (0..5).map(event).collect()
}

/// Checks that `said` is within a fiftieth of what was allocated since `before`.
fn check(what: &str, said: usize, before: usize) {
    let taken = ALLOCATOR.current_usage() - before;
    let share = said as f64 / taken as f64;
    assert!((0.98..1.02).contains(&share), "{what}: {said} of {taken}");
}

#[test]
fn what_is_said_of_memory_is_what_is_taken() {
    for (of, n_patterns) in [
        (Of::Ngrams, 20_000),
        (Of::Texts, 2_000),
        (Of::Names, 8_000),
        (Of::Events, 8_000),
    ] {
        let before = ALLOCATOR.current_usage();
        let mut index = PatternIndex::new();
        for number in 0..n_patterns {
            index.learn(&pattern(of, number)).unwrap();
        }
        check(&format!("{of:?}, open"), index.heap_bytes(), before);
        index.seal();
        check(&format!("{of:?}, sealed"), index.heap_bytes(), before);
        let names = || (0..n_patterns).map(|number| PatternName::of_events(&pattern(of, number)));
        for name in names() {
            index.purge(&name, &EmotiveMap::new()).unwrap();
        }
        check(&format!("{of:?}, purged"), index.heap_bytes(), before);
        index.set_retired(names());
        check(&format!("{of:?}, retired"), index.heap_bytes(), before);
    }
    above_an_index();
}

/// Learns again what an index on the disk holds, which counts it in memory.
fn above_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let nodes = ["node0"];
    let store = EmbeddedStore::create(dir.path(), &nodes, serde_json::Value::Null);
    let store = Arc::new(store.unwrap());
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let node = engine.node("node0").unwrap();
    let patterns =
        || (0..4_000).flat_map(|number| [Of::Ngrams, Of::Names].map(|of| pattern(of, number)));
    for events in patterns() {
        node.teach(&Lesson::new(events)).unwrap();
    }
    engine.commit().unwrap();
    build(&store, &BuildOptions::default()).unwrap();
    let frozen = open(&store).unwrap().unwrap().nodes().next();
    let frozen = frozen.flatten().unwrap();
    let before = ALLOCATOR.current_usage();
    let mut index = PatternIndex::over(Arc::clone(&frozen));
    for events in patterns() {
        index.learn(&events).unwrap();
    }
    check(
        "above an index",
        index.heap_bytes() - frozen.heap_bytes(),
        before,
    );
    for events in patterns() {
        let name = PatternName::of_events(&events);
        index.purge(&name, &EmotiveMap::new()).unwrap();
    }
    check(
        "purged above an index",
        index.heap_bytes() - frozen.heap_bytes(),
        before,
    );
}
