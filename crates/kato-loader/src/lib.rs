#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`StreamingDatasetLoader::builder`]; [`StreamingDatasetLoaderBuilder`] lists the
//! options.
//!
//! - What is read: [`Format`], [`Compression`], [`TextUnit`]; datasets by name: [`Registry`].
//! - In which order: [`Order`], [`Shard`], [`Sample`], [`WhenExhausted`] for mixtures; one side of
//!   a [`Split`].
//! - What comes out: [`Document`], [`DocumentBatch`] for worker threads, [`DocumentStream`] for
//!   async code, [`TokenBatches`] for models that are trained on tokens.
//! - Stopping and resuming: [`Cursor`], [`LoaderState`], [`CorpusIdentity`].
//! - What went wrong: [`LoadError`], [`OnBadRecord`], [`BadRecord`]; [`Counts`] of everything else.

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
