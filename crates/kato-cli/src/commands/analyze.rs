//! The command `kato analyze`: a snapshot of a knowledge base in numbers, or a comparison of two
//! snapshots.
//!
//! ```text
//! kato analyze --kb my-kb
//! kato analyze --kb my-kb --snapshot before.json
//! kato analyze --compare before.json after.json
//! ```

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kato_evaluation::analysis::{Snapshot, SnapshotComparison, SnapshotOptions};

use crate::inspect::show;
use crate::knowledge_base::{Access, KnowledgeBaseArgs};
use crate::patience::Spinner;
use crate::text_file::read_text;
use crate::writable::{check_replaceable, write_text};

/// Takes a snapshot of a knowledge base: how often its patterns were learned, and how its levels
/// are made of each other.
///
/// The first table has a line for each node: patterns, learn calls and how often they were learned.
/// The second has a line for each pair of neighbouring nodes: how many patterns of the lower node
/// are part of those of the upper, and how. None of these numbers is good or bad in itself.
///
/// With --compare two snapshots are compared level by level, and it is told whether they are of the
/// same knowledge, whatever kind of store held it.
///
/// With --json one JSON object on standard output. A snapshot, which is also what --snapshot writes:
/// version, patterns, learns, digest, nodes, links and growth. A comparison: equal, totals and levels.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    knowledge_base: KnowledgeBaseArgs,
    /// How many of the most frequent patterns of each node the snapshot lists, in its JSON.
    #[arg(long = "limit", alias = "top", value_name = "N", default_value_t = 10)]
    top: usize,
    /// Pairs of patterns that the Jaccard index is averaged over.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pairs: usize,
    /// Seed for drawing the pairs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write the snapshot to FILE as JSON as well; FILE is replaced.
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Compare two snapshots instead.
    #[arg(
        long,
        num_args = 2, action = clap::ArgAction::Set,
        value_names = ["BEFORE", "AFTER"],
        conflicts_with_all = ["kb", "run", "top", "pairs", "seed", "snapshot"]
    )]
    compare: Option<Vec<PathBuf>>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Takes a snapshot, or compares two.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some([before, after]) = args.compare.as_deref() {
        let comparison = SnapshotComparison::new(&read(before)?, &read(after)?);
        return show(&comparison, args.json);
    }
    // A comparison opens no knowledge base, so the options of one are not checked.
    args.knowledge_base.check("analyze");
    if let Some(file) = &args.snapshot {
        check_replaceable("--snapshot", file)?;
    }
    let store = args.knowledge_base.open(Access::Read)?;
    let reading = format!("reading {}", args.knowledge_base);
    let spinner = Spinner::new(reading);
    let mut options = SnapshotOptions::default();
    options.top = args.top;
    options.pairs = args.pairs;
    options.seed = args.seed;
    let snapshot = Snapshot::from_store(store.as_ref(), &options)?;
    drop(spinner);
    if let Some(file) = &args.snapshot {
        let json = serde_json::to_string(&snapshot)? + "\n";
        write_text(file, &json)?;
    }
    show(&snapshot, args.json)
}

/// Reads a snapshot from a file.
fn read(file: &Path) -> Result<Snapshot> {
    let text = read_text(file).with_context(|| format!("cannot read {}", file.display()))?;
    Snapshot::from_json(&text).with_context(|| file.display().to_string())
}
