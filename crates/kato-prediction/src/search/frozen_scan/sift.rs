//! Passing over what cannot rank by its signature.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a state with signatures has at most 64 symbols"
)]

use std::rc::Rc;

use super::FrozenScan;
use super::bar::can_rank;
use super::class_scan::{ClassScan, Step};
use super::lists::{Kind, Masks};
use super::seen::Seen;
use crate::cancel::Cancelled;
use crate::frozen::{SignatureShape, Window};

/// What the signatures of a list are compared with.
pub(super) struct Sieve {
    shape: SignatureShape,
    /// The positions in the state of the symbols that the list stands for.
    known: [u64; 2],
    masks: Rc<Masks>,
}

impl Sieve {
    /// Prepares for the signatures of a list.
    pub(super) fn new<'s>(
        of: &FrozenScan<'s, '_, '_>,
        scan: &mut ClassScan<'s>,
        (kind, nth): (Kind, usize),
        shape: SignatureShape,
    ) -> Self {
        let known = scan.lists(kind).lists[nth].known;
        // Among the lists of pairs there are some of symbols, which have their shape.
        let lists = match &mut scan.pairs {
            Some(pairs) if shape.n_known() > 1 => pairs,
            _ => &mut scan.symbols,
        };
        Self {
            shape,
            known,
            masks: lists.masks(of.reader, of.state, shape),
        }
    }
}

impl<'s> FrozenScan<'s, '_, '_> {
    /// Adds those of a window to the batch that can rank by their signatures.
    pub(super) fn sift(
        &mut self,
        scan: &mut ClassScan<'s>,
        of: (Step, Kind, usize),
        sieve: &Sieve,
        window: &Window<'_>,
    ) -> Result<(), Cancelled> {
        let (step, ..) = of;
        let Sieve {
            shape,
            known,
            masks,
        } = sieve;
        let n_listed = (known[0] | known[1]).count_ones();
        // The bound of patterns that share no more than the list says.
        let n_known = shape.n_known();
        let of_list = match &mut scan.places {
            Some(places) => places.upper((1 << n_known) - 1, n_known - 1),
            None => f64::INFINITY,
        };
        let mut bar = self.bar();
        let [mut least, mut least_behind] = scan.least_overlaps(step, bar);
        for at in self.ties.walk(0..window.ranks.len()) {
            let signature = u32::from_le_bytes(window.signatures[at]);
            let overlap = n_listed + shape.sum_of_others(signature, &masks.counts);
            // Most end here: a look at the places would take several times as long.
            if (overlap as usize) < least {
                continue;
            }
            let rank = window.ranks[at];
            let key = self.ties.rank(rank);
            if (overlap as usize) < least_behind && bar.is_some_and(|bar| key >= bar.key)
                || overlap == n_listed && !can_rank(bar, of_list, key)
            {
                continue;
            }
            let seen = Seen::of_signature(*shape, signature, *known, &masks.positions);
            if seen.held.count_ones() < step.overlaps.0 as u32
                || seen.paired.count_ones() < step.n_pairs.0 as u32
                || !can_rank(bar, scan.upper_in(step, seen, self.state), key)
            {
                continue;
            }
            self.add_to_batch(scan, of, rank)?;
            if self.batch.ranks.is_empty() {
                bar = self.bar();
                [least, least_behind] = scan.least_overlaps(step, bar);
            }
        }
        Ok(())
    }
}
