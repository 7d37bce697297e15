//! Continues a text from a knowledge base, and says which pattern every piece is from.
//!
//! Run: `cargo run --release -p kato-examples --example generate -- "kato-rs learns" kato-kb`

use std::io::Write;
use std::process::ExitCode;

use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let text = ("[TEXT]", "what is continued; \"kato-rs learns\"");
    run(
        &[text, ("[KB]", "a knowledge base that was trained; kato-kb")],
        generate,
    )
}

fn generate(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let kb = kato::open(arguments.or(1, "kato-kb"))?;
    let options = GenerationOptions::default().with_max_tokens(60);
    let generation = kb.generate(arguments.or(0, "kato-rs learns"), &options)?;
    writeln!(out, "{}\n", generation.whole_text)?;
    for span in &generation.spans {
        let (level, name) = (span.level, span.prediction.name);
        writeln!(out, "{:?}: level {level}, pattern {name}", span.text)?;
    }
    writeln!(out, "ended by: {}", generation.end)?;
    Ok(())
}
