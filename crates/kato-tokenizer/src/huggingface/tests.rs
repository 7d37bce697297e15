//! Definitions that a stranger made: each is refused by its reason, or costs no more than its budget.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{HfTokenizer, LoadTokenizerError, TokenizeError, Tokenizer};

/// A definition of words, with some parts of its own.
fn with(parts: &Value) -> String {
    let mut definition = json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}},
    });
    for (name, part) in parts.as_object().unwrap() {
        definition[name] = part.clone();
    }
    definition.to_string()
}

/// Returns why a definition is refused.
fn refused(parts: &Value) -> String {
    refused_text(&with(parts))
}

fn refused_text(json: &str) -> String {
    let error = HfTokenizer::from_json("x", json).expect_err("it is refused");
    let LoadTokenizerError::Definition { source, .. } = error else {
        panic!("{error}");
    };
    let mut said = source.to_string();
    let mut source = source.source();
    while let Some(error) = source {
        said += &format!(": {error}");
        source = error.source();
    }
    said
}

fn check(parts: &Value, reason: &str) {
    let said = refused(parts);
    assert!(said.contains(reason), "{said}");
}

fn added(content: &str) -> Value {
    json!({
        "id": 9, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": true, "special": false,
    })
}

#[test]
fn ids_far_beyond_their_number_are_refused() {
    let words = |id: u64| json!({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "far": id}}});
    check(
        &words(1 << 24),
        "`far` has the id 16777216, too far beyond the 2 tokens",
    );
    check(&words(1 << 32), "`far` has no id");
    HfTokenizer::from_json("x", &with(&words((1 << 20) - 1))).expect("a gap is not much");
    // Those of added tokens count for nothing, as with Hugging Face.
    let mut token = added("<far>");
    token["id"] = json!(u32::MAX);
    let tokenizer = HfTokenizer::from_json("x", &with(&json!({"added_tokens": [token]}))).unwrap();
    assert_eq!(tokenizer.encode("a<far>").unwrap(), [1, 3]);
}

