//! Tests that a visit shows what a scan shows, in parts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kato_model::{AttributeLimits, Attributes, PatternName, Symbol};

use super::{Fixture, LearnCall, Lessons, create, teach};
use crate::visit::{SourceSymbols, VisitedPattern};
use crate::{PatternStore, PatternVisitor, StoredPattern};

/// Adds up what a visit shows of a node, and returns the patterns in name order.
pub(super) fn visited(store: &dyn PatternStore, node_idx: usize) -> Vec<StoredPattern> {
    let mut sum = Sum {
        limits: store.attribute_limits(),
        patterns: BTreeMap::new(),
        last: None,
        left: 0,
    };
    store
        .visit(node_idx, &mut sum)
        .expect("a node can be visited");
    assert_eq!(sum.left, 0, "a source shows as many patterns as it says");
    let stored = |(mut pattern, attributes): (StoredPattern, Attributes)| {
        pattern.event_lengths = attributes.event_lengths;
        pattern.metadata = attributes.metadata;
        pattern.emotives = attributes.emotives;
        pattern.affinity = attributes.affinity;
        pattern
    };
    sum.patterns.into_values().map(stored).collect()
}

/// A visitor that merges the sources of a visit and checks what a visit promises of each.
struct Sum {
    limits: AttributeLimits,
    patterns: BTreeMap<PatternName, (StoredPattern, Attributes)>,
    /// The name before, in the same source.
    last: Option<PatternName>,
    /// Patterns of the source that are still to come.
    left: u64,
}

impl PatternVisitor for Sum {
    fn source(&mut self, symbols: &SourceSymbols<'_>, n_patterns: u64) -> ControlFlow<()> {
        assert_eq!(self.left, 0, "a source shows as many patterns as it says");
        assert!(n_patterns > 0, "a source has patterns");
        let n_symbols = u32::try_from(symbols.len()).expect("numbers have 32 bits");
        let table: Vec<Symbol> = (0..n_symbols)
            .filter_map(|number| symbols.get(number))
            .map(|symbol| symbol.to_symbol())
            .collect();
        assert_eq!(table.len(), symbols.len(), "every number has a symbol");
        assert!(
            table
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len()
                == table.len(),
            "every symbol has one number"
        );
        assert_eq!(symbols.get(n_symbols), None);
        (self.last, self.left) = (None, n_patterns);
        ControlFlow::Continue(())
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        assert!(self.last < Some(pattern.name), "names of a source ascend");
        (self.last, self.left) = (Some(pattern.name), self.left - 1);
        let symbol = |&number: &u32| symbols.get(number).expect("numbers are in the table");
        let content: Vec<Symbol> = pattern
            .symbols
            .iter()
            .map(symbol)
            .map(|symbol| symbol.to_symbol())
            .collect();
        let (sum, attributes) = self.patterns.entry(pattern.name).or_insert_with(|| {
            let empty = StoredPattern::new(pattern.name, content.clone(), 0);
            (empty, Attributes::default())
        });
        assert_eq!(
            sum.symbols, content,
            "sources agree in the content of a name"
        );
        sum.frequency = sum.frequency.saturating_add(pattern.frequency);
        sum.first_seen = match (sum.first_seen, pattern.first_seen) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if let Some(more) = pattern.attributes {
            assert_eq!(
                (more.extra_frequency, more.event_lengths.as_deref()),
                (0, pattern.event_lengths())
            );
            attributes.merge(more.clone(), &self.limits);
        }
        ControlFlow::Continue(())
    }
}

/// Checks that a visit ends where the visitor breaks off, and that the visitor may use the store.
pub fn a_visitor_may_break_off_and_use_the_store(fixture: &impl Fixture) {
    struct Curious<'a> {
        store: &'a dyn PatternStore,
        lessons: &'a Lessons,
        seen: usize,
        most: usize,
    }

    impl PatternVisitor for Curious<'_> {
        fn source(&mut self, _: &SourceSymbols<'_>, _: u64) -> ControlFlow<()> {
            if self.most == 0 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }

        fn pattern(
            &mut self,
            _: &SourceSymbols<'_>,
            pattern: &VisitedPattern<'_>,
        ) -> ControlFlow<()> {
            self.seen += 1;
            assert!(
                self.store
                    .pattern(0, &pattern.name)
                    .is_ok_and(|found| found.is_some())
            );
            // Later commits are not shown.
            teach(self.store, self.lessons);
            if self.seen == self.most {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }

    let lessons = |texts: &[&str]| {
        let lessons = texts.iter().map(|&text| LearnCall::text(0, &[text]));
        Lessons::new(1, lessons.collect())
    };
    let (old, new) = (lessons(&["a", "b", "c"]), lessons(&["x", "y"]));
    for (most, expected) in [(0, 0), (2, 2), (3, 3), (9, 3)] {
        let store = create(fixture, &["node0"]);
        teach(&store, &old);
        let mut visitor = Curious {
            store: &store,
            lessons: &new,
            seen: 0,
            most,
        };
        store.visit(0, &mut visitor).expect("a node can be visited");
        assert_eq!(visitor.seen, expected);
    }
}
