//! Binary cache: one file, checked on every opening and never the only copy of anything.
//!
//! `docs/embeddings.md` has its format. The header comes first, then sections whose order keeps
//! each aligned, and last a CRC-32 of every block of 1 MiB of the sections.

mod header;
mod load;
mod save;

pub(crate) use header::Origins;
pub(crate) use load::{Loaded, load};
pub(crate) use save::save;

/// Size of the blocks in which sections are checked, several at a time.
const CHECKED_BYTES: usize = 1 << 20;
