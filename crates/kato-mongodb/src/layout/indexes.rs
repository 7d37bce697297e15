//! The indexes of a node, made by the very calls by which KATO makes them, so that either may come
//! second.

use std::sync::Arc;

use kato_store::StoreError;
use mongodb::bson::{Bson, Document, doc};

use super::node::{ACTIONS, PATTERNS, PREDICTIONS, SYMBOLS};
use crate::connection::{OperationError, Server};
use crate::error::Error;
use crate::record::Lease;

/// Codes of a server that holds an index of that name, or of those keys, with other options:
/// `IndexOptionsConflict` and `IndexKeySpecsConflict`.
const CONFLICTS: [i32; 2] = [85, 86];

/// An index of KATO.
#[derive(Debug, Clone)]
struct Index {
    keys: Document,
    unique: bool,
}

/// Returns the indexes of KATO by collection.
fn indexes() -> [(&'static str, Vec<Index>); 4] {
    let index = |keys| Index {
        keys,
        unique: false,
    };
    let by_name = || Index {
        keys: doc! {"name": 1},
        unique: true,
    };
    let by_frequency = || index(doc! {"frequency": -1, "name": 1});
    let by_content = index(doc! {"pattern_data": 1, "name": 1});
    [
        (PATTERNS, vec![by_name(), by_frequency(), by_content]),
        (SYMBOLS, vec![by_name(), by_frequency()]),
        (ACTIONS, vec![index(doc! {"symbol": 1})]),
        (PREDICTIONS, vec![index(doc! {"unique_id": 1, "time": -1})]),
    ]
}

impl Index {
    /// Returns the name that KATO's driver gives the index: keys and directions joined.
    fn name(&self) -> String {
        let parts = self.keys.iter();
        let parts: Vec<String> = parts
            .map(|(key, direction)| format!("{key}_{direction}"))
            .collect();
        parts.join("_")
    }

    /// Returns the specification that KATO sends. `background` does nothing since MongoDB 4.2, but
    /// SecantusDB holds an index without it, or with options in another order, for another index,
    /// and refuses.
    fn specification(&self) -> Document {
        let mut specification = doc! {
            "name": self.name(), "key": self.keys.clone(), "background": true,
        };
        if self.unique {
            specification.insert("unique", true);
        }
        specification
    }

    /// Returns whether an index that is there does what this one is for.
    fn is_served_by(&self, found: &Document) -> bool {
        let keys = found.get_document("key").ok();
        let same = keys.is_some_and(|keys| {
            // Keys in their order; directions by value, because clients send them as integers or as
            // doubles.
            keys.len() == self.keys.len()
                && keys.iter().zip(&self.keys).all(|(found, wanted)| {
                    found.0 == wanted.0 && number(found.1) == number(wanted.1)
                })
        });
        same && is_set(found, "unique") == self.unique
    }
}

/// Returns a number of any type.
fn number(bson: &Bson) -> Option<f64> {
    match bson {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    }
}

/// Returns whether an option is on; KATO's driver also sends numbers.
fn is_set(index: &Document, option: &str) -> bool {
    match index.get(option) {
        Some(Bson::Boolean(is_set)) => *is_set,
        Some(value) => number(value).is_some_and(|number| number != 0.0),
        None => false,
    }
}

/// Makes the indexes of a node that are not there.
///
/// Those that an earlier build made without `background`, on which KATO's own calls fail, are made
/// anew for the holder of the run's lease: while the unique index is away, nobody else may write.
pub(crate) async fn prepare_indexes(
    server: &Arc<Server>,
    database: &str,
    lease: Option<&Lease>,
) -> Result<(), StoreError> {
    for (collection, indexes) in indexes() {
        let place = (database, collection);
        // One call for all. Only where the server refuses it is it worth finding out which is in
        // the way.
        if create(server, place, &indexes).await? {
            continue;
        }
        for index in indexes {
            make(server, place, &index, lease).await?;
        }
    }
    Ok(())
}

/// Makes an index, unless one that is there serves as well.
async fn make(
    server: &Arc<Server>,
    place: (&str, &str),
    index: &Index,
    lease: Option<&Lease>,
) -> Result<(), StoreError> {
    let wanted = std::slice::from_ref(index);
    if create(server, place, wanted).await? {
        return Ok(());
    }
    let name = index.name();
    let found = list(server, place).await?;
    let serving = found.iter().find(|found| index.is_served_by(found));
    let Some(serving) = serving else {
        let (database, collection) = place;
        return Err(Error::OtherIndex { name }.at(server.place_of(&[database, collection])));
    };
    let is_of_earlier_build =
        serving.get_str("name").ok() == Some(name.as_str()) && !is_set(serving, "background");
    // What serves is left alone. Only an index on which KATO's own call would fail is worth
    // replacing, and only by the lease's holder.
    if !is_of_earlier_build || !lease.is_some_and(Lease::is_certain) {
        return Ok(());
    }
    tracing::info!(database = place.0, collection = place.1, index = %name, "making an index anew as KATO makes it");
    // A crash between the two leaves no index, which the next opening for writing makes.
    drop_index(server, place, &name).await?;
    create(server, place, wanted).await.map(drop)
}

/// Asks for indexes as KATO does; `false` when the server has others in their place.
async fn create(
    server: &Arc<Server>,
    (database, collection): (&str, &str),
    indexes: &[Index],
) -> Result<bool, StoreError> {
    let specifications: Vec<Document> = indexes.iter().map(Index::specification).collect();
    let command = doc! {"createIndexes": collection, "indexes": specifications};
    let create = || async {
        let created = server.database(database).run_command(command.clone()).await;
        match created.map_err(OperationError::from) {
            Ok(_) => Ok(true),
            Err(failure) if failure.code().is_some_and(|code| CONFLICTS.contains(&code)) => {
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    };
    server.retry("create the indexes of a node", create).await
}

/// Lists the indexes of a collection.
async fn list(
    server: &Arc<Server>,
    (database, collection): (&str, &str),
) -> Result<Vec<Document>, StoreError> {
    let list = || async {
        let command = doc! {"listIndexes": collection};
        let reply = server.database(database).run_command(command).await?;
        // A collection has 64 indexes at most, which come at once.
        let batch = reply.get_document("cursor").ok();
        let batch = batch.and_then(|cursor| cursor.get_array("firstBatch").ok());
        let found = batch.into_iter().flatten().filter_map(Bson::as_document);
        Ok(found.cloned().collect())
    };
    server.retry("list the indexes of a node", list).await
}

/// Drops an index; one that is gone already is no error.
async fn drop_index(
    server: &Arc<Server>,
    (database, collection): (&str, &str),
    name: &str,
) -> Result<(), StoreError> {
    const NOT_FOUND: i32 = 27;

    let ask = || async {
        let command = doc! {"dropIndexes": collection, "index": name};
        let dropped = server.database(database).run_command(command).await;
        match dropped.map_err(OperationError::from) {
            // Dropped by an earlier attempt that was not answered.
            Err(failure) if failure.code() == Some(NOT_FOUND) => Ok(()),
            dropped => dropped.map(drop),
        }
    };
    server.retry("drop an index of an earlier build", ask).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_asked_for_as_katos_driver_asks() {
        let asked: Vec<(&str, String)> = indexes()
            .into_iter()
            .flat_map(|(collection, indexes)| {
                indexes
                    .into_iter()
                    .map(move |index| (collection, index.specification().to_string()))
            })
            .collect();
        let expected = [
            (
                "patterns_kb",
                doc! {"name": "name_1", "key": {"name": 1}, "background": true, "unique": true},
            ),
            (
                "patterns_kb",
                doc! {"name": "frequency_-1_name_1", "key": {"frequency": -1, "name": 1}, "background": true},
            ),
            (
                "patterns_kb",
                doc! {"name": "pattern_data_1_name_1", "key": {"pattern_data": 1, "name": 1}, "background": true},
            ),
            (
                "symbols_kb",
                doc! {"name": "name_1", "key": {"name": 1}, "background": true, "unique": true},
            ),
            (
                "symbols_kb",
                doc! {"name": "frequency_-1_name_1", "key": {"frequency": -1, "name": 1}, "background": true},
            ),
            (
                "associative_action_kb",
                doc! {"name": "symbol_1", "key": {"symbol": 1}, "background": true},
            ),
            (
                "predictions_kb",
                doc! {"name": "unique_id_1_time_-1", "key": {"unique_id": 1, "time": -1}, "background": true},
            ),
        ];
        assert_eq!(
            asked,
            expected.map(|(place, index)| (place, index.to_string()))
        );
    }

    #[test]
    fn an_index_is_served_by_one_of_the_same_keys_in_their_order_and_as_unique() {
        let index = Index {
            keys: doc! {"frequency": -1, "name": 1},
            unique: false,
        };
        assert!(index.is_served_by(&doc! {"key": {"frequency": -1.0, "name": 1_i64}}));
        assert!(!index.is_served_by(&doc! {"key": {"name": 1, "frequency": -1}}));
        assert!(!index.is_served_by(&doc! {"key": {"frequency": 1, "name": 1}}));
        assert!(!index.is_served_by(&doc! {"key": {"frequency": -1}}));
        assert!(!index.is_served_by(&doc! {"key": {"frequency": -1, "name": 1}, "unique": 1}));
    }
}
