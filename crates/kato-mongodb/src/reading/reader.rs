//! Reading of one node, by name or all at once.

use std::collections::VecDeque;
use std::sync::Arc;

use kato_model::naming::NAME_PREFIX;
use kato_model::{PatternName, Symbol, VectorName};
use kato_store::contract::{Scan, SymbolCounts, Totals};
use kato_store::{StoreError, StoredPattern};
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};

use super::scan::{Documents, Query, Range, corrupt};
use super::size::database_bytes;
use crate::commit::CommitLog;
use crate::layout::{
    PATTERNS, SYMBOLS, TOTALS, document_key, frequency_of, pattern_of, symbol_of, totals_of,
    vector_of, vector_prefix,
};
use crate::record::{DOCUMENTS, OpenRun, VECTORS};

/// Names that are looked up at once: some servers compare every document with every name.
const NAMES_AT_ONCE: usize = 100;

const NO_PATTERN: &str = "is no pattern";

/// A reader of what is committed. Databases are those of nodes.
#[derive(Debug)]
pub(crate) struct Reader {
    log: Arc<CommitLog>,
}

impl Reader {
    /// Creates a reader of the run of a log.
    pub(crate) fn new(log: Arc<CommitLog>) -> Self {
        Self { log }
    }

    fn run(&self) -> &OpenRun {
        self.log.run()
    }

    /// Looks a document up.
    fn one(
        &self,
        database: String,
        collection: &'static str,
        filter: Document,
    ) -> Result<Option<RawDocumentBuf>, StoreError> {
        let _lock = self.log.lock_for_read()?;
        self.run().block_on(|server| async move {
            let collection = server.collection(&database, collection);
            let find = || async { Ok(collection.find_one(filter.clone()).await?) };
            server.retry("look something up", find).await
        })
    }

    /// Reads a document as a pattern.
    fn read_pattern(&self, document: &RawDocument) -> Result<StoredPattern, StoreError> {
        pattern_of(document).ok_or_else(|| corrupt(self.run(), document, NO_PATTERN))
    }

    /// Returns the totals of a node.
    pub(crate) fn totals(&self, database: String) -> Result<Totals, StoreError> {
        let totals = self.one(database, TOTALS, doc! {"class": "totals"})?;
        Ok(totals.map_or_else(Totals::default, |document| totals_of(&document)))
    }

    /// Counts the patterns of a node.
    pub(crate) fn count_patterns(&self, database: String) -> Result<u64, StoreError> {
        let _lock = self.log.lock_for_read()?;
        self.run().block_on(|server| async move {
            // Counted exactly: the size in a collection's statistics is an estimate.
            let patterns = server.collection(&database, PATTERNS);
            let count = || async { Ok(patterns.count_documents(doc! {}).await?) };
            server.retry("count patterns", count).await
        })
    }

    /// Looks a pattern up by name.
    pub(crate) fn pattern(
        &self,
        database: String,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        let found = self.one(database, PATTERNS, doc! {"name": name.to_string()})?;
        found
            .map(|document| self.read_pattern(&document))
            .transpose()
    }

    /// Looks patterns up by names in ascending order, hands over as many as are there, in that
    /// order. It takes no lock: the caller keeps commits out.
    pub(crate) fn patterns(
        &self,
        database: &str,
        names: &[PatternName],
        mut take: impl FnMut(StoredPattern) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for names in names.chunks(NAMES_AT_ONCE) {
            let names: Vec<String> = names.iter().map(PatternName::to_string).collect();
            let place = database.to_owned();
            let documents = self.run().block_on(|server| async move {
                let named = doc! {"name": {"$in": names}};
                let find = || server.find((&place, PATTERNS), named.clone(), None, None);
                server.retry("look patterns up", find).await
            })?;
            let read = |document: &RawDocumentBuf| self.read_pattern(document);
            let mut patterns = documents
                .iter()
                .map(read)
                .collect::<Result<Vec<_>, StoreError>>()?;
            // The server answers in an order of its own.
            patterns.sort_unstable_by_key(|pattern| pattern.name);
            patterns.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    }

    /// Reads the patterns of a node in the order of their names.
    pub(crate) fn scan(&self, database: String) -> Result<Documents<StoredPattern>, StoreError> {
        let query = Query {
            database,
            collection: PATTERNS,
            key: "name",
            ranges: VecDeque::from([Range::all()]),
            projection: None,
        };
        let read = |document: &RawDocument| Some(pattern_of(document).ok_or(NO_PATTERN));
        Documents::begin(&self.log, query, read)
    }

    /// Reads the names and frequencies of a node's patterns.
    pub(crate) fn scan_frequencies(
        &self,
        database: String,
    ) -> Result<Documents<(PatternName, u64)>, StoreError> {
        let query = Query {
            database,
            collection: PATTERNS,
            key: "name",
            ranges: VecDeque::from([Range::all()]),
            projection: Some(doc! {"name": 1, "frequency": 1, "kato_rs.frequency": 1}),
        };
        let read = |document: &RawDocument| Some(frequency_of(document).ok_or(NO_PATTERN));
        Documents::begin(&self.log, query, read)
    }

    /// Reads the vectors of a node by its number.
    pub(crate) fn vectors(
        &self,
        node_idx: usize,
    ) -> Result<Documents<(VectorName, Vec<f64>)>, StoreError> {
        let query = Query {
            database: self.run().database.clone(),
            collection: VECTORS,
            key: "_id",
            ranges: VecDeque::from([Range::prefixed(&vector_prefix(node_idx))]),
            projection: None,
        };
        let read = |document: &RawDocument| Some(vector_of(document).ok_or("is no vector"));
        Documents::begin(&self.log, query, read)
    }

    /// Reads the symbols of a node with their counts, texts first.
    pub(crate) fn symbol_counts(
        &self,
        database: &str,
    ) -> Result<Scan<'static, (Symbol, SymbolCounts)>, StoreError> {
        const NO_SYMBOL: &str = "is no symbol";

        let query = |range| Query {
            database: database.to_owned(),
            collection: SYMBOLS,
            key: "name",
            ranges: VecDeque::from([range]),
            projection: None,
        };
        // Texts come before names, but in the collection names (`PTRN|…`) are in the midst of
        // texts. So it is read twice; texts that only look like names come with the texts.
        let texts = Documents::begin(&self.log, query(Range::all()), |document| {
            match symbol_of(document) {
                Some((Symbol::Name(_), _)) => None,
                symbol => Some(symbol.ok_or(NO_SYMBOL)),
            }
        })?;
        let names = query(Range::prefixed(NAME_PREFIX));
        let names = Documents::begin(&self.log, names, |document| match symbol_of(document) {
            Some((Symbol::Text(_), _)) => None,
            symbol => Some(symbol.ok_or(NO_SYMBOL)),
        })?;
        Ok(Box::new(texts.chain(names)))
    }

    /// Looks the id of a document up by the number of its sample.
    pub(crate) fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        let id = document_key(document_idx);
        let database = self.run().database.clone();
        let found = self.one(database, DOCUMENTS, doc! {"_id": id})?;
        Ok(found.and_then(|document| Some(document.get_str("id").ok()?.to_owned())))
    }

    /// Returns the bytes of data and indexes of all nodes' databases, as the server stores them.
    pub(crate) fn disk_bytes(&self) -> Result<u64, StoreError> {
        let names = self.run().node_databases();
        self.run().block_on(|server| async move {
            let mut sum = 0;
            for name in &names {
                sum += database_bytes(&server, name).await?;
            }
            Ok::<u64, StoreError>(sum)
        })
    }
}
