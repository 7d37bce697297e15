//! The search in an index below: score by score from the best, each in the order of names.
//!
//! Most patterns that resemble a state resemble it equally: a few dozen scores stand for all of
//! them, and among equal scores the earlier names win. So the patterns of a class are visited in
//! *steps*, those that the bounds allow the best score first. In a step, patterns come in the order
//! of their ranks, which is that of their names, out of the lists of ranks that the index has for
//! symbols and for pairs of neighbours. A step ends where the worst pattern kept has the step's
//! score and an earlier rank, and the search ends where it has a better score than the next step.
//! What a state costs then depends on how many patterns come close to the best, and not on how
//! many tie.
//!
//! Why nothing is missed. By the lists, a pattern has an overlap o and pairs g: the symbols and
//! pairs of the state, counted with repetition, that it holds. They are at least those of the
//! multisets, so the bound for them holds ([`Bounds`]). A step visits every pattern whose bound lies
//! in its range: the bound grows with o and with g, so these are the patterns that reach one of a
//! few least (o, g); a pattern with so many is in one of the lists that are left when the longest
//! that together stand for fewer are left out. Those are only looked into, for patterns that the
//! others hold.

use std::cell::OnceCell;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::TopK;
use crate::SymbolId;
use crate::bounds::Bounds;
use crate::cancel::Cancelled;
use crate::candidate::Candidates;
use crate::frozen::{FrozenClass, ListCursor, RankList, Reader};
use crate::page_class::PageClass;
use crate::state::{OverlapBounds, State, StatePair, WORD};

/// Number of patterns that are read together, so that the processor waits for memory once and not
/// for each.
const BATCH: usize = 64;

/// Most steps of a class. More end sooner among ties, but walk the same lists more often.
const MAX_STEPS: usize = 24;

/// Patterns that a thread is worth; few in builds for tests, so that tests see several threads.
const LEAST_PART: u32 = if cfg!(debug_assertions) {
    1 << 10
} else {
    1 << 19
};

/// Number of lists up to which looking at the head of each is faster than a heap.
const FEW_LISTS: usize = 8;

/// A pattern that the search found; better ones are less.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundRank {
    pub(super) score: f64,
    pub(super) rank: u32,
}

impl Ord for FoundRank {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.rank.cmp(&other.rank))
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

/// Lists of ranks, and how much of the state each stands for; the longest first.
type Lists<'a> = Vec<(RankList<'a>, usize)>;

/// The search for one state in one index.
struct FrozenScan<'s, 'a, 'c> {
    reader: &'s Reader<'s>,
    state: &'s State<'s>,
    candidates: &'c mut Candidates<'a>,
    top: TopK<FoundRank>,
    batch: Batch,
    /// The part of the index that is searched.
    ranks: Range<u32>,
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

/// Finds the `limit` best patterns of an index, best first, ties by rank.
///
/// With several threads each searches a range of ranks. As score and rank order all patterns, the
/// best of all are among the best of the parts, and the result is the same for any number.
pub(super) fn scan_frozen<'a>(
    reader: &Reader<'_>,
    state: &State<'_>,
    candidates: &mut Candidates<'a>,
    limit: usize,
    n_threads: usize,
) -> Result<Vec<FoundRank>, Cancelled> {
    let n_patterns = reader.index().n_patterns() as u32;
    let n_parts = (n_threads as u32).clamp(1, n_patterns.div_ceil(LEAST_PART).max(1));
    if n_parts == 1 {
        return FrozenScan::new(reader, state, candidates, limit, 0..n_patterns, None).run();
    }
    let bar = SharedBar::default();
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
                FrozenScan::new(
                    reader,
                    state,
                    &mut candidates,
                    limit,
                    part(number),
                    Some(bar),
                )
                .run()
            }));
        }
        let own = FrozenScan::new(reader, state, candidates, limit, part(0), Some(&bar)).run()?;
        own.into_iter().for_each(|found| top.push(found));
        for other in others {
            let found = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            found.into_iter().for_each(|found| top.push(found));
        }
        Ok(())
    })?;
    Ok(top.into_sorted())
}

