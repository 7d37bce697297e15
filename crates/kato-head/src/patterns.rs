//! Names the patterns that hold what was counted.

use std::collections::{BTreeMap, BTreeSet};

use kato_store::PatternStore;

use crate::HeadError;
use crate::collect::{BREAK, Holder, Sink, visit};
use crate::explanation::{CountedPattern, Counts, Explanation, OrderTerm, Reason};
use crate::head::Head;
use crate::symbols::SymbolId;

impl Head {
    /// Names the patterns behind the counts of explanations, at most `most` for each count.
    ///
    /// The store must be the one that the head was built of. What was learned since and is not
    /// committed is in no pattern of it, and what was committed since in no count. Reads all
    /// levels once, whatever the number of explanations, which takes about as long as building the
    /// head and as much memory for the ends of patterns.
    ///
    /// # Errors
    ///
    /// [`HeadError::Store`].
    pub fn name_patterns(
        &self,
        store: &dyn PatternStore,
        explanations: &mut [Explanation],
        most: usize,
    ) -> Result<(), HeadError> {
        let mut finder = Finder::default();
        for (term, symbol) in terms(explanations) {
            if let Some(target) = self.target(term, &symbol) {
                finder.targets.entry(target).or_default();
            }
        }
        let mut number = |text: &str| Ok(self.symbol(text).map_or(BREAK, |symbol| symbol.0));
        visit(store, &mut number, self.options(), &mut finder)?;
        for (term, symbol) in terms(explanations) {
            let target = self.target(term, &symbol);
            let Some(found) = target.and_then(|target| finder.targets.get(&target)) else {
                continue;
            };
            term.n_patterns = Some(found.len() as u64);
            term.patterns = self.listed(found, most);
        }
        Ok(())
    }

    /// Returns the n-gram of a term; `None` if it was never counted, or has unknown symbols.
    fn target(&self, term: &OrderTerm, symbol: &str) -> Option<Target> {
        let symbols = term.context.iter().map(String::as_str).chain([symbol]);
        let ids = symbols.map(|symbol| Some(self.symbol(symbol)?.0));
        let ngram = ids.collect::<Option<Vec<u32>>>()?;
        let n_before = usize::from(term.counts == Counts::SymbolsBefore);
        (term.count > 0).then_some(Target { n_before, ngram })
    }

    /// Lists the patterns with the most occurrences.
    fn listed(&self, found: &Found, most: usize) -> Vec<CountedPattern> {
        let mut holders: Vec<(&Holder, &Held)> = found.iter().collect();
        // Ties by level and name.
        holders.sort_by(|(one, of_one), (other, of_other)| {
            of_other
                .count
                .cmp(&of_one.count)
                .then_with(|| one.cmp(other))
        });
        let text = |&symbol: &u32| self.text(SymbolId(symbol)).map(str::to_owned);
        let pattern = |(holder, held): (&Holder, &Held)| {
            let mut before: Vec<String> = held.before.iter().filter_map(text).collect();
            // Numbers depend on who was learned first.
            before.sort_unstable();
            CountedPattern {
                level: holder.level,
                pattern: holder.name,
                count: held.count,
                before,
            }
        };
        holders.into_iter().take(most).map(pattern).collect()
    }
}

/// Lists the terms of explanations, each with the symbol that is explained.
fn terms(explanations: &mut [Explanation]) -> impl Iterator<Item = (&mut OrderTerm, String)> {
    explanations.iter_mut().flat_map(|explanation| {
        let symbol = &explanation.symbol;
        let parts = explanation.parts.iter_mut();
        parts.flat_map(move |part| {
            let orders = match &mut part.reason {
                Reason::Ngrams { orders, .. } => orders.as_mut_slice(),
                Reason::Cache { .. } | Reason::Outside { .. } => &mut [],
            };
            orders.iter_mut().map(move |order| (order, symbol.clone()))
        })
    })
}

/// An n-gram that is looked for, with or without the symbol before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    n_before: usize,
    ngram: Vec<u32>,
}

/// What one pattern holds of a target.
#[derive(Debug, Clone, Default)]
struct Held {
    count: u64,
    before: BTreeSet<u32>,
}

/// The patterns that hold a target.
type Found = BTreeMap<Holder, Held>;

/// A sink that keeps who holds the targets.
#[derive(Debug, Default)]
struct Finder {
    targets: BTreeMap<Target, Found>,
}

impl Finder {
    /// Looks at one n-gram-to-be: a window that begins here, of which the n-grams of more than
    /// `n_known` symbols are new.
    fn look(&mut self, holder: Holder, window: &[u32], n_known: usize, times: u32) {
        for (target, found) in &mut self.targets {
            let length = target.n_before + target.ngram.len();
            let is_new = length > n_known && length <= window.len();
            if is_new && window[target.n_before..length] == target.ngram {
                let held = found.entry(holder).or_default();
                held.count = held.count.saturating_add(times.into());
                held.before.extend(&window[..target.n_before]);
            }
        }
    }
}

impl Sink for Finder {
    fn run(&mut self, holder: Holder, run: &[u32], times: u32) -> Result<(), HeadError> {
        for start in 0..run.len() {
            self.look(holder, &run[start..], 0, times);
        }
        Ok(())
    }

    fn window(
        &mut self,
        holder: Holder,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError> {
        self.look(holder, window, n_known, times);
        Ok(())
    }
}
