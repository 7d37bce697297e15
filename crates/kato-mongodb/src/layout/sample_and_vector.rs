//! The keys and documents of documents and vectors, which lie in the run's own database.

use kato_model::VectorName;
use mongodb::bson::RawDocument;

/// Returns the key of a sample: its number, bit for bit as one of the database's integers.
pub(crate) fn document_key(document_idx: u64) -> i64 {
    // Keys are compared for equality only, so numbers from 2^63 on may be negative.
    document_idx.cast_signed()
}

/// Returns what the keys of a node's vectors begin with.
pub(crate) fn vector_prefix(node_idx: usize) -> String {
    format!("{node_idx:05}/")
}

/// Returns a vector as bytes whose order is that of [`kato_model::vector::smaller_vector`], so that
/// the server keeps the smallest: the number of elements, then each element so that bits order as
/// numbers do.
pub(crate) fn vector_key(vector: &[f64]) -> Vec<u8> {
    const SIGN: u64 = 1 << 63;

    let mut bytes = Vec::with_capacity(4 + vector.len() * 8);
    let n_elements = u32::try_from(vector.len()).expect("a vector is part of a document");
    bytes.extend(n_elements.to_be_bytes());
    for element in vector {
        let bits = element.to_bits();
        // The order of `f64::total_cmp`: positive numbers go above all negative ones, and of these
        // the order is turned round. Big end first, because the server compares byte by byte.
        let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        bytes.extend(ordered.to_be_bytes());
    }
    bytes
}

/// Returns the vector of a document; `None` when it holds none.
pub(crate) fn vector_of(document: &RawDocument) -> Option<(VectorName, Vec<f64>)> {
    const SIGN: u64 = 1 << 63;

    let (_, name) = document.get_str("_id").ok()?.split_once('/')?;
    let key = document.get_binary("vector").ok()?.bytes.get(4..)?;
    let (elements, []) = key.as_chunks::<8>() else {
        return None;
    };
    let element = |bytes: &[u8; 8]| {
        let ordered = u64::from_be_bytes(*bytes);
        f64::from_bits(if ordered & SIGN == 0 {
            !ordered
        } else {
            ordered ^ SIGN
        })
    };
    Some((name.parse().ok()?, elements.iter().map(element).collect()))
}
