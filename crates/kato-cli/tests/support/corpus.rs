//! A corpus and a tokenizer for `train`.

use std::fs;
use std::io::Write;
use std::path::Path;

use kato_random::corpus::{CorpusModel, write_corpus};
use serde_json::json;

/// What the corpus is like.
const SAMPLE: &str = "A lighthouse keeper counts the ships that pass at night. Some carry timber, some carry salt, and \
one, every third week, carries nothing but letters. He writes their names in a book with a green cover.\n\nWhen the fog \
comes he cannot see the ships, so he listens: the timber ships groan, the salt ships hiss, and the ship of letters is as \
quiet as the paper in its hold. \"Seventeen,\" he writes, \"and perhaps one more.\"\n\nIn spring the book is full. He \
begins another, with a red cover, and counts from one again; nobody has ever asked him for the sum.";

/// Writes `corpus.jsonl` of about `n_bytes`, in which some records are blank and some broken, and
/// `tokenizer.json`.
pub(crate) fn write_corpus_and_tokenizer(dir: &Path, n_bytes: u64) {
    let model = CorpusModel::from_text(SAMPLE).unwrap();
    let mut lines = Vec::new();
    write_corpus(&model, 1, n_bytes, &mut lines).unwrap();
    let mut file = fs::File::create(dir.join("corpus.jsonl")).unwrap();
    for (idx, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
        file.write_all(line).unwrap();
        match idx % 50 {
            7 => writeln!(file, r#"{{"id":"blank","text":"  "}}"#).unwrap(),
            19 => writeln!(file, r#"{{"id":"broken","text":"number {idx}"#).unwrap(),
            _ => {}
        }
    }
    fs::write(dir.join("tokenizer.json"), byte_tokenizer()).unwrap();
}

/// A tokenizer that takes every byte for a token: it loads at once, so that the program is killed
/// at its work.
fn byte_tokenizer() -> String {
    // The visible bytes stand for themselves, the others for the code points from 256 on, as in
    // GPT-2.
    let is_visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut hidden = 256..;
    let symbol = |byte: u8| match is_visible(byte) {
        true => char::from(byte),
        false => hidden.next().and_then(char::from_u32).unwrap(),
    };
    let vocabulary: serde_json::Map<String, serde_json::Value> = (0..=255u8)
        .map(symbol)
        .zip(0..)
        .map(|(symbol, id)| (symbol.to_string(), json!(id)))
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    })
    .to_string()
}