/// The patterns of one class.
struct ClassScan<'s> {
    class: &'s FrozenClass,
    bounds: Bounds,
    /// Ranks by symbol of the state.
    symbols: Lists<'s>,
    /// Ranks by pair of the state; looked up when first needed.
    pairs: OnceCell<Lists<'s>>,
    /// The part of the ranks that the lists are cut to.
    ranks: Range<u32>,
}

/// The patterns of a class whose bound lies in a range.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// `None` for the patterns of all classes that share nothing with the state.
    class: Option<usize>,
    high: f64,
    low: f64,
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
            candidates,
            top: TopK::new(limit),
            batch: Batch::default(),
            ranks,
            shared,
            seen_bar: None,
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

    /// Returns the best patterns, best first, ties by rank.
    fn run(mut self) -> Result<Vec<FoundRank>, Cancelled> {
        let rules = self.candidates.bound_rules();
        let mut scans = Vec::new();
        let mut steps = Vec::new();
        for class in self.reader.index().classes() {
            if !self
                .candidates
                .allow_lengths(&class.class.lengths.lengths())
            {
                continue;
            }
            let bounds = Bounds::new(self.state.len(), &class.class, rules);
            let ranks = self.ranks.clone();
            let scan = ClassScan::new(self.reader, self.state, class, bounds, ranks);
            scan.push_steps(scans.len(), self.uses_pairs(&scan.bounds), &mut steps);
            scans.push(scan);
        }
        if rules.keeps_unmatched {
            // One step for all classes, since their patterns lie between each other.
            let bounds = scans.iter().map(|scan| scan.bounds.upper(0, 0));
            let high = bounds.fold(f64::NEG_INFINITY, f64::max);
            steps.push(Step {
                class: None,
                high,
                low: high,
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
                Some(class) => self.take_step(&scans[class], step)?,
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
    fn take_step(&mut self, scan: &ClassScan<'s>, step: Step) -> Result<(), Cancelled> {
        let bar = self.bar().map_or(f64::NEG_INFINITY, |bar| bar.score);
        let floor = step.low.max(bar);
        let uses_pairs = self.uses_pairs(&scan.bounds);
        let least = scan.least(uses_pairs, (floor, step.high));
        for (number, &(overlap, n_pairs)) in least.iter().enumerate() {
            let Some(drivers) = scan.drivers(self.reader, self.state, overlap, n_pairs) else {
                continue;
            };
            let mut walk = Walk::new(&drivers);
            while !walk.is_done {
                self.candidates.check()?;
                self.share_bar();
                let end = self.end_rank(step.high);
                walk.fill(end, &mut self.batch.ranks);
                self.batch.read(self.reader);
                self.offer_batch(scan, (floor, step.high), uses_pairs, &least[..=number])?;
            }
        }
        Ok(())
    }

    /// Returns the last rank at which a pattern of this score may be among the best.
    fn end_rank(&self, score: f64) -> u32 {
        match self.bar() {
            Some(bar) if bar.score > score => 0,
            Some(bar) if bar.score == score => bar.rank,
            _ => u32::MAX,
        }
    }

    /// Offers the patterns of the batch whose bound lies in the range and that reach the last of
    /// these least overlaps, but none before it: each is offered once, though lists hold more than
    /// they are walked for.
    fn offer_batch(
        &mut self,
        scan: &ClassScan<'s>,
        (low, high): (f64, f64),
        uses_pairs: bool,
        least: &[(usize, usize)],
    ) -> Result<(), Cancelled> {
        let mut start = 0;
        for idx in 0..self.batch.ranks.len() {
            let (rank, end) = (self.batch.ranks[idx], self.batch.ends[idx]);
            let symbols = &self.batch.symbols[start..end];
            start = end;
            let by_lists = self.state.common_by_lists(symbols);
            let n_pairs = match uses_pairs {
                true => by_lists.pairs,
                false => scan.bounds.most_pairs(),
            };
            let upper = scan.bounds.upper(by_lists.symbols, n_pairs);
            // What is above was offered by an earlier step, and what is below is for a later one.
            if upper < low || upper > high || !can_rank(self.bar(), upper, rank) {
                continue;
            }
            let reaches = |&(overlap, pairs): &(usize, usize)| {
                by_lists.symbols >= overlap && n_pairs >= pairs
            };
            if least.iter().position(reaches) != Some(least.len() - 1) {
                continue;
            }
            let common = self.state.common(symbols.iter().copied());
            let upper = scan.bounds.upper(common.symbols, common.pairs);
            if can_rank(self.bar(), upper, rank) {
                let class = &scan.class.class;
                offer(
                    self.reader,
                    self.candidates,
                    &mut self.top,
                    (rank, class),
                    symbols,
                    common,
                )?;
            }
        }
        Ok(())
    }

    /// Visits the patterns that share nothing with the state, which are kept as the settings want.
    fn take_unmatched(&mut self, scans: &[ClassScan<'s>], step: Step) -> Result<(), Cancelled> {
        let classes: Vec<&PageClass> = scans.iter().map(|scan| &scan.class.class).collect();
        let Range {
            start: mut next,
            end,
        } = self.ranks.clone();
        while next < end && next <= self.end_rank(step.high) {
            self.candidates.check()?;
            self.share_bar();
            self.batch.ranks.clear();
            self.batch.ranks.extend((next..end).take(BATCH));
            next += self.batch.ranks.len() as u32;
            self.batch.read(self.reader);
            let mut start = 0;
            for idx in 0..self.batch.ranks.len() {
                let (rank, end) = (self.batch.ranks[idx], self.batch.ends[idx]);
                let symbols = &self.batch.symbols[start..end];
                start = end;
                let common = self.state.common(symbols.iter().copied());
                // The others were offered by the steps of their classes.
                if common.symbols > 0 || !can_rank(self.bar(), step.high, rank) {
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
        Ok(())
    }
}

/// Returns whether a pattern with this bound may be among the best.
#[inline]
fn can_rank(bar: Option<FoundRank>, upper: f64, rank: u32) -> bool {
    bar.is_none_or(|bar| upper > bar.score || (upper == bar.score && rank < bar.rank))
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
        false => reader.index().event_lengths(rank),
    };
    let Some(score) = candidates.score_pattern(symbols, lengths.as_deref(), common)? else {
        return Ok(());
    };
    if can_rank(top.threshold().copied(), score, rank) && candidates.passes()? {
        top.push(FoundRank { score, rank });
    }
    Ok(())
}

impl<'s> ClassScan<'s> {
    fn new(
        reader: &Reader<'s>,
        state: &State<'_>,
        class: &'s FrozenClass,
        bounds: Bounds,
        ranks: Range<u32>,
    ) -> Self {
        let lists = state.distinct.iter().filter_map(|symbol| {
            let held = reader.held(class, symbol.id)?;
            Some((held.within(&ranks), symbol.count as usize))
        });
        Self {
            class,
            bounds,
            symbols: longest_first(lists.collect()),
            pairs: OnceCell::new(),
            ranks,
        }
    }

    /// Returns the ranks by pair of the state.
    fn pairs(&self, reader: &Reader<'s>, state: &State<'_>) -> &Lists<'s> {
        self.pairs.get_or_init(|| {
            let of_pair = |pair: &StatePair| {
                let first = state.distinct[pair.first].id;
                let list = reader.pair(self.class, first, pair.second)?;
                Some((list.within(&self.ranks), pair.count))
            };
            longest_first(state.pairs.iter().filter_map(of_pair).collect())
        })
    }

    /// Appends the steps of the class, whose place in the scans is given.
    fn push_steps(&self, class: usize, uses_pairs: bool, steps: &mut Vec<Step>) {
        let mut bounds: Vec<f64> = self
            .rows(uses_pairs)
            .flat_map(|n_pairs| {
                let overlaps = self.overlaps(n_pairs, uses_pairs);
                overlaps.map(move |overlap| self.bounds.upper(overlap, n_pairs))
            })
            .collect();
        bounds.sort_unstable_by(|a, b| b.total_cmp(a));
        bounds.dedup();
        let n_in_step = bounds.len().div_ceil(MAX_STEPS).max(1);
        steps.extend(bounds.chunks(n_in_step).map(|range| Step {
            class: Some(class),
            high: range[0],
            low: range[range.len() - 1],
        }));
    }

    /// Returns the numbers of pairs that have bounds of their own.
    fn rows(&self, uses_pairs: bool) -> std::ops::RangeInclusive<usize> {
        let most = self.bounds.most_pairs();
        if uses_pairs { 0..=most } else { most..=most }
    }

    /// Returns the overlaps that patterns with so many pairs can have.
    fn overlaps(&self, n_pairs: usize, uses_pairs: bool) -> std::ops::RangeInclusive<usize> {
        // Where no pattern can be a prediction, the range is empty.
        let least = self.bounds.least_overlap(n_pairs, |_| true);
        let least = least.unwrap_or(usize::MAX);
        // The positions of g pairs are those of at least g + 1 symbols.
        let of_pairs = if uses_pairs { n_pairs + 1 } else { 1 };
        least.max(of_pairs)..=self.bounds.most()
    }

    /// Returns the least overlaps, each with a number of pairs, that patterns whose bound lies in a
    /// range reach. The second number is 0 where pairs are not counted.
    fn least(&self, uses_pairs: bool, (low, high): (f64, f64)) -> Vec<(usize, usize)> {
        let mut least: Vec<(usize, usize)> = Vec::new();
        let mut fewest = usize::MAX;
        for n_pairs in self.rows(uses_pairs) {
            let mut overlaps = self.overlaps(n_pairs, uses_pairs);
            let Some(overlap) = overlaps.find(|&o| self.bounds.upper(o, n_pairs) >= low) else {
                continue;
            };
            // More pairs are worth an entry only where they let fewer symbols suffice.
            if overlap >= fewest {
                continue;
            }
            fewest = overlap;
            // Whatever reaches a bound above the range lies above it as well.
            if self.bounds.upper(overlap, n_pairs) <= high {
                least.push((overlap, if uses_pairs { n_pairs } else { 0 }));
            }
        }
        least
    }

    /// Returns lists one of which holds every pattern with at least this overlap and so many pairs:
    /// those of symbols or those of pairs, whichever are shorter. `None` if there is no such
    /// pattern.
    fn drivers(
        &self,
        reader: &Reader<'s>,
        state: &State<'_>,
        overlap: usize,
        n_pairs: usize,
    ) -> Option<Drivers<'_, 's>> {
        let by_symbols = Drivers::new(&self.symbols, overlap)?;
        if n_pairs == 0 {
            return Some(by_symbols);
        }
        let by_pairs = Drivers::new(self.pairs(reader, state), n_pairs)?;
        Some(
            match n_ranks(by_pairs.walked) <= n_ranks(by_symbols.walked) {
                true => by_pairs,
                false => by_symbols,
            },
        )
    }
}

/// Lists that are walked to find the patterns for which all lists together stand for enough.
#[derive(Debug, Clone, Copy)]
struct Drivers<'l, 's> {
    /// One of these holds every such pattern.
    walked: &'l [(RankList<'s>, usize)],
    /// The longest lists, which together stand for too little; they are only looked into.
    left_out: &'l [(RankList<'s>, usize)],
    least: usize,
}

impl<'l, 's> Drivers<'l, 's> {
    /// Leaves out the longest lists as long as they stand for fewer than `least` together; `None`
    /// if all of them do.
    fn new(lists: &'l [(RankList<'s>, usize)], least: usize) -> Option<Self> {
        let mut count = 0;
        for (idx, (_, of_list)) in lists.iter().enumerate() {
            count += of_list;
            if count >= least {
                let (left_out, walked) = lists.split_at(idx);
                return Some(Self {
                    walked,
                    left_out,
                    least,
                });
            }
        }
        None
    }
}

