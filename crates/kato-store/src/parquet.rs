//! The patterns of a node as a Parquet file, for DuckDB, Spark, Polars and whatever else reads it.
//!
//! [`KnowledgeBase::export_parquet`] writes a file, [`KnowledgeBase::import_parquet`] adds one to a
//! node. A row is a pattern; rows are sorted by `name`, and the file says so.
//!
//! | column | type | what |
//! |---|---|---|
//! | `name` | text, never null | the name: 40 lower-case hexadecimal digits |
//! | `symbols` | list of text | the symbols, event after event; null where all of them are names of patterns |
//! | `event_lengths` | list of INT32 | symbols of each event; null where every event holds one |
//! | `children` | list of text | those symbols that are names of patterns, as the node below has them in `name`; null where there are none |
//! | `frequency` | INT64, never null | learn calls |
//! | `first_document` | INT64 | number in the corpus of the document in which the pattern was first seen; null where that was not recorded |
//! | `first_token` | INT64 | number of its first token among the document's learned tokens; null likewise |
//! | `emotives` | text | the latest emotives, as the JSON list of the lines; null where there are none |
//! | `metadata` | text | the metadata, as the JSON object of the lines; null where there is none |
//!
//! So the lowest node of a run has `symbols` alone, and the nodes above have `children` alone: a
//! name is not written twice. A pattern of both has all symbols in `symbols`, where names of
//! patterns have the form that symbols have (`PTRN|` and the digits), and the names in `children`
//! as well.
//!
//! Names are text and no bytes, because all three programs show, compare and join text as it is,
//! and it is what the lines of an export, the program and KATO itself write. Compressed, a name
//! takes some 24 bytes so and not 20.
//!
//! Equal knowledge gives equal files, from the same build. Columns are compressed with zstd. A row
//! group has at most 1,048,576 rows and some 64 MiB, which also bounds the memory of an export.
//!
//! A file does **not** carry tombstones, vectors, sums of affinity, ids of documents, the
//! configuration or the position of training. So a retired pattern is a row like others, and shows
//! where it is imported. A file says more than the lines of [`KnowledgeBase::export`] by first
//! sightings and nothing else; an import leaves those out, because they number the documents of
//! another corpus.
//!
//! # Reading
//!
//! An import takes files of other writers too: columns may have any order, others are ignored, and
//! all but `name`, `frequency` and one of `symbols` and `children` may be missing.
//! Numbers may have 32 or 64 bits, with or without a sign. Rows may have any order, and rows of one
//! name add up. Every name is checked against its content.
//!
//! ```
//! use std::io::Cursor;
//!
//! use kato_store::{KnowledgeBase, MemoryStore};
//!
//! let store = MemoryStore::new(&["node0"], serde_json::json!(null));
//! let node0 = KnowledgeBase::new(&store, "node0")?;
//! node0.import(br#"{"name":"b98534b32c1d7489d4ce1a48724aa65aeecbdba9","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":4}"#.as_slice())?;
//! let mut file = Vec::new();
//! assert_eq!(node0.export_parquet(&mut file)?, 1);
//!
//! let copy = MemoryStore::new(&["node0"], serde_json::json!(null));
//! let node0 = KnowledgeBase::new(&copy, "node0")?;
//! assert_eq!(node0.import_parquet(Cursor::new(file))?, 1);
//! assert_eq!(node0.totals()?.learns, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`KnowledgeBase::export`]: crate::KnowledgeBase::export
//! [`KnowledgeBase::export_parquet`]: crate::KnowledgeBase::export_parquet
//! [`KnowledgeBase::import_parquet`]: crate::KnowledgeBase::import_parquet

mod error;
mod export;
mod import;
mod input;
mod row;
mod schema;

pub use error::{ParquetError, RowError};
pub(crate) use export::export;
pub(crate) use import::import;
