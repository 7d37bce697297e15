//! What the tests share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use kato_engine::config::SessionConfigChange;
use kato_engine::node::Lesson;
use kato_engine::{Observation, Sequence};
use kato_model::Event;
use kato_model::KatoGeneration;
use kato_service::answer::NewSession;
use kato_service::clock::ManualClock;
use kato_service::{Service, ServiceOptions};
use kato_store::{EmbeddedStore, KnowledgeBase};
use serde_json::{Map, Value};

/// Options under a clock that only the test moves.
pub(crate) fn timed() -> (ServiceOptions, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(UNIX_EPOCH + Duration::from_secs(1_000_000)));
    let options = ServiceOptions::default().with_clock(Arc::clone(&clock) as _);
    (options, clock)
}

/// The entries of a JSON object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

/// Returns a change of settings.
pub(crate) fn settings(value: Value) -> SessionConfigChange {
    SessionConfigChange::from_json(&object(value), KatoGeneration::V3_10).unwrap()
}

pub(crate) fn create(service: &Service, node_id: &str) -> String {
    let created = service.create_session(NewSession::new(node_id)).unwrap();
    created.wait().unwrap().session_id
}

pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<Observation> {
    words.map(|word| Observation::strings([word])).to_vec()
}

/// Teaches one pattern by a sequence; its name with the prefix.
pub(crate) fn teach<const N: usize>(service: &Service, id: &str, pattern: [&str; N]) -> String {
    let sequence = Sequence::new(words(pattern)).learn_at_end();
    let receipt = service.observe_sequence(id, sequence, None).unwrap();
    let answer = receipt.wait().unwrap();
    answer.outcome.final_learned.unwrap().to_string()
}

pub(crate) fn lesson<const N: usize>(pattern: [&str; N]) -> Lesson {
    Lesson::new(pattern.map(|word| Event::new([word])))
}

/// How often a node learned a pattern.
pub(crate) fn frequency(service: &Service, node_id: &str, name: &str) -> u64 {
    let record = service.pattern(node_id, name).unwrap();
    record.map_or(0, |record| record.frequency)
}

/// Everything that a service of a node's directory says of the node, as text.
pub(crate) fn known(service: &Service, node_id: &str) -> String {
    let symbols = service.symbols(node_id).unwrap();
    let affinities = service.affinities(node_id).unwrap();
    format!("{symbols:?} {affinities:?}")
}

/// The knowledge base of a closed service, exported.
pub(crate) fn export(dir: &Path, processor_id: &str) -> Vec<String> {
    let store = EmbeddedStore::open_read_only(dir.join("nodes").join(processor_id)).unwrap();
    let node = kato_store::PatternStore::nodes(&store)[0].clone();
    let mut exported = Vec::new();
    let base = KnowledgeBase::new(&store, &node).unwrap();
    base.export(&mut exported).unwrap();
    String::from_utf8(exported)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A copy of a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// All files below a directory.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
