//! The databases as they are, without the store.

use mongodb::Client;
use mongodb::bson::{Document, doc};

/// Talks to the server without the store.
pub(crate) struct Raw {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Raw {
    pub(crate) fn new(uri: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let client = runtime.block_on(Client::with_uri_str(uri)).unwrap();
        Self { runtime, client }
    }

    pub(crate) fn all(&self, database: &str, collection: &str) -> Vec<Document> {
        use futures_util::TryStreamExt as _;

        let collection = self
            .client
            .database(database)
            .collection::<Document>(collection);
        let found = async {
            collection
                .find(doc! {})
                .await?
                .try_collect::<Vec<_>>()
                .await
        };
        let mut found = self.runtime.block_on(found).unwrap();
        found.iter_mut().for_each(|document| {
            assert!(document.remove("_id").is_some());
        });
        found.sort_by_key(|document| document.get_str("name").unwrap_or_default().to_owned());
        found
    }

    /// Bytes of data and indexes, as the server tells them.
    pub(crate) fn bytes(&self, database: &str) -> u64 {
        let database = self.client.database(database);
        let told = async { database.run_command(doc! {"dbStats": 1}).await };
        let told = self.runtime.block_on(told).unwrap();
        let number = |key| match told.get(key).unwrap() {
            bson if bson.as_i64().is_some() => bson.as_i64().unwrap() as u64,
            bson if bson.as_i32().is_some() => bson.as_i32().unwrap() as u64,
            bson => bson.as_f64().unwrap() as u64,
        };
        number("storageSize") + number("indexSize")
    }

    /// What the server answers to a command; writes that it did not do are errors, too.
    pub(crate) fn command(&self, database: &str, command: Document) -> Result<Document, String> {
        let database = self.client.database(database);
        let answer = async { database.run_command(command).await };
        let answer = self.runtime.block_on(answer);
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.get("writeErrors") {
            None => Ok(answer),
            Some(errors) => Err(errors.to_string()),
        }
    }

    pub(crate) fn insert(&self, database: &str, collection: &str, documents: Vec<Document>) {
        let collection = self
            .client
            .database(database)
            .collection::<Document>(collection);
        self.runtime
            .block_on(async { collection.insert_many(documents).await })
            .unwrap();
    }

    pub(crate) fn indexes(&self, database: &str, collection: &str) -> Vec<Document> {
        let command = doc! {"listIndexes": collection};
        let reply = self
            .runtime
            .block_on(async { self.client.database(database).run_command(command).await })
            .unwrap();
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch");
        let indexes = batch.unwrap().iter().map(|index| {
            let index = index.as_document().unwrap();
            let mut kept = doc! {
                "name": index.get_str("name").unwrap(),
                "key": format!("{}", index.get_document("key").unwrap()),
            };
            for option in ["unique", "background"] {
                if index.get_bool(option).unwrap_or(false) {
                    kept.insert(option, true);
                }
            }
            kept
        });
        let mut indexes: Vec<Document> = indexes
            .filter(|index| index.get_str("name").unwrap() != "_id_")
            .collect();
        indexes.sort_by_key(|index| index.get_str("name").unwrap().to_owned());
        indexes
    }
}
