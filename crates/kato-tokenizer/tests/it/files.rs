//! Tokenizer files: both formats, each kind of model, damaged ones, and where they are looked up.

use std::error::Error;
use std::fs;

use crate::tokens_of;
use kato_tokenizer::{
    Family, HfTokenizer, LoadTokenizerError, TokenizeError, Tokenizer, load, load_with_hub_cache,
};
use proptest::prelude::*;

/// Format 1.0, a space-marking BPE that wraps sequences in `<s> </s>` and cuts them at 3.
const MARKED: &str = r#"{"version":"1.0","truncation":{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0},
"padding":null,"added_tokens":[
{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]}}},
"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
"model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,
"byte_fallback":false,"vocab":{"<s>":0,"<unk>":1,"▁":2,"a":3,"b":4,"▁a":5,"ab":6},"merges":["▁ a","a b"]}}"#;

const WORDPIECE: &str = r###"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
"vocab":{"[UNK]":0,"play":1,"##ing":2,"##ed":3,".":4}}}"###;

const UNIGRAM: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":null,"post_processor":null,"decoder":null,
"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<unk>",0.0],["a",-1.0],["b",-1.0],["ab",-1.5]]}}"#;

const WORDLEVEL: &str = r#"{"version":"2.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":null,"decoder":null,
"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":5}}}"#;

fn tokens(json: &str, text: &str) -> Vec<String> {
    let tokenizer = HfTokenizer::from_json("x", json).expect("the file is sound");
    tokens_of(&tokenizer, text)
}

#[test]
fn every_kind_of_model_is_read() {
    assert_eq!(
        tokens(MARKED, "AB a<s>b"),
        ["▁a", "b", "▁a", "<s>", "▁", "b"]
    );
    assert_eq!(
        tokens(WORDPIECE, "Playing played."),
        ["play", "##ing", "play", "##ed", "."]
    );
    assert_eq!(tokens(UNIGRAM, "abb"), ["ab", "b"]);
    assert_eq!(tokens(WORDLEVEL, " a  b c"), ["a", "b", "?"]);
}

#[test]
fn ids_without_a_token_are_gaps() {
    let tokenizer = HfTokenizer::from_json("x", WORDLEVEL).unwrap();
    assert_eq!(tokenizer.vocabulary().len(), 6);
    assert_eq!(tokenizer.vocabulary().get(3), None);
    assert_eq!(tokenizer.vocabulary().iter().count(), 3);
}

#[test]
fn models_that_are_not_byte_level_decode_with_their_own_rules() {
    let decoded = |json, text| {
        let tokenizer = HfTokenizer::from_json("x", json).unwrap();
        tokenizer.decode(&tokenizer.encode(text).unwrap())
    };
    assert_eq!(decoded(WORDPIECE, "Playing."), "playing.");
    assert_eq!(decoded(MARKED, "ab a"), "ab a");
}

#[test]
fn a_path_a_folder_and_the_hub_cache_are_found() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("tokenizer.json");
    fs::write(&file, WORDPIECE)?;
    let by_file = load(file.to_str().unwrap())?;
    let by_folder = load(folder.path().to_str().unwrap())?;
    assert_eq!(by_file.fingerprint(), by_folder.fingerprint());
    assert_eq!(by_file.name(), file.to_str().unwrap());

    let name = "google/bert-mini";
    let cache = folder.path().join("hub");
    assert!(matches!(
        load_with_hub_cache(name, &cache),
        Err(LoadTokenizerError::Unknown { .. })
    ));
    let model = cache.join("models--google--bert-mini");
    fs::create_dir_all(model.join("refs"))?;
    fs::create_dir_all(model.join("snapshots/abc"))?;
    fs::write(model.join("refs/main"), "abc")?;
    fs::write(model.join("snapshots/abc/tokenizer.json"), WORDPIECE)?;
    let cached = load_with_hub_cache(name, &cache)?;
    assert_eq!(cached.name(), name);
    assert_eq!(cached.family(), Family::Bert);
    assert_eq!(load_with_hub_cache("gpt2", &cache)?.name(), "gpt2");
    Ok(())
}

#[test]
fn errors_say_what_to_do() {
    let unknown = load("xlnet-base-cased").unwrap_err().to_string();
    assert!(
        unknown.contains("https://huggingface.co/xlnet-base-cased/resolve/main/tokenizer.json"),
        "{unknown}"
    );
    // Nothing on the Hub has such a name.
    for name in ["", "a b", "a/b/c", "..", "/none"] {
        let unknown = load(name).unwrap_err().to_string();
        assert!(
            unknown.ends_with("; give the path of a tokenizer.json"),
            "{unknown}"
        );
    }
    let damaged = HfTokenizer::from_json("mine.json", "{").unwrap_err();
    assert!(damaged.to_string().contains("mine.json"));
    assert!(
        damaged
            .source()
            .is_some_and(|source| source.to_string().contains("not JSON"))
    );
    let dropout = MARKED.replace(r#""dropout":null"#, r#""dropout":0.1"#);
    assert!(matches!(
        HfTokenizer::from_json("x", &dropout),
        Err(LoadTokenizerError::Definition { .. })
    ));
}

#[test]
fn a_text_without_ids_is_an_error_that_leaves_the_ids_alone() {
    let no_unknown = WORDLEVEL.replace(r#""unk_token":"?""#, r#""unk_token":"missing""#);
    if let Ok(tokenizer) = HfTokenizer::from_json("x", &no_unknown) {
        let mut ids = vec![9];
        let error = tokenizer.encode_into("a c", &mut ids).unwrap_err();
        assert!(matches!(error, TokenizeError::Engine { bytes: 3, .. }));
        assert_eq!(ids, [9]);
    }
}

#[test]
fn the_family_can_be_told() {
    let tokenizer = HfTokenizer::from_json("mine", WORDPIECE).unwrap();
    assert_eq!(tokenizer.family(), Family::Other);
    assert_eq!(tokenizer.with_family(Family::Bert).family(), Family::Bert);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_damaged_file_never_panics(which in 0usize..4, at in any::<prop::sample::Index>(), cut in 0usize..30, with in "[\\[\\]{}:,\"0-9a-z▁-]{0,4}") {
        let json = [MARKED, WORDPIECE, UNIGRAM, WORDLEVEL][which];
        let start = json.floor_char_boundary(at.index(json.len()));
        let end = json.ceil_char_boundary((start + cut).min(json.len()));
        let damaged = format!("{}{with}{}", &json[..start], &json[end..]);
        if let Ok(tokenizer) = HfTokenizer::from_json("damaged", &damaged) {
            let _ = tokenizer.encode("a ab Playing <s> é").map(|ids| tokenizer.decode(&ids));
        }
    }
}
