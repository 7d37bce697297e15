//! Sources of documents that a program has of its own.

use std::fmt;
use std::io;
use std::ops::Range;

use crate::document::Document;

/// A source of documents that can be read from any record on: a table of a database, a log, a service.
///
/// It is a file to the loader ([`with_records`](crate::StreamingDatasetLoaderBuilder::with_records)): it can
/// be shuffled, cut into shards, mixed, skipped in without reading, and resumed at any record; and several
/// threads read ahead. Records have numbers, from 0, and must stay what they are while a run that
/// reads them is not complete: [`fingerprint`](Self::fingerprint) says whether they are.
///
/// ```
/// use std::io;
/// use std::ops::Range;
///
/// use kato_loader::{Document, Order, Records, StreamingDatasetLoader};
///
/// #[derive(Debug)]
/// struct Squares;
///
/// impl Records for Squares {
///     fn n_records(&self) -> u64 {
///         1000
///     }
///
///     fn read(&self, range: Range<u64>) -> io::Result<Vec<Document>> {
///         Ok(range.map(|number| Document::new(format!("{number} times {number}"))).collect())
///     }
///
///     fn fingerprint(&self) -> String {
///         "squares, version 1".to_owned()
///     }
/// }
///
/// let open = || StreamingDatasetLoader::builder().with_records("squares", Squares).with_order(Order::shuffled(7));
/// let mut first = open().build()?;
/// let one = first.next().expect("there are a thousand")?;
/// let mut rest = open().with_cursor(first.cursor()).build()?;
/// let next = rest.next().expect("one was read")?;
/// assert_eq!((one.index, next.index), (0, 1));
/// assert_eq!(rest.count(), 998);
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
pub trait Records: fmt::Debug + Send + Sync {
    /// Returns the number of records.
    fn n_records(&self) -> u64;

    /// Reads the records of these numbers, in order: exactly as many as asked for. May be called by several
    /// threads at once, and may block.
    ///
    /// A document without text is passed over and counted. Its [`index`](Document::index) is ignored: the
    /// loader numbers what it hands out.
    ///
    /// # Errors
    ///
    /// When they cannot be read now; the run ends, or goes on without them, as its policy for bad
    /// records says.
    fn read(&self, range: Range<u64>) -> io::Result<Vec<Document>>;

    /// Returns a text that is another when the records are others: a version, a digest. A run is resumed
    /// only while it is the same.
    fn fingerprint(&self) -> String;

    /// Returns the bytes of a record's text, about, by which records are read in portions and shuffled
    /// together. It must stay the same while a run is not complete. By default 1 KiB.
    fn mean_bytes(&self) -> u64 {
        1024
    }
}
