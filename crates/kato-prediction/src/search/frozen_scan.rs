//! The search in an index below: step by step from the best scores, each in the order of names.
//!
//! Most patterns that resemble a state resemble it equally: a few dozen scores stand for all of
//! them, and among equal scores the earlier names win. So the patterns of a class are visited in
//! *steps*, those that the bounds allow the best score first. In a step, patterns come out of the lists
//! of ranks that the index has for symbols and for pairs of neighbours, in the order of ranks, which is
//! that of names. A list ends where the worst pattern kept has the step's score and an earlier rank, and
//! the search ends where it has a better score than the next step. What a state costs then depends on
//! how many patterns come close to the best, and not on how many tie.
//!
//! Why nothing is missed. By the lists, a pattern has an overlap o and pairs g: the symbols and
//! pairs of the state, counted with repetition, that it holds. They are at least those of the
//! multisets, so the bound for them holds ([`Bounds`]). Each (o, g) belongs to one step, which offers
//! the patterns that have it. A pattern with so many is in one of the lists that are left when the
//! longest that together stand for fewer are left out; the others are walked, the shortest first, and
//! a pattern is offered where the first of them holds it. As the bar rises, fewer (o, g) can rank and more
//! lists are left out: what is needed then is in lists that were walked before.
//!
//! Where the later names win ties, lists are walked from their ends: everything is compared by the *key* of
//! a rank, which falls as the rank rises ([`TieOrder`]).
//!
//! Signatures say of a pattern in a list which symbols and pairs of the state it may hold, and where
//! ([`PlaceBounds`]), and in which order: matches are in the order of both, so they are no more than
//! the longest common subsequence. Two symbols may have one hash, so it may hold fewer, but no others: what
//! cannot rank by its signature is passed over without being read. By the lists it has the symbols and pairs
//! of the step, or it is offered in another one, so no more count than those, whatever a signature shows.

#![expect(
    clippy::cast_possible_truncation,
    reason = "ranks are below the number of patterns, which is below 2³²; a word has 64 bits"
)]

mod bar;
mod class_scan;
mod lists;
mod seen;
mod sift;

use std::ops::Range;

use self::bar::{FoundRank, SharedBar, bar_of, can_rank, higher};
use self::class_scan::{ClassScan, Step};
use self::lists::{Kind, Lists, is_in_enough};
use self::seen::Look;
use self::sift::Sieve;
use super::{Ranked, TieOrder, TopK};
use crate::SymbolId;
use crate::bounds::{Bounds, PlaceBounds};
use crate::cancel::Cancelled;
use crate::candidate::Candidates;
use crate::frozen::{LONGEST_UNSIGNED_LIST, ListCursor, Reader, Window};
use crate::page_class::PageClass;
use crate::state::{OverlapBounds, State, WORD};

/// Number of patterns that are read together, so that the processor waits for memory once and not
/// for each.
const BATCH: usize = 64;

/// Patterns that a thread is worth; few in builds for tests, so that tests see several threads.
const LEAST_PART: u32 = if cfg!(debug_assertions) {
    1 << 10
} else {
    1 << 19
};

/// The search for one state in one index.
struct FrozenScan<'s, 'a, 'c> {
    reader: &'s Reader<'s>,
    state: &'s State<'s>,
    candidates: &'c mut Candidates<'a>,
    top: TopK<FoundRank>,
    batch: Batch,
    /// The part of the index that is searched.
    ranks: Range<u32>,
    ties: TieOrder,
    /// The bar of those who search the other parts, and what it was when it was last looked at.
    shared: Option<&'s SharedBar>,
    seen_bar: Option<FoundRank>,
}

