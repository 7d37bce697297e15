//! The bytes of a record: JSON under a seal, by which a record that was changed or cut off is known.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ClusterError;

/// What stands in front of the seal of a record, which is its last field.
const SEAL_HEAD: &[u8] = b",\n  \"seal\": \"";

/// What stands behind it.
const SEAL_TAIL: &[u8] = b"\"\n}\n";

/// Bytes of a seal, with what is around it.
const SEAL_BYTES: usize = SEAL_HEAD.len() + 2 * blake3::OUT_LEN + SEAL_TAIL.len();

/// Returns the bytes of a record: JSON whose last field is a seal over all that stands before it and
/// the record's key.
pub(crate) fn encode(key: &str, value: &impl Serialize) -> Bytes {
    let mut bytes = plain(value);
    bytes.truncate(bytes.len().saturating_sub(b"\n}\n".len()));
    let seal = seal_of(key, &bytes);
    bytes.extend_from_slice(SEAL_HEAD);
    bytes.extend_from_slice(seal.as_bytes());
    bytes.extend_from_slice(SEAL_TAIL);
    bytes.into()
}

/// Returns the bytes of a value without a seal, of which its digest is made.
pub(crate) fn plain(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("markers are plain data");
    bytes.push(b'\n');
    bytes
}

/// Reads a record, whose seal must be whole and of this key.
///
/// # Errors
///
/// [`ClusterError::Damaged`].
pub(crate) fn decode<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, ClusterError> {
    let damaged = |reason: String| ClusterError::Damaged {
        key: key.to_owned(),
        reason,
    };
    let split = bytes.len().checked_sub(SEAL_BYTES);
    let (content, seal) = bytes.split_at(split.unwrap_or(0));
    let seal = seal
        .strip_prefix(SEAL_HEAD)
        .and_then(|seal| seal.strip_suffix(SEAL_TAIL));
    let Some(seal) = seal else {
        return Err(damaged(
            "it has no seal: it was cut off, changed, or made before records were sealed; put it back as it was, or plan again under an empty prefix"
                .to_owned(),
        ));
    };
    if seal != seal_of(key, content).as_bytes() {
        return Err(damaged(
            "its seal does not match: it was changed, or is the record of something else; put it back as it was"
                .to_owned(),
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))
}

/// Returns the seal of a record's content under a key, in hexadecimal digits.
fn seal_of(key: &str, content: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("kato-cluster 2026 record");
    // The length first, so that no two pairs of key and content are hashed alike.
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key.as_bytes());
    hasher.update(content);
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::Tag;

    fn tag() -> Tag {
        Tag {
            name: "v1".to_owned(),
            generation: 7,
            plan: "0123".to_owned(),
        }
    }

    #[test]
    fn a_record_is_json_that_comes_back() {
        let bytes = encode("tags/v1.json", &tag());
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["generation"], 7);
        assert_eq!(value["seal"].as_str().unwrap().len(), 64);
        let back: Tag = decode("tags/v1.json", &bytes).unwrap();
        assert_eq!(back, tag());
    }

    #[test]
    fn no_other_bytes_and_no_other_key_are_believed() {
        let bytes = encode("tags/v1.json", &tag());
        decode::<Tag>("tags/v2.json", &bytes).unwrap_err();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.to_vec();
                other[at] ^= 1 << bit;
                decode::<Tag>("tags/v1.json", &other).unwrap_err();
            }
            decode::<Tag>("tags/v1.json", &bytes[..at]).unwrap_err();
        }
        decode::<Tag>("tags/v1.json", &plain(&tag())).unwrap_err();
    }
}
