//! GPT-2 ids against tiktoken, an independent implementation.

use std::time::{Duration, Instant};

use kato_tokenizer::{Tokenizer, gpt2};
use tiktoken_rs::r50k_base_singleton;

use crate::text::{Seeded, corpus, is_settled, nonsense, pieces};

fn check(text: &str, ids: &mut Vec<u32>) {
    ids.clear();
    gpt2()
        .encode_into(text, ids)
        .expect("GPT-2 encodes any text");
    let expected: Vec<u32> = r50k_base_singleton()
        .encode_with_special_tokens(text)
        .into_iter()
        .collect();
    assert_eq!(*ids, expected, "{text:?}");
}

#[test]
fn a_million_seeded_strings() {
    const STRINGS: u64 = 1_000_000;
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let (mut ids, mut text) = (Vec::new(), String::new());
                for seed in (half..STRINGS).step_by(2) {
                    text.clear();
                    nonsense(&mut Seeded(seed), 12, &mut text);
                    check(&text, &mut ids);
                }
            });
        }
    });
}

#[test]
fn every_character_is_of_the_same_kind() {
    let mut ids = Vec::new();
    for c in ('\0'..=char::MAX).filter(|&c| is_settled(c)) {
        check(&format!("{c}'m {c}1 a{c}'m !{c} ! 1{c}'s  {c}"), &mut ids);
    }
}

#[test]
fn real_text_whole_and_in_pieces() {
    let mut ids = Vec::new();
    for text in corpus() {
        check(&text, &mut ids);
        for bytes in [7, 100, 2_000] {
            pieces(&text, bytes).for_each(|piece| check(piece, &mut ids));
        }
    }
}

#[test]
fn very_long_runs_take_no_quadratic_time() {
    let tokenizer = gpt2();
    let mut random = Seeded(1);
    let letters: String = (0..200_000)
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect();
    let runs =
        [" ", "a", "\n", "é", "0", "'s", "\u{0}", "戦", "-"].map(|piece| piece.repeat(200_000));
    for text in runs.iter().chain([&letters]) {
        let start = Instant::now();
        let ids = tokenizer.encode(text).unwrap();
        // Quadratic work on 200,000 symbols would be minutes.
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "{:?}: {:?}",
            &text[..4],
            start.elapsed()
        );
        assert_eq!(tokenizer.decode(&ids), *text);
    }
    let mut ids = Vec::new();
    // The oracle itself is quadratic here, so it sees shorter ones.
    runs.iter()
        .chain([&letters])
        .for_each(|text| check(&text[..text.floor_char_boundary(2_000)], &mut ids));
}
