//! A MongoDB: latencies of inserts, upserts and queries, in a database of its own that is dropped.

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
}

impl MongoResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            ping_latency: Finding::unknown(reason),
            insert_latency: Finding::unknown(reason),
            upsert_latency: Finding::unknown(reason),
            bulk_upsert: Finding::unknown(reason),
            query_latency: Finding::unknown(reason),
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

#[cfg(feature = "mongodb")]
pub(crate) use measured::measure;

#[cfg(not(feature = "mongodb"))]
pub(crate) fn measure(_: &crate::Allowance, _: std::time::Duration, _: &str) -> MongoResults {
    MongoResults::unknown("built without the feature `mongodb`: build with it")
}

#[cfg(feature = "mongodb")]
mod measured;
