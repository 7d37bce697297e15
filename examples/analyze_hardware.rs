//! Finds out what this machine can do, and what a training on it will be bounded by.
//!
//! Run, while nothing else does: `cargo run --release --example analyze_hardware --features
//! hardware -- /data`

use std::io::{self, Write};

use kato::hardware::HardwareAnalyzer;
use kato::hardware::prediction::Workload;

fn main() -> anyhow::Result<()> {
    let directory = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let profile = HardwareAnalyzer::builder()
        .with_directory(directory)
        .with_quick(true)
        .build()?
        .analyze_full();
    // A million documents, patterns of 8 symbols, 4 levels.
    let workload = Workload::of_samples(1_000_000)
        .with_chunk_size(8)
        .with_levels(4);
    let prediction = profile.predict(&workload)?;
    write!(io::stdout(), "{profile}\n{prediction}")?;
    Ok(())
}
