//! The embedded store against general key-value engines, on the work of a training run.
//!
//! ```text
//! cd benches/compare
//! cargo run --release -- --records 5000000
//! ```
//!
//! Every engine gets the same stream of pattern records: 20-byte names, 11 bytes of content and count, a share of repeats that must
//! be counted, one durable commit with a position for each batch. Then come look-ups of random names and one ordered scan.
//! Each engine runs in a process of its own, so that peak memory and bytes written are its own. The counts that the engines
//! hand out at the end must agree. `docs/benchmarks.md` says what was found.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program reports to its user"
)]

mod engine;
mod measure;
mod process;
mod table;
mod workload;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use self::engine::Kind;
use self::measure::{Measurement, measure};
use self::workload::Workload;

/// Measure pattern stores on the work of a training run.
#[derive(Debug, Parser)]
struct Args {
    /// Engines to measure, in this order. Default: all.
    #[arg(long, value_enum, value_delimiter = ',')]
    engines: Vec<Kind>,
    /// Learn calls in all.
    #[arg(long, default_value_t = 5_000_000)]
    records: u64,
    /// Learn calls of one commit.
    #[arg(long, default_value_t = 1_000_000)]
    batch: u64,
    /// Learn calls that repeat an earlier pattern, in per cent.
    #[arg(long, default_value_t = 10)]
    repeats: u64,
    /// Random look-ups after the last commit.
    #[arg(long, default_value_t = 100_000)]
    look_ups: u64,
    /// Seed of the stream.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the stores are made and removed again; on the disk to be measured.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Measure one engine in this process and print one JSON object: what this program starts for each engine.
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let workload = Workload {
        n_records: args.records,
        batch: args.batch.max(1),
        repeat_percent: args.repeats,
        n_look_ups: args.look_ups,
        seed: args.seed,
    };
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    if args.worker {
        let kind = *args
            .engines
            .first()
            .context("--worker needs one of --engines")?;
        let found = measure(kind, &workload, &dir)?;
        println!("{}", serde_json::to_string(&found)?);
        return Ok(());
    }
    let engines = if args.engines.is_empty() {
        Kind::ALL.to_vec()
    } else {
        args.engines.clone()
    };
    print!("{}", table::heading(&workload)?);
    let mut rows: Vec<Measurement> = Vec::new();
    for kind in engines {
        eprintln!("measuring {}", kind.name());
        let row = measure_apart(kind, &args, &dir)?;
        print!("{}", table::row(kind, &row));
        rows.push(row);
    }
    let agree = rows
        .windows(2)
        .all(|pair| pair[0].scanned == pair[1].scanned);
    ensure!(
        agree,
        "the engines disagree on what was learned: {:?}",
        rows.iter().map(|row| row.scanned).collect::<Vec<_>>()
    );
    Ok(())
}

/// Measures one engine in a process of its own.
fn measure_apart(kind: Kind, args: &Args, dir: &std::path::Path) -> Result<Measurement> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--worker", "--engines", &kind.name()])
        .args([
            "--records",
            &args.records.to_string(),
            "--batch",
            &args.batch.to_string(),
        ])
        .args([
            "--repeats",
            &args.repeats.to_string(),
            "--look-ups",
            &args.look_ups.to_string(),
        ])
        .args(["--seed", &args.seed.to_string()])
        .arg("--dir")
        .arg(dir)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "measuring {} failed", kind.name());
    serde_json::from_slice(&output.stdout).context("the measuring process printed something else")
}
