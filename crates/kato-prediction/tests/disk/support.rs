//! Knowledge bases for the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_engine::node::Lesson;
use kato_engine::{Engine, EngineOptions};
use kato_model::{Event, PatternName};
use kato_prediction::disk::{BuildOptions, StoreIndex};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::Value;

/// Creates a knowledge base of two nodes. Every lesson of the lower one is taught `times` and
/// committed with its part; the upper one learns names of those.
pub(crate) fn teach(dir: &Path, parts: &[Vec<(Vec<Event>, usize)>]) {
    teach_and(dir, parts, |_| {});
}

/// Creates a knowledge base as [`teach`] does, and indexes each part by itself.
pub(crate) fn teach_indexed(dir: &Path, parts: &[Vec<(Vec<Event>, usize)>]) {
    teach_and(dir, parts, |store| {
        kato_prediction::disk::build(store, &keeping_units()).unwrap();
    });
}

/// Builds what is new alone, whatever there is, with so little memory that lists take many rounds.
pub(crate) fn keeping_units() -> BuildOptions {
    small_options().with_unit_ratio(0)
}

fn teach_and(
    dir: &Path,
    parts: &[Vec<(Vec<Event>, usize)>],
    mut is_committed: impl FnMut(&EmbeddedStore),
) {
    let store = Arc::new(EmbeddedStore::create(dir, &["node0", "node1"], Value::Null).unwrap());
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn PatternStore>).unwrap();
    let [lower, upper] = [0, 1].map(|node_idx| engine.nodes().nth(node_idx).unwrap());
    for part in parts {
        for (events, times) in part {
            for _ in 0..*times {
                lower.teach(&Lesson::new(events.clone())).unwrap();
            }
        }
        let names = part.iter().map(|(events, _)| name(events));
        let names: Vec<Event> = names.collect();
        for chunk in names.chunks(3) {
            upper.teach(&Lesson::new(chunk.to_vec())).unwrap();
        }
        engine.commit().unwrap();
        is_committed(&store);
    }
}

/// Returns the name of a pattern as an event of the node above.
pub(crate) fn name(events: &[Event]) -> Event {
    Event::new([PatternName::of_events(events).prefixed().to_string()])
}

/// Builds the index of a knowledge base with so little memory that lists take many rounds, and with pairs of what
/// few patterns hold.
pub(crate) fn build(dir: &Path) -> StoreIndex {
    build_with(dir, &small_options())
}

/// Builds the index of a knowledge base.
pub(crate) fn build_with(dir: &Path, options: &BuildOptions) -> StoreIndex {
    let store = EmbeddedStore::open_read_only(dir).unwrap();
    kato_prediction::disk::build(&store, options).unwrap();
    kato_prediction::disk::open(&store).unwrap().unwrap()
}

/// Returns how small indexes are built that have all that large ones have.
pub(crate) fn small_options() -> BuildOptions {
    BuildOptions::default()
        .with_sort_bytes(512)
        .with_least_pair_list(128)
}

/// Opens a knowledge base without its index, and over it.
pub(crate) fn engines(dir: &Path) -> [Engine; 2] {
    let store = || Arc::new(EmbeddedStore::open_read_only(dir).unwrap());
    let indexed = store();
    let index = kato_prediction::disk::open(&indexed).unwrap().unwrap();
    let options = EngineOptions::default();
    [
        Engine::open(store() as Arc<dyn PatternStore>).unwrap(),
        Engine::open_indexed(indexed, index.nodes(), index.covered(), options).unwrap(),
    ]
}

/// Copies a knowledge base without its index.
pub(crate) fn copy_of(dir: &Path) -> PathBuf {
    let copy = dir.with_extension("copy");
    drop(fs::remove_dir_all(&copy));
    fs::create_dir_all(copy.join("segments")).unwrap();
    for place in ["", "segments"] {
        for entry in fs::read_dir(dir.join(place)).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.join(place).join(entry.file_name())).unwrap();
            }
        }
    }
    copy
}

/// Opens what [`engines`] opens, so that both may learn: the one without an index has a copy of its own, as
/// only one may write.
pub(crate) fn learning_engines(dir: &Path) -> [Engine; 2] {
    let copy = Arc::new(EmbeddedStore::open(copy_of(dir)).unwrap());
    let indexed = Arc::new(EmbeddedStore::open(dir).unwrap());
    let index = kato_prediction::disk::open(&indexed).unwrap().unwrap();
    let options = EngineOptions::default();
    [
        Engine::open(copy as Arc<dyn PatternStore>).unwrap(),
        Engine::open_indexed(indexed, index.nodes(), index.covered(), options).unwrap(),
    ]
}

/// Returns events of a symbol each.
pub(crate) fn events(text: &str) -> Vec<Event> {
    text.split(' ').map(|symbol| Event::new([symbol])).collect()
}
