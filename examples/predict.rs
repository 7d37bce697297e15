//! Asks every level of a knowledge base what a text resembles, and what would come next.
//!
//! Run: `cargo run --release -p kato-examples --example predict -- "Everything that" kato-kb`

use std::io::Write;
use std::process::ExitCode;

use kato::prelude::*;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    let text = ("[TEXT]", "what is observed; \"Everything that\"");
    run(
        &[text, ("[KB]", "a knowledge base that was trained; kato-kb")],
        predict,
    )
}

fn predict(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let text = arguments.or(0, "Everything that");
    let kb = kato::open(arguments.or(1, "kato-kb"))?;
    let activation = kb.activate(text, &ActivationOptions::default())?;
    for level in &activation.levels {
        writeln!(out, "{}: {} events observed", level.node, level.state.len())?;
        for prediction in level.ranked().iter().take(3) {
            // What is still to come of the pattern, down to its tokens.
            let future = kb.unravel_events(level.level, &prediction.future)?.text;
            writeln!(
                out,
                "  {} similarity {:.2}, learned {} times, next {future:?}",
                prediction.name, prediction.similarity, prediction.frequency
            )?;
        }
    }
    Ok(())
}
