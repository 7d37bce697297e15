//! Continues a text from a knowledge base, and says which pattern every piece is from.
//!
//! Run: `cargo run --release --example generate -- "kato-rs learns" kato-kb`

use std::io::{self, Write};

use kato::prelude::*;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let prompt = arguments
        .next()
        .unwrap_or_else(|| "kato-rs learns".to_owned());
    let kb = kato::open(arguments.next().as_deref().unwrap_or("kato-kb"))?;

    let options = GenerationOptions::default().with_max_tokens(60);
    let generation = kb.generate(prompt.as_str(), &options)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}\n", generation.whole_text)?;
    for span in &generation.spans {
        let (level, name) = (span.level, span.prediction.name);
        writeln!(out, "{:?}: level {level}, pattern {name}", span.text)?;
    }
    writeln!(out, "ended by: {}", generation.end)?;
    Ok(())
}
