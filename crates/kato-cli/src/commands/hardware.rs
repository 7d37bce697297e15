//! The command `kato hardware`: measures this machine, and predicts the speed of a training on it.
//!
//! ```text
//! kato hardware                       # under a minute
//! kato hardware --quick --json     # under ten seconds
//! kato hardware --mongodb mongodb://127.0.0.1:27017 --server http://127.0.0.1:8000
//! ```

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Error, Result, anyhow};
use kato_hardware::prediction::{Workload, WorkloadStore};
use kato_hardware::step::StepEvent;
use kato_hardware::{Cancellation, HardwareAnalyzer};

use crate::exit::bail_as;
use crate::hardware::{Analysis, show_step};
use crate::inspect::show;
use crate::interrupt::{AGAIN, is_interrupted, on_interrupt};
use crate::meter::Meter;
use crate::numbers::{chunk_size, depth, documents, tokens_a_document};
use crate::writable::check_directory;

/// Finds out what this machine can do, and predicts the speed of a training and what bounds it.
///
/// Looks at processor, memory, limits, disks, graphics processors and network; measures memory,
/// naming, tokenizing, the disk, the embedded store, and a MongoDB and a KATO server where they are
/// given; and rates the machine.
///
/// Every figure says how it was obtained: direct or through a cache, how many observations, how far
/// they spread, what a hypervisor or a quota took meanwhile. What could not be measured is unknown,
/// with the reason. Let nothing else run meanwhile.
///
/// Writes files that are removed again into --directory, and a database of its own, dropped again,
/// into the MongoDB; teaches the KATO server nothing.
///
/// With --json the result is one JSON object on standard output: the machine, benchmarks, rating,
/// predictions; what is unknown is {"unknown": "reason"}.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Measure the disk below this directory.
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Take less than ten seconds, with figures that spread more.
    #[arg(long)]
    quick: bool,
    /// Measure this MongoDB too.
    #[arg(long, value_name = "URI")]
    mongodb: Option<String>,
    /// Measure this KATO server too.
    #[arg(long = "server", alias = "kato", value_name = "URL")]
    kato: Option<String>,
    /// Predict a training of so many documents.
    #[arg(
        long = "documents",
        alias = "samples",
        value_name = "N",
        default_value_t = 1_000_000,
        value_parser = documents
    )]
    samples: u64,
    /// Symbols of a pattern in the training that is predicted.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = chunk_size)]
    chunk_size: usize,
    /// Number of its levels.
    #[arg(
        long = "depth",
        alias = "levels",
        value_name = "N",
        default_value_t = 4,
        value_parser = depth
    )]
    levels: usize,
    /// Tokens of each of its documents.
    #[arg(
        long = "tokens-a-document",
        alias = "tokens",
        value_name = "N",
        default_value_t = 100,
        value_parser = tokens_a_document
    )]
    tokens: u64,
    /// Decides texts and places of the measurements.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// Steps of an analysis without services; a MongoDB and a server are a step each.
const STEPS: u64 = 11;

/// Measures the machine and shows its profile.
pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.directory.is_dir() {
        bail_as!(
            Usage,
            "--directory {}: there is no such directory to measure in",
            args.directory.display()
        );
    }
    check_directory("--directory", &args.directory)?;
    let cancellation = Cancellation::new();
    let cancelling = cancellation.clone();
    on_interrupt("stopping", AGAIN, move || cancelling.cancel());

    let n_steps = STEPS + u64::from(args.mongodb.is_some()) + u64::from(args.kato.is_some());
    // The listener is an `Fn`, so what it changes is behind a lock.
    let meter = Mutex::new((Meter::new(args.quiet), 0));
    let mut analyzer = HardwareAnalyzer::builder()
        .with_directory(&args.directory)
        .with_quick(args.quick)
        .with_seed(args.seed)
        .with_cancellation(cancellation)
        .on_step(move |event| {
            // A poisoned lock costs the display only.
            if let Ok(mut shown) = meter.lock() {
                let (meter, done) = &mut *shown;
                show_step(meter, event, *done, n_steps);
                *done += u64::from(matches!(event, StepEvent::Finished { .. }));
                if *done == n_steps {
                    meter.finish();
                }
            }
        });
    if let Some(uri) = &args.mongodb {
        analyzer = analyzer.with_mongodb(uri);
    }
    if let Some(url) = &args.kato {
        analyzer = analyzer.with_kato(url);
    }
    let profile = analyzer.build()?.analyze_full();
    // A cancelled analysis has a profile, too, in which the rest is unknown.
    if is_interrupted() {
        let left = profile.benchmarks.mongodb.left_behind.as_deref();
        return Err(interrupted(left));
    }

    let workload = Workload::of_samples(args.samples)
        .with_chunk_size(args.chunk_size)
        .with_levels(args.levels)
        .with_tokens_per_sample(args.tokens);
    let mut backends = vec![WorkloadStore::Embedded];
    backends.extend(args.mongodb.as_ref().map(|_| WorkloadStore::MongoDb));
    backends.extend(args.kato.as_ref().map(|_| WorkloadStore::Kato));
    let predictions = backends
        .into_iter()
        .map(|backend| profile.predict(&workload.clone().with_backend(backend)))
        .collect::<Result<Vec<_>, _>>()?;
    let analysis = Analysis {
        profile,
        predictions,
    };
    show(&analysis, args.json)
}

/// Says that the analysis was interrupted, and which database it could not drop.
fn interrupted(left_behind: Option<&str>) -> Error {
    let again = "interrupted before all was measured: give the same command again";
    match left_behind {
        None => anyhow!(again),
        Some(name) => anyhow!("{again}; the database {name} could not be dropped: drop it by hand"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_interrupts_learns_which_database_is_left_behind() {
        assert!(!interrupted(None).to_string().contains("database"));
        let told = interrupted(Some("kato_hardware_1f")).to_string();
        assert!(
            told.ends_with("the database kato_hardware_1f could not be dropped: drop it by hand")
        );
    }
}
