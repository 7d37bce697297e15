//! A small corpus with everything that a run meets: repetition, blank and broken records, and
//! samples that cannot be learned.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::random::Random;

const WORDS: [&str; 28] = [
    "the",
    "sea",
    "and",
    "a",
    "ship",
    "of",
    "salt",
    "at",
    "night",
    "keeper",
    "counts",
    "light",
    "green",
    "book",
    "spring",
    "letters",
    "fog",
    "timber",
    "quiet",
    "red",
    "cover",
    "seventeen",
    "groan",
    "hold",
    "paper",
    "again",
    "one",
    "sum",
];

/// The tokenizer has no word for it, and none for what it does not know.
const UNLEARNABLE: &str = "a gull cries over the harbour";

/// Writes `corpus.jsonl` with this many lines, and `tokenizer.json`.
pub(crate) fn write_corpus_and_tokenizer(dir: &Path, n_records: u64) {
    let mut random = Random::from_seed(7);
    let lines: String = (0..n_records)
        .map(|idx| line(idx, n_records, &mut random) + "\n")
        .collect();
    fs::write(dir.join("corpus.jsonl"), lines).unwrap();
    fs::write(dir.join("tokenizer.json"), tokenizer().to_string()).unwrap();
}

fn line(idx: u64, n_records: u64, random: &mut Random) -> String {
    // A short corpus has one of each, too.
    let place = match (n_records < 38, idx) {
        (false, idx) => idx % 53,
        (true, 3) => 11,
        (true, 6) => 23,
        (true, 9) => 37,
        (true, _) => 0,
    };
    let text = match place {
        11 => return format!(r#"{{"id":"d{idx}","text":"#),
        23 => "  ".to_owned(),
        37 => UNLEARNABLE.to_owned(),
        _ => document(random),
    };
    json!({"id": format!("d{idx}"), "text": text}).to_string()
}

/// A few paragraphs in which some words are much more frequent than others, so that patterns repeat
/// on every level.
fn document(random: &mut Random) -> String {
    let n_paragraphs = 1 + random.below(5);
    let paragraphs: Vec<String> = (0..n_paragraphs).map(|_| paragraph(random)).collect();
    paragraphs.join("\n\n")
}

fn paragraph(random: &mut Random) -> String {
    let n_words = 4 + random.below(40);
    let word = |_| WORDS[(random.next().powi(3) * WORDS.len() as f64) as usize];
    let words: Vec<&str> = (0..n_words).map(word).collect();
    words.join(" ")
}

fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<String, Value> = WORDS
        .iter()
        .zip(0..)
        .map(|(&word, id)| (word.to_owned(), json!(id)))
        .collect();
    json!({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    })
}
