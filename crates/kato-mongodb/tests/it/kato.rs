//! What a KATO of October 2025 sends to its MongoDB, command for command.

use std::collections::BTreeMap;

use kato_model::PatternName;
use mongodb::bson::{Bson, Document, doc};

use crate::raw::Raw;

/// A KATO that has a node's database open.
pub(crate) struct Kato<'a> {
    raw: &'a Raw,
    database: String,
}

/// The indexes by collection: keys, name as pymongo makes it, and whether it is unique.
fn indexes() -> [(&'static str, Document, &'static str, bool); 7] {
    let by_frequency = doc! {"frequency": -1, "name": 1};
    let by_content = doc! {"pattern_data": 1, "name": 1};
    let by_time = doc! {"unique_id": 1, "time": -1};
    [
        ("patterns_kb", doc! {"name": 1}, "name_1", true),
        (
            "patterns_kb",
            by_frequency.clone(),
            "frequency_-1_name_1",
            false,
        ),
        ("patterns_kb", by_content, "pattern_data_1_name_1", false),
        ("symbols_kb", doc! {"name": 1}, "name_1", true),
        ("symbols_kb", by_frequency, "frequency_-1_name_1", false),
        (
            "associative_action_kb",
            doc! {"symbol": 1},
            "symbol_1",
            false,
        ),
        ("predictions_kb", by_time, "unique_id_1_time_-1", false),
    ]
}

impl<'a> Kato<'a> {
    /// Opens a database: an index that the server refuses is a KATO that does not start.
    pub(crate) fn open(raw: &'a Raw, database: &str) -> Result<Self, String> {
        // KATO's code says `1` here and `True` there.
        for yes in [Bson::Boolean(true), Bson::Int32(1)] {
            for (collection, key, name, unique) in indexes() {
                let mut index = doc! {"background": yes.clone()};
                if unique {
                    index.insert("unique", yes.clone());
                }
                index.insert("name", name);
                index.insert("key", key);
                raw.command(
                    database,
                    doc! {"createIndexes": collection, "indexes": [index]},
                )?;
            }
        }
        Ok(Self {
            raw,
            database: database.to_owned(),
        })
    }

    /// Learns a pattern: an upsert by its name, one for each of its symbols, one of the totals.
    pub(crate) fn learn(&self, events: &[&[&str]], metadata: &[(&str, &[&str])]) -> PatternName {
        let name = PatternName::of_events(events);
        let symbols: Vec<&str> = events.iter().copied().flatten().copied().collect();
        let mut counts = BTreeMap::<&str, i32>::new();
        for symbol in &symbols {
            *counts.entry(symbol).or_default() += 1;
        }
        let data: Vec<Bson> = events.iter().map(|event| event.to_vec().into()).collect();
        let mut new = doc! {"pattern_data": data, "length": symbols.len() as i32, "emotives": {}};
        let mut update = doc! {"$inc": {"frequency": 1}};
        if metadata.is_empty() {
            new.insert("metadata", doc! {});
        } else {
            let added = metadata.iter();
            let added = added.map(|(key, values)| {
                let each = doc! {"$each": values.to_vec()};
                (format!("metadata.{key}"), Bson::from(each))
            });
            update.insert("$addToSet", added.collect::<Document>());
        }
        update.insert("$setOnInsert", new);
        self.upsert("patterns_kb", doc! {"name": name.to_string()}, update);
        let n_distinct = counts.len() as i32;
        for (symbol, n) in counts {
            let counted = doc! {"$inc": {"pattern_member_frequency": 1, "frequency": n}};
            self.upsert("symbols_kb", doc! {"name": symbol}, counted);
        }
        let totals = doc! {
            "total_pattern_frequencies": 1,
            "total_symbol_frequencies": symbols.len() as i32,
            "total_symbols_in_patterns_frequencies": n_distinct,
        };
        self.upsert("metadata", doc! {"class": "totals"}, doc! {"$inc": totals});
        name
    }

    fn upsert(&self, collection: &str, filter: Document, update: Document) {
        let updates = [doc! {"q": filter, "u": update, "upsert": true}];
        self.raw
            .command(
                &self.database,
                doc! {"update": collection, "updates": updates},
            )
            .unwrap();
    }
}
