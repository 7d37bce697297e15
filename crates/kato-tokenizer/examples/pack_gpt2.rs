//! Makes `data/gpt2.json.zst` from GPT-2's `tokenizer.json` (<https://huggingface.co/openai-community/gpt2>):
//! `cargo run --release -p kato-tokenizer --example pack_gpt2 -- tokenizer.json crates/kato-tokenizer/data/gpt2.json.zst`

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else {
        return Err("usage: pack_gpt2 TOKENIZER_JSON OUTPUT".into());
    };
    let definition: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(from)?)?;
    let minified = definition.to_string();
    std::fs::write(to, zstd::bulk::compress(minified.as_bytes(), 22)?)?;
    Ok(())
}
