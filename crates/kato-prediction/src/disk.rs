//! The index of a knowledge base on disk. What a prediction needs lies beside the segments, in columns under checksums, and is mapped
//! into memory: opening takes milliseconds, processes share what they read, and of what nobody asks for little is read.
//!
//! ```rust
//! use kato_prediction::disk;
//! use kato_store::EmbeddedStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let kb = dir.path().join("kb");
//! # drop(EmbeddedStore::create(&kb, &["node0"], serde_json::Value::Null)?);
//! let store = EmbeddedStore::open_read_only(&kb)?;
//! disk::build(&store, &disk::BuildOptions::default())?;
//! let index = disk::open(&store)?.expect("it was just built");
//! println!("{} nodes in {} bytes", index.nodes().len(), index.bytes());
//! # Ok(())
//! # }
//! ```
//!
//! An index is named by the digest of what it indexes. What is committed later is loaded above it, or gets an index of its own, which adds to
//! the one that is there: [`build()`] writes what is new, and the last [units](StoreIndex::units) with it that are not much larger. When a
//! segment is merged or rewritten, the units that cover it and those that add to these are stale, and nobody finds them; [`spare`] keeps a
//! store that learns from merging what is indexed. A build can be cancelled, and leaves nothing then. Damage is found by the checksums, of
//! a block of 4 KiB when it is first read, and is never believed.
//!
//! `kato_engine::Engine::open_indexed` asks and learns over it. The bytes are described in
//! [docs/file-format.md](https://github.com/kato-rs/kato-rs/blob/main/docs/file-format.md#the-index), the search in
//! [docs/answers.md](https://github.com/kato-rs/kato-rs/blob/main/docs/answers.md).
//!
//! # Where to start
//!
//! Start with [`build()`], which writes the index of a store beside it, and [`open`], which finds it.
//!
//! * [`StoreIndex`] has a [`FrozenIndex`] for every node; [`StoreIndex::check`] reads all of it.
//! * [`keep`] builds it where that is worth it: [`IndexPolicy`] says where, and [`expected_bytes`] how large it
//!   will be. [`keep_deleted`] keeps what was deleted of it.
//! * [`find`] also tells of damage, for those who serve; [`remove_stale`] removes what is of no use.
//! * [`BuildOptions`] has the memory that building may take, and what ends it, [`BuildReport`] what
//!   came of it.
//! * [`IndexFileError`] says what went wrong.
//!
//! [`FrozenIndex`]: crate::frozen::FrozenIndex

// A number that a cast has cut is another number, in a file whose checksums match.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod chain;
mod error;
mod files;
mod open;
mod policy;
mod taken;
mod writing;

pub use error::IndexFileError;
pub use open::{FoundIndex, StoreIndex, find, open};
pub use policy::{IndexPolicy, LOADED_PATTERNS, expected_bytes, keep, spare};
pub use taken::keep_deleted;
pub use writing::{BuildOptions, BuildProgress, BuildReport, build, build_beside, remove_stale};
