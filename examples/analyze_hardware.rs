//! Finds out what this machine can do, and what a training on it will be bounded by.
//!
//! Run, while nothing else does: `cargo run --release -p kato-examples --example analyze_hardware --features
//! hardware -- /data`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use kato::hardware::HardwareAnalyzer;
use kato::hardware::prediction::Workload;
use kato_examples::{Arguments, Output, run};

fn main() -> ExitCode {
    run(
        &[(
            "[FOLDER]",
            "the folder whose disk is measured; the current one",
        )],
        analyze,
    )
}

fn analyze(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let folder = arguments.or(0, ".");
    std::fs::read_dir(folder).with_context(|| format!("{folder:?} is no folder to measure"))?;
    let profile = HardwareAnalyzer::builder()
        .with_directory(folder)
        .with_quick(true)
        .build()?
        .analyze_full();
    // A million documents, patterns of 8 symbols, 4 levels.
    let workload = Workload::of_samples(1_000_000)
        .with_chunk_size(8)
        .with_levels(4);
    let prediction = profile.predict(&workload)?;
    write!(out, "{profile}\n{prediction}")?;
    Ok(())
}
