//! Writing what a knowledge base is asked with, its index and the counts of its head, along one walk over its
//! patterns.

use std::fmt;

use kato_head::disk::{self, Counting, CountsError, CountsOptions, CountsReport};
use kato_prediction::disk::{
    BuildOptions, BuildReport, IndexFileError, IndexPolicy, build, build_beside, keep_deleted,
};
use kato_store::EmbeddedStore;

/// What a knowledge base is asked with, its index and the counts of its head, on the way to the disk.
///
/// Where both are written of all that it holds, its patterns are read once for both, and the counts take a quarter of
/// the memory for sorting meanwhile, the index the rest. The files are the same to the byte as those of
/// [`index::build`](kato_prediction::disk::build()) and [`head::disk::build`](kato_head::disk::build).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
/// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// use kato::head::disk::CountsOptions;
/// use kato::index::BuildOptions;
/// use kato::prelude::*;
/// use kato::{IndexPolicy, Preparation};
///
/// let store = EmbeddedStore::open_read_only(&kb)?;
/// let (index, counts) = (BuildOptions::default(), CountsOptions::default());
/// let mut preparation = Preparation::begin(&store, IndexPolicy::Require, index, counts);
/// assert!(preparation.write_index()?.is_some());
/// assert!(preparation.write_counts()?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Preparation<'a> {
    store: &'a EmbeddedStore,
    /// `None` where no index is to be written, and where it has been.
    index: Option<BuildOptions>,
    /// `None` where no counts are to be written.
    counts: Option<CountsOptions>,
    /// Those that are counted while the index is written.
    counting: Option<Counting<'a>>,
}

impl fmt::Debug for Preparation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preparation")
            .field("index", &self.index)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl<'a> Preparation<'a> {
    /// Decides what a policy wants to be written of a store: the index where it is
    /// [due](IndexPolicy::is_due), and the counts where they are [due](disk::is_due), or where everything is
    /// required. Nothing is written yet.
    #[must_use]
    pub fn begin(
        store: &'a EmbeddedStore,
        policy: IndexPolicy,
        mut index: BuildOptions,
        counts: CountsOptions,
    ) -> Self {
        let is_index_due = policy.is_due(store);
        let are_counts_due = match policy {
            IndexPolicy::Never => false,
            IndexPolicy::Require => true,
            _ => disk::is_due(store),
        };
        let mut counting = None;
        if is_index_due && are_counts_due {
            // In less memory an index is made in more rounds through the patterns, and counts of more runs.
            let part = counts.clone().with_sort_bytes(counts.sort_bytes / 4);
            // Why it cannot be begun is told when the counts are written.
            counting = Counting::begin(store, &part).ok().flatten();
        }
        if counting.is_some() {
            index.sort_bytes -= index.sort_bytes / 4;
        }
        Self {
            store,
            index: is_index_due.then_some(index),
            counts: are_counts_due.then_some(counts),
            counting,
        }
    }

    /// Returns how the index will be written; `None` where it is not due, or has been written.
    #[must_use]
    pub const fn index_options(&self) -> Option<&BuildOptions> {
        self.index.as_ref()
    }

    /// Writes the index; `None` where it is not due (any more), and then what was deleted of the one that is
    /// there is [kept](keep_deleted).
    ///
    /// # Errors
    ///
    /// When it cannot be written, or was cancelled; the one that was there is as before.
    pub fn write_index(&mut self) -> Result<Option<BuildReport>, IndexFileError> {
        let Some(options) = self.index.take() else {
            keep_deleted(self.store);
            return Ok(None);
        };
        let built = match &mut self.counting {
            Some(counting) => build_beside(self.store, &options, counting),
            None => build(self.store, &options),
        };
        built.map(Some)
    }

    /// Writes the counts of the head; `None` where they are not due. What the index was not written of is
    /// counted now.
    ///
    /// # Errors
    ///
    /// When they cannot be written, or that was cancelled; those that were there are as before.
    pub fn write_counts(self) -> Result<Option<CountsReport>, CountsError> {
        let Some(options) = self.counts else {
            return Ok(None);
        };
        let written = match self.counting {
            Some(counting) => counting.finish(),
            None => disk::build(self.store, &options),
        };
        written.map(Some)
    }
}
