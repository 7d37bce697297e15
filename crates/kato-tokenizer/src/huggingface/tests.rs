//! The engine against the exact rules beside it.

use std::sync::LazyLock;

use crate::{HfTokenizer, Tokenizer, gpt2};

#[path = "../../tests/it/definition.rs"]
mod definition;

static TOKENIZER: LazyLock<HfTokenizer> = LazyLock::new(|| {
    let tokenizer = gpt2();
    let tokens: Vec<&str> = tokenizer
        .vocabulary()
        .iter()
        .map(|(_, token)| token)
        .collect();
    HfTokenizer::from_json("gpt2", &definition::definition(&tokens)).unwrap()
});

/// Words outside the vocabulary that the engine takes for one of its tokens, because 32 bits of
/// their hashes agree.
const MISTAKEN: [(&str, &[u32]); 3] = [
    ("rdufnkw", &[81, 646, 22_184, 46_265]),
    ("stmbclq", &[301, 2_022, 565, 80]),
    ("Ntnrzwi", &[45, 34_106, 81, 89, 37_686]),
];

#[test]
fn words_that_the_engine_mistakes_for_others_are_encoded_exactly() {
    let tokenizer = &*TOKENIZER;
    for (word, expected) in MISTAKEN {
        let mut raw = Vec::new();
        tokenizer.engine.encode_into(word, &mut raw).unwrap();
        assert_eq!(
            raw.len(),
            1,
            "the engine now gets {word} right: is the check still needed?"
        );
        assert_eq!(tokenizer.encode(word).unwrap(), expected, "{word}");
        assert_eq!(gpt2().encode(word).unwrap(), expected, "{word}");
    }
    let sentence = "a rdufnkw<|endoftext|>stmbclq\n\n";
    let parts = ["a", " rdufnkw", "<|endoftext|>", "stmbclq", "\n\n"];
    let expected: Vec<u32> = parts
        .iter()
        .flat_map(|part| tokenizer.encode(part).unwrap())
        .collect();
    assert_eq!(tokenizer.encode(sentence).unwrap(), expected);
}

#[test]
fn exact_rules_and_engine_agree() {
    let tokenizer = &*TOKENIZER;
    let check = tokenizer.engine.check.as_ref().unwrap();
    let texts = [
        "",
        " ",
        "The quick  brown fox's 1234 jumps!\n\n\tOver\r\n the lazy dog.   ",
        "naïve 戦場のヴァルキュリア3 🦀🦀 \u{0}\u{7f}\u{a0}e\u{301}",
        "<|endoftext|> a<|endoftext|><|endoftext|>b",
        &"a".repeat(5_000),
        &" ".repeat(5_000),
    ];
    for text in texts {
        let mut exact = vec![7];
        check
            .encode_into(&tokenizer.engine.pipeline, text, &mut exact)
            .unwrap();
        let mut fast = vec![7];
        tokenizer.encode_into(text, &mut fast).unwrap();
        assert_eq!(exact, fast, "{text:?}");
        assert_eq!(tokenizer.decode(&fast[1..]), text);
    }
}
