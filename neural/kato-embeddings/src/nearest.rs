//! Exact search for the nearest words by cosine.

use std::cmp::Ordering;
use std::num::NonZeroUsize;
use std::thread;

use crate::cosine::cosine;
use crate::element::Number;

/// Elements below which a search is over before other threads have started.
const ALONE_ELEMENTS: usize = 1 << 18;

/// Word near to a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Neighbour<'a> {
    /// Number of the word, from 0.
    pub index: usize,
    /// The word.
    pub word: &'a str,
    /// Cosine of the angle between the vectors, −1 to 1; 0 where one of them is all zero.
    pub similarity: f64,
}

/// Number of a vector, and its similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) index: usize,
    pub(crate) similarity: f64,
}

impl Candidate {
    /// Compares two candidates: nearer ones first, of equally near ones the smaller index.
    fn rank(&self, other: &Self) -> Ordering {
        other
            .similarity
            .total_cmp(&self.similarity)
            .then(self.index.cmp(&other.index))
    }
}

/// Vectors that are searched.
#[derive(Clone, Copy)]
pub(crate) struct Searched<'a, E> {
    pub(crate) dims: usize,
    pub(crate) elements: &'a [E],
    pub(crate) norms: &'a [f64],
}

/// Returns the `k` nearest vectors, nearest first, without the one of index `except`.
pub(crate) fn nearest<E: Number>(
    searched: Searched<'_, E>,
    target: &[E],
    target_norm: f64,
    k: usize,
    except: Option<usize>,
    workers: NonZeroUsize,
) -> Vec<Candidate> {
    let n = searched.norms.len();
    if k == 0 || n == 0 {
        return Vec::new();
    }
    let n_threads = if searched.elements.len() < ALONE_ELEMENTS {
        1
    } else {
        workers.get()
    };
    // Ranks are total and every share keeps its own best `k`, so the shares do not change the
    // result.
    let share = n.div_ceil(n_threads);
    let search = |first: usize| {
        let vectors = searched.elements[first * searched.dims..].chunks_exact(searched.dims);
        let mut best = Best::of(k.min(n));
        for ((index, vector), &norm) in (first..)
            .zip(vectors)
            .zip(&searched.norms[first..])
            .take(share)
        {
            if Some(index) != except {
                best.consider(Candidate {
                    index,
                    similarity: cosine(vector, norm, target, target_norm),
                });
            }
        }
        best.found
    };
    let mut found = thread::scope(|scope| {
        let search = &search;
        let others: Vec<_> = (share..n)
            .step_by(share)
            .map(|first| scope.spawn(move || search(first)))
            .collect();
        // The calling thread takes the first share, which spares a thread.
        let mut found = search(0);
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    found.sort_unstable_by(Candidate::rank);
    found.truncate(k);
    found
}

/// Best candidates so far, in no order, less than twice as many as wanted.
struct Best {
    wanted: usize,
    found: Vec<Candidate>,
    /// The last of the wanted ones when the list was last cut: what ranks behind it cannot be
    /// wanted.
    limit: Option<Candidate>,
}

impl Best {
    /// Creates a list of none.
    fn of(wanted: usize) -> Self {
        Self {
            wanted,
            found: Vec::new(),
            limit: None,
        }
    }

    /// Takes a candidate, unless enough better ones are known.
    fn consider(&mut self, candidate: Candidate) {
        if self
            .limit
            .is_some_and(|limit| limit.rank(&candidate).is_lt())
        {
            return;
        }
        self.found.push(candidate);
        // Cutting takes time linear in the list and happens once in `wanted` candidates, so that
        // each costs constant time, whatever `k` is.
        if self.found.len() == self.wanted * 2 {
            let (_, &mut limit, _) = self
                .found
                .select_nth_unstable_by(self.wanted - 1, Candidate::rank);
            self.limit = Some(limit);
            self.found.truncate(self.wanted);
        }
    }
}
