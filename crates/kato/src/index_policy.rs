//! Writing the index of what is opened, where that is worth it.

use kato_prediction::disk::{BuildOptions, IndexPolicy};
use kato_store::EmbeddedStore;

use crate::{Error, OpenOptions};

/// Bytes of memory for sorting an index: what is allowed bounds them, and these bound that.
const LEAST_SORT_BYTES: usize = 1 << 20;
const MOST_SORT_BYTES: usize = 256 << 20;

/// Writes the index of a store as the options want it. Where it cannot be written and is not required,
/// the store is opened without it.
pub(crate) fn keep(store: &EmbeddedStore, options: OpenOptions) -> Result<(), Error> {
    let build = build_options(options.max_memory);
    match kato_prediction::disk::keep(store, options.index, &build) {
        Err(error) if options.index == IndexPolicy::Require => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns how an index is built where loading may take so many bytes ([`OpenOptions::max_memory`]): half of
/// it is for sorting, 1 MiB to 256 MiB. Less makes it slower, and no other.
#[must_use]
pub fn build_options(max_memory: Option<usize>) -> BuildOptions {
    let sort_bytes = max_memory.map_or(MOST_SORT_BYTES, |bytes| bytes / 2);
    BuildOptions::default().with_sort_bytes(sort_bytes.clamp(LEAST_SORT_BYTES, MOST_SORT_BYTES))
}