/// A walk along the patterns that enough lists hold, in the order of their ranks.
struct Walk<'a> {
    union: Union<'a>,
    left_out: Vec<(ListCursor<'a>, usize)>,
    least: usize,
    is_done: bool,
}

impl<'a> Walk<'a> {
    fn new(drivers: &Drivers<'_, 'a>) -> Self {
        let left_out = drivers.left_out.iter();
        Self {
            union: Union::new(drivers.walked),
            left_out: left_out
                .map(|(list, count)| (list.cursor(), *count))
                .collect(),
            least: drivers.least,
            is_done: false,
        }
    }

    /// Replaces `ranks` by the next ones up to an end.
    fn fill(&mut self, end: u32, ranks: &mut Vec<u32>) {
        ranks.clear();
        // So many at most, so that a prediction can be cancelled where few are in enough lists.
        for _ in 0..BATCH * 64 {
            if ranks.len() == BATCH {
                return;
            }
            match self.union.next() {
                Some((rank, count)) if rank <= end => {
                    if self.is_in_enough(rank, count) {
                        ranks.push(rank);
                    }
                }
                _ => {
                    self.is_done = true;
                    return;
                }
            }
        }
    }

    /// Returns whether the lists that hold a pattern stand for enough, given what those that are
    /// walked stand for.
    fn is_in_enough(&mut self, rank: u32, mut count: usize) -> bool {
        for (cursor, of_list) in &mut self.left_out {
            if count >= self.least {
                break;
            }
            cursor.seek(rank);
            if cursor.current() == Some(rank) {
                count += *of_list;
            }
        }
        count >= self.least
    }
}

