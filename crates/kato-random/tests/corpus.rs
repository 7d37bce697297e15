//! What a corpus promises: the same bytes everywhere, the size asked for, valid JSON, the sample's
//! words and shape.

use std::collections::HashSet;
use std::io::{self, Write};

use kato_random::corpus::{CorpusError, CorpusModel, CorpusStats, write_corpus};
use serde_json::Value;
use sha1::{Digest, Sha1};

const SAMPLE: &str = r#"The harbour lies quiet at dawn. Boats creak, and "somewhere" a gull complains about the tide.

MARTHA:
Who left the lantern burning?
It was you, I think; the oil\wick is nearly gone.

Nobody answers. The fishermen are asleep, the nets are dry, and 30 baskets stand empty. Nobody answers her at all!

Größe — naïve café, 東京.
"#;

fn corpus(seed: u64, n_bytes: u64) -> (CorpusStats, String) {
    let model = CorpusModel::from_text(SAMPLE).expect("the sample has words");
    let mut out = Vec::new();
    let stats = write_corpus(&model, seed, n_bytes, &mut out).expect("a vector takes every write");
    (stats, String::from_utf8(out).expect("the corpus is text"))
}

fn documents(corpus: &str) -> Vec<Value> {
    corpus
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

#[test]
fn a_seed_gives_the_same_bytes_on_every_platform() {
    let (_, text) = corpus(42, 50_000);
    let hash: String = Sha1::digest(&text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hash, "4699272267f3fb48c0367724296a53853fa9f4ba");
}

#[test]
fn a_smaller_corpus_is_the_beginning_of_a_larger_one_and_seeds_differ() {
    let (_, small) = corpus(42, 20_000);
    let (_, large) = corpus(42, 60_000);
    let (_, other) = corpus(43, 20_000);
    assert!(large.starts_with(&small));
    assert_ne!(documents(&small)[0]["text"], documents(&other)[0]["text"]);
}

#[test]
fn the_size_is_met_within_one_document() {
    for n_bytes in [0, 1, 3_000, 100_000, 1_000_000] {
        let (stats, text) = corpus(5, n_bytes);
        assert_eq!(stats.n_bytes, text.len() as u64);
        assert_eq!(stats.n_documents, text.lines().count() as u64);
        let last = text.lines().last().map_or(0, |line| line.len() as u64 + 1);
        let without_last = stats.n_bytes - last;
        assert!(stats.n_bytes >= n_bytes);
        assert!(without_last < n_bytes || n_bytes == 0);
    }
}

#[test]
fn every_line_is_a_document_of_about_two_kilobytes() {
    let (stats, text) = corpus(1, 500_000);
    for (i, document) in documents(&text).iter().enumerate() {
        assert_eq!(document["id"], format!("s1-{i}"));
        let n_bytes = document["text"].as_str().unwrap().len();
        assert!((900..3_400).contains(&n_bytes), "{n_bytes}");
    }
    let mean = stats.n_bytes / stats.n_documents;
    assert!((1_900..2_300).contains(&mean), "{mean}");
}

#[test]
fn words_paragraphs_and_line_breaks_are_those_of_the_sample_but_for_rare_words() {
    let (_, text) = corpus(1, 200_000);
    let sample: HashSet<_> = SAMPLE.split_whitespace().collect();
    let (mut n_words, mut n_known, mut n_paragraphs, mut n_lines) = (0, 0, 0, 0);
    for document in documents(&text) {
        let text = document["text"].as_str().unwrap();
        assert_eq!(text.trim(), text);
        n_paragraphs += text.split("\n\n").count();
        n_lines += text.lines().filter(|line| !line.is_empty()).count();
        n_words += text.split_whitespace().count();
        n_known += text
            .split_whitespace()
            .filter(|word| sample.contains(word))
            .count();
    }
    let rare = 1.0 - n_known as f64 / n_words as f64;
    assert!(rare > 0.005 && rare < 0.03, "{rare}");
    // The sample has 57 words in 4 paragraphs.
    let mean = n_words / n_paragraphs;
    assert!((12..=18).contains(&mean), "{mean}");
    assert!(n_lines > n_paragraphs);
}

#[test]
fn a_sample_of_one_word_is_enough() {
    let model = CorpusModel::from_text("\"\\").unwrap();
    let mut out = Vec::new();
    write_corpus(&model, 0, 5_000, &mut out).unwrap();
    documents(&String::from_utf8(out).unwrap());
}

#[test]
fn a_full_disk_is_an_error_that_says_how_far_it_came() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let model = CorpusModel::from_text(SAMPLE).unwrap();
    let error = write_corpus(&model, 0, 1_000, &mut Full).unwrap_err();
    assert!(
        matches!(error, CorpusError::Write { n_documents: 1, .. }),
        "{error}"
    );
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"good \xff\xfe words\x00 here").unwrap();
    let model = CorpusModel::read(file.path()).unwrap();
    let mut out = Vec::new();
    write_corpus(&model, 0, 3_000, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains('\u{fffd}'));
}
