//! Postings, collected and sorted in bounded memory.
//!
//! They may be more than fit into memory, so they are made in rounds: each takes as many classes and
//! symbols as the budget allows, reads all patterns once, and sorts what it has collected. Several
//! threads share a round: each reads a stretch of the patterns. As it was counted before how many
//! postings each stretch has of each bucket, every thread writes to places of its own. The next
//! round is made while one is being written.

use std::mem::take;
use std::ops::Range;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use crate::frozen::SignatureShape;

use super::BuildOptions;
use super::buckets::PostingClass;
use super::lists::ListKind;
use super::posting::Posting;
use super::shapes::{Shapes, Sought};
use super::sorting::{Bucket, sort_buckets};
use super::threads::on_threads;
use crate::disk::IndexFileError;

/// Rounds that are in memory at once: one that is made, and one that is written.
const ROUNDS_AT_ONCE: usize = 2;

/// Threads that may read patterns at once however little memory there is.
const FEW_STRETCHES: usize = 4;

/// A source of sorted postings.
pub(super) struct Postings<'a, F> {
    pub(super) kind: ListKind,
    pub(super) shapes: &'a Shapes,
    /// By number.
    pub(super) classes: Vec<PostingClass>,
    /// How the signatures of a class are laid out, where it has some, by its place.
    pub(super) signatures: &'a [Option<SignatureShape>],
    pub(super) options: &'a BuildOptions,
    /// Whether the lists of a symbol in a class are wanted, by the place of the class; those of a pair if
    /// those of both symbols are.
    pub(super) is_wanted: F,
}

/// How many postings there are by bucket, class after class in the order of the lists.
type Counts = Vec<usize>;

/// Buckets of a round, each by its place among those of all classes.
type Round = Range<usize>;

/// The postings of a round.
struct Collected {
    postings: Vec<Posting>,
    /// By class and bucket, ascending.
    buckets: Vec<Bucket>,
}

