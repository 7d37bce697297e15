//! A visit beyond known sources shows what the others hold, or nothing where one of them is missing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kato_model::{AttributeLimits, PatternName};
use kato_store::conformance::{Fixture, LearnCall, Lessons};
use kato_store::embedded::EmbeddedOptions;
use kato_store::visit::{ContentDigest, SourceSymbols, VisitedPattern};
use kato_store::{EmbeddedStore, PatternStore, PatternVisitor};
use serde_json::{Value, json};

use crate::support::{Embedded, commit};

/// The lessons of each commit; the last one is a source equal to the first.
const COMMITS: [&[usize]; 5] = [&[0, 1], &[1], &[2, 3, 4], &[5], &[0, 1]];

/// Adds up the frequencies that a visit shows.
#[derive(Default)]
struct Frequencies(BTreeMap<PatternName, u64>);

impl PatternVisitor for Frequencies {
    fn pattern(&mut self, _: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        *self.0.entry(pattern.name).or_default() += pattern.frequency;
        ControlFlow::Continue(())
    }
}

fn beyond(store: &EmbeddedStore, known: &[ContentDigest]) -> (bool, BTreeMap<PatternName, u64>) {
    let mut seen = Frequencies::default();
    let are_there = store.visit_beyond(0, known, &mut seen).unwrap();
    (are_there, seen.0)
}

/// Commits all, and returns the digest of the source of each commit.
fn commit_all(store: &EmbeddedStore, lessons: &Lessons) -> Vec<ContentDigest> {
    let mut before = Vec::new();
    let digest_of = |(number, picked): (usize, &&[usize])| {
        commit(store, lessons, picked, json!(number));
        let mut new = store.content().sources;
        for known in &before {
            let at = new.iter().position(|digest| digest == known).unwrap();
            new.remove(at);
        }
        before.extend(&new);
        assert_eq!(new.len(), 1, "a commit adds a source, and merges none");
        new[0]
    };
    COMMITS.iter().enumerate().map(digest_of).collect()
}

#[test]
fn every_choice_of_known_sources_leaves_the_others() {
    let lessons = (0..6).map(|idx: u32| LearnCall::text(0, &["a", &idx.to_string()]));
    let lessons = Lessons::new(1, lessons.collect());
    let mut options = EmbeddedOptions::default();
    options.max_segments = 2 * COMMITS.len();
    let fixture = Embedded::new(options);
    let store = fixture.create(&["node0"], Value::Null, AttributeLimits::default());
    let digests = commit_all(&store, &lessons);
    assert_eq!(digests[0], digests[4], "equal sources have one digest");
    for chosen in 0..1_u32 << COMMITS.len() {
        let is_known = |number: &usize| chosen >> number & 1 == 1;
        let known: Vec<ContentDigest> = (0..COMMITS.len())
            .filter(is_known)
            .map(|number| digests[number])
            .collect();
        let mut expected = BTreeMap::new();
        let others = (0..COMMITS.len()).filter(|number| !is_known(number));
        for idx in others.flat_map(|number| COMMITS[number]) {
            *expected.entry(lessons.name(*idx)).or_insert(0) += 1;
        }
        assert_eq!(beyond(&store, &known), (true, expected), "{chosen:b}");
        // One that is not there, or not as often, may be one that was merged since.
        for missing in [ContentDigest::from_bytes([7; 20]), digests[1]] {
            let known = [&known[..], &[missing, missing]].concat();
            assert_eq!(
                beyond(&store, &known),
                (false, BTreeMap::new()),
                "{chosen:b}"
            );
        }
    }
    for node_idx in [1, 7] {
        let mut seen = Frequencies::default();
        assert!(store.visit_beyond(node_idx, &[], &mut seen).is_err());
    }
}
