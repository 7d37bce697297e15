//! What is on the disk stays right: second writers, leftovers, damage, crashes, full disks.

mod crashes;
mod damage;
mod generations;
mod losses;
mod occupied;
mod processes;
mod salvage;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use kato_model::{Symbol, VectorName};
use kato_store::conformance::Lessons;
use kato_store::contract::{SymbolCounts, Totals};
use kato_store::embedded::EmbeddedOptions;
use kato_store::visit::{SourceSymbols, VisitedPattern};
use kato_store::{EmbeddedStore, PatternStore, PatternVisitor, StoreError, StoredPattern};
use serde_json::{Value, json};

use crate::support::{commit, never_rewriting, sealed, two_levels, without_vectors};

/// Files of a knowledge base, by their path in it.
type Files = BTreeMap<String, Vec<u8>>;

fn files(dir: &Path) -> Files {
    let mut found = Files::new();
    for (folder, prefix) in [(dir.to_owned(), ""), (dir.join("segments"), "segments/")] {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Writes the files of a knowledge base without waiting for the disk.
fn write(dir: &Path, files: &Files) {
    fs::create_dir_all(dir.join("segments")).unwrap();
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).unwrap();
    }
}

/// All that can be read of a knowledge base.
type Everything = (Value, Vec<Node>, Vec<Option<String>>);
type Node = (
    Totals,
    u64,
    Vec<StoredPattern>,
    Vec<StoredPattern>,
    Vec<(Symbol, SymbolCounts)>,
    Vec<(VectorName, Vec<f64>)>,
    Learned,
);

/// What a visit adds up to: learn calls, and symbols over all of them.
#[derive(Debug, Clone, Default, PartialEq)]
struct Learned {
    observations: u64,
    symbols: u64,
}

impl PatternVisitor for Learned {
    fn pattern(&mut self, _: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        let n_symbols = pattern.symbols.len() as u64;
        self.observations = self.observations.saturating_add(pattern.frequency);
        self.symbols = self
            .symbols
            .saturating_add(pattern.frequency.saturating_mul(n_symbols));
        ControlFlow::Continue(())
    }
}

/// Reads everything in every way; the first error ends it.
fn read_everything(store: &EmbeddedStore, lessons: &Lessons) -> Result<Everything, StoreError> {
    let mut nodes = Vec::new();
    for node_idx in 0..store.nodes().len() {
        let mut found = Vec::new();
        let mut learned = Learned::default();
        store.visit(node_idx, &mut learned)?;
        for idx in 0..lessons.len() {
            found.extend(store.pattern(node_idx, &lessons.name(idx))?);
        }
        nodes.push((
            store.totals(node_idx)?,
            store.count_patterns(node_idx)?,
            store.scan(node_idx)?.collect::<Result<_, _>>()?,
            found,
            store.symbol_counts(node_idx)?.collect::<Result<_, _>>()?,
            store.vectors(node_idx)?.collect::<Result<_, _>>()?,
            learned,
        ));
    }
    let documents = (0..lessons.len() as u64)
        .map(|document_idx| store.document(document_idx))
        .collect::<Result<_, _>>()?;
    Ok((store.checkpoint(), nodes, documents))
}

/// Opens for reading and reads everything.
fn open_and_read(dir: &Path, lessons: &Lessons) -> Result<Everything, StoreError> {
    read_everything(&EmbeddedStore::open_read_only(dir)?, lessons)
}

/// A knowledge base of two commits and two segments.
fn small(dir: &Path) -> Lessons {
    let lessons = two_levels(8);
    let store = EmbeddedStore::create(dir, &["node0", "node1"], json!({"chunk_size": 2})).unwrap();
    commit(&store, &lessons, &[0, 1, 2, 3, 8, 9], json!({"samples": 1}));
    commit(
        &store,
        &lessons,
        &[0, 4, 5, 6, 7, 10, 11],
        json!({"samples": 2}),
    );
    lessons
}

/// A knowledge base of three ranges of names, whose segments have foreign names.
fn small_sealed(dir: &Path) -> Lessons {
    let lessons = without_vectors(8);
    let batches = [vec![0, 1, 2, 3, 8, 9], vec![0, 4, 5, 6, 7, 10, 11]];
    drop(sealed(dir, &lessons, &batches, 3));
    leave_one_manifest(dir);
    lessons
}

/// The same with one manifest: no twin that takes its place, no commit to go back to.
fn small_alone(dir: &Path) -> Lessons {
    let lessons = small(dir);
    leave_one_manifest(dir);
    lessons
}

/// The same, of whose two segments two patterns are deleted, one of them a child of another.
fn small_deleting(dir: &Path) -> Lessons {
    let lessons = small(dir);
    let options = never_rewriting(EmbeddedOptions::default());
    let store = EmbeddedStore::open_with(dir, options).unwrap();
    let doomed = [vec![lessons.name(0)], vec![lessons.name(9)]];
    store.forget(&doomed, json!({"samples": 2})).unwrap();
    fs::remove_file(dir.join("MANIFEST.twin")).unwrap();
    lessons
}

fn leave_one_manifest(dir: &Path) {
    for name in ["MANIFEST.twin", "MANIFEST.previous"] {
        fs::remove_file(dir.join(name)).unwrap();
    }
}
