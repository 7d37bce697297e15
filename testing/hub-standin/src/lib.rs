//! A local HTTP server that answers as the Hugging Face Hub, its CDN, plain web servers and S3 do,
//! with faults on demand.
//!
//! For tests: it listens on a free port of 127.0.0.1, records what it was asked, and ends when it
//! is dropped. Paths:
//!
//! | path | answers |
//! |---|---|
//! | `/api/datasets/ID[/revision/REV]` | a dataset's commit and card |
//! | `/api/datasets/ID/tree/REV?recursive=true` | its files, page by page, with `Link` |
//! | `/datasets/ID/resolve/REV/PATH` | a small file, or a redirect to the CDN |
//! | `/cdn/SHA256?Signature=…` | a large file, while the signature is valid |
//! | `/files/…` | plain files, and what scripts answer |
//! | `/s3/BUCKET[/KEY]` | objects, and lists of them |
//!
//! # Examples
//!
//! ```
//! use std::io::{Read as _, Write as _};
//! use kato_hub_standin::{Dataset, HubStandin};
//!
//! let standin = HubStandin::builder()
//!     .dataset(Dataset::new("me/corpus").file("data/train.jsonl", "{\"text\": \"a\"}\n"))
//!     .start()?;
//! let mut connection = std::net::TcpStream::connect(standin.address())?;
//! connection.write_all(b"GET /api/datasets/me/corpus HTTP/1.1\r\nconnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! connection.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"id\":\"me/corpus\""));
//! assert_eq!(standin.requests().len(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod builder;
mod content;
#[cfg(feature = "parquet")]
mod conversion;
mod dataset;
mod fault;
mod hub;
mod request;
mod response;
mod route;
mod s3;
mod script;
mod server;
mod standin;

pub use builder::HubStandinBuilder;
pub use content::PlainFile;
#[cfg(feature = "parquet")]
pub use conversion::parquet_of;
pub use dataset::Dataset;
pub use fault::{Fault, When};
pub use request::Seen;
pub use script::Raw;
pub use standin::HubStandin;
