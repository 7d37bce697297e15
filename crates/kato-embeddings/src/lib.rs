//! Word vectors from GloVe and word2vec text files, read in parallel and kept in a checked binary cache.
//!
//! - **Text**: `word v1 … vd` a line, with or without word2vec's header, plain or compressed with gzip or Zstandard. Words
//!   may have blanks. Numbers are rounded correctly to `f32` or `f64`.
//! - **No silent loss**: a line that gives no vector ends the reading ([`OnBadLine::Fail`]) or is listed with its line, byte
//!   offset and reason ([`OnBadLine::Skip`], [`BadLine`]). Repeated words are counted; the first stands.
//! - **The same for everyone**: words have the order of the file whatever the number of workers, and so have nearest words.
//! - **Cache**: a file that is mapped instead of parsed. It is checked against text and options and against damage on every
//!   opening, and made anew when it does not fit. The text stays the only thing that matters.
//!
//! `docs/embeddings.md` in the repository has the cache's format and what was measured.
//!
//! # Examples
//!
//! ```
//! use kato_embeddings::{Embeddings, OnBadLine};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("vectors.txt");
//! std::fs::write(&path, "sea 0.5 1\nriver 0.25 0.75\nking 1\n. . . -1 0\nsea 9 9\n")?;
//!
//! let embeddings = Embeddings::builder(&path).on_bad_line(OnBadLine::Skip).open()?;
//! assert_eq!(embeddings.get("sea"), Some(&[0.5, 1.0][..]));
//! assert_eq!(embeddings.get(". . ."), Some(&[-1.0, 0.0][..]));
//!
//! let report = embeddings.report();
//! assert_eq!((report.lines, report.kept, report.duplicates), (5, 3, 1));
//! assert_eq!(
//!     report.bad_lines[0].to_string(),
//!     "line 3, byte 26: 1 numbers where a vector has 2"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bad_line;
mod blocks;
mod builder;
mod cache;
mod cosine;
mod decimal;
mod element;
mod embeddings;
mod error;
mod head;
mod line;
mod map;
mod nearest;
mod options;
mod ordered;
mod report;
mod source;
mod text;
mod vectors;
mod words;

pub use bad_line::{BadLine, BadReason};
pub use builder::EmbeddingsBuilder;
pub use element::Element;
pub use embeddings::Embeddings;
pub use error::{EmbeddingsError, QueryError};
pub use nearest::Neighbour;
pub use options::{Layout, OnBadLine};
pub use report::{CacheRefusal, Origin, Report};
