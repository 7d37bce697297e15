//! Scans of a collection, page by page in key order; what a commit would change is read ahead into
//! a temporary file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kato_store::StoreError;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use crate::merge::temporary;
use crate::state::StoreState;

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
pub(crate) struct Source {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    query: Query,
    /// The last key that was read of the first range.
    last: Option<String>,
    page: VecDeque<RawDocumentBuf>,
    /// Documents that were read ahead, which follow the page.
    ahead: Option<BufReader<File>>,
}

impl Source {
    pub(crate) fn new(query: Query) -> Self {
        Self {
            state: Mutex::new(State {
                query,
                last: None,
                page: VecDeque::new(),
                ahead: None,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next document. Locks commits out only while it reads a page.
    fn next(&self, core: &Arc<StoreState>) -> Result<Option<RawDocumentBuf>, StoreError> {
        if let Some(document) = self.state().at_hand()? {
            return Ok(Some(document));
        }
        // Before the state, as a commit does, which reads scans ahead under its lock: the other
        // order could end in a deadlock.
        let _lock = core.lock_for_read()?;
        let mut state = self.state();
        // A commit may have read ahead between the two locks.
        if let Some(document) = state.at_hand()? {
            return Ok(Some(document));
        }
        state.read_page(core)?;
        Ok(state.page.pop_front())
    }

    /// Reads all that is left into a temporary file, because what follows changes it.
    pub(crate) fn read_ahead(&self, core: &StoreState) -> Result<(), StoreError> {
        let mut state = self.state();
        // Nothing more would come from the server: all is in memory, or was read ahead before.
        if state.query.ranges.is_empty() {
            return Ok(());
        }
        // Reading a page replaces the one that is being shown, which comes before all that is read
        // now.
        let page = std::mem::take(&mut state.page);
        let mut out = BufWriter::new(tempfile::tempfile().map_err(temporary)?);
        loop {
            state.read_page(core)?;
            if state.page.is_empty() {
                break;
            }
            for document in state.page.drain(..) {
                out.write_all(document.as_bytes()).map_err(temporary)?;
            }
        }
        let mut file = out
            .into_inner()
            .map_err(|error| temporary(error.into_error()))?;
        file.rewind().map_err(temporary)?;
        state.page = page;
        state.ahead = Some(BufReader::new(file));
        Ok(())
    }
}

impl State {
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
            Err(error) => return Err(temporary(error)),
        }
        // A document begins with its length, which counts these four bytes; less is damage and must
        // not panic.
        let mut bytes = vec![0; (u32::from_le_bytes(length) as usize).max(4)];
        bytes[..4].copy_from_slice(&length);
        ahead.read_exact(&mut bytes[4..]).map_err(temporary)?;
        let document = RawDocumentBuf::from_bytes(bytes).map_err(std::io::Error::other);
        document.map(Some).map_err(temporary)
    }

    /// Reads the next page from the server; it stays empty when none is left.
    fn read_page(&mut self, core: &StoreState) -> Result<(), StoreError> {
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
            let documents = core.block_on(move |server| async move {
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
    pub(crate) core: Arc<StoreState>,
    pub(crate) source: Arc<Source>,
    /// Reads a document; `None` for those that are left out.
    pub(crate) read: fn(&RawDocument) -> Option<Result<T, &'static str>>,
    pub(crate) done: bool,
}

impl<T> Iterator for Documents<T> {
    type Item = Result<T, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            let document = match self.source.next(&self.core) {
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
                    return Some(Err(self.core.corrupt(&document, reason)));
                }
            }
        }
        self.done = true;
        None
    }
}

impl StoreState {
    /// Returns the error about a document that holds something unexpected.
    pub(crate) fn corrupt(&self, document: &RawDocument, reason: &str) -> StoreError {
        let id = match document.get("_id") {
            Ok(Some(id)) => Bson::try_from(id)
                .map(|id| id.to_string())
                .unwrap_or_default(),
            _ => String::new(),
        };
        StoreError::Corrupt {
            path: self.server.path(&self.database),
            reason: format!("the document {id} {reason}"),
        }
    }
}
