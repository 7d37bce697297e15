//! Exact top-k search: finds the patterns with the best scores without comparing most of them.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns, and an index fewer than 2³²"
)]

mod frozen_scan;
mod overlap_counters;
mod page_scan;
mod top_k;
mod work;

use std::rc::Rc;

use self::frozen_scan::scan_frozen;
use self::overlap_counters::OverlapCounters;
use self::page_scan::PageScan;
pub(crate) use self::top_k::{Ranked, TieOrder, TopK};
pub use self::work::SearchWork;
use crate::bounds::Bounds;
use crate::cancel::Cancelled;
use crate::candidate::Candidates;
use crate::collections::HashMap;
use crate::frozen::Reader;
use crate::index::{PatternIndex, Place, Spot};
use crate::page::Page;
use crate::state::{OverlapBounds, State};

/// Finds the `limit` best patterns by score, ties by name in the order of the generation.
///
/// Equal to comparing every pattern: a pattern is skipped only if [`Bounds`] prove that it
/// scores below the `limit`-th best so far, or equal to it with a name that comes after. Patterns that
/// share a pair of neighbours with the state come first, as their scores are the highest; they
/// raise the bar for all others.
pub(crate) fn search(
    index: &PatternIndex,
    state: &State<'_>,
    candidates: &mut Candidates<'_>,
    limit: usize,
) -> Result<Vec<Ranked>, Cancelled> {
    let mut top = TopK::new(limit);
    let mut all_bounds: HashMap<_, Rc<Bounds>> = HashMap::default();
    let mut scans = Vec::new();
    for (number, page) in index.pages().iter() {
        candidates.check()?;
        let class = page.class();
        if !candidates.allow_lengths(&class.lengths.lengths()) {
            continue;
        }
        // Bounds depend on the class alone, so the pages of a class share them.
        let bounds = all_bounds
            .entry(class)
            .or_insert_with(|| Rc::new(Bounds::new(state.len(), class, candidates.bound_rules())));
        let bounds = Rc::clone(bounds);
        scans.push(PageScan::new(
            number,
            page,
            state,
            bounds,
            candidates.ties(),
        ));
    }
    let mut counters = OverlapCounters::new();
    // All first rounds before any second one: the second is cheap only once the bar is high.
    for scan in &scans {
        candidates.check()?;
        scan.scan_pairs(&mut counters, candidates, &mut top)?;
    }
    for scan in &scans {
        candidates.check()?;
        scan.scan_remaining(&mut counters, candidates, &mut top)?;
    }
    let Some(base) = index.base() else {
        return Ok(top.into_sorted());
    };
    // They have no name in common, so the best of each are the best of all.
    let mut units: Vec<_> = base.units().collect();
    // The largest first, as it raises the bar the most.
    units.reverse();
    let ties = candidates.ties();
    let threads = index.share_of_threads();
    for unit in units {
        let reader = unit.reader();
        let worst = top.raised();
        let found = scan_frozen(&reader, state, candidates, limit, threads.get(), worst)?;
        reader.will_read_found(found.iter().map(|found| ties.rank(found.key)));
        for found in found {
            let rank = ties.rank(found.key);
            top.push(Ranked {
                score: found.score,
                key: ties.name(&reader.name(rank)),
                spot: Spot::Base(reader.rank_among_all(rank)),
            });
        }
    }
    Ok(top.into_sorted())
}

/// Finds the same as [`search`] by comparing every pattern.
pub(crate) fn full_scan(
    index: &PatternIndex,
    state: &State<'_>,
    candidates: &mut Candidates<'_>,
    limit: usize,
) -> Result<Vec<Ranked>, Cancelled> {
    let mut top = TopK::new(limit);
    for (number, page) in index.pages().iter() {
        for place in (0..page.len()).map(|place| place as u16) {
            let common = page.common(place, state);
            offer((number, page, place), common, candidates, &mut top)?;
        }
    }
    for unit in index.base().into_iter().flat_map(|base| base.units()) {
        scan_base(&unit.reader(), state, candidates, &mut top)?;
    }
    Ok(top.into_sorted())
}

/// Offers every pattern of the index below.
fn scan_base(
    reader: &Reader<'_>,
    state: &State<'_>,
    candidates: &mut Candidates<'_>,
    top: &mut TopK,
) -> Result<(), Cancelled> {
    let mut symbols = Vec::new();
    for rank in 0..reader.n_patterns() {
        reader.read_symbols(rank, &mut symbols);
        let common = state.common(symbols.iter().copied());
        let lengths = match symbols.is_empty() {
            true => None,
            false => reader.event_lengths(rank),
        };
        if let Some(score) = candidates.score_pattern(&symbols, lengths.as_deref(), common)? {
            let ties = candidates.ties();
            let key = || ties.name(&reader.name(rank));
            let among_all = reader.rank_among_all(rank);
            let is_best = top.accepts(score, key) && !candidates.hidden().holds_rank(among_all);
            if is_best && candidates.passes()? {
                let (key, spot) = (key(), Spot::Base(among_all));
                top.push(Ranked { score, key, spot });
            }
        }
    }
    Ok(())
}

/// Scores a pattern and keeps it if it is among the best.
fn offer(
    (number, page, place): (u16, &Page, u16),
    common: OverlapBounds,
    candidates: &mut Candidates<'_>,
    top: &mut TopK,
) -> Result<(), Cancelled> {
    let Some(score) = candidates.score(page, place, common)? else {
        return Ok(());
    };
    let name = &page.names()[usize::from(place)];
    let ties = candidates.ties();
    let is_best = top.accepts(score, || ties.name(name)) && !candidates.hidden().holds(name);
    if is_best && candidates.passes()? {
        top.push(Ranked {
            score,
            key: ties.name(name),
            spot: Spot::Page(Place::new(number, place)),
        });
    }
    Ok(())
}
