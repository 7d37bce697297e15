//! The index of one node as bytes: written once, read where they lie, checked when they are touched.
//!
//! A [`FrozenIndex`] holds a node's patterns in name order, as columns that it reads in place, for
//! example from a mapped file. [`PatternIndex::over`](crate::PatternIndex::over) learns and predicts
//! on top of one. Nothing here does I/O: the module `disk` writes, finds and maps the files, whose
//! bytes `docs/file-format.md` describes.
//!
//! # Damage
//!
//! Every 4 KiB have a checksum, which is compared when a part of them is first read, and again when
//! [`Changes`] tells that the bytes may have changed since. What fails is read as zeros, and
//! [`FrozenIndex::is_damaged`] is true from then on:
//! [`PatternIndex::read_checked`](crate::PatternIndex::read_checked) drops the answer, and its caller
//! takes the patterns from where they came from.

#[cfg(any(test, feature = "disk"))]
mod bits;
mod columns;
mod directory;
mod index;
mod layout;
mod lists;
mod look_up;
mod numbers;
mod packed;
mod signature;
mod taken;
mod units;

pub use index::FrozenIndex;
#[cfg(feature = "disk")]
pub(crate) use index::NAMES_A_BLOCK;
pub(crate) use index::{Class as FrozenClass, Reader};
pub use kato_columns::{
    BLOCK_BYTES, BytesState, Changes, CheckedBytes, ColumnBytes, DamageWatch, SharedBytes,
};
pub use layout::{ClassKey, ClassLayout, Column, LARGE_FREQUENCY, LayoutError, NodeLayout};
#[cfg(feature = "disk")]
pub(crate) use layout::{id_of, number_of};
pub(crate) use lists::{ListCursor, RankList, Window};
pub use look_up::{Found, FoundSymbol, LookUp};
pub use numbers::BLOCK_NUMBERS;
#[cfg(feature = "disk")]
pub(crate) use numbers::NumberPacker;
#[cfg(feature = "disk")]
pub(crate) use packed::{pack, rank_bytes};
pub use signature::{LONGEST_SIGNED, LONGEST_UNSIGNED_LIST, SignatureShape};
pub(crate) use taken::Taken;

/// Returns bytes with the checksums that they have.
#[cfg(test)]
fn checked(bytes: Vec<u8>, damage: &DamageWatch) -> CheckedBytes {
    let checksums = bytes.chunks(BLOCK_BYTES).map(crc32fast::hash).collect();
    CheckedBytes::new(std::sync::Arc::new(bytes), checksums, damage.clone()).unwrap()
}
