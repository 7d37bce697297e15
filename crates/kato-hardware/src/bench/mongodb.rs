//! A MongoDB: latencies of inserts, upserts and queries, in a database of its own that is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::figure::{Finding, Measured};

/// Figures of a MongoDB, in a database of its own (`kato_hardware_` and a random number), which is
/// dropped afterwards. No other database is read or written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MongoResults {
    /// The smallest command and its answer.
    pub ping_latency: Measured,
    /// Inserting one document with the shape of a pattern.
    pub insert_latency: Measured,
    /// Adding 1 to the frequency of a pattern by its name, which inserts a new pattern.
    pub upsert_latency: Measured,
    /// The same in commands of many: patterns a second.
    pub bulk_upsert: Measured,
    /// Finding one pattern by its name.
    pub query_latency: Measured,
    /// The database, where it was not dropped and is to be dropped by hand. Then all figures are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<String>,
}

impl MongoResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            ping_latency: Finding::unknown(reason),
            insert_latency: Finding::unknown(reason),
            upsert_latency: Finding::unknown(reason),
            bulk_upsert: Finding::unknown(reason),
            query_latency: Finding::unknown(reason),
            left_behind: None,
        }
    }

    /// Creates the results of a measurement that was given up, and may have left its database behind.
    pub(crate) fn given_up(reason: &str, in_use: &DatabaseInUse) -> Self {
        match in_use.lock().clone() {
            None => Self::unknown(reason),
            Some(name) => Self::left(&name, reason),
        }
    }

    /// Creates the results where a database is left behind: they are given up for that, as it must not be
    /// overlooked.
    fn left(name: &str, reason: &str) -> Self {
        Self {
            left_behind: Some(name.to_owned()),
            ..Self::unknown(&format!(
                "the database {name} could not be dropped ({reason}): drop it by hand"
            ))
        }
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Measured)> {
        vec![
            ("ping", &self.ping_latency),
            ("insert", &self.insert_latency),
            ("upsert", &self.upsert_latency),
            ("upserts in bulk", &self.bulk_upsert),
            ("query by name", &self.query_latency),
        ]
    }
}

/// The database that a measurement uses, while there is one: whoever gives the measurement up finds it here.
#[derive(Debug, Clone, Default)]
pub(crate) struct DatabaseInUse(Arc<Mutex<Option<String>>>);

impl DatabaseInUse {
    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "mongodb")]
pub(crate) use measured::measure;

#[cfg(not(feature = "mongodb"))]
pub(crate) fn measure(
    _: &crate::Allowance,
    _: std::time::Duration,
    _: &str,
    _: &DatabaseInUse,
) -> MongoResults {
    MongoResults::unknown("built without the feature `mongodb`: build with it")
}

#[cfg(feature = "mongodb")]
mod measured;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_is_given_up_names_the_database_that_it_used() {
        let in_use = DatabaseInUse::default();
        assert_eq!(
            MongoResults::given_up("it hangs", &in_use).left_behind,
            None
        );
        *in_use.lock() = Some("kato_hardware_1f".to_owned());
        let given_up = MongoResults::given_up("it hangs", &in_use);
        assert_eq!(given_up.left_behind.as_deref(), Some("kato_hardware_1f"));
        let told = format!("{:?}", given_up.ping_latency);
        assert!(
            told.contains("kato_hardware_1f") && told.contains("it hangs"),
            "{told}"
        );
    }
}
