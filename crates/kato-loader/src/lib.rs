//! Streaming documents from files near and far, in an order that is a pure function, resumable at any record.
//!
//! A [`StreamingDatasetLoader`] turns files, directories, globs, standard input and, with the feature `remote`, datasets of the
//! Hugging Face Hub, `https://` files and object stores into a stream of [`Document`]s: texts with an index and a name. It
//! knows nothing of what becomes of them.
//!
//! - **Formats**: plain text per file, line or paragraph; JSON Lines; CSV and TSV; Parquet (snappy, gzip, zstd). Text formats
//!   may be compressed with gzip or zstd.
//! - **One order for everyone**: sequential or shuffled ([`Order`]), in [`Shard`]s, [`Sample`]s and mixtures; the same for any
//!   number of threads.
//! - **Exact resume**: a [`Cursor`] taken after any document continues with the next one, byte for byte, by seeking where the
//!   file allows it.
//! - **Identity**: a [`CorpusIdentity`] says in words how the corpus at hand differs from the one a run was started on.
//! - **No silent loss**: a record that cannot be read ends the stream ([`OnBadRecord::Fail`]), or is listed with file, line,
//!   offset and reason ([`OnBadRecord::Skip`], [`BadRecord`]). A file that is cut off is never an ordinary end.
//! - **Held-out documents**: a [`Split`] leaves out a share of the documents, chosen by hash, and reads exactly those another
//!   time.
//! - **Bounded memory**: files are streamed, what is decoded ahead has a budget, and the longest record is limited.
//! - **For async code**: [`DocumentStream`]. **For models that are trained on tokens**: [`TokenBatches`], without padding.
//!
//! # Examples
//!
//! Reading, stopping, and going on elsewhere:
//!
//! ```
//! use kato_loader::StreamingDatasetLoader;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("corpus.jsonl");
//! std::fs::write(&path, "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\"}\n")?;
//!
//! let mut loader = StreamingDatasetLoader::builder().with_input(&path).build()?;
//! let first = loader.next().expect("there are three")?;
//! assert_eq!((first.index, first.text.as_str()), (0, "a"));
//! assert!(first.id.to_string().ends_with("corpus.jsonl#1"));
//!
//! let (identity, cursor) = (loader.identity(), loader.cursor());
//!
//! let resumed = StreamingDatasetLoader::builder().with_input(&path).resume_from(cursor).build()?;
//! assert!(identity.diff(&resumed.identity()).is_empty());
//! assert_eq!(resumed.count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bad_record;
mod batch;
mod builder;
mod byte_stream;
mod chunk;
mod cursor;
mod dataset;
mod document;
mod document_stream;
mod error;
mod extent;
mod filter;
mod identity;
mod inputs;
mod interrupt;
#[cfg(test)]
mod laws;
mod loader;
mod mixture;
mod options;
mod order;
mod permutation;
mod records;
mod registry;
#[cfg(feature = "remote")]
mod remote;
mod sample;
mod split;
mod state;
mod token_batches;
mod walk;
mod workers;

pub use bad_record::{BadReason, BadRecord, Lost};
pub use batch::{DocumentBatch, DocumentRef};
pub use builder::{DEFAULT_PREFETCH_BYTES, StreamingDatasetLoaderBuilder};
pub use cursor::{Counts, Cursor};
pub use document::{Document, DocumentId};
pub use document_stream::DocumentStream;
pub use error::LoadError;
pub use identity::{CorpusIdentity, FileIdentity};
pub use interrupt::open_unless;
pub use loader::StreamingDatasetLoader;
pub use mixture::WhenExhausted;
pub use options::{
    Compression, DEFAULT_LEDGER_CAPACITY, DEFAULT_MAX_RECORD_BYTES, Format, OnBadRecord, TextUnit,
};
pub use order::{DEFAULT_WINDOW_BYTES, Order, Shard};
pub use registry::{DatasetEntry, Registry, RegistryError, format_duration};
pub use sample::Sample;
pub use split::Split;
pub use state::LoaderState;
pub use token_batches::{
    BadDocument, LongDocuments, OnBadDocument, PaddedTokens, SequenceOrder, TokenBatch,
    TokenBatchCounts, TokenBatchError, TokenBatchOptions, TokenBatchState, TokenBatches,
    TokenBudget,
};
pub use workers::DECODE_STAGE;