#[test]
fn what_is_not_supported_is_named() {
    check(
        &json!({"normalizer": {"type": "Uppercase"}}),
        "the type `Uppercase` is not supported in `normalizer`",
    );
    check(
        &json!({"pre_tokenizer": {"type": "Magic"}}),
        "the type `Magic` is not supported in `pre_tokenizer`",
    );
    check(&json!({"decoder": {"type": "Magic"}}), "in `decoder`");
    check(
        &json!({"model": {"type": "Neural", "vocab": {"a": 0}}}),
        "the type `Neural`",
    );
    check(
        &json!({"normalizer": {"type": "Strip"}}),
        "`strip_left`: true or false",
    );
    check(&json!({"normalizer": {"prepend": "x"}}), "`type`");
    check(&json!({"version": "3.0"}), "format `3.0`");
    let split = |pattern: &str| json!({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false}});
    check(
        &split("(a"),
        "regular expression `(a` in `pre_tokenizer`: at byte 0: there is a `(` without a `)`",
    );
    check(&split(r"(a)\1"), r"`\1` is not supported");
    let bpe = |options: Value| {
        let mut model = json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []});
        for (name, option) in options.as_object().unwrap() {
            model[name] = option.clone();
        }
        json!({"model": model})
    };
    check(&bpe(json!({"dropout": 0.1})), "a dropout");
    check(&bpe(json!({"merges": ["a b"]})), "merge 0 names `ab`");
    check(&bpe(json!({"merges": ["a"]})), "merge 0 is not two tokens");
    check(&bpe(json!({"merges": null})), "`merges`");
    check(&bpe(json!({"vocab": {"a": 0, "b": 0}})), "have the same id");
    check(
        &json!({"added_tokens": [added("x"), added("X")], "normalizer": {"type": "Lowercase"}}),
        "once it is normalized",
    );
    check(
        &json!({"pre_tokenizer": {"type": "FixedLength", "length": 0}}),
        "a length of 0",
    );
    check(
        &json!({"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", 0.0]]}}),
        "`unk_id`",
    );
    check(
        &json!({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA="}}),
        "damaged",
    );
}

#[test]
fn large_and_deep_definitions_are_refused() {
    let lower = json!({"type": "Lowercase"});
    let many: Vec<_> = std::iter::repeat_n(&lower, 65).collect();
    check(
        &json!({"normalizer": {"type": "Sequence", "normalizers": many}}),
        "more than the 64 steps",
    );
    let deep = (0..20).fold(
        lower.clone(),
        |inner, _| json!({"type": "Sequence", "normalizers": [inner]}),
    );
    check(&json!({"normalizer": deep}), "nested deeper than the 16");
    let very_deep = format!(
        r#"{{"normalizer":{}"#,
        r#"{"type":"Sequence","normalizers":["#.repeat(100_000)
    );
    assert!(refused_text(&very_deep).contains("not JSON"));
    check(
        &json!({"normalizer": {"type": "Prepend", "prepend": "x".repeat(5_000)}}),
        "5000 bytes",
    );
    check(
        &json!({"added_tokens": [added(&"x".repeat(70_000))]}),
        "70000 bytes long",
    );
    let tokens: Vec<_> = (0..70_000).map(|n| added(&n.to_string())).collect();
    check(
        &json!({"added_tokens": tokens}),
        "more added tokens than supported",
    );
    let large: Vec<_> = (0..200)
        .map(|n| json!([format!("{n}{}", "x".repeat(60_000)), 0.0]))
        .collect();
    check(
        &json!({"model": {"type": "Unigram", "vocab": large}}),
        "more than the 8388608 supported",
    );
}

#[test]
fn texts_that_normalizers_blow_up_are_errors() {
    let double = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let steps: Vec<_> = std::iter::repeat_n(&double, 60).collect();
    let tokenizer = HfTokenizer::from_json(
        "x",
        &with(&json!({"normalizer": {"type": "Sequence", "normalizers": steps}})),
    )
    .unwrap();
    let mut ids = vec![9];
    let error = tokenizer.encode_into("bab", &mut ids).unwrap_err();
    assert!(
        matches!(&error, TokenizeError::Overrun { bytes: 3, .. }),
        "{error:?}"
    );
    let source = error.source().expect("the budget").to_string();
    assert!(source.contains("16 times as long"), "{source}");
    assert_eq!(ids, [9]);
    // The same definition is of use for other texts.
    assert_eq!(tokenizer.encode("b b").unwrap(), [2, 2]);
    let prepend = json!({"type": "Prepend", "prepend": "x".repeat(4_000)});
    let steps: Vec<_> = std::iter::repeat_n(&prepend, 60).collect();
    let json = with(&json!({"normalizer": {"type": "Sequence", "normalizers": steps}}));
    assert!(
        HfTokenizer::from_json("x", &json)
            .unwrap()
            .encode("a")
            .is_err()
    );
}

#[test]
fn texts_that_take_too_many_steps_are_errors_soon() {
    let within = |json: &str, text: &str| {
        let tokenizer = HfTokenizer::from_json("x", json).unwrap();
        let start = Instant::now();
        let result = tokenizer.encode(text);
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        result
    };
    let split = json!({"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": false});
    let json = with(&json!({"pre_tokenizer": split}));
    let error = within(&json, &"a".repeat(100)).unwrap_err();
    assert!(matches!(error, TokenizeError::Overrun { .. }), "{error:?}");
    let long = "a".repeat(60_000);
    let json = with(&json!({
        "pre_tokenizer": null,
        "model": {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "", "max_input_chars_per_word": 1_u64 << 40,
            "vocab": {"?": 0, "a": 1, format!("{long}b"): 2}},
    }));
    assert!(within(&json, &"a".repeat(1_000_000)).is_err());
    let json = with(&json!({
        "pre_tokenizer": null,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0], ["a", 0.0], [format!("{long}b"), 0.0]]},
    }));
    assert!(within(&json, &"a".repeat(1_000_000)).is_err());
    // Blanks that many added tokens could take are looked through once.
    let mut blank = added(" ");
    blank["rstrip"] = json!(true);
    blank["lstrip"] = json!(true);
    let json = with(&json!({"added_tokens": [blank]}));
    assert_eq!(within(&json, &" ".repeat(2_000_000)).unwrap(), [3]);
    // All ways to merge a word are one queue.
    let json = with(&json!({
        "pre_tokenizer": null,
        "model": {"type": "BPE", "vocab": {"a": 0, "aa": 1, "aaaa": 2}, "merges": ["a a", "aa aa"]},
    }));
    assert_eq!(
        within(&json, &"a".repeat(1_000_000)).unwrap().len(),
        250_000
    );
}

#[test]
fn unknown_words_of_a_closed_vocabulary_are_errors_that_name_them() {
    let json =
        with(&json!({"model": {"type": "WordLevel", "unk_token": "missing", "vocab": {"a": 0}}}));
    let error = HfTokenizer::from_json("x", &json)
        .unwrap()
        .encode("a c")
        .unwrap_err();
    let source = error.source().expect("the word").to_string();
    assert!(source.contains("`c` is unknown"), "{source}");
}
