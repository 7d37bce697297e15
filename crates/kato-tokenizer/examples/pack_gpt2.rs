//! Makes `data/gpt2.merges` from GPT-2's `tokenizer.json` (<https://huggingface.co/openai-community/gpt2>):
//! `cargo run -p kato-tokenizer --example pack_gpt2 -- tokenizer.json
//! crates/kato-tokenizer/data/gpt2.merges`

use std::error::Error;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else {
        return Err("usage: pack_gpt2 TOKENIZER_JSON OUTPUT".into());
    };
    let definition: Value = serde_json::from_str(&std::fs::read_to_string(from)?)?;
    let model = &definition["model"];
    let id = |token: &str| u16::try_from(model["vocab"][token].as_u64()?).ok();
    let mut packed = Vec::new();
    // The 256 bytes come first, then one token for each merge, so that merges say it all.
    for (made, merge) in (256..).zip(model["merges"].as_array().ok_or("no merges")?) {
        let (left, right) = match merge {
            Value::String(merge) => merge.split_once(' '),
            pair => pair[0].as_str().zip(pair[1].as_str()),
        }
        .ok_or("a merge is not a pair")?;
        if id(&format!("{left}{right}")) != Some(made) {
            return Err(format!("the merge of {left} and {right} does not make id {made}").into());
        }
        for part in [left, right] {
            packed.extend(id(part).ok_or("a part has no id")?.to_le_bytes());
        }
    }
    std::fs::write(to, packed)?;
    Ok(())
}
