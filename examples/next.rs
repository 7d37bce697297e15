//! Asks a knowledge base which token comes next, with which probability, and why.
//!
//! Run: `cargo run --release --example next -- "Everything that" kato-kb`

use std::io::{self, Write};

use kato::prelude::*;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let text = arguments
        .next()
        .unwrap_or_else(|| "Everything that".to_owned());
    let kb = arguments.next();

    // Counts the n-grams inside all patterns, once.
    let head = kato::open_head(kb.as_deref().unwrap_or("kato-kb"), HeadOptions::default())?;
    let mut out = io::stdout().lock();
    let next = head.next(text.as_str(), 5)?;
    for token in &next {
        writeln!(out, "{:.4} {:?}", token.probability, token.text)?;
    }
    let Some(best) = next.first() else {
        return Ok(());
    };
    if let Some(why) = head.explain(text.as_str(), &best.token)? {
        writeln!(out, "{:?} is the sum of", best.text)?;
        for part in &why.parts {
            writeln!(
                out,
                "  {:.4} · {:.4} by {:?}",
                part.weight, part.probability, part.expert
            )?;
        }
    }
    Ok(())
}
