//! Counts of a node's symbols, as they should be and as the server tells them. No network.

use std::collections::{BTreeMap, HashMap};

use kato_model::{PatternName, Symbol};
use kato_protocol::node::SymbolStats;
use kato_store::{PatternStore, StoreError};

/// Differences that an error names at most.
const NAMED: usize = 3;

/// Learn calls that are taken to be torn at most. A kill tears one in each process of a server; what
/// it takes more to explain is a loss.
pub(crate) const MOST_TORN: usize = 16;

/// The counts of one symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Occurrences over all learn calls.
    pub(crate) occurrences: u64,
    /// Distinct patterns that hold it.
    pub(crate) patterns: u64,
}

/// The counts that a node should have.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    by_symbol: HashMap<Symbol, Counts>,
    occurrences: u64,
}

/// The symbols whose counts are not as they should be.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    by_symbol: BTreeMap<String, Difference>,
    n_expected: usize,
    expected: u64,
    found: u64,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
struct Difference {
    expected: Counts,
    found: Counts,
}

impl Difference {
    /// Returns the size of the difference.
    const fn gap(self) -> Counts {
        Counts {
            occurrences: self.expected.occurrences.abs_diff(self.found.occurrences),
            patterns: self.expected.patterns.abs_diff(self.found.patterns),
        }
    }

    /// Returns whether less is found than there should be.
    const fn is_loss(self) -> bool {
        self.found.occurrences < self.expected.occurrences
            || self.found.patterns < self.expected.patterns
    }
}

impl Expected {
    /// Counts the symbols of all patterns of a node.
    pub(crate) fn of(store: &dyn PatternStore, node_idx: usize) -> Result<Self, StoreError> {
        let mut expected = Self::default();
        for pattern in store.scan(node_idx)? {
            let pattern = pattern?;
            for (symbol, n) in counted(pattern.symbols) {
                let counts = expected.by_symbol.entry(symbol).or_default();
                counts.occurrences += n * pattern.frequency;
                counts.patterns += 1;
                expected.occurrences += n * pattern.frequency;
            }
        }
        Ok(expected)
    }

    /// Returns the occurrences of all symbols.
    pub(crate) const fn occurrences(&self) -> u64 {
        self.occurrences
    }

    /// Compares with what a server tells: what it has too little of, and where the comparison is
    /// exact also what it has too much of.
    pub(crate) fn compare(
        &self,
        found: &BTreeMap<String, SymbolStats>,
        is_exact: bool,
    ) -> Differences {
        let counts = |stats: &SymbolStats| Counts {
            occurrences: stats.frequency,
            patterns: stats.pattern_member_frequency,
        };
        let mut differences = Differences {
            n_expected: self.by_symbol.len(),
            expected: self.occurrences,
            found: found.values().map(|stats| stats.frequency).sum(),
            ..Differences::default()
        };
        let mut n_known = 0;
        for (symbol, expected) in &self.by_symbol {
            let text = symbol.to_string();
            let stats = found.get(&text);
            n_known += usize::from(stats.is_some());
            let difference = Difference {
                expected: *expected,
                found: stats.map(counts).unwrap_or_default(),
            };
            if difference.is_loss() || (is_exact && difference.gap() != Counts::default()) {
                differences.by_symbol.insert(text, difference);
            }
        }
        // Symbols that were never taught, which are rare enough to look for only if there are any.
        if is_exact && n_known < found.len() {
            let known: std::collections::HashSet<String> =
                self.by_symbol.keys().map(ToString::to_string).collect();
            for (symbol, stats) in found.iter().filter(|(symbol, _)| !known.contains(*symbol)) {
                let difference = Difference {
                    expected: Counts::default(),
                    found: counts(stats),
                };
                if difference.gap() != Counts::default() {
                    differences.by_symbol.insert(symbol.clone(), difference);
                }
            }
        }
        differences
    }
}

