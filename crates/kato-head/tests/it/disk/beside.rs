//! Counts of a walk that somebody else makes are those of a walk of their own.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use kato_head::disk::{Counting, CountsOptions};
use kato_store::visit::{OrderedNode, OrderedVisitor, VisitedPattern};
use proptest::prelude::*;

use super::Kb;
use crate::support::{documents, learner, teach};

/// Returns all files of the counts of a knowledge base, by their paths.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

/// A visitor that shows another one the first patterns alone.
struct First<'a>(&'a mut dyn OrderedVisitor, usize);

impl OrderedVisitor for First<'_> {
    fn node(&mut self, node: &OrderedNode<'_>) {
        self.0.node(node);
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        match self.1.checked_sub(1) {
            Some(left) => {
                self.1 = left;
                self.0.pattern(pattern)
            }
            None => ControlFlow::Break(()),
        }
    }
}

/// Begins to count a knowledge base, where there is anything to count.
fn begin(kb: &Kb, sort_bytes: usize) -> Option<Counting<'_>> {
    let options = CountsOptions::default().with_sort_bytes(sort_bytes);
    Counting::begin(&kb.store, &options).unwrap()
}

/// Writes counts after a walk that shows so many patterns, or all and its end.
fn count_beside(kb: &Kb, shown: Option<usize>) {
    let mut counting = begin(kb, 0).unwrap();
    match shown {
        Some(n) => drop(
            kb.store
                .visit_in_order(&mut First(&mut counting, n))
                .unwrap(),
        ),
        None => drop(kb.store.visit_in_order(&mut counting).unwrap()),
    }
    assert!(!counting.finish().unwrap().was_there);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_was_shown_is_written_as_what_was_read(
        texts in documents(),
        shown in prop_oneof![2 => Just(None), 1 => (0..20_usize).prop_map(Some)],
    ) {
        let kb = Kb::of(&texts);
        kb.build(0);
        let head = kb.dir.join("head");
        let expected = files(&head);
        fs::remove_dir_all(&head).unwrap();
        count_beside(&kb, shown);
        prop_assert_eq!(files(&head), expected);
        // Those that are there are kept.
        prop_assert!(begin(&kb, 0).is_none());
    }
}

#[test]
fn what_was_learned_after_the_walk_is_counted_as_well() {
    let kb = Kb::of(&["a b c d e f a c".to_owned()]);
    let sort_bytes = CountsOptions::default().sort_bytes;
    let mut counting = begin(&kb, sort_bytes).unwrap();
    kb.store.visit_in_order(&mut counting).unwrap();
    teach(&kb.store, &learner(&[3, 2, 2]), &["f e d c b a".to_owned()]);
    counting.finish().unwrap();
    let head = kb.dir.join("head");
    let found = files(&head);
    fs::remove_dir_all(&head).unwrap();
    kb.build(sort_bytes);
    assert_eq!(found, files(&head));
}
