//! The size of the nodes' databases.

use kato_store::StoreError;
use mongodb::bson::{Bson, Document, doc};

use crate::connection::Server;

/// Returns the bytes of a database's data and indexes, as the server stores them.
pub(crate) async fn database_bytes(server: &Server, database: &str) -> Result<u64, StoreError> {
    let statistics = || async {
        let database = server.database(database);
        Ok(database.run_command(doc! {"dbStats": 1}).await?)
    };
    let statistics = server
        .retry("ask for a database's size", statistics)
        .await?;
    Ok(number(&statistics, "storageSize") + number(&statistics, "indexSize"))
}

/// Returns the whole part of a number; the nearest integer there is where it has none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float stops at the ends of the integers, which is what is wanted"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Returns a number that servers send in whatever type fits it; 0 for all else.
fn number(document: &Document, key: &str) -> u64 {
    match document.get(key) {
        Some(&Bson::Int32(number)) => u64::try_from(number).unwrap_or(0),
        Some(&Bson::Int64(number)) => u64::try_from(number).unwrap_or(0),
        Some(&Bson::Double(number)) => whole(number),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_are_read() {
        let document = doc! {"a": 5_i32, "b": 5_i64, "c": 5.0, "d": -1_i32, "e": "5"};
        let read = ["a", "b", "c", "d", "e", "f"].map(|key| number(&document, key));
        assert_eq!(read, [5, 5, 5, 0, 0, 0]);
    }
}