impl Differences {
    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_symbol.is_empty()
    }

    /// Returns whether some symbol is counted too rarely.
    pub(crate) fn is_loss(&self) -> bool {
        self.by_symbol
            .values()
            .any(|difference| difference.is_loss())
    }

    /// Returns some few of the suspects such that one learn call of each, counted in part only,
    /// explains all differences that those known to be torn leave; `None` where there are none such,
    /// or where too much is left: a call that is torn counts too little. Of one that is known, calls
    /// in doubt are sent again whatever arrived, so that it may also explain too much.
    pub(crate) fn explained_by(
        &self,
        torn: Vec<(PatternName, Vec<Symbol>)>,
        suspects: Vec<(PatternName, Vec<Symbol>)>,
    ) -> Option<Vec<PatternName>> {
        let gaps = self.by_symbol.iter();
        let gaps = gaps.map(|(symbol, difference)| (symbol.clone(), difference.gap()));
        let mut left = Unexplained(gaps.collect());
        // Several patterns may have the same symbols: the ones that are known come first.
        for (_, symbols) in torn {
            left.take_call(&counted_texts(symbols));
        }
        if !left.0.keys().all(|symbol| self.by_symbol[symbol].is_loss()) {
            return None;
        }
        let suspects = suspects.into_iter();
        let mut suspects: Vec<(PatternName, Vec<(String, u64)>)> = suspects
            .map(|(name, symbols)| (name, counted_texts(symbols)))
            .collect();
        // By name, so that the answer is the same whenever it is asked for.
        suspects.sort();
        let mut found = Vec::new();
        while !left.0.is_empty() {
            // The one that explains most and has the fewest other symbols; the first of equals.
            let best = suspects.iter().rev().max_by_key(|(_, symbols)| {
                let covered = left.n_covered(symbols);
                (covered, std::cmp::Reverse(symbols.len() - covered))
            })?;
            if left.n_covered(&best.1) == 0 || found.len() == MOST_TORN {
                return None;
            }
            left.take_call(&best.1);
            found.push(best.0);
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Describes the differences, the largest first.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let mut by_size: Vec<(&String, &Difference)> = self.by_symbol.iter().collect();
        by_size.sort_by_key(|(symbol, difference)| {
            let gap = difference.gap();
            (std::cmp::Reverse((gap.occurrences, gap.patterns)), *symbol)
        });
        let named = by_size.iter().take(NAMED).map(|(symbol, difference)| {
            let Difference { expected, found } = difference;
            match expected.occurrences == found.occurrences {
                true => format!(
                    "{symbol:?} in {} patterns instead of {}",
                    found.patterns, expected.patterns
                ),
                false => format!(
                    "{symbol:?} {} times instead of {}",
                    found.occurrences, expected.occurrences
                ),
            }
        });
        let named: Vec<String> = named.collect();
        vec![format!(
            "it counts {} occurrences of symbols instead of {}, with {} of {} symbols counted wrongly, such as {}",
            self.found,
            self.expected,
            self.by_symbol.len(),
            self.n_expected,
            named.join(", ")
        )]
    }
}

/// The parts of differences that no torn learn call explains yet, by symbol.
#[derive(Debug)]
struct Unexplained(HashMap<String, Counts>);

impl Unexplained {
    /// Returns how many of the symbols still differ.
    fn n_covered(&self, symbols: &[(String, u64)]) -> usize {
        let differs = |(symbol, _): &&(String, u64)| self.0.contains_key(symbol);
        symbols.iter().filter(differs).count()
    }

    /// Takes off what one learn call with these symbols counts.
    fn take_call(&mut self, symbols: &[(String, u64)]) {
        for (symbol, n) in symbols {
            if let Some(gap) = self.0.get_mut(symbol) {
                gap.occurrences = gap.occurrences.saturating_sub(*n);
                gap.patterns = gap.patterns.saturating_sub(1);
                if *gap == Counts::default() {
                    self.0.remove(symbol);
                }
            }
        }
    }
}

/// Returns how often each symbol stands in a pattern, as text.
fn counted_texts(symbols: Vec<Symbol>) -> Vec<(String, u64)> {
    let counts = counted(symbols).into_iter();
    counts.map(|(symbol, n)| (symbol.to_string(), n)).collect()
}

