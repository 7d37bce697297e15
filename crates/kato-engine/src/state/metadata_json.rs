//! The serialisation of metadata values as the JSON that they came from.

use std::collections::BTreeMap;

use kato_model::MetadataValue;
use serde::ser::{Serialize, Serializer};
use serde::{Deserialize, Deserializer};

pub(crate) fn serialize<S: Serializer>(
    metadata: &BTreeMap<String, MetadataValue>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metadata.iter().map(|(key, value)| (key, Json(value))))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, MetadataValue>, D::Error> {
    BTreeMap::deserialize(deserializer)
}

struct Json<'a>(&'a MetadataValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MetadataValue::Null => serializer.serialize_unit(),
            MetadataValue::Bool(value) => serializer.serialize_bool(*value),
            MetadataValue::Integer(integer) => {
                match (i64::try_from(*integer), u64::try_from(*integer)) {
                    (Ok(integer), _) => serializer.serialize_i64(integer),
                    (_, Ok(integer)) => serializer.serialize_u64(integer),
                    // Readers do not take larger ones for integers, so they are written as floats.
                    _ => serializer.serialize_f64(*integer as f64),
                }
            }
            MetadataValue::Float(float) => serializer.serialize_f64(*float),
            MetadataValue::Text(text) => serializer.serialize_str(text),
            MetadataValue::List(items) => serializer.collect_seq(items.iter().map(Json)),
            MetadataValue::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (key, Json(value))))
            }
        }
    }
}
