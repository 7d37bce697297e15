//! GPT-2 as built in against the same tokenizer read from its `tokenizer.json`: another split and
//! other merging, with the same ids for every text.

use std::sync::LazyLock;

use kato_tokenizer::{HfTokenizer, Tokenizer, gpt2};
use proptest::prelude::*;

use crate::definition::definition;
use crate::text::{Seeded, any_nonsense, corpus, corpus_dir, pieces};

static FROM_JSON: LazyLock<HfTokenizer> = LazyLock::new(|| {
    let tokenizer = gpt2();
    let tokens: Vec<&str> = tokenizer
        .vocabulary()
        .iter()
        .map(|(_, token)| token)
        .collect();
    HfTokenizer::from_json("gpt2", &definition(&tokens)).expect("the definition is sound")
});

fn check(text: &str) {
    let built_in = gpt2().encode(text).expect("GPT-2 encodes any text");
    let from_json = FROM_JSON.encode(text).expect("GPT-2 encodes any text");
    assert_eq!(built_in, from_json, "{text:?}");
}

#[test]
fn identity_is_the_same() {
    let built_in = gpt2();
    assert_eq!(built_in.name(), FROM_JSON.name());
    assert_eq!(built_in.family(), FROM_JSON.family());
    assert_eq!(built_in.fingerprint(), FROM_JSON.fingerprint());
    assert!(
        built_in
            .vocabulary()
            .iter()
            .eq(FROM_JSON.vocabulary().iter())
    );
    for id in 0..50_300 {
        assert_eq!(built_in.is_special(id), FROM_JSON.is_special(id), "{id}");
        assert_eq!(built_in.decode(&[id]), FROM_JSON.decode(&[id]), "{id}");
    }
}

#[test]
fn the_published_file_gives_the_same_tokenizer() {
    let Some(folder) = corpus_dir() else { return };
    let published = HfTokenizer::from_file("gpt2", folder.join("gpt2-tokenizer.json")).unwrap();
    assert_eq!(published.fingerprint(), gpt2().fingerprint());
    assert!(published.vocabulary().iter().eq(gpt2().vocabulary().iter()));
}

#[test]
fn every_character_is_of_the_same_kind() {
    for c in '\0'..=char::MAX {
        check(&format!("{c}'m {c}1 a{c}'m !{c} ! 1{c}'s  {c}"));
    }
}

#[test]
fn every_token_and_its_neighbours() {
    let tokenizer = gpt2();
    for id in 0..50_257 {
        let token = tokenizer.decode(&[id]);
        check(&token);
        check(&format!("{token}{token} {token}s"));
    }
}

#[test]
fn seeded_strings_with_all_of_unicode() {
    let mut text = String::new();
    for seed in 0..300_000 {
        text.clear();
        any_nonsense(&mut Seeded(seed), 12, &mut text);
        check(&text);
    }
}

#[test]
fn real_text() {
    for text in corpus() {
        pieces(&text, 2_000).for_each(check);
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(text in "(\\PC|\\s|[ a-z'<|>]){0,80}") {
        check(&text);
    }

    #[test]
    fn any_ids_decode_the_same(ids in prop::collection::vec(0u32..60_000, 0..30)) {
        prop_assert_eq!(gpt2().decode(&ids), FROM_JSON.decode(&ids));
    }
}
