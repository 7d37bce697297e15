//! Lists the most frequent patterns of each level of a knowledge base, as text.
//!
//! Run: `cargo run --release --example inspect -- kato-kb`

use std::cmp::Reverse;
use std::io::{self, Write};

use kato::prelude::*;

/// Patterns that are listed of each level.
const TOP: usize = 5;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1);
    let path = path.as_deref().unwrap_or("kato-kb");
    let store = EmbeddedStore::open_read_only(path.as_ref())?;
    let kb = kato::open(path)?;
    let mut out = io::stdout().lock();
    for (level, node) in store.nodes().iter().enumerate() {
        let patterns = store.scan_frequencies(level)?;
        let mut patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        // By name where two are as frequent, so that the list is always the same.
        patterns.sort_by_key(|&(name, frequency)| (Reverse(frequency), name));
        writeln!(out, "{node}: {} patterns", patterns.len())?;
        for (name, frequency) in patterns.iter().take(TOP) {
            let tokens = kb
                .unravel(level, name)?
                .tokens()
                .collect::<Vec<_>>()
                .concat();
            // The sign that GPT-2 writes for a blank.
            writeln!(out, "  {frequency} × {:?}", tokens.replace('Ġ', " "))?;
        }
    }
    Ok(())
}
