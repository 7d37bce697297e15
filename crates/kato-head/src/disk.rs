//! A head's counts on the disk, beside the knowledge base that they are of: mapped, they open in
//! milliseconds, processes share them, and of what nobody asks for little is read.
//!
//! ```
//! use kato_head::{Head, HeadOptions, disk};
//! use kato_store::EmbeddedStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let kb = dir.path().join("kb");
//! # drop(EmbeddedStore::create(&kb, &["node0"], serde_json::Value::Null)?);
//! let store = EmbeddedStore::open_read_only(&kb)?;
//! let report = disk::build(&store, &disk::CountsOptions::default())?;
//! let head = disk::open(&store, None, HeadOptions::default())?.expect("it was just written");
//! println!("{} n-grams in {} bytes", head.n_ngrams(), report.bytes);
//! # Ok(())
//! # }
//! ```
//!
//! Counts are known by the digest of what was counted. What is committed later is counted on top of them when
//! they are opened, if it is little, and [`build`] writes it beside them, as counts that add to those. After a
//! merge of what they are of, they are those of something else, and nobody finds them. Damage is found by the checksums,
//! of a block of 4 KiB when it is first read: [`Head::read_checked`](crate::Head::read_checked) drops the answer then. The
//! bytes are described in
//! [docs/file-format.md](https://github.com/kato-rs/kato-rs/blob/main/docs/file-format.md#the-heads-counts).

mod adding;
mod anew;
mod batches;
mod beside;
mod build;
mod chain;
mod columns;
mod counting;
mod edges;
mod error;
mod files;
mod later;
mod merging;
mod nodes;
mod open;
mod runs;
mod scratch;
mod shortening;
mod small;
mod starts;
mod writing;

pub use self::adding::{WRITTEN_TOKENS, is_due};
pub use self::beside::Counting;
pub use self::build::{CountsOptions, CountsReport, build};
pub use self::error::CountsError;
pub use self::open::open;
