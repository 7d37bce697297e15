#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`Fetcher::builder`]. A [`Fetcher`] lists a [`Location`] as a [`Listing`] of
//! [`RemoteFile`]s, and opens one of them as a [`RangeReader`], which reads ranges or starts a
//! [`FileStream`]. [`RetryPolicy`] and [`Timeouts`] say how patient it is, [`TransferLimits`] how much
//! it believes, [`CancellationToken`] ends it, and
//! [`FetchFigures`] counts what it has done.

mod aws_profile;
mod builder;
mod cache;
mod cancel;
mod client;
mod cookies;
pub mod defaults;
mod error;
mod fetcher;
mod figures;
mod hub;
mod known_servers;
mod location;
mod options;
mod plan;
mod rate_limit;
mod read;
mod reader;
mod redirect;
mod remote_file;
mod retry;
mod runtime;
mod source;
mod stream;
mod tls;

pub use builder::FetcherBuilder;
pub use cancel::CancellationToken;
pub use error::FetchError;
pub use fetcher::Fetcher;
pub use figures::FetchFigures;
pub use hub::{HubFiles, HubLayout};
pub use kato_advice::retry::{Jitter, RetryPolicy};
pub use location::{HubLocation, Location};
pub use options::{PrivateRedirects, Timeouts, TransferLimits};
pub use reader::RangeReader;
pub use remote_file::{Listing, PassedOver, RemoteFile};
pub use stream::FileStream;
