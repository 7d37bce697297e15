//! The commands that spread a node over the shards of a cluster.

use std::sync::Arc;

use kato_store::StoreError;
use mongodb::bson::{Document, doc};

use super::node::{PATTERNS, SYMBOLS};
use crate::connection::{OperationError, Server};

/// Ranges that a collection is split into from the start: names are SHA-1 digests, so ranges fill
/// evenly.
const RANGES: u32 = 64;

/// Spreads patterns and symbols of a node over all shards, by ranges of names.
pub(crate) async fn shard(server: &Arc<Server>, database: &str) -> Result<(), StoreError> {
    let reply = admin(server, doc! {"listShards": 1}).await?;
    let shards: Vec<String> = reply
        .get_array("shards")
        .into_iter()
        .flatten()
        .filter_map(|shard| Some(shard.as_document()?.get_str("_id").ok()?.to_owned()))
        .collect();
    for command in commands(database, &shards) {
        admin(server, command).await?;
    }
    Ok(())
}

/// Runs a command on the database `admin`; what is so already is no error.
async fn admin(server: &Arc<Server>, command: Document) -> Result<Document, StoreError> {
    /// Codes that say that it is so already: sharded, split at that place, on that shard.
    const DONE: [i32; 2] = [20, 23];

    let run = || async {
        match server.database("admin").run_command(command.clone()).await {
            Ok(reply) => Ok(reply),
            Err(error) => match OperationError::from(error) {
                failure if failure.code().is_some_and(|code| DONE.contains(&code)) => Ok(doc! {}),
                failure => Err(failure),
            },
        }
    };
    server.retry("shard a node", run).await
}

/// Returns the commands in their order.
///
/// A hashed shard key would not go with the unique index on the name, which must begin with the
/// key; ranges of the name do. Empty ranges are moved at once: the balancer of newer servers moves
/// data, and there is none yet.
fn commands(database: &str, shards: &[String]) -> Vec<Document> {
    let mut commands = vec![doc! {"enableSharding": database}];
    // Of symbols, names are spread, which are their bulk above the lowest level; texts stay in the
    // ranges at both ends.
    for (collection, prefix) in [(PATTERNS, ""), (SYMBOLS, kato_model::naming::NAME_PREFIX)] {
        let namespace = format!("{database}.{collection}");
        commands.push(doc! {"shardCollection": &namespace, "key": {"name": 1}, "unique": true});
        for range in 1..RANGES {
            let bound = format!("{prefix}{:02x}", range * 256 / RANGES);
            commands.push(doc! {"split": &namespace, "middle": {"name": &bound}});
            // In turns over all shards; where the server names none, nothing is moved, and nothing
            // divided by zero.
            if let Some(shard) = shards.get(range as usize % shards.len().max(1)) {
                commands
                    .push(doc! {"moveChunk": &namespace, "find": {"name": &bound}, "to": shard});
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_even_ranges_that_lie_on_all_shards() {
        let shards = ["a".to_owned(), "b".to_owned()];
        let commands = commands("run_node0_kato", &shards);
        assert_eq!(commands[0], doc! {"enableSharding": "run_node0_kato"});
        let sharded: Vec<_> = commands
            .iter()
            .filter(|command| command.contains_key("shardCollection"))
            .collect();
        assert_eq!(
            sharded,
            [
                &doc! {"shardCollection": "run_node0_kato.patterns_kb", "key": {"name": 1}, "unique": true},
                &doc! {"shardCollection": "run_node0_kato.symbols_kb", "key": {"name": 1}, "unique": true},
            ]
        );
        let count = |key| {
            commands
                .iter()
                .filter(|command| command.contains_key(key))
                .count()
        };
        assert_eq!((count("split"), count("moveChunk")), (126, 126));
        assert!(
            commands
                .contains(&doc! {"split": "run_node0_kato.patterns_kb", "middle": {"name": "80"}})
        );
        assert!(commands.contains(
            &doc! {"moveChunk": "run_node0_kato.symbols_kb", "find": {"name": "PTRN|fc"}, "to": "b"}
        ));
    }
}
