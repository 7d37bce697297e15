//! Scans of a collection, page by page in key order; what a commit would change is read ahead into
//! a temporary file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kato_store::{Rescue, StoreError};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use crate::commit::{CommitLog, OpenScan};
use crate::error::temporary_file;
use crate::record::OpenRun;

/// Documents read at once.
const PAGE: i64 = 2000;

/// A range of keys, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    /// The first key, included.
    pub(crate) from: String,
    /// The end, not included; `None` for all that follows.
    pub(crate) to: Option<String>,
}

impl Range {
    /// Returns the range of all keys.
    pub(crate) fn all() -> Self {
        Self {
            from: String::new(),
            to: None,
        }
    }

    /// Returns the range of the keys that begin with `prefix`, which ends with an ASCII character.
    pub(crate) fn prefixed(prefix: &str) -> Self {
        let mut end = prefix.to_owned();
        let last = end.pop().and_then(|last| char::from_u32(last as u32 + 1));
        end.extend(last);
        Self {
            from: prefix.to_owned(),
            to: Some(end),
        }
    }
}

/// A description of what a scan reads.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) database: String,
    pub(crate) collection: &'static str,
    /// The key: indexed, unique, text.
    pub(crate) key: &'static str,
    pub(crate) ranges: VecDeque<Range>,
    pub(crate) projection: Option<Document>,
}

/// The state of a scan, shared with the commits that must not show in it.
#[derive(Debug)]
struct SharedScan {
    run: Arc<OpenRun>,
    progress: Mutex<Progress>,
}

/// How far a scan has come.
#[derive(Debug)]
struct Progress {
    query: Query,
    /// The last key that was read of the first range.
    last: Option<String>,
    page: VecDeque<RawDocumentBuf>,
    /// Documents that were read ahead, which follow the page.
    ahead: Option<BufReader<File>>,
}

impl SharedScan {
    /// Creates a scan that has read nothing yet.
    fn new(run: Arc<OpenRun>, query: Query) -> Self {
        Self {
            run,
            progress: Mutex::new(Progress {
                query,
                last: None,
                page: VecDeque::new(),
                ahead: None,
            }),
        }
    }

    /// Locks the progress.
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next document. Locks commits out only while it reads a page.
    fn next(&self, log: &CommitLog) -> Result<Option<RawDocumentBuf>, StoreError> {
        if let Some(document) = self.progress().at_hand()? {
            return Ok(Some(document));
        }
        // Before the progress, as a commit does, which reads scans ahead under its lock: the other
        // order could end in a deadlock.
        let _lock = log.lock_for_read()?;
        let mut progress = self.progress();
        // A commit may have read ahead between the two locks.
        if let Some(document) = progress.at_hand()? {
            return Ok(Some(document));
        }
        progress.read_page(&self.run)?;
        Ok(progress.page.pop_front())
    }
}

impl OpenScan for SharedScan {
    /// Reads all that is left into a temporary file, because what follows changes it.
    fn read_ahead(&self) -> Result<(), StoreError> {
        let mut progress = self.progress();
        // Nothing more would come from the server: all is in memory, or was read ahead before.
        if progress.query.ranges.is_empty() {
            return Ok(());
        }
        // Reading a page replaces the one that is being shown, which comes before all that is read
        // now.
        let page = std::mem::take(&mut progress.page);
        let mut out = BufWriter::new(tempfile::tempfile().map_err(temporary_file)?);
        loop {
            progress.read_page(&self.run)?;
            if progress.page.is_empty() {
                break;
            }
            for document in progress.page.drain(..) {
                out.write_all(document.as_bytes()).map_err(temporary_file)?;
            }
        }
        let mut file = out
            .into_inner()
            .map_err(|error| temporary_file(error.into_error()))?;
        file.rewind().map_err(temporary_file)?;
        progress.page = page;
        progress.ahead = Some(BufReader::new(file));
        Ok(())
    }
}

