//! Postings, collected and sorted in bounded memory.
//!
//! They are more than fit into memory, so they are made in rounds: each takes as many classes and
//! symbols as the budget allows, reads all patterns once, and sorts what it has collected. Several
//! threads share a round: each reads a stretch of the patterns. As it was counted before how many
//! postings each stretch has of each bucket, every thread writes to places of its own. The next
//! round is made while one is being written.

#![expect(
    clippy::cast_possible_truncation,
    reason = "what is cut out of a number was packed into it"
)]

use std::mem::take;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::frozen::SignatureShape;

use super::BuildOptions;
use super::buckets::PostingClass;
use super::lists::ListKind;
use super::shapes::{Shapes, Sought};
use crate::disk::IndexFileError;

/// Rounds that are in memory at once: one that is made, and one that is written.
const ROUNDS_AT_ONCE: usize = 2;

/// Threads that may read patterns at once however little memory there is.
const FEW_STRETCHES: usize = 4;

/// Postings from which on a radix sort is quicker than one that compares.
const RADIX_SORTED: usize = 512;

/// A posting, whose order is that of the lists: by symbol, by the symbol that follows (0 where none is
/// asked for), by rank; then a bit that is 0 where the pattern begins with the symbol of a list that asks for
/// that, and last the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u128);

impl Posting {
    fn new([first, second]: [u32; 2], rank: u32, begins: bool, signature: u32) -> Self {
        let symbols = u128::from(first) << 32 | u128::from(second);
        // Ranks have 31 bits.
        let place = symbols << 31 | u128::from(rank);
        Self((place << 1 | u128::from(!begins)) << 32 | u128::from(signature))
    }

    pub(super) fn signature(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn rank(self) -> u32 {
        (self.0 >> 33) as u32 & u32::MAX >> 1
    }

    /// Returns whether the pattern begins with the symbol.
    pub(super) fn begins(self) -> bool {
        self.0 >> 32 & 1 == 0
    }

    pub(super) fn symbols(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(super) fn first(self) -> u32 {
        (self.0 >> 96) as u32
    }

    pub(super) fn second(self) -> u32 {
        (self.0 >> 64) as u32
    }

    /// Returns symbols and rank.
    fn place(self) -> u128 {
        self.0 >> 33
    }

    /// Joins two postings of one place: of several signatures the least, however they were sorted.
    fn joined(self, other: Self) -> Self {
        let of_both = self.place() << 33 | (self.0 & other.0 & 1 << 32);
        Self(of_both | u128::from(self.signature().min(other.signature())))
    }
}

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

/// The postings of a bucket, where there are any.
struct Bucket {
    /// The place of its class.
    class: usize,
    /// Where the postings lie, sorted.
    range: Range<usize>,
    is_of_one_symbol: bool,
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
        postings.resize(end, Posting(0));
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
        self.sort(&mut postings, &mut buckets)?;
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

    /// Sorts the postings of buckets, and shortens each to those that are left.
    fn sort(&self, postings: &mut [Posting], buckets: &mut [Bucket]) -> Result<(), IndexFileError> {
        let mut unsorted = Vec::with_capacity(buckets.len());
        let mut rest = postings;
        for bucket in buckets {
            let (of_bucket, behind) = take(&mut rest).split_at_mut(bucket.range.len());
            rest = behind;
            unsorted.push((of_bucket, bucket));
        }
        let n_threads = self.options.threads.get().min(unsorted.len());
        // The buckets differ in size, so each thread takes the next one.
        let unsorted = Mutex::new(unsorted.into_iter());
        let most_beside = AtomicUsize::new(self.options.sort_bytes / 4 / size_of::<Posting>());
        let (unsorted, most_beside) = (&unsorted, &most_beside);
        let sorting = (0..n_threads).map(|_| {
            move || loop {
                self.options.cancel.check()?;
                let next = unsorted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .next();
                let Some((
                    of_bucket,
                    Bucket {
                        range,
                        is_of_one_symbol,
                        ..
                    },
                )) = next
                else {
                    return Ok(());
                };
                let is_sorted = *is_of_one_symbol && self.kind == ListKind::Held;
                if !is_sorted {
                    sort(of_bucket, *is_of_one_symbol, most_beside);
                }
                range.end = range.start + join(of_bucket);
            }
        });
        on_threads(sorting).map(drop)
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

/// Does work on threads, a part of it on this one, and returns what came of each part, or an error.
fn on_threads<T: Send>(
    work: impl Iterator<Item = impl FnOnce() -> Result<T, IndexFileError> + Send>,
) -> Result<Vec<T>, IndexFileError> {
    thread::scope(|scope| {
        let mut work = work;
        let own = work.next();
        let others: Vec<_> = work.map(|part| scope.spawn(part)).collect();
        let own = own.map(|part| part());
        let others = others.into_iter().map(|part| {
            let joined = part.join();
            joined.unwrap_or_else(|panic| resume_unwind(panic))
        });
        own.into_iter().chain(others).collect()
    })
}

/// Sorts the postings of a bucket, which come by rank. Takes memory for no more than so many beside them.
fn sort(postings: &mut [Posting], are_of_one_symbol: bool, most_beside: &AtomicUsize) {
    let n_postings = postings.len();
    let reserve = |free: usize| free.checked_sub(n_postings);
    let order = Ordering::Relaxed;
    if n_postings >= RADIX_SORTED && most_beside.fetch_update(order, order, reserve).is_ok() {
        // Stable, so that they stay by rank.
        match are_of_one_symbol {
            true => radsort::sort_by_key(postings, |posting| posting.second()),
            false => radsort::sort_by_key(postings, |posting| posting.symbols()),
        }
        most_beside.fetch_add(n_postings, order);
    } else {
        postings.sort_unstable();
    }
}

/// Joins the sorted postings of a pattern, which may hold a symbol several times and counts once; returns how many
/// are left.
fn join(postings: &mut [Posting]) -> usize {
    let is_repeated = |two: &[Posting]| two[0].place() == two[1].place();
    let Some(first) = postings.windows(2).position(is_repeated) else {
        return postings.len();
    };
    let mut n_kept = first + 1;
    for at in first + 1..postings.len() {
        let (posting, last) = (postings[at], postings[n_kept - 1]);
        if last.place() == posting.place() {
            postings[n_kept - 1] = last.joined(posting);
        } else {
            postings[n_kept] = posting;
            n_kept += 1;
        }
    }
    n_kept
}
