//! Lists the most frequent patterns of each level of a knowledge base, as text.
//!
//! Run: `cargo run --release -p kato-examples --example inspect -- kato-kb`

use std::cmp::Reverse;
use std::io::Write;
use std::process::ExitCode;

use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

/// Patterns that are listed of each level.
const TOP: usize = 5;

fn main() -> ExitCode {
    run(
        &[("[KB]", "a knowledge base that was trained; kato-kb")],
        inspect,
    )
}

fn inspect(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let path = arguments.or(0, "kato-kb");
    let store = EmbeddedStore::open_read_only(path)?;
    let kb = kato::open(path)?;
    for (level, node) in store.nodes().iter().enumerate() {
        let patterns = store.scan_frequencies(level)?;
        let mut patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        // By name where two are as frequent, so that the list is always the same.
        patterns.sort_by_key(|&(name, frequency)| (Reverse(frequency), name));
        writeln!(out, "{node}: {} patterns", patterns.len())?;
        for (name, frequency) in patterns.iter().take(TOP) {
            writeln!(out, "  {frequency} × {:?}", kb.unravel(level, name)?.text)?;
        }
    }
    Ok(())
}
