//! Asks every level of a knowledge base what a text resembles, and what would come next.
//!
//! Run: `cargo run --release --example predict -- "Everything that" kato-kb`

use std::io::{self, Write};

use kato::prelude::*;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let text = arguments
        .next()
        .unwrap_or_else(|| "Everything that".to_owned());
    let kb = kato::open(arguments.next().as_deref().unwrap_or("kato-kb"))?;

    let activation = kb.activate(text.as_str(), &ActivationOptions::default())?;
    let mut out = io::stdout().lock();
    for level in &activation.levels {
        writeln!(out, "{}: {} events observed", level.node, level.state.len())?;
        for prediction in level.ranked().iter().take(3) {
            // What is still to come of the pattern, down to its tokens.
            let future = kb.unravel_events(level.level, &prediction.future)?;
            let future = future.tokens().collect::<Vec<_>>().concat();
            writeln!(
                out,
                "  {} similarity {:.2}, learned {} times, next {:?}",
                prediction.name,
                prediction.similarity,
                prediction.frequency,
                future.replace('Ġ', " ")
            )?;
        }
    }
    Ok(())
}