/// Returns how often each symbol stands in a pattern.
fn counted(symbols: Vec<Symbol>) -> HashMap<Symbol, u64> {
    let mut counts = HashMap::new();
    for symbol in symbols {
        *counts.entry(symbol).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A node that was taught these patterns, each a list of symbols, once.
    fn expected(patterns: &[Vec<Symbol>]) -> Expected {
        let mut expected = Expected::default();
        for pattern in patterns {
            for (symbol, n) in counted(pattern.clone()) {
                let counts = expected.by_symbol.entry(symbol).or_default();
                counts.occurrences += n;
                counts.patterns += 1;
                expected.occurrences += n;
            }
        }
        expected
    }

    fn told(expected: &Expected) -> BTreeMap<String, SymbolStats> {
        let stats = |(symbol, counts): (&Symbol, &Counts)| {
            let stats = SymbolStats {
                name: symbol.to_string(),
                frequency: counts.occurrences,
                pattern_member_frequency: counts.patterns,
            };
            (symbol.to_string(), stats)
        };
        expected.by_symbol.iter().map(stats).collect()
    }

    fn pattern(symbols: &[u8]) -> Vec<Symbol> {
        let text = |symbol: &u8| Symbol::Text(symbol.to_string().into());
        symbols.iter().map(text).collect()
    }

    fn name(n: usize) -> PatternName {
        PatternName::of_events(&[[n.to_string()], ["x".to_owned()]])
    }

    proptest! {
        /// A node that lacks some few learn calls is found, and the calls explain it; one that
        /// lacks nothing is not.
        #[test]
        fn what_is_missing_is_found_and_explained(
            patterns in prop::collection::vec(prop::collection::vec(0u8..60, 2..6), 1..40),
            torn in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        ) {
            let patterns: Vec<Vec<Symbol>> = patterns.iter().map(|symbols| pattern(symbols)).collect();
            let whole = expected(&patterns);
            prop_assert!(whole.compare(&told(&whole), true).is_empty());

            let torn: std::collections::BTreeSet<usize> = torn.iter().map(|at| at.index(patterns.len())).collect();
            let rest: Vec<Vec<Symbol>> =
                (0..patterns.len()).filter(|at| !torn.contains(at)).map(|at| patterns[at].clone()).collect();
            let found = told(&expected(&rest));
            for is_exact in [false, true] {
                let differences = whole.compare(&found, is_exact);
                prop_assert!(differences.is_loss());
                let candidates = torn.iter().map(|at| (name(*at), patterns[*at].clone())).collect();
                prop_assert!(differences.explained_by(Vec::new(), candidates).is_some());
                prop_assert!(differences.explained_by(Vec::new(), Vec::new()).is_none());
            }
            // The other way round it is too much, which only an exact comparison sees.
            let less = expected(&rest);
            prop_assert!(less.compare(&told(&whole), false).is_empty());
            let more = less.compare(&told(&whole), true);
            prop_assert!(!more.is_empty() && !more.is_loss());
            // Too much is somebody's, or what known ones were sent again, and no tear of others.
            let candidates = || torn.iter().map(|at| (name(*at), patterns[*at].clone())).collect();
            prop_assert_eq!(more.explained_by(Vec::new(), candidates()), None);
            prop_assert_eq!(more.explained_by(candidates(), Vec::new()), Some(Vec::new()));
        }
    }

    #[test]
    fn a_torn_learn_call_is_not_taken_for_another_with_the_same_symbols() {
        let patterns = [
            pattern(&[1, 2, 1]),
            pattern(&[2, 1, 1]),
            pattern(&[1, 2, 3]),
        ];
        let whole = expected(&patterns);
        let differences = whole.compare(&told(&expected(&patterns[1..])), true);
        let named = |at: usize| (name(at), patterns[at].clone());
        for known in 0..2 {
            let others = (0..3).filter(|at| *at != known).map(named).collect();
            let explained = differences.explained_by(vec![named(known)], others);
            assert_eq!(explained, Some(Vec::new()));
        }
        // Nobody is known: one of those that fit exactly.
        let found = differences.explained_by(Vec::new(), vec![named(2), named(1)]);
        assert_eq!(found, Some(vec![name(1)]));
    }

    #[test]
    fn a_loss_is_not_explained_by_the_few_that_were_in_doubt() {
        let patterns: Vec<Vec<Symbol>> = (0..60).map(|n| pattern(&[n, n + 1, n + 2])).collect();
        let whole = expected(&patterns);
        let differences = whole.compare(&BTreeMap::new(), false);
        let few = (0..40).map(|n| (name(n), patterns[n].clone())).collect();
        assert_eq!(differences.explained_by(Vec::new(), few), None);
        // All of them would be too many for kills.
        let all = (0..60).map(|n| (name(n), patterns[n].clone())).collect();
        assert_eq!(differences.explained_by(Vec::new(), all), None);
        let words = differences.in_words();
        assert!(
            words[0].starts_with(
                "it counts 0 occurrences of symbols instead of 180, with 62 of 62 symbols"
            ),
            "{words:?}"
        );
    }
}
