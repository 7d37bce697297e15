//! Another visitor is shown what is read for an index of everything, and nothing where only what is new is read.

use std::ops::ControlFlow;

use kato_prediction::disk::{BuildOptions, build_beside};
use kato_store::EmbeddedStore;
use kato_store::visit::{OrderedNode, OrderedVisitor, StoredContent, VisitedPattern};

use crate::support::{events, keeping_units, teach};

/// Notes what it is shown, and breaks off after so many patterns.
#[derive(Debug, Default, PartialEq)]
struct Notes {
    shown: Vec<String>,
    n_patterns: usize,
    most: usize,
}

impl Notes {
    fn of_at_most(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }
}

impl OrderedVisitor for Notes {
    fn node(&mut self, node: &OrderedNode<'_>) {
        self.shown.push(format!("{node:?}"));
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        self.shown.push(format!("{pattern:?}"));
        self.n_patterns += 1;
        match self.n_patterns < self.most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn end(&mut self, content: &StoredContent) {
        self.shown.push(content.digest.to_string());
    }
}

#[test]
fn another_is_shown_what_a_walk_of_its_own_would_show() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let part = |texts: &[&str]| texts.iter().map(|text| (events(text), 1)).collect();
    let parts = [
        part(&["the cat sat", "a dog ran"]),
        part(&["the cat sat", "on the mat"]),
    ];
    teach(&kb, &parts);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let mut expected = Notes::of_at_most(usize::MAX);
    store.visit_in_order(&mut expected).unwrap().unwrap();
    assert_eq!(
        expected.shown.last(),
        Some(&store.content_digest().to_string())
    );

    let mut found = Notes::of_at_most(usize::MAX);
    let report = build_beside(&store, &BuildOptions::default(), &mut found).unwrap();
    assert!(!report.was_there);
    assert_eq!(found, expected);
    // One that is there is not read.
    let mut nothing = Notes::of_at_most(usize::MAX);
    assert!(
        build_beside(&store, &BuildOptions::default(), &mut nothing)
            .unwrap()
            .was_there
    );
    assert_eq!(nothing.shown, [""; 0]);
}

#[test]
fn the_index_does_not_end_with_the_other_visitor() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    teach(
        &kb,
        &[["the cat sat", "a dog ran"]
            .map(|text| (events(text), 1))
            .to_vec()],
    );
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let mut first = Notes::of_at_most(1);
    let report = build_beside(&store, &keeping_units(), &mut first).unwrap();
    assert_eq!((report.patterns, first.n_patterns), (3, 1));
}
