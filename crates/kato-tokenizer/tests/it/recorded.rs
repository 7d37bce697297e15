//! Tokenizers of all families against Hugging Face's own library, as `tests/data/record.py` recorded it.

use std::fmt::Write;
use std::process::{Command, Stdio};

use kato_test_needs::{in_path, is_thorough, needed};
use kato_tokenizer::{HfTokenizer, Tokenizer};
use serde_json::Value;

/// Compares every text of a recorded definition; returns what differs.
fn differences(line: &str) -> String {
    let record: Value = serde_json::from_str(line).expect("a record is JSON");
    let name = record["name"].as_str().expect("a record has a name");
    let mut found = String::new();
    let tokenizer = match HfTokenizer::from_json(name, &record["definition"].to_string()) {
        Ok(tokenizer) => tokenizer,
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            return format!("{name}: {error}: {source:?}\n");
        }
    };
    let texts = record["texts"].as_array().expect("a record has texts");
    let (mut wrong, mut told) = (0, 0);
    for row in texts {
        let text = row[0].as_str().expect("a text");
        let expected: Option<Vec<&str>> = row[1].as_array().map(|tokens| {
            tokens
                .iter()
                .map(|token| token.as_str().unwrap_or_default())
                .collect()
        });
        let ids = tokenizer.encode(text).ok();
        let tokens: Option<Vec<&str>> = ids.as_ref().map(|ids| {
            ids.iter()
                .map(|&id| tokenizer.vocabulary().get(id).unwrap_or("(no token)"))
                .collect()
        });
        let decoded = ids.map(|ids| tokenizer.decode(&ids));
        let same =
            tokens == expected && (row[2].is_null() || decoded.as_deref() == row[2].as_str());
        if !same {
            wrong += 1;
            if told < 3 {
                told += 1;
                let _ = writeln!(
                    found,
                    "{name}: {text:?}\n  tokens {tokens:?}\n  not    {expected:?}\n  decoded {decoded:?}\n  not     {:?}",
                    row[2].as_str()
                );
            }
        }
    }
    if wrong > 0 {
        let _ = writeln!(found, "{name}: {wrong} of {} texts differ", texts.len());
    }
    found
}

#[test]
fn tokens_are_those_of_hugging_face() {
    let packed = include_bytes!("../data/tokenizers.jsonl.zst");
    let lines = zstd::decode_all(&packed[..]).expect("the records are whole");
    let lines = String::from_utf8(lines).expect("the records are UTF-8");
    assert!(lines.lines().count() >= 60, "there are all families");
    let differences: String = lines.lines().map(differences).collect();
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn tokens_are_those_of_hugging_face_for_as_many_texts_as_wanted() {
    let python = std::env::var_os("KATO_PYTHON")
        .map(Into::into)
        .or_else(|| in_path(&["python3"]));
    let python = python.filter(|python| {
        let mut command = Command::new(python);
        command
            .args(["-c", "import tokenizers"])
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    let missing = "no `tokenizers` in Python: `pip install tokenizers`, or name a Python that has it in KATO_PYTHON";
    let Some(python) = needed(python, missing) else {
        return;
    };
    let texts = match std::env::var("KATO_TOKENIZER_TEXTS") {
        Ok(texts) => texts,
        Err(_) if is_thorough() => "1000".to_owned(),
        Err(_) => "60".to_owned(),
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record.py");
    let output = Command::new(python)
        .args([script, &texts])
        .stderr(Stdio::inherit())
        .output()
        .expect("Python runs");
    assert!(
        output.status.success(),
        "the script ends with {}",
        output.status
    );
    let lines = String::from_utf8(output.stdout).expect("the records are UTF-8");
    assert!(lines.lines().count() >= 60, "there are all families");
    let differences: String = lines.lines().map(differences).collect();
    assert!(differences.is_empty(), "{differences}");
}
