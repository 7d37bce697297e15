#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`StreamingDatasetLoader::builder`]; [`StreamingDatasetLoaderBuilder`] lists the
//! options.
//!
//! - What is read: [`Format`], [`Compression`], [`TextUnit`]; datasets by name: the module `registry`, a feature.
//! - What is no file: [`Records`], a source of one's own; documents of an iterator
//!   ([`with_documents`](StreamingDatasetLoaderBuilder::with_documents)), a `Stream` (`with_stream`), Arrow record
//!   batches (`with_record_batches`).
//! - In which order: [`Order`], [`Shard`], [`Sample`], [`WhenExhausted`] for mixtures; one side of
//!   a [`Split`].
//! - What comes out: [`Document`], [`DocumentBatch`] for worker threads, with the feature `stream` a
//!   `DocumentStream` for async code.
//! - Stopping and resuming: [`Cursor`], [`LoaderState`], [`CorpusIdentity`].
//! - What went wrong: [`LoadError`], [`OnBadRecord`], [`BadRecord`]; [`RecordCounts`] of everything else.
//!
//! [`Compression`]: options::Compression

pub mod bad_record;
mod batch;
mod builder;
mod byte_stream;
mod chunk;
mod cursor;
mod dataset;
mod document;
#[cfg(feature = "stream")]
mod document_stream;
mod error;
mod extent;
mod file_identity;
mod file_name;
mod filter;
#[cfg(feature = "remote")]
mod hub_folder;
mod identity;
pub mod ignored;
mod input_file;
mod inputs;
mod interrupt;
// Over corpora of all formats.
#[cfg(test)]
#[cfg(feature = "parquet")]
mod laws;
mod loader;
mod looks;
mod mixture;
pub mod options;
mod order;
mod own_records;
mod permutation;
#[cfg(feature = "arrow")]
mod record_batches;
mod records;
#[cfg(feature = "registry")]
pub mod registry;
#[cfg(feature = "remote")]
mod remote;
mod sample;
mod sharing;
mod split;
mod state;
#[cfg(feature = "stream")]
mod stream_documents;
mod walk;
mod workers;

pub use bad_record::BadRecord;
pub use batch::{BatchDocument, DEFAULT_BATCH_BYTES, DocumentBatch};
pub use builder::{DEFAULT_PREFETCH_BYTES, StreamingDatasetLoaderBuilder};
pub use cursor::{Cursor, RecordCounts};
pub use document::{Document, DocumentId};
#[cfg(feature = "stream")]
pub use document_stream::DocumentStream;
pub use error::LoadError;
pub use file_identity::FileIdentity;
pub use identity::CorpusIdentity;
pub use interrupt::open_unless;
pub use loader::StreamingDatasetLoader;
pub use mixture::WhenExhausted;
pub use options::{Format, OnBadRecord, TextUnit};
pub use order::{DEFAULT_WINDOW_BYTES, Order, Shard};
pub use own_records::Records;
pub use sample::Sample;
pub use split::Split;
pub use state::LoaderState;
pub use workers::DECODE_STAGE;