/// Finds the `limit` best patterns of an index, best first, ties by the key of their rank.
///
/// `worst` is the worst of as many patterns that were found elsewhere: what is no better is left out.
///
/// With several threads each searches a range of ranks. As score and key order all patterns, the
/// best of all are among the best of the parts, and the result is the same for any number.
pub(super) fn scan_frozen<'a>(
    reader: &Reader<'_>,
    state: &State<'_>,
    candidates: &mut Candidates<'a>,
    limit: usize,
    n_threads: usize,
    worst: Option<&Ranked>,
) -> Result<Vec<FoundRank>, Cancelled> {
    let n_patterns = reader.n_patterns();
    let n_parts = (n_threads as u32).clamp(1, n_patterns.div_ceil(LEAST_PART).max(1));
    let bar = worst.map(|worst| bar_of(reader, candidates.ties(), worst));
    let bar = SharedBar::new(bar);
    if n_parts == 1 {
        let bar = Some(&bar);
        return FrozenScan::new(reader, state, candidates, limit, 0..n_patterns, bar).run();
    }
    let part = |number: u32| {
        let start =
            |number: u32| (u64::from(n_patterns) * u64::from(number) / u64::from(n_parts)) as u32;
        start(number)..start(number + 1)
    };
    let mut top = TopK::new(limit);
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        for number in 1..n_parts {
            let (mut candidates, bar) = (candidates.fork()?, &bar);
            others.push(scope.spawn(move || {
                let found = FrozenScan::new(
                    reader,
                    state,
                    &mut candidates,
                    limit,
                    part(number),
                    Some(bar),
                )
                .run()?;
                Ok::<_, Cancelled>((found, candidates.work))
            }));
        }
        let own = FrozenScan::new(reader, state, candidates, limit, part(0), Some(&bar)).run()?;
        own.into_iter().for_each(|found| top.push(found));
        for other in others {
            let (found, work) = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            candidates.work += work;
            found.into_iter().for_each(|found| top.push(found));
        }
        Ok(())
    })?;
    Ok(top.into_sorted())
}

/// The patterns that are read together.
#[derive(Debug, Default)]
struct Batch {
    ranks: Vec<u32>,
    ranges: Vec<(usize, usize)>,
    symbols: Vec<SymbolId>,
    ends: Vec<usize>,
}

impl<'s, 'a, 'c> FrozenScan<'s, 'a, 'c> {
    /// Prepares the search for the `limit` best of a range of ranks.
    fn new(
        reader: &'s Reader<'s>,
        state: &'s State<'s>,
        candidates: &'c mut Candidates<'a>,
        limit: usize,
        ranks: Range<u32>,
        shared: Option<&'s SharedBar>,
    ) -> Self {
        Self {
            reader,
            state,
            ties: candidates.ties(),
            candidates,
            top: TopK::new(limit),
            batch: Batch::default(),
            ranks,
            shared,
            seen_bar: shared.and_then(|shared| shared.raise(None)),
        }
    }

    /// Returns the pattern that others have to be better than; `None` as long as there is room.
    fn bar(&self) -> Option<FoundRank> {
        higher(self.seen_bar, self.top.threshold().copied())
    }

    /// Looks at the bar of those who search other parts, and shows them that of this search.
    fn share_bar(&mut self) {
        if let Some(shared) = self.shared {
            self.seen_bar = shared.raise(self.bar());
        }
    }

    /// Returns the best patterns, best first, ties by key.
    fn run(mut self) -> Result<Vec<FoundRank>, Cancelled> {
        let rules = self.candidates.bound_rules();
        let mut scans = Vec::new();
        let mut steps = Vec::new();
        for class in self.reader.classes() {
            if !self
                .candidates
                .allow_lengths(&class.class.lengths.lengths())
            {
                continue;
            }
            let bounds = Bounds::new(self.state.len(), &class.class, rules);
            let places = match self.state.len() <= WORD {
                true => PlaceBounds::new(self.state.len(), &class.class, rules),
                false => None,
            };
            let scan = ClassScan {
                symbols: Lists::of_symbols(self.reader, self.state, class, &self.ranks, self.ties),
                pairs: None,
                ranks: self.ranks.clone(),
                class,
                bounds,
                places,
            };
            scan.push_steps(scans.len(), self.uses_pairs(&scan.bounds), &mut steps);
            scans.push(scan);
        }
        if rules.keeps_unmatched {
            // One step for all classes, since their patterns lie between each other.
            let bounds = scans.iter().map(|scan| scan.bounds.upper(0, 0));
            steps.push(Step {
                class: None,
                high: bounds.fold(f64::NEG_INFINITY, f64::max),
                n_pairs: (0, 0),
                overlaps: (0, 0),
            });
        }
        steps.sort_by(|a, b| b.high.total_cmp(&a.high));
        for step in steps {
            self.candidates.check()?;
            self.share_bar();
            if self.bar().is_some_and(|bar| bar.score > step.high) {
                break;
            }
            match step.class {
                Some(class) => self.take_step(&mut scans[class], step)?,
                None => self.take_unmatched(&scans, step)?,
            }
        }
        Ok(self.top.into_sorted())
    }