impl Progress {
    /// Returns the next document if it needs no reading from the server.
    fn at_hand(&mut self) -> Result<Option<RawDocumentBuf>, StoreError> {
        if let Some(document) = self.page.pop_front() {
            return Ok(Some(document));
        }
        let Some(ahead) = &mut self.ahead else {
            return Ok(None);
        };
        let mut length = [0; 4];
        match ahead.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                self.ahead = None;
                return Ok(None);
            }
            Err(error) => return Err(temporary_file(error)),
        }
        // A document begins with its length, which counts these four bytes; less is damage and must
        // not panic.
        let mut bytes = vec![0; (u32::from_le_bytes(length) as usize).max(4)];
        bytes[..4].copy_from_slice(&length);
        ahead.read_exact(&mut bytes[4..]).map_err(temporary_file)?;
        let document = RawDocumentBuf::from_bytes(bytes).map_err(std::io::Error::other);
        document.map(Some).map_err(temporary_file)
    }

    /// Reads the next page from the server; it stays empty when none is left.
    fn read_page(&mut self, run: &OpenRun) -> Result<(), StoreError> {
        while let Some(range) = self.query.ranges.front() {
            let key = self.query.key;
            // Every page is a query of its own that begins behind the last key, so it can be
            // repeated when the server does not answer. Comparing with text skips keys of
            // other types.
            let mut bounds = match &self.last {
                Some(last) => doc! {"$gt": last},
                None => doc! {"$gte": &range.from},
            };
            if let Some(to) = &range.to {
                bounds.insert("$lt", to);
            }
            let query = self.query.clone();
            let documents = run.block_on(move |server| async move {
                let read = || {
                    let projection = query.projection.clone();
                    let sorted = Some((doc! {key: 1}, PAGE));
                    let place = (query.database.as_str(), query.collection);
                    server.find(place, doc! {key: bounds.clone()}, projection, sorted)
                };
                server.retry("read a page", read).await
            })?;
            // Less than a page ends the range; the next one begins at its own first key.
            if (documents.len() as i64) < PAGE {
                self.query.ranges.pop_front();
                self.last = None;
            } else {
                let last = documents.last().and_then(|last| last.get_str(key).ok());
                self.last = last.map(str::to_owned);
            }
            self.page = documents.into();
            if !self.page.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The documents of a scan, each read as a `T`.
pub(crate) struct Documents<T> {
    log: Arc<CommitLog>,
    scan: Arc<SharedScan>,
    read: ReadDocument<T>,
    done: bool,
}

/// A function that reads a document; it returns `None` for those that are left out.
pub(crate) type ReadDocument<T> = fn(&RawDocument) -> Option<Result<T, &'static str>>;

impl<T> Documents<T> {
    /// Begins a scan, in which later commits do not show.
    pub(super) fn begin(
        log: &Arc<CommitLog>,
        query: Query,
        read: ReadDocument<T>,
    ) -> Result<Self, StoreError> {
        let scan = Arc::new(SharedScan::new(Arc::clone(log.run()), query));
        let registered: Weak<SharedScan> = Arc::downgrade(&scan);
        log.register(registered)?;
        Ok(Self {
            log: Arc::clone(log),
            scan,
            read,
            done: false,
        })
    }
}

impl<T> Iterator for Documents<T> {
    type Item = Result<T, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            let document = match self.scan.next(&self.log) {
                Ok(Some(document)) => document,
                Ok(None) => break,
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            };
            match (self.read)(&document) {
                None => {}
                Some(Ok(item)) => return Some(Ok(item)),
                Some(Err(reason)) => {
                    self.done = true;
                    return Some(Err(corrupt(self.log.run(), &document, reason)));
                }
            }
        }
        self.done = true;
        None
    }
}

/// Returns the error about a document that holds something unexpected.
pub(super) fn corrupt(run: &OpenRun, document: &RawDocument, reason: &str) -> StoreError {
    let id = match document.get("_id") {
        Ok(Some(id)) => Bson::try_from(id)
            .map(|id| id.to_string())
            .unwrap_or_default(),
        _ => String::new(),
    };
    StoreError::Corrupt {
        place: run.place(),
        reason: format!("the document {id} {reason}"),
        rescue: Rescue::Nothing,
    }
}
