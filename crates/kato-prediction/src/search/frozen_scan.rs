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
//! ([`PlaceBounds`]). Two symbols may have one hash, so it may hold fewer, but no others: what cannot
//! rank by its signature is passed over without being read.

#![expect(
    clippy::cast_possible_truncation,
    reason = "ranks are below the number of patterns, which is below 2³²; a word has 64 bits"
)]

use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use super::{Ranked, TieOrder, TopK};
use crate::SymbolId;
use crate::bounds::{Bounds, PlaceBounds};
use crate::cancel::Cancelled;
use crate::candidate::Candidates;
use crate::frozen::{FrozenClass, ListCursor, RankList, Reader, SignatureShape};
use crate::page_class::PageClass;
use crate::state::{OverlapBounds, State, StatePair, WORD};

/// Number of patterns that are read together, so that the processor waits for memory once and not
/// for each.
const BATCH: usize = 64;

/// Most steps of a class for one number of pairs. More end sooner among ties, but walk the same lists
/// more often.
const MAX_STEPS: usize = 24;

/// Patterns that a thread is worth; few in builds for tests, so that tests see several threads.
const LEAST_PART: u32 = if cfg!(debug_assertions) {
    1 << 10
} else {
    1 << 19
};

/// A pattern that the search found; better ones are less.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundRank {
    pub(super) score: f64,
    /// The key of its rank.
    pub(super) key: u32,
}

impl Ord for FoundRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for FoundRank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FoundRank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FoundRank {}

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

/// The highest bar of several searches, each of a part of the ranks.
///
/// Where one part alone has as many patterns as are wanted, the worst of them is a bar for all.
#[derive(Debug, Default)]
struct SharedBar(Mutex<Option<FoundRank>>);

impl SharedBar {
    /// Raises the bar to that of one search, if that is higher, and returns the higher one.
    fn raise(&self, own: Option<FoundRank>) -> Option<FoundRank> {
        // Valid whatever panicked, as it is replaced whole.
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *bar = higher(*bar, own);
        *bar
    }
}

/// Returns the higher of two bars: better patterns are less.
fn higher(a: Option<FoundRank>, b: Option<FoundRank>) -> Option<FoundRank> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
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
    let bar = SharedBar(Mutex::new(bar));
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

/// Returns the bar that a pattern of another index is: what is better here is less.
fn bar_of(reader: &Reader<'_>, ties: TieOrder, worst: &Ranked) -> FoundRank {
    // Ranks are in name order: those below this one have earlier names.
    let n_before = reader.n_before(&ties.name(&worst.key));
    let score = worst.score;
    match (ties, n_before.checked_sub(1)) {
        (TieOrder::Ascending, _) => FoundRank {
            score,
            key: n_before,
        },
        // The last of the earlier names is no better, and all later ones are.
        (TieOrder::Descending, Some(last)) => FoundRank {
            score,
            key: ties.rank(last),
        },
        // All names are later, and better at the same score.
        (TieOrder::Descending, None) => FoundRank {
            score: score.next_down(),
            key: 0,
        },
    }
}

/// The patterns of one class.
struct ClassScan<'s> {
    class: &'s FrozenClass,
    bounds: Bounds,
    /// `None` where signatures are of no use.
    places: Option<PlaceBounds>,
    symbols: Lists<'s>,
    /// Looked up when first needed.
    pairs: Option<Lists<'s>>,
    /// The part of the ranks that the lists are cut to.
    ranks: Range<u32>,
}

/// The lists of a class for the symbols of the state, or for its pairs.
struct Lists<'s> {
    /// The longest first.
    lists: Vec<StateList<'s>>,
    /// By place among the state's distinct symbols, the place in `lists`; unused for pairs.
    by_symbol: Vec<Option<usize>>,
    /// By hash of a symbol in signatures of a shape, the positions in the state of what has it.
    masks: Option<(SignatureShape, Rc<[u64]>)>,
}

/// A list of the patterns that hold something of the state.
#[derive(Debug, Clone, Copy)]
struct StateList<'s> {
    ranks: RankList<'s>,
    /// Positions of the state that it stands for.
    count: usize,
    /// Of a pair: the positions of its second symbol in the state, as bits.
    second: u64,
    /// The positions in the state of the symbols that all of its patterns hold, as bits.
    known: [u64; 2],
}

