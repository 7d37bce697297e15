//! GPT-2's `tokenizer.json`, made again from what the crate keeps of it.

use serde_json::{Map, Value, json};

/// Returns the definition that has these tokens by id.
pub(crate) fn definition(tokens: &[&str]) -> String {
    let packed = include_bytes!("../../data/gpt2.merges").as_chunks::<4>().0;
    let token = |id: [u8; 2]| tokens[usize::from(u16::from_le_bytes(id))];
    let merges: Vec<Value> = packed
        .iter()
        .map(|&[a, b, c, d]| json!([token([a, b]), token([c, d])]))
        .collect();
    let vocabulary: Map<String, Value> = tokens
        .iter()
        .zip(0..)
        .map(|(&token, id)| (token.to_owned(), Value::from(id)))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": [{
            "id": 50_256, "content": "<|endoftext|>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": true, "special": true,
        }],
        "pre_tokenizer": {
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true,
        },
        "post_processor": {
            "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true,
        },
        "decoder": {
            "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true,
        },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": vocabulary, "merges": merges,
        },
    })
    .to_string()
}
