//! Finds the patterns that hold what explanations count.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use foldhash::quality::RandomState;

use super::coming::Coming;
use super::found::{Found, Held, rank};
use crate::HeadError;
use crate::collect::{BREAK, Holder, Sink};
use crate::explanation::{CountedPattern, Counts, Explanation, OrderTerm, Reason};
use crate::head::Head;
use crate::symbols::SymbolId;

/// Patterns between two looks whether there are too many.
const LOOK_EVERY: usize = if cfg!(debug_assertions) { 1 } else { 256 };

impl Head {
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
        let mut holders: Vec<(&Holder, &Held)> = found.whole.iter().collect();
        holders.sort_by_key(|&(holder, held)| rank(holder, held));
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
                source: None,
            }
        };
        holders.into_iter().take(most).map(pattern).collect()
    }
}

/// Lists the terms of explanations, each with the symbol that is explained.
fn terms(explanations: &[Explanation]) -> impl Iterator<Item = (&OrderTerm, &str)> {
    explanations.iter().flat_map(|explanation| {
        let parts = explanation.parts.iter();
        let orders = parts.flat_map(|part| match &part.reason {
            Reason::Ngrams { orders, .. } => orders.as_slice(),
            Reason::Cache { .. } | Reason::Outside { .. } => &[],
        });
        orders.map(|order| (order, explanation.symbol.as_str()))
    })
}

/// An n-gram that is looked for, with or without the symbol before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Target {
    n_before: usize,
    ngram: Vec<u32>,
}

/// An n-gram that is looked for, and its place in [`Finder::found`].
type Place = (Vec<u32>, usize);

/// What a symbol is in the targets, as bits: the first one of an n-gram, of one with a symbol before it, or any.
type Role = u8;

/// The role of any symbol of a target.
const ANY: Role = 1 << 2;

/// A sink that keeps who holds the targets: those that will be listed, and not many more.
#[derive(Debug)]
pub(super) struct Finder {
    /// Patterns that will be listed of each target.
    most: usize,
    coming: Coming,
    /// The pattern that came last.
    last: Option<Holder>,
    n_seen: usize,
    targets: HashMap<Target, usize, RandomState>,
    found: Vec<Found>,
    /// The targets by how many symbols stand before their n-gram, and by the first one of that.
    by_first: [HashMap<u32, Vec<Place>, RandomState>; 2],
    /// By number of the symbol; most are none of a target.
    roles: Vec<Role>,
    /// Whether the symbols before an n-gram are kept as patterns are found, or else are
    /// [looked for](Self::look_again) in those that will be listed.
    keeps_before: bool,
}

impl Finder {
    /// Creates a finder of what the counts of explanations count, of at most `most` patterns each.
    pub(super) fn new(head: &Head, explanations: &[Explanation], most: usize) -> Self {
        let mut finder = Self {
            most,
            coming: Coming::ONCE,
            last: None,
            n_seen: 0,
            targets: HashMap::default(),
            found: Vec::new(),
            by_first: Default::default(),
            roles: vec![0; head.symbols().len()],
            keeps_before: false,
        };
        for (term, symbol) in terms(explanations) {
            let Some(target) = head.target(term, symbol) else {
                continue;
            };
            if finder.targets.contains_key(&target) {
                continue;
            }
            let place = finder.found.len();
            finder.found.push(Found::default());
            let roles = [1 << target.n_before | ANY].into_iter();
            for (symbol, role) in target.ngram.iter().zip(roles.chain(std::iter::repeat(ANY))) {
                finder.roles[*symbol as usize] |= role;
            }
            if let Some(&first) = target.ngram.first() {
                let places = finder.by_first[target.n_before].entry(first).or_default();
                places.push((target.ngram.clone(), place));
            }
            finder.targets.insert(target, place);
        }
        finder
    }

    /// Keeps the symbols before n-grams, of all patterns.
    pub(super) const fn with_symbols_before(mut self) -> Self {
        self.keeps_before = true;
        self
    }

    /// Returns about how many bytes what was found takes.
    pub(super) fn heap_bytes(&self) -> usize {
        let held = size_of::<(Holder, Held)>() * 2;
        let kept = self.found.iter();
        let kept = kept.map(|found| found.whole.len() + found.open.len());
        kept.sum::<usize>() * held
    }