fn longest_first(mut lists: Lists<'_>) -> Lists<'_> {
    lists.sort_by_key(|(list, _)| Reverse(list.len()));
    lists
}

fn n_ranks(lists: &[(RankList<'_>, usize)]) -> usize {
    lists.iter().map(|(list, _)| list.len()).sum()
}

/// A walk along the ranks of several lists in order, each rank once, with what the lists that hold
/// it stand for together.
enum Union<'a> {
    Few(Vec<(ListCursor<'a>, usize)>),
    Many(
        Vec<(ListCursor<'a>, usize)>,
        BinaryHeap<Reverse<(u32, usize)>>,
    ),
}

impl<'a> Union<'a> {
    fn new(lists: &[(RankList<'a>, usize)]) -> Self {
        let cursors: Vec<(ListCursor<'a>, usize)> = lists
            .iter()
            .map(|(list, count)| (list.cursor(), *count))
            .collect();
        if cursors.len() <= FEW_LISTS {
            return Self::Few(cursors);
        }
        let heads = cursors.iter().enumerate();
        let heads = heads.filter_map(|(idx, (cursor, _))| Some(Reverse((cursor.current()?, idx))));
        let heap = heads.collect();
        Self::Many(cursors, heap)
    }

    #[inline]
    fn next(&mut self) -> Option<(u32, usize)> {
        let mut held = 0;
        match self {
            Self::Few(cursors) => {
                let heads = cursors.iter().filter_map(|(cursor, _)| cursor.current());
                let next = heads.min()?;
                for (cursor, count) in cursors {
                    if cursor.current() == Some(next) {
                        held += *count;
                    }
                    // `while`, as a list that was written wrong may repeat a rank.
                    while cursor.current() == Some(next) {
                        cursor.advance();
                    }
                }
                Some((next, held))
            }
            Self::Many(cursors, heap) => {
                let &Reverse((next, _)) = heap.peek()?;
                while let Some(&Reverse((rank, idx))) = heap.peek()
                    && rank == next
                {
                    heap.pop();
                    let (cursor, count) = &mut cursors[idx];
                    held += *count;
                    cursor.advance();
                    if let Some(rank) = cursor.current() {
                        heap.push(Reverse((rank, idx)));
                    }
                }
                Some((next, held))
            }
        }
    }
}

impl Batch {
    /// Reads the symbols of the patterns.
    fn read(&mut self, reader: &Reader<'_>) {
        // In two rounds whose reads do not depend on each other, so that the processor waits for
        // many of them at once.
        self.ranges.clear();
        self.ranges
            .extend(self.ranks.iter().map(|&rank| reader.range(rank)));
        self.symbols.clear();
        self.ends.clear();
        for &range in &self.ranges {
            reader.append_symbols(range, &mut self.symbols);
            self.ends.push(self.symbols.len());
        }
    }
}
