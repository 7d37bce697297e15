#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`TokenBatches::new`]; [`TokenBatchOptions`] lists the options.
//!
//! - What is in a batch: [`TokenBatch`], [`PaddedTokens`]; [`BudgetMeasure`], [`SequenceOrder`],
//!   [`LongDocuments`].
//! - Stopping and resuming: [`TokenBatchState`], [`TokenBatchCounts`].
//! - What went wrong: [`TokenBatchError`], [`OnBadDocument`], [`BadDocument`].
//!
//! [`BudgetMeasure`]: options::BudgetMeasure
//! [`SequenceOrder`]: options::SequenceOrder
//! [`LongDocuments`]: options::LongDocuments
//! [`TokenBatchState`]: state::TokenBatchState
//! [`TokenBatchCounts`]: state::TokenBatchCounts
//! [`OnBadDocument`]: options::OnBadDocument

mod bad_document;
mod batch;
mod batches;
mod cut;
mod error;
pub mod options;
mod pool;
pub mod state;
mod window;

pub use bad_document::BadDocument;
pub use batch::{PaddedTokens, TokenBatch};
pub use batches::TokenBatches;
pub use error::TokenBatchError;
pub use options::TokenBatchOptions;