impl<F: Fn(usize, u32) -> bool + Sync> Postings<'_, F> {
    /// Hands over all postings, sorted: those of a class and a bucket at once, in the order of
    /// classes and buckets. Of a pattern that holds a symbol several times there is one.
    pub(super) fn for_each_bucket(
        &self,
        mut show: impl FnMut(usize, &[Posting]) -> Result<(), IndexFileError>,
    ) -> Result<(), IndexFileError> {
        let stretches = self.shapes.stretches(self.n_stretches());
        let counting = stretches.iter().map(|stretch| move || self.count(stretch));
        let counts: Vec<Counts> = on_threads(counting)?;
        let rounds = self.rounds(&counts);
        thread::scope(|scope| {
            // A round waits until it is taken before the next is made.
            let (sender, made) = sync_channel(0);
            // The memory of a round that is written is that of the next but one.
            let (give_back, given_back) = channel();
            let (rounds, stretches, counts) = (&rounds, &stretches, &counts);
            scope.spawn(move || {
                for round in rounds {
                    let room = given_back.try_recv().unwrap_or_default();
                    let collected = self.collect(round, stretches, counts, room);
                    let has_failed = collected.is_err();
                    // Nobody takes it once writing has failed.
                    if sender.send(collected).is_err() || has_failed {
                        return;
                    }
                }
            });
            for collected in made {
                let collected = collected?;
                for bucket in collected.buckets {
                    self.options.cancel.check()?;
                    show(bucket.class, &collected.postings[bucket.range])?;
                }
                // Nobody takes it after the last round.
                drop(give_back.send(collected.postings));
            }
            Ok(())
        })
    }

    /// Returns how many threads read patterns at once: each takes memory for every bucket.
    fn n_stretches(&self) -> usize {
        let of_one = self.n_buckets() * (size_of::<usize>() + size_of::<&[Posting]>());
        let affordable = self.options.sort_bytes / 8 / of_one.max(1);
        self.options
            .threads
            .get()
            .min(affordable.max(FEW_STRETCHES))
    }

    /// Returns the number of buckets of all classes.
    fn n_buckets(&self) -> usize {
        let ends = self.classes.iter().map(|class| class.buckets.end);
        ends.max().unwrap_or(0)
    }

    /// Counts the postings of a stretch.
    fn count(&self, stretch: &Range<usize>) -> Result<Counts, IndexFileError> {
        let mut counts = vec![0; self.n_buckets()];
        let sought = self.sought(&(0..counts.len()));
        let shapes = self.shapes;
        shapes.for_each(
            stretch,
            &sought,
            &self.options.cancel,
            |_, of_class, symbols| {
                self.for_each_posting(of_class, symbols, |bucket, _, _| counts[bucket] += 1);
            },
        )?;
        Ok(counts)
    }

    /// Shows the postings of a pattern that are sought: bucket, place in the pattern, and symbol.
    fn for_each_posting(
        &self,
        of_class: &Sought,
        symbols: &[u32],
        mut visit: impl FnMut(usize, usize, u32),
    ) {
        let n_postings = match self.kind {
            ListKind::Held => symbols.len(),
            ListKind::Pair => symbols.len().saturating_sub(1),
        };
        for (place, &symbol) in symbols[..n_postings].iter().enumerate() {
            let is_wanted = |symbol: &u32| (self.is_wanted)(of_class.place, *symbol);
            let second = match self.kind {
                ListKind::Pair => symbols.get(place + 1),
                ListKind::Held => None,
            };
            if of_class.seeks(symbol) && is_wanted(&symbol) && second.is_none_or(is_wanted) {
                let bucket = of_class.first_bucket + (symbol >> of_class.shift) as usize;
                visit(bucket, place, symbol);
            }
        }
    }

    /// Divides the buckets into rounds that fit into the budget, each of at least one bucket.
    fn rounds(&self, counts: &[Counts]) -> Vec<Round> {
        // The rest is for sorting, and for the buckets of each stretch.
        let budget = self.options.sort_bytes / 8 * 5 / ROUNDS_AT_ONCE / size_of::<Posting>();
        let mut rounds = Vec::new();
        let (mut start, mut n_postings) = (0, 0);
        let n_buckets = self.n_buckets();
        for bucket in 0..n_buckets {
            let of_bucket = of_all(counts, bucket);
            if n_postings > 0 && n_postings + of_bucket > budget {
                rounds.push(start..bucket);
                (start, n_postings) = (bucket, 0);
            }
            n_postings += of_bucket;
        }
        if n_postings > 0 {
            rounds.push(start..n_buckets);
        }
        rounds
    }

    /// Collects and sorts the postings of a round, in the memory of another one.
    fn collect(
        &self,
        round: &Round,
        stretches: &[Range<usize>],
        counts: &[Counts],
        mut postings: Vec<Posting>,
    ) -> Result<Collected, IndexFileError> {
        let (mut buckets, mut end) = (Vec::new(), 0);
        let mut classes: Vec<&PostingClass> = self.classes.iter().collect();
        classes.sort_unstable_by_key(|class| class.place);
        for class in classes {
            let own = class.buckets.start.max(round.start)..class.buckets.end.min(round.end);
            for bucket in own {
                let start = end;
                end += of_all(counts, bucket);
                // Most buckets of a small round are empty.
                if end > start {
                    buckets.push(Bucket {
                        class: class.place,
                        range: start..end,
                        is_of_one_symbol: class.shift == 0,
                    });
                }
            }
        }
        // Each is written below.
        postings.resize(end, Posting::default());
        // By bucket, the places of each stretch: those of earlier stretches first, so that what is
        // collected lies by rank.
        let room = stretches.iter().map(|_| Vec::with_capacity(round.len()));
        let mut places: Vec<Vec<&mut [Posting]>> = room.collect();
        let mut rest = postings.as_mut_slice();
        for bucket in round.clone() {
            for (of_stretch, counts) in places.iter_mut().zip(counts) {
                let (of_bucket, behind) = take(&mut rest).split_at_mut(counts[bucket]);
                of_stretch.push(of_bucket);
                rest = behind;
            }
        }
        let sought = self.sought(round);
        let filling = stretches.iter().zip(places).map(|(stretch, places)| {
            let sought = &sought;
            move || self.fill(round, stretch, sought, places)
        });
        on_threads(filling)?;
        sort_buckets(&mut postings, &mut buckets, self.kind, self.options)?;
        Ok(Collected { postings, buckets })
    }

    /// Puts the postings of a stretch where their buckets lie.
    fn fill(
        &self,
        round: &Round,
        stretch: &Range<usize>,
        sought: &[Sought],
        mut places: Vec<&mut [Posting]>,
    ) -> Result<(), IndexFileError> {
        let shapes = self.shapes;
        shapes.for_each(
            stretch,
            sought,
            &self.options.cancel,
            |rank, of_class, symbols| {
                let shape = self.signatures[of_class.place];
                let hashes = shape.map_or(0, |shape| shape.hashes(symbols));
                self.for_each_posting(of_class, symbols, |bucket, place, first| {
                    let (second, begins) = match self.kind {
                        ListKind::Held => (0, place == 0),
                        ListKind::Pair => (symbols[place + 1], false),
                    };
                    let signature = shape.map_or(0, |shape| shape.sign_hashes(hashes, place));
                    // Neither is missing, unless somebody changes the files meanwhile.
                    if let Some(places) = places.get_mut(bucket - round.start)
                        && let Some((free, behind)) = take(places).split_first_mut()
                    {
                        *free = Posting::new([first, second], rank, begins, signature);
                        *places = behind;
                    }
                });
            },
        )
    }

    /// Returns, by the number of a class, what a round seeks in its patterns.
    fn sought(&self, round: &Round) -> Vec<Sought> {
        let of_class = |class: &PostingClass| {
            let Range { start, end } = class.buckets;
            let within = |bucket: usize| bucket.clamp(start, end) - start;
            let (first, end) = (within(round.start), within(round.end));
            Sought {
                place: class.place,
                length: class.length,
                first: (first as u64) << class.shift,
                n_symbols: ((end - first) as u64) << class.shift,
                first_bucket: start,
                shift: class.shift,
            }
        };
        self.classes.iter().map(of_class).collect()
    }
}

/// Returns the postings of a bucket over all stretches.
fn of_all(counts: &[Counts], bucket: usize) -> usize {
    counts.iter().map(|counts| counts[bucket]).sum()
}
