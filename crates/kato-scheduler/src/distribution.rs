//! The distribution of documents among workers.

use std::ops::Range;

use kato_loader::{BatchDocument, DocumentBatch};

/// A rule that says which worker learns which document. The result of a run is the same for each of
/// them; what differs is how evenly workers are kept busy, and whether a second run gives every
/// worker the same documents.
///
/// The unit is a document, or for a backend that takes [documents by
/// number](crate::backend::WorkSize::Documents) such a group of them, which has to stay the same
/// for any number of workers.
///
/// ```
/// use kato_scheduler::WorkDistribution;
///
/// assert_eq!(WorkDistribution::default(), WorkDistribution::WorkStealing);
/// assert_eq!("round-robin".parse(), Ok(WorkDistribution::RoundRobin));
/// assert!("random".parse::<WorkDistribution>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkDistribution {
    /// Whoever is free takes the next documents, and one without work takes over what waits for
    /// another. Keeps all workers busy whatever the documents are like; who learns what depends on
    /// timing.
    #[default]
    WorkStealing,
    /// Document `i` of the corpus goes to worker `i mod n_workers`. Reproducible; as fast as the
    /// slowest worker.
    RoundRobin,
    /// Each batch of documents is cut into one run of neighbours for each worker; of groups, each
    /// worker gets four in a row. Reproducible for equal batches; as fast as the slowest worker.
    Contiguous,
}

/// A text that names no [`WorkDistribution`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no distribution: use work-stealing, round-robin or contiguous")]
pub struct UnknownDistribution(String);

impl WorkDistribution {
    /// All distributions.
    pub const ALL: [Self; 3] = [Self::WorkStealing, Self::RoundRobin, Self::Contiguous];

    /// Returns the name, as it is parsed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorkStealing => "work-stealing",
            Self::RoundRobin => "round-robin",
            Self::Contiguous => "contiguous",
        }
    }
}

impl std::fmt::Display for WorkDistribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for WorkDistribution {
    type Err = UnknownDistribution;

    fn from_str(name: &str) -> Result<Self, UnknownDistribution> {
        let mut all = Self::ALL.into_iter();
        all.find(|distribution| distribution.name() == name)
            .ok_or_else(|| UnknownDistribution(name.to_owned()))
    }
}

/// The documents of a batch that an assignment covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    All,
    /// Those whose number in the corpus has this remainder.
    Residue {
        modulus: u64,
        residue: u64,
    },
    /// Those at these positions in the batch.
    Positions(Range<usize>),
}

impl Selection {
    /// Returns the selected documents, each with its position in the batch.
    pub(crate) fn select<'a>(
        &self,
        batch: &'a DocumentBatch,
    ) -> impl Iterator<Item = (usize, BatchDocument<'a>)> {
        let selection = self.clone();
        batch
            .iter()
            .enumerate()
            .filter(move |(at, document)| match &selection {
                Self::All => true,
                Self::Residue { modulus, residue } => document.index % modulus == *residue,
                Self::Positions(positions) => positions.contains(at),
            })
    }
}

/// Cuts a batch of `n_documents` into assignments: the worker of each, if one is set, and its
/// documents. `group` is the number of the batch where batches must not be cut.
pub(crate) fn cut_into_assignments(
    distribution: WorkDistribution,
    n_workers: usize,
    n_documents: usize,
    group: Option<u64>,
) -> Vec<(Option<usize>, Selection)> {
    /// Groups that one worker gets in a row.
    const RUN: u64 = 4;

    let worker_of = |number: u64| Some((number % n_workers.max(1) as u64) as usize);
    match (distribution, group) {
        // Nothing is set in advance: a whole batch waits for whoever is free.
        (WorkDistribution::WorkStealing, _) => vec![(None, Selection::All)],
        (WorkDistribution::RoundRobin, Some(group)) => vec![(worker_of(group), Selection::All)],
        (WorkDistribution::Contiguous, Some(group)) => {
            vec![(worker_of(group / RUN), Selection::All)]
        }
        (WorkDistribution::RoundRobin, None) => {
            // By the number in the corpus and not in the batch, so that sizes of batches do not
            // matter.
            let modulus = n_workers as u64;
            let residue = |worker| Selection::Residue {
                modulus,
                residue: worker as u64,
            };
            (0..n_workers)
                .map(|worker| (Some(worker), residue(worker)))
                .collect()
        }
        (WorkDistribution::Contiguous, None) => {
            // Rounded bounds: the runs cover the batch without gaps, and differ by one document at
            // most.
            let bound = |worker: usize| n_documents * worker / n_workers;
            (0..n_workers)
                .map(|worker| (worker, bound(worker)..bound(worker + 1)))
                // A batch with fewer documents than workers has no run for some of them.
                .filter(|(_, positions)| !positions.is_empty())
                .map(|(worker, positions)| (Some(worker), Selection::Positions(positions)))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn contiguous_runs_cover_a_batch_once_and_evenly(n_workers in 1_usize..9, n_documents in 1_usize..100) {
            let mut next = 0;
            for (_, selection) in cut_into_assignments(WorkDistribution::Contiguous, n_workers, n_documents, None) {
                let Selection::Positions(positions) = selection else { panic!("{selection:?}") };
                prop_assert_eq!(positions.start, next);
                prop_assert!(positions.len() <= n_documents.div_ceil(n_workers));
                next = positions.end;
            }
            prop_assert_eq!(next, n_documents);
        }

        #[test]
        fn groups_stay_whole_for_any_number_of_workers(n_workers in 1_usize..9, group in 0_u64..1000) {
            for distribution in WorkDistribution::ALL {
                let cut = cut_into_assignments(distribution, n_workers, 8, Some(group));
                prop_assert_eq!(cut.len(), 1);
                prop_assert!(cut[0].0.is_none_or(|worker| worker < n_workers));
                prop_assert_eq!(&cut[0].1, &Selection::All);
            }
        }
    }
}
