//! GPT-2 as built in.

use crate::tokens_of;
use kato_tokenizer::{Family, Tokenizer, gpt2, load};
use proptest::prelude::*;

fn tokens(text: &str) -> Vec<String> {
    let tokenizer = gpt2();
    tokens_of(&tokenizer, text)
}

#[test]
fn token_strings_are_in_the_tokenizers_own_alphabet() {
    let check = |text, expected: &[&str]| assert_eq!(tokens(text), expected, "{text:?}");
    check("", &[]);
    check("Hello world", &["Hello", "Ġworld"]);
    check(
        "A cat.\n\nTwo  dogs",
        &["A", "Ġcat", ".", "Ċ", "Ċ", "Two", "Ġ", "Ġdogs"],
    );
    check(
        "= Valkyria Chronicles III =\n",
        &["=", "ĠV", "alky", "ria", "ĠChronicles", "ĠIII", "Ġ=", "Ċ"],
    );
    check("Senjō no V", &["Sen", "j", "Åį", "Ġno", "ĠV"]);
    check("it's", &["it", "'s"]);
}

#[test]
fn special_tokens_written_in_the_text_become_their_id_and_none_is_added() {
    let tokenizer = gpt2();
    assert_eq!(
        tokenizer.encode("a<|endoftext|>b").unwrap(),
        [64, 50_256, 65]
    );
    assert!(tokenizer.is_special(50_256));
    assert!(!tokenizer.is_special(64));
    assert_eq!(tokenizer.decode(&[64, 50_256, 65]), "a<|endoftext|>b");
}

#[test]
fn identity_is_stable() {
    let tokenizer = load("gpt2").unwrap();
    assert_eq!(tokenizer.name(), "gpt2");
    assert_eq!(tokenizer.family(), Family::Gpt2);
    assert_eq!(tokenizer.vocabulary().len(), 50_257);
    assert_eq!(
        tokenizer.fingerprint(),
        "e0d47427f5c65105f315d78cbf21745a953adc1e4f9b603c3249f93cd87318cf"
    );
}

#[test]
fn threads_agree() {
    let text = "Robert Boulter is an English film , television and theatre actor .\n".repeat(50);
    let expected = gpt2().encode(&text).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(gpt2().encode(&text).unwrap(), expected));
        }
    });
}

#[test]
fn decoding_keeps_what_is_not_a_token() {
    let tokenizer = gpt2();
    assert_eq!(tokenizer.decode_tokens(&[]), "");
    assert_eq!(
        tokenizer.decode_tokens(&["Åį", "Ġno", "PTRN|00", "ĊĊ"]),
        "ō noPTRN|00\n\n"
    );
    assert_eq!(tokenizer.decode(&[u32::MAX, 64]), "a");
    let half_a_character = tokenizer.vocabulary().id("Å").unwrap();
    assert_eq!(tokenizer.decode(&[half_a_character]), "\u{fffd}");
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(text in ".{0,60}", kept in prop::collection::vec(any::<u32>(), 0..3)) {
        let tokenizer = gpt2();
        let mut ids = kept.clone();
        tokenizer.encode_into(&text, &mut ids).unwrap();
        prop_assert_eq!(&ids[..kept.len()], &kept[..]);
        prop_assert_eq!(tokenizer.decode(&ids[kept.len()..]), text);
    }

    #[test]
    fn texts_of_words_encode_word_by_word(words in prop::collection::vec(" [a-zA-Z]{1,12}", 0..20)) {
        let tokenizer = gpt2();
        let apart: Vec<u32> = words.iter().flat_map(|word| tokenizer.encode(word).unwrap()).collect();
        prop_assert_eq!(tokenizer.encode(&words.concat()).unwrap(), apart);
    }
}
