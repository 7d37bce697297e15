//! Processor ids: the names under which KATO stores the knowledge bases of nodes.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use crate::KatoGeneration;

/// Longest processor id, in characters.
const MAX_CHARS: usize = 60;
/// Characters set aside for the hash of a shortened node id, with the underscores around it.
const HASH_CHARS: usize = 10;

/// Returns the processor id of a node (KATO's `kb_id` and database name).
///
/// It is the node id with each of `/ \ . " $ * < > : | ? -` and blank made `_`, then `_` and the
/// service name with `-` made `_`. Longer than 60 characters, the node's part is cut and gets the
/// start of its MD5. Different node ids may get one processor id (`a.b`, `a-b` and `a b` do) and
/// then share a knowledge base.
///
/// Shape: at most 60 characters for service names up to 50 characters; what the original does with
/// longer ones is not established, here the node's part is then its hash alone.
///
/// # Examples
///
/// ```
/// assert_eq!(kato_model::naming::processor_id("user-1", "kato"), "user_1_kato");
/// ```
#[must_use]
pub fn processor_id(node_id: &str, service_name: &str) -> String {
    processor_id_in(KatoGeneration::V3_10, node_id, service_name)
}

/// Returns the processor id that a server of a generation gives a node.
///
/// Up to 3.10 it is [`processor_id`]. From 5.x on every character of either name that is no ASCII
/// letter or digit becomes `_`, so that more ids share a knowledge base: `me@et` and `me#et` do.
///
/// # Examples
///
/// ```
/// use kato_model::{KatoGeneration, naming::processor_id_in};
///
/// assert_eq!(processor_id_in(KatoGeneration::V3_10, "me@et", "kato"), "me@et_kato");
/// assert_eq!(processor_id_in(KatoGeneration::V6, "me@et", "kato"), "me_et_kato");
/// ```
#[must_use]
pub fn processor_id_in(generation: KatoGeneration, node_id: &str, service_name: &str) -> String {
    let (node, service) = if generation.processor_ids_are_words() {
        let is_other = |c: char| !c.is_ascii_alphanumeric();
        (
            node_id.replace(is_other, "_"),
            service_name.replace(is_other, "_"),
        )
    } else {
        const REPLACED: [char; 13] = [
            '/', '\\', '.', '"', '$', '*', '<', '>', ':', '|', '?', '-', ' ',
        ];
        (
            node_id.replace(REPLACED, "_"),
            service_name.replace('-', "_"),
        )
    };
    let id = format!("{node}_{service}");
    // KATO counts characters, as Python's `len` does, and not bytes.
    if id.chars().count() <= MAX_CHARS {
        return id;
    }
    let kept_chars = MAX_CHARS.saturating_sub(service.chars().count() + HASH_CHARS);
    let mut id: String = node.chars().take(kept_chars).collect();
    id.push('_');
    // KATO hashes the cleaned id, so ids that cleaning makes equal stay equal here as well.
    for byte in &Md5::digest(&node)[..4] {
        write!(id, "{byte:02x}").expect("writing into a String cannot fail");
    }
    id + "_" + &service
}