    fn role(&self, symbol: u32) -> Role {
        self.roles.get(symbol as usize).copied().unwrap_or(0)
    }

    /// Looks at one n-gram-to-be: a window that begins here, of which the n-grams of more than
    /// `n_known` symbols are new.
    fn look(&mut self, holder: Holder, window: &[u32], n_known: usize, times: u32) {
        for (n_before, by_first) in self.by_first.iter().enumerate() {
            let first = window.get(n_before).copied();
            let first = first.filter(|&first| self.role(first) & 1 << n_before != 0);
            let places = first.and_then(|first| by_first.get(&first));
            for (ngram, place) in places.into_iter().flatten() {
                let length = n_before + ngram.len();
                let is_new = length > n_known && length <= window.len();
                if is_new && window[n_before..length] == ngram[..] {
                    let held = self.found[*place].open.entry(holder).or_default();
                    held.count = held.count.saturating_add(times.into());
                    if self.keeps_before {
                        held.before.extend(&window[..n_before]);
                    }
                }
            }
        }
    }

    /// Notes that a pattern, or more of one, comes; returns whether it is looked at.
    fn comes(&mut self, holder: Holder) -> bool {
        if self.last != Some(holder) {
            self.last = Some(holder);
            self.n_seen += 1;
            if self.n_seen.is_multiple_of(LOOK_EVERY) {
                self.coming.drop_some(&mut self.found, self.most);
            }
        }
        self.coming.is_looked_at(&holder.name)
    }

    /// Notes that no more patterns come.
    pub(super) fn settle(&mut self) {
        let most = self.most;
        self.found.iter_mut().for_each(|found| found.settle(most));
    }

    /// Looks for the symbols before n-grams in the patterns that are kept, of which `show` shows one to a sink.
    pub(super) fn look_again<E>(
        &mut self,
        mut show: impl FnMut(Holder, &mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.keeps_before = true;
        self.coming = Coming::Again;
        let places = self.by_first[1].values().flatten();
        let places: Vec<usize> = places.map(|(_, place)| *place).collect();
        let held = |&place: &usize| self.found[place].whole.keys().copied();
        let holders: BTreeSet<Holder> = places.iter().flat_map(held).collect();
        let before = self
            .found
            .iter_mut()
            .map(std::mem::take)
            .collect::<Vec<_>>();
        for holder in holders {
            show(holder, self)?;
        }
        let again = std::mem::replace(&mut self.found, before);
        for (found, again) in self.found.iter_mut().zip(again) {
            for (holder, held) in &mut found.whole {
                held.before = again.open.get(holder).cloned().unwrap_or_default().before;
            }
        }
        Ok(())
    }

    /// Writes what was found into explanations.
    pub(super) fn name(&self, head: &Head, explanations: &mut [Explanation], most: usize) {
        for explanation in explanations {
            let symbol = explanation.symbol.clone();
            for term in explanation.orders_mut() {
                let target = head.target(term, &symbol);
                let place = target.and_then(|target| self.targets.get(&target));
                let Some(found) = place.map(|&place| &self.found[place]) else {
                    continue;
                };
                term.n_patterns = Some(found.n_whole());
                term.patterns = head.listed(found, most);
            }
        }
    }
}

impl Sink for Finder {
    fn run(&mut self, holder: Holder, run: &[u32], times: u32) -> Result<(), HeadError> {
        if self.comes(holder) {
            for start in 0..run.len() {
                self.look(holder, &run[start..], 0, times);
            }
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
        if self.comes(holder) {
            self.look(holder, window, n_known, times);
        }
        Ok(())
    }

    fn source(&mut self, is_first: bool) -> ControlFlow<()> {
        match is_first {
            true => ControlFlow::Continue(()),
            false => self.coming.again(),
        }
    }

    fn end_level(&mut self) -> ControlFlow<()> {
        self.last = None;
        self.coming.end(&mut self.found, self.most)
    }

    fn needs_ends(&self, symbols: &[u32]) -> bool {
        // A target that crosses a border ends with the first symbols of what is behind it, and begins with the last
        // ones of what is in front of it, but for a symbol that may be any.
        let ends = [symbols.first(), symbols.last()];
        let mut ends = ends.into_iter().map(|end| end.copied());
        ends.any(|end| end.is_none_or(|end| self.role(end) & ANY != 0)) || symbols.contains(&BREAK)
    }
}
