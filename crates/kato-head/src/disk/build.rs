//! Writing the counts of a store beside it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kato_columns::files;
use kato_store::EmbeddedStore;
use kato_store::visit::ContentDigest;

use super::adding::count_added;
use super::anew::Shown;
use super::chain::Chain;
use super::files::{HEADER, content_dir, content_of, counts_dir};
use super::open::whole;
use super::{CountsError, anew};

/// How counts are written. Answers do not depend on it.
#[derive(Clone)]
#[non_exhaustive]
pub struct CountsOptions {
    /// Bytes of memory for sorting. Default 256 MiB.
    pub sort_bytes: usize,
    is_cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Default for CountsOptions {
    fn default() -> Self {
        Self {
            sort_bytes: 256 << 20,
            is_cancelled: Arc::new(|| false),
        }
    }
}

impl fmt::Debug for CountsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountsOptions")
            .field("sort_bytes", &self.sort_bytes)
            .finish_non_exhaustive()
    }
}

impl CountsOptions {
    /// Sets the bytes of memory for sorting.
    #[must_use]
    pub const fn with_sort_bytes(mut self, bytes: usize) -> Self {
        self.sort_bytes = bytes;
        self
    }

    /// Sets what is asked again and again whether to end without a result.
    #[must_use]
    pub fn with_cancel(mut self, is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_cancelled = Arc::new(is_cancelled);
        self
    }

    pub(super) fn check(&self) -> Result<(), CountsError> {
        match (self.is_cancelled)() {
            true => Err(CountsError::Cancelled),
            false => Ok(()),
        }
    }
}

/// The outcome of writing counts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CountsReport {
    /// The digest of what was counted, by which the counts are found.
    pub content: ContentDigest,
    /// Distinct n-grams of all lengths.
    pub ngrams: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Time that it took.
    pub elapsed: Duration,
    /// Whether there were whole counts already, so that nothing was written.
    pub was_there: bool,
}

/// Writes the counts of the n-grams of all levels beside a store, and removes those of what it held before.
///
/// Counts that are there and whole are kept. Where they are of a part of what the store holds and the rest is
/// much less, that alone is counted and written beside them: going on with training costs what is new. Until the new ones are complete nobody sees them; what fails
/// or is cancelled removes what it wrote, and what is cut off leaves files that the next removes. Memory:
/// [`CountsOptions::sort_bytes`], and 4 bytes for each pattern of two neighbouring nodes. Working files take about
/// as much room as the counts, twice that at most, and up to 25 bytes for each pattern of two levels.
///
/// A store whose names are ambiguous, because several levels hold one, or none, is counted in memory, and so is
/// one of more than four million symbols.
///
/// # Errors
///
/// [`CountsError`]; then counts that were there are as before.
pub fn build(store: &EmbeddedStore, options: &CountsOptions) -> Result<CountsReport, CountsError> {
    let parent = counts_dir(store.dir());
    let _lock = files::lock(&parent)?;
    build_locked(store, options, None)
}

/// Writes the counts while nobody else does; `shown` is what was counted of it before.
pub(super) fn build_locked(
    store: &EmbeddedStore,
    options: &CountsOptions,
    shown: Option<Shown>,
) -> Result<CountsReport, CountsError> {
    let began = Instant::now();
    let parent = counts_dir(store.dir());
    let content = content_of(store)?.digest;
    let mut report = CountsReport {
        content,
        ngrams: 0,
        bytes: 0,
        elapsed: Duration::ZERO,
        was_there: true,
    };
    let chain = match whole(store, content, options)? {
        Some(chain) => chain,
        None => {
            report.was_there = false;
            // What is damaged is not added to.
            let is_new = !content_dir(store.dir(), content).exists();
            write_missing(store, &parent, is_new, options, shown)?
        }
    };
    let top = chain.top();
    report.content = ContentDigest::from_hex(&top.content).unwrap_or(content);
    report.ngrams = top.n_ngrams();
    report.bytes = chain.bytes();
    report.elapsed = began.elapsed();
    let is_used = |name: &str| (chain.units().iter()).any(|(_, header)| header.content == name);
    // Nothing but our own: digests.
    files::remove_stale(&parent, |name| {
        ContentDigest::from_hex(name).is_some() && !is_used(name)
    });
    Ok(report)
}

/// Writes the counts of what a store holds: what is new of it beside those that there are, or all of it.
fn write_missing(
    store: &EmbeddedStore,
    parent: &Path,
    may_add: bool,
    options: &CountsOptions,
    shown: Option<Shown>,
) -> Result<Chain, CountsError> {
    let added = match may_add && shown.is_none() {
        true => count_added(store, options)?,
        false => None,
    };
    let dir = files::begin(parent)?;
    let built = match &added {
        Some(added) => added.write(store, &dir),
        None => anew::write(store, &dir, parent, options, shown),
    };
    if built.is_err() {
        // Should it stay all the same, the next build removes it.
        drop(files::remove(&dir));
    }
    let header = built?;
    let dir = files::publish(&dir, &header.content, HEADER)?;
    let mut chain = added.map_or_else(Chain::default, |added| added.lower);
    chain.push(dir, header);
    Ok(chain)
}