/// A kind of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Symbols,
    Pairs,
}

/// The patterns of a class that have a number of pairs and an overlap in a range, by the lists.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// `None` for the patterns of all classes that share nothing with the state.
    class: Option<usize>,
    /// The best score that the bounds allow them.
    high: f64,
    n_pairs: usize,
    overlaps: (usize, usize),
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
                n_pairs: 0,
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
        if uses_pairs && step.n_pairs > 0 && scan.pairs.is_none() {
            let lists =
                Lists::of_pairs(self.reader, self.state, scan.class, &scan.ranks, self.ties);
            scan.pairs = Some(lists);
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
        let kind = match uses_pairs && step.n_pairs > 0 {
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
        let overlap = overlaps.find(|&o| scan.bounds.upper(o, step.n_pairs) >= bar)?;
        scan.lists(kind).first_needed(match kind {
            Kind::Symbols => overlap,
            Kind::Pairs => step.n_pairs,
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
        let signed = shape.map(|shape| {
            let lists = match (kind, &mut scan.pairs) {
                (Kind::Pairs, Some(pairs)) => pairs,
                _ => &mut scan.symbols,
            };
            (shape, lists.masks(self.reader, self.state, shape))
        });
        let mut others = match signed {
            Some(_) => Vec::new(),
            None => scan.lists(kind).others(nth),
        };
        let mut at = 0;
        loop {
            self.candidates.check()?;
            self.share_bar();
            let is_needed = self
                .first_needed(scan, step, kind)
                .is_some_and(|first| nth >= first);
            let (ranks, signatures) = list.ranks.window(at, self.ties);
            let first = self.ties.walk(ranks.iter()).next();
            let first = first.map(|&rank| self.ties.rank(u32::from_le_bytes(rank)));
            let is_within = first.is_some_and(|key| key <= self.end_key(step.high));
            if !is_needed || !is_within {
                self.offer_batch(scan, step, kind, nth)?;
                return Ok(is_needed);
            }
            at += ranks.len();
            self.candidates.work.n_listed += ranks.len() as u64;
            match (&signed, signatures) {
                (Some((shape, masks)), Some(signatures)) => {
                    let (of, window) = ((step, kind, nth), ranks.iter().zip(signatures));
                    match self.ties {
                        TieOrder::Ascending => self.sift(scan, of, *shape, masks, window)?,
                        TieOrder::Descending => self.sift(scan, of, *shape, masks, window.rev())?,
                    }
                }
                _ => {
                    if self.ties == TieOrder::Descending {
                        // Walks go forwards alone, so they begin anew for each window.
                        others = scan.lists(kind).others(nth);
                    }
                    self.join(scan, (step, kind, nth), ranks, &mut others)?;
                }
            }
        }
    }

    /// Adds those of a window to the batch that are in enough of the other lists.
    fn join(
        &mut self,
        scan: &mut ClassScan<'s>,
        of: (Step, Kind, usize),
        ranks: &[[u8; 4]],
        others: &mut [(ListCursor<'_>, usize)],
    ) -> Result<(), Cancelled> {
        let (step, kind, nth) = of;
        let count = scan.lists(kind).lists[nth].count;
        let least = match kind {
            Kind::Symbols => step.overlaps.0,
            Kind::Pairs => step.n_pairs,
        };
        let mut found: Vec<u32> = Vec::new();
        for &rank in ranks {
            let rank = u32::from_le_bytes(rank);
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

    /// Adds those of a window, given with their signatures, to the batch that can rank by these.
    fn sift<'w>(
        &mut self,
        scan: &mut ClassScan<'s>,
        of: (Step, Kind, usize),
        shape: SignatureShape,
        masks: &[u64],
        window: impl Iterator<Item = (&'w [u8; 4], &'w [u8; 4])>,
    ) -> Result<(), Cancelled> {
        let (step, kind, nth) = of;
        let known = scan.lists(kind).lists[nth].known;
        let n_others = shape.length() - shape.n_known();
        // The bound of patterns that share no more than the list says.
        let of_list = match &mut scan.places {
            Some(places) => places.upper((1 << shape.n_known()) - 1, shape.n_known() - 1),
            None => f64::INFINITY,
        };
        let mut bar = self.bar();
        let ties = self.ties;
        // Keys ascend: what comes too late comes too late from here on.
        let mut passes_list = None;
        for (&rank, &signature) in window {
            let (rank, signature) = (u32::from_le_bytes(rank), u32::from_le_bytes(signature));
            let key = ties.rank(rank);
            let passes_list = passes_list.get_or_insert_with(|| can_rank(bar, of_list, key));
            if !*passes_list {
                let others = (0..n_others).map(|n| masks[shape.other(signature, n)]);
                if others.fold(0, |any, mask| any | mask) == 0 {
                    continue;
                }
            }
            let seen = Seen::of_signature(shape, signature, known, masks);
            if seen.held.count_ones() < step.overlaps.0 as u32
                || seen.paired.count_ones() < step.n_pairs as u32
            {
                continue;
            }
            let upper = match &mut scan.places {
                Some(places) => places.upper(seen.places, seen.n_pairs),
                None => f64::INFINITY,
            };
            if can_rank(bar, upper, key) {
                self.add_to_batch(scan, of, rank)?;
                if self.batch.ranks.is_empty() {
                    bar = self.bar();
                    *passes_list = can_rank(bar, of_list, key);
                }
            }
        }
        Ok(())
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
            let by_lists = self.state.common_by_lists(symbols);
            let overlap = by_lists.symbols.min(scan.bounds.most());
            let n_pairs = match uses_pairs {
                true => by_lists.pairs.min(scan.bounds.most_pairs()),
                false => step.n_pairs,
            };
            let (least, most) = step.overlaps;
            if n_pairs != step.n_pairs || overlap < least || overlap > most {
                continue;
            }
            if !scan
                .lists(kind)
                .is_first(self.state, nth, symbols, by_lists.paired)
            {
                continue;
            }
            let common = self.state.common(symbols.iter().copied());
            let mut upper = scan.bounds.upper(common.symbols, common.pairs);
            if let Some(places) = &mut scan.places {
                let seen = Seen::of_symbols(self.state, symbols);
                upper = upper.min(places.upper(seen.places, seen.n_pairs));
            }
            if can_rank(self.bar(), upper, self.ties.rank(rank)) {
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

/// Returns whether a pattern with this bound may be among the best.
#[inline]
fn can_rank(bar: Option<FoundRank>, upper: f64, key: u32) -> bool {
    bar.is_none_or(|bar| upper > bar.score || (upper == bar.score && key < bar.key))
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

impl<'s> ClassScan<'s> {
    fn lists(&self, kind: Kind) -> &Lists<'s> {
        match (kind, &self.pairs) {
            (Kind::Pairs, Some(pairs)) => pairs,
            _ => &self.symbols,
        }
    }

    /// Appends the steps of the class, whose place in the scans is given.
    fn push_steps(&self, class: usize, uses_pairs: bool, steps: &mut Vec<Step>) {
        let most_pairs = self.bounds.most_pairs();
        let mut push = |n_pairs: usize, overlaps: (usize, usize)| {
            steps.push(Step {
                class: Some(class),
                high: self.bounds.upper(overlaps.1, n_pairs),
                n_pairs,
                overlaps,
            });
        };
        if uses_pairs {
            // One step for all overlaps: their lists are the same, and a walk along them costs more
            // than what it finds.
            for n_pairs in 1..=most_pairs {
                // The positions of g pairs are those of at least g + 1 symbols; of a symbol that the state
                // repeats there may be more than the pattern has places.
                let most = self.bounds.most();
                let least = self.bounds.least_overlap(n_pairs, |_| true);
                let least = least.map(|least| least.max((n_pairs + 1).min(most)));
                if let Some(least) = least.filter(|&least| least <= most) {
                    push(n_pairs, (least, most));
                }
            }
        }
        let n_pairs = if uses_pairs { 0 } else { most_pairs };
        // Where no pattern can be a prediction, there is none.
        let Some(least) = self.bounds.least_overlap(n_pairs, |_| true) else {
            return;
        };
        let overlaps: Vec<usize> = (least.max(1)..=self.bounds.most()).collect();
        let bound = |&overlap: &usize| self.bounds.upper(overlap, n_pairs);
        let groups: Vec<&[usize]> = overlaps.chunk_by(|a, b| bound(a) == bound(b)).collect();
        for groups in groups.chunks(groups.len().div_ceil(MAX_STEPS).max(1)) {
            if let (Some(&[first, ..]), Some(&[.., last])) = (groups.first(), groups.last()) {
                push(n_pairs, (*first, *last));
            }
        }
    }
}

impl<'s> Lists<'s> {
    fn of_symbols(
        reader: &Reader<'s>,
        state: &State<'_>,
        class: &'s FrozenClass,
        ranks: &Range<u32>,
        ties: TieOrder,
    ) -> Self {
        let lists = state
            .distinct
            .iter()
            .enumerate()
            .filter_map(|(idx, symbol)| {
                let list = StateList {
                    ranks: part_of(reader, reader.held(class, symbol.id)?, ranks),
                    count: symbol.count as usize,
                    second: 0,
                    known: [state.mask(symbol.id), 0],
                };
                Some((idx, list))
            });
        let mut lists: Vec<(usize, StateList<'s>)> = lists.collect();
        lists.sort_by_key(|(_, list)| Reverse(list.ranks.len()));
        let mut by_symbol = vec![None; state.distinct.len()];
        for (place, &(idx, _)) in lists.iter().enumerate() {
            by_symbol[idx] = Some(place);
        }
        let lists = lists.into_iter().map(|(_, list)| list).collect();
        Self::new(lists, by_symbol, ties)
    }

    fn of_pairs(
        reader: &Reader<'s>,
        state: &State<'_>,
        class: &'s FrozenClass,
        ranks: &Range<u32>,
        ties: TieOrder,
    ) -> Self {
        for pair in &state.pairs {
            reader.will_look_up_pairs(class, state.distinct[pair.first].id);
        }
        let of_pair = |pair: &StatePair| {
            let first = state.distinct[pair.first].id;
            let known = [state.mask(first), state.mask(pair.second)];
            Some(StateList {
                ranks: part_of(reader, reader.pair(class, first, pair.second)?, ranks),
                count: pair.count,
                second: known[0] << 1 & known[1],
                known,
            })
        };
        let mut lists: Vec<StateList<'s>> = state.pairs.iter().filter_map(of_pair).collect();
        lists.sort_by_key(|list| Reverse(list.ranks.len()));
        Self::new(lists, Vec::new(), ties)
    }

    fn new(lists: Vec<StateList<'s>>, by_symbol: Vec<Option<usize>>, ties: TieOrder) -> Self {
        // Most of them will be walked, and a disk brings all in the time of one.
        for list in &lists {
            list.ranks.will_walk(ties);
        }
        Self {
            lists,
            by_symbol,
            masks: None,
        }
    }

    /// Returns the place of the longest list that is left when the longest that together stand for
    /// fewer than `least` positions are left out; `None` if all of them do.
    fn first_needed(&self, least: usize) -> Option<usize> {
        let mut count = 0;
        self.lists.iter().position(|list| {
            count += list.count;
            count >= least
        })
    }

    /// Returns whether a pattern is in a list, and in none that is walked before it. `paired` are the
    /// positions whose pair with the one before it holds.
    fn is_first(&self, state: &State<'_>, nth: usize, symbols: &[SymbolId], paired: u64) -> bool {
        if self.by_symbol.is_empty() {
            // In the list of a pair there may be patterns that do not have it.
            let earlier = &self.lists[nth + 1..];
            return paired & self.lists[nth].second != 0
                && earlier.iter().all(|list| paired & list.second == 0);
        }
        let places = symbols
            .iter()
            .filter_map(|&symbol| self.by_symbol[state.place(symbol)?]);
        places.max() == Some(nth)
    }

    /// Returns walks along all lists but one, the shortest first, with what each stands for.
    fn others(&self, nth: usize) -> Vec<(ListCursor<'s>, usize)> {
        let others = self.lists.iter().enumerate().rev();
        others
            .filter(|&(place, _)| place != nth)
            .map(|(_, list)| (list.ranks.cursor(), list.count))
            .collect()
    }

    /// Returns the positions in the state by hash, for signatures of the shape that those of this class
    /// and kind have.
    fn masks(
        &mut self,
        reader: &Reader<'_>,
        state: &State<'_>,
        shape: SignatureShape,
    ) -> Rc<[u64]> {
        // Lists that stand in for those of pairs have the shape of another kind.
        if let Some(masks) = self.masks.as_ref().filter(|(of, _)| *of == shape) {
            return Rc::clone(&masks.1);
        }
        let mut masks = vec![0; shape.n_hashes()];
        for symbol in &state.distinct {
            // What is above the index is in none of its patterns.
            if let Some(number) = reader.number(symbol.id) {
                masks[shape.hash(number) as usize] |= state.mask(symbol.id);
            }
        }
        let masks: Rc<[u64]> = masks.into();
        self.masks = Some((shape, Rc::clone(&masks)));
        masks
    }
}

/// Returns the part of a list whose ranks lie in a range.
fn part_of<'s>(reader: &Reader<'_>, list: RankList<'s>, ranks: &Range<u32>) -> RankList<'s> {
    // To see that all of it does, its end would be read, which nobody may need.
    match ranks.start == 0 && ranks.end as usize == reader.n_patterns() as usize {
        true => list,
        false => list.within(ranks),
    }
}

/// Returns whether the lists that hold a pattern stand for enough, given what one of them does.
fn is_in_enough(
    rank: u32,
    mut count: usize,
    least: usize,
    others: &mut [(ListCursor<'_>, usize)],
) -> bool {
    for (cursor, of_list) in others {
        if count >= least {
            break;
        }
        cursor.seek(rank);
        if cursor.current() == Some(rank) {
            count += *of_list;
        }
    }
    count >= least
}

/// The symbols and pairs of the state that a pattern holds, or may hold, and where.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// The places in the pattern, as bits.
    places: usize,
    /// Neighbours in the pattern that are neighbours in the state.
    n_pairs: usize,
    /// The positions in the state whose symbol the pattern holds, as bits.
    held: u64,
    /// Those whose pair with the one before it holds.
    paired: u64,
    /// The positions of the last symbol that was added.
    before: u64,
}

impl Seen {
    /// Adds the positions in the state of the symbol at the next place.
    #[inline]
    fn add(&mut self, place: usize, mask: u64) {
        let both = self.before << 1 & mask;
        self.places |= usize::from(mask != 0) << place;
        self.n_pairs += usize::from(both != 0);
        self.held |= mask;
        self.paired |= both;
        self.before = mask;
    }

    /// Reads a signature of a list whose patterns hold symbols with the `known` positions.
    #[inline]
    fn of_signature(shape: SignatureShape, signature: u32, known: [u64; 2], masks: &[u64]) -> Self {
        let mut seen = Self::default();
        let first = shape.place(signature);
        let mut n_others = 0;
        for place in 0..shape.length() {
            let of_list = place.wrapping_sub(first);
            if of_list < shape.n_known() {
                seen.add(place, known[of_list]);
            } else {
                seen.add(place, masks[shape.other(signature, n_others)]);
                n_others += 1;
            }
        }
        seen
    }

    /// Looks at the symbols of a pattern, of which there are not more than signatures are of.
    fn of_symbols(state: &State<'_>, symbols: &[SymbolId]) -> Self {
        let mut seen = Self::default();
        for (place, &symbol) in symbols.iter().enumerate() {
            seen.add(place, state.mask(symbol));
        }
        seen
    }
}

impl Batch {
    /// Reads the symbols of the patterns.
    fn read(&mut self, reader: &Reader<'_>) {
        // In two rounds whose reads do not depend on each other, so that the processor waits for
        // many of them at once.
        // Before each round a disk is told, where the index was not read before.
        reader.will_read_ranges(&self.ranks);
        self.ranges.clear();
        self.ranges
            .extend(self.ranks.iter().map(|&rank| reader.range(rank)));
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