    /// Returns whether pairs of neighbours tell patterns apart: those of long states are not
    /// counted, and where symbols match that are not equal nothing is.
    fn uses_pairs(&self, bounds: &Bounds) -> bool {
        self.state.len() <= WORD && bounds.most_pairs() > 0
    }

    /// Visits the patterns of a step.
    fn take_step(&mut self, scan: &mut ClassScan<'s>, step: Step) -> Result<(), Cancelled> {
        let uses_pairs = self.uses_pairs(&scan.bounds);
        if uses_pairs && step.n_pairs.0 > 0 && scan.pairs.is_none() {
            scan.pairs = Some(Lists::of_pairs(
                self.reader,
                self.state,
                scan.class,
                &scan.ranks,
                self.ties,
                &scan.symbols,
            ));
        }
        // Whichever have fewer ranks that have to be walked.
        let length = |kind: Kind| {
            let lists = scan.lists(kind);
            let first = self.first_needed(scan, step, kind)?;
            Some(
                lists.lists[first..]
                    .iter()
                    .map(|list| list.ranks.len())
                    .sum::<usize>(),
            )
        };
        let Some(by_symbols) = length(Kind::Symbols) else {
            return Ok(());
        };
        let kind = match uses_pairs && step.n_pairs.0 > 0 {
            true => match length(Kind::Pairs) {
                Some(by_pairs) if by_pairs <= by_symbols => Kind::Pairs,
                Some(_) => Kind::Symbols,
                None => return Ok(()),
            },
            false => Kind::Symbols,
        };
        for nth in (0..scan.lists(kind).lists.len()).rev() {
            if !self.walk_list(scan, step, kind, nth)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the place of the longest list of a kind that has to be walked for a step; `None` if no
    /// pattern of the step can rank any more.
    fn first_needed(&self, scan: &ClassScan<'s>, step: Step, kind: Kind) -> Option<usize> {
        let bar = self.bar().map_or(f64::NEG_INFINITY, |bar| bar.score);
        let (least, most) = step.overlaps;
        let mut overlaps = least..=most;
        let overlap = overlaps.find(|&o| scan.bounds.upper(o, step.n_pairs.1) >= bar)?;
        scan.lists(kind).first_needed(match kind {
            Kind::Symbols => overlap,
            Kind::Pairs => {
                let mut n_pairs = step.n_pairs.0..=step.n_pairs.1;
                n_pairs.find(|&n_pairs| scan.bounds.upper(most, n_pairs) >= bar)?
            }
        })
    }

    /// Offers the patterns of one list that belong to a step and are in no list that was walked before.
    /// Returns whether others have to be walked.
    fn walk_list(
        &mut self,
        scan: &mut ClassScan<'s>,
        step: Step,
        kind: Kind,
        nth: usize,
    ) -> Result<bool, Cancelled> {
        let list = scan.lists(kind).lists[nth];
        let shape = list.ranks.shape().filter(|_| scan.places.is_some());
        let sieve = shape.map(|shape| Sieve::new(self, scan, (kind, nth), shape));
        // Of few the symbols are read sooner than what other lists hold is found.
        let is_short = list.ranks.len() <= LONGEST_UNSIGNED_LIST;
        let mut others = match sieve {
            None if !is_short => scan.lists(kind).others(nth),
            _ => Vec::new(),
        };
        let (mut at, mut window) = (0, Window::default());
        loop {
            self.candidates.check()?;
            self.share_bar();
            let is_needed = self
                .first_needed(scan, step, kind)
                .is_some_and(|first| nth >= first);
            list.ranks.read_window(at, self.ties, &mut window);
            let first = self.ties.walk(window.ranks.iter()).next();
            let first = first.map(|&rank| self.ties.rank(rank));
            let is_within = first.is_some_and(|key| key <= self.end_key(step.high));
            if !is_needed || !is_within {
                self.offer_batch(scan, step, kind, nth)?;
                return Ok(is_needed);
            }
            at += window.ranks.len();
            self.candidates.work.n_listed += window.ranks.len() as u64;
            match &sieve {
                Some(sieve) => self.sift(scan, (step, kind, nth), sieve, &window)?,
                None if is_short => {
                    for &rank in self.ties.walk(window.ranks.iter()) {
                        self.add_to_batch(scan, (step, kind, nth), rank)?;
                    }
                }
                None => {
                    if self.ties == TieOrder::Descending {
                        // Walks go forwards alone, so they begin anew for each window.
                        others = scan.lists(kind).others(nth);
                    }
                    self.join(scan, (step, kind, nth), &window.ranks, &mut others)?;
                }
            }
        }
    }

    /// Adds those of a window to the batch that are in enough of the other lists.
    fn join(
        &mut self,
        scan: &mut ClassScan<'s>,
        of: (Step, Kind, usize),
        ranks: &[u32],
        others: &mut [(ListCursor<'_>, usize)],
    ) -> Result<(), Cancelled> {
        let (step, kind, nth) = of;
        let count = scan.lists(kind).lists[nth].count;
        let least = match kind {
            Kind::Symbols => step.overlaps.0,
            Kind::Pairs => step.n_pairs.0,
        };
        let mut found: Vec<u32> = Vec::new();
        for &rank in ranks {
            if is_in_enough(rank, count, least, others) {
                match self.ties {
                    TieOrder::Ascending => self.add_to_batch(scan, of, rank)?,
                    TieOrder::Descending => found.push(rank),
                }
            }
        }
        let mut backwards = found.into_iter().rev();
        backwards.try_for_each(|rank| self.add_to_batch(scan, of, rank))
    }

    /// Adds a pattern to the batch, and offers those that are in it when it is full.
    fn add_to_batch(
        &mut self,
        scan: &mut ClassScan<'s>,
        (step, kind, nth): (Step, Kind, usize),
        rank: u32,
    ) -> Result<(), Cancelled> {
        self.batch.ranks.push(rank);
        match self.batch.ranks.len() < BATCH {
            true => Ok(()),
            false => self.offer_batch(scan, step, kind, nth),
        }
    }

    /// Returns the last key at which a pattern of this score may be among the best.
    fn end_key(&self, score: f64) -> u32 {
        match self.bar() {
            Some(bar) if bar.score > score => 0,
            Some(bar) if bar.score == score => bar.key,
            _ => u32::MAX,
        }
    }

    /// Empties the batch, and offers what belongs to the step and is in no list that was walked before.
    fn offer_batch(
        &mut self,
        scan: &mut ClassScan<'s>,
        step: Step,
        kind: Kind,
        nth: usize,
    ) -> Result<(), Cancelled> {
        self.candidates.check()?;
        self.batch.read(self.reader);
        self.candidates.work.n_read += self.batch.ranks.len() as u64;
        let uses_pairs = self.uses_pairs(&scan.bounds);
        let mut start = 0;
        for idx in 0..self.batch.ranks.len() {
            let (rank, end) = (self.batch.ranks[idx], self.batch.ends[idx]);
            let symbols = &self.batch.symbols[start..end];
            start = end;
            let Look {
                by_lists,
                common,
                seen,
            } = Look::new(self.state, symbols);
            let overlap = by_lists.symbols.min(scan.bounds.most());
            let n_pairs = match uses_pairs {
                true => by_lists.pairs.min(scan.bounds.most_pairs()),
                false => step.n_pairs.0,
            };
            let (least, most) = step.overlaps;
            if !(step.n_pairs.0..=step.n_pairs.1).contains(&n_pairs)
                || !(least..=most).contains(&overlap)
            {
                continue;
            }
            let mut upper = scan.bounds.upper(common.symbols, common.pairs);
            if let Some(seen) = seen.filter(|_| scan.places.is_some()) {
                upper = upper.min(scan.upper(seen, self.state));
            }
            let is_first =
                |lists: &Lists<'_>| lists.is_first(self.state, nth, symbols, by_lists.paired);
            if can_rank(self.bar(), upper, self.ties.rank(rank)) && is_first(scan.lists(kind)) {
                offer(
                    self.reader,
                    self.candidates,
                    &mut self.top,
                    (rank, &scan.class.class),
                    symbols,
                    common,
                )?;
            }
        }
        self.batch.ranks.clear();
        Ok(())
    }

    /// Visits the patterns that share nothing with the state, which are kept as the settings want.
    fn take_unmatched(&mut self, scans: &[ClassScan<'s>], step: Step) -> Result<(), Cancelled> {
        let classes: Vec<&PageClass> = scans.iter().map(|scan| &scan.class.class).collect();
        let mut left = self.ranks.clone();
        loop {
            self.candidates.check()?;
            self.share_bar();
            self.batch.ranks.clear();
            // Walked anew each time, as the ranks that are taken leave the range.
            let mut walk = self.ties.walk(left.by_ref());
            self.batch.ranks.extend(walk.by_ref().take(BATCH));
            let first = self.batch.ranks.first();
            let first = first.map(|&rank| self.ties.rank(rank));
            if first.is_none_or(|key| key > self.end_key(step.high)) {
                break;
            }
            self.batch.read(self.reader);
            self.candidates.work.n_read += self.batch.ranks.len() as u64;
            let mut start = 0;
            for idx in 0..self.batch.ranks.len() {
                let (rank, end) = (self.batch.ranks[idx], self.batch.ends[idx]);
                let symbols = &self.batch.symbols[start..end];
                start = end;
                let common = self.state.common(symbols.iter().copied());
                // The others were offered by the steps of their classes.
                if common.symbols > 0 || !can_rank(self.bar(), step.high, self.ties.rank(rank)) {
                    continue;
                }
                let length = symbols.len();
                let of_class = |class: &&&PageClass| class.lengths.lengths().contains(&length);
                // A class of the length that was left out of the scans is refused as a whole, and
                // which of the two of a length it is has no say in the score.
                if let Some(class) = classes.iter().find(of_class) {
                    let class = PageClass {
                        is_plain: false,
                        ..(**class).clone()
                    };
                    offer(
                        self.reader,
                        self.candidates,
                        &mut self.top,
                        (rank, &class),
                        symbols,
                        common,
                    )?;
                }
            }
        }
        self.batch.ranks.clear();
        Ok(())
    }
}

/// Scores a pattern and keeps it if it is among the best.
fn offer(
    reader: &Reader<'_>,
    candidates: &mut Candidates<'_>,
    top: &mut TopK<FoundRank>,
    (rank, class): (u32, &PageClass),
    symbols: &[SymbolId],
    common: OverlapBounds,
) -> Result<(), Cancelled> {
    // Damaged patterns have no symbols.
    let lengths = match class.is_plain || symbols.is_empty() {
        true => None,
        false => reader.event_lengths(rank),
    };
    let Some(score) = candidates.score_pattern(symbols, lengths.as_deref(), common)? else {
        return Ok(());
    };
    let key = candidates.ties().rank(rank);
    let is_best = can_rank(top.threshold().copied(), score, key);
    if is_best
        && !candidates.hidden().holds_rank(reader.rank_among_all(rank))
        && candidates.passes()?
    {
        top.push(FoundRank { score, key });
    }
    Ok(())
}

impl Batch {
    /// Reads the symbols of the patterns.
    fn read(&mut self, reader: &Reader<'_>) {
        // In rounds whose reads do not depend on each other, so that the processor waits for many of them at
        // once. Before each a disk is told, where the index was not read before.
        reader.read_ranges(&self.ranks, &mut self.ranges);
        reader.will_read_symbols(&self.ranges);
        self.symbols.clear();
        self.ends.clear();
        for &range in &self.ranges {
            reader.append_symbols(range, &mut self.symbols);
            self.ends.push(self.symbols.len());
        }
    }
}

#[cfg(test)]
mod tests;
