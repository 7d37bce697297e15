//! Bytes of remote files by range: Hugging Face Hub, HTTP and object stores, validated and retried.
//!
//! A [`Fetcher`] lists a [`Location`] (`hf://`, `https://`, `s3://`, `gs://`, `az://` …), opens the files and reads any range of
//! them. It knows nothing of what the bytes mean.
//!
//! - **Pinned**: names of Hub files hold the commit, and every file that has one its validator, so another process opens the very
//!   same bytes later, or is told that they have changed.
//! - **Checked**: an answer counts only if it is the range asked for, in full, of the file that was opened. A stream that ends early is
//!   an error, never an end.
//! - **Patient**: timeouts, broken connections, short and wrong answers, and the statuses that say "later" are tried again with
//!   growing, random pauses ([`RetryPolicy`]), from the byte where it broke.
//! - **Fast**: one pool of connections, near ranges in one request, distant and long ones in several at a time, streams read ahead.
//! - **Discreet**: the Hub's token goes to the Hub only; no error and no `Debug` shows tokens, passwords or signatures.
//! - **Blocking outside, async inside**: callable from any thread, also from those of an async runtime.
//!
//! # Examples
//!
//! ```no_run
//! use std::io::Read as _;
//! use kato_fetch::{Fetcher, Location};
//!
//! let fetcher = Fetcher::builder().with_cache("/var/cache/corpus", 10 << 30).build()?;
//! let location: Location = "https://example.org/corpus.jsonl".parse()?;
//! let listing = fetcher.list(&location)?;
//! let reader = fetcher.open(&listing.files[0])?;
//!
//! let mut text = String::new();
//! reader.stream(0).read_to_string(&mut text)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod cache;
mod cancel;
mod client;
mod error;
mod fetcher;
mod figures;
mod hub;
mod location;
mod options;
mod plan;
mod read;
mod reader;
mod remote_file;
mod retry;
mod runtime;
mod source;
mod stream;
mod tls;

pub use builder::{
    DEFAULT_HUB_ENDPOINT, DEFAULT_MAX_REQUESTS, DEFAULT_READ_AHEAD_BYTES, FetcherBuilder,
};
pub use cancel::Cancel;
pub use error::{Cause, FetchError};
pub use fetcher::Fetcher;
pub use figures::FetchFigures;
pub use location::{HubLocation, Location};
pub use options::Timeouts;
pub use reader::RangeReader;
pub use remote_file::{Listing, RemoteFile};
pub use retry::RetryPolicy;
pub use stream::FileStream;
