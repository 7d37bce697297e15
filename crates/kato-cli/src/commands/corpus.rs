//! The command `kato corpus`: makes text of any size that resembles a sample, as JSON Lines for
//! tests of scale.
//!
//! Run: `kato corpus --like sample.txt --text-size 100MB --seed 1 --out corpus.jsonl`

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use kato_random::corpus::{CorpusError, CorpusModel, CorpusStats, write_corpus};

use crate::byte_size::ByteSize;
use crate::notice::say;
use crate::numbers::counted;
use crate::writable::{check_replaceable, write_whole};

/// Makes text of any size that resembles a sample.
///
/// Writes one JSON object per line, {"id": "s<seed>-<index>", "text": "..."}, of about 2.1 kB (500
/// GPT-2 tokens) each. The same sample, seed and version give the same bytes on every platform; a
/// smaller corpus is the beginning of a larger one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Text file to resemble; its first 64 MiB are used
    #[arg(long, value_name = "FILE")]
    like: PathBuf,
    /// Size of the corpus, such as 500kB, 100MB or 4GiB; it gets up to one document longer
    #[arg(long = "text-size", alias = "bytes", value_name = "SIZE", value_parser = crate::byte_size::above_zero)]
    bytes: ByteSize,
    /// Number that selects one of many corpora of the same kind
    #[arg(long, value_name = "N")]
    seed: u64,
    /// File to write, overwritten if it exists [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the corpus and says on standard error how large it is.
pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(out) = &args.out {
        check_replaceable("--out", out)?;
    }
    let model = CorpusModel::read(&args.like)
        .with_context(|| format!("no corpus made like {}", args.like.display()))?;
    let started = Instant::now();
    let written = match &args.out {
        // Under its name when it is whole: what a killed process has left is no corpus.
        Some(path) => write_whole(path, |file| {
            Ok(write_corpus(&model, args.seed, args.bytes.0, file)?)
        })
        .with_context(|| format!("--out {} was not written", path.display()))?,
        None => write_to_stdout(&model, args)?,
    };
    let seconds = started.elapsed().as_secs_f64();
    // A corpus of no bytes may take no time that the clock can measure.
    let rate = written.n_bytes as f64 / 1e6 / seconds.max(1e-9);
    let (n_documents, n_bytes) = (written.n_documents, written.n_bytes);
    say(format_args!(
        "{}, {}, {rate:.0} MB/s",
        counted(n_documents, "document"),
        counted(n_bytes, "byte")
    ));
    Ok(())
}

/// Writes the corpus to standard output.
///
/// A reader that closes the pipe has what it wants, as in `kato corpus … | head`: that is no
/// failure.
fn write_to_stdout(model: &CorpusModel, args: &Args) -> Result<CorpusStats> {
    let mut stdout = io::stdout().lock();
    match write_corpus(model, args.seed, args.bytes.0, &mut stdout) {
        Err(CorpusError::Write {
            source,
            n_documents,
            n_bytes,
        }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(CorpusStats {
            n_documents,
            n_bytes,
        }),
        written => Ok(written?),
    }
}
