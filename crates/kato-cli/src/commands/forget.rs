//! The command `kato forget`: files that are taken out of what was learned.
//!
//! ```text
//! kato forget b.jsonl --kb my-kb
//! kato forget letters/ --kb my-kb --rewrite
//! ```

use std::path::PathBuf;

use anyhow::Result;
use kato_loader::OnBadRecord;
use kato_runs::{Forgotten, forget};
use kato_scheduler::TrainingOptions;
use kato_store::PatternStore;
use serde::Serialize;
use serde_json::Value;

use crate::byte_size::ByteSize;
use crate::indexing;
use crate::inspect::{View, show};
use crate::interrupt::stop_on_interrupt;
use crate::knowledge_base::{Access, DirectoryArgs};
use crate::memory_limit::default_budget;
use crate::numbers::counted;
use crate::patience::patiently;
use crate::remote::{self, Location};
use crate::source::OnBad;
use crate::trained_run::TrainedRun;

/// Takes files out of what a knowledge base has learned, with all that their documents taught, in one commit:
/// it is then that of a training without them, to the last byte of its export, and goes on as such.
///
/// The files are learned once more, so they must be there as they were. Refused (exit code 6) are
/// files that were not learned or have changed, and trainings of which nobody can tell what they
/// would be without them, as with --provenance, --metadata, --hold-out, --sample, --skip, --shard
/// or a mixture, or where learned patterns were removed by other means.
///
/// What goes is passed over from then on, and leaves the files on the disk later; see --rewrite.
/// Occurrences go whole: `kato index --occurrences` makes those of the other documents again.
///
/// With --json the result is one JSON object on standard output: kb, files, documents, tokens, learns (learn
/// calls of each level), had_occurrences, and index, where that of what is left was written, with patterns,
/// bytes and seconds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories and globs, named as in the training.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// What happened in the training to a record that could not be read.
    #[arg(long, value_name = "POLICY", value_enum, default_value = "skip")]
    on_bad: OnBad,
    /// Write the segments again that hold what was forgotten, now or before, so that none has more of it left than
    /// names that others refer to.
    #[arg(long)]
    rewrite: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// What was forgotten, and what went with it.
#[derive(Debug, Serialize)]
struct Outcome {
    kb: String,
    #[serde(flatten)]
    forgotten: Forgotten,
    /// The index of what is left, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Value>,
    #[serde(skip)]
    nodes: Vec<String>,
}

impl View for Outcome {
    fn text(&self, _width: usize) -> String {
        let forgotten = &self.forgotten;
        let documents = counted(forgotten.documents, "document");
        let files = counted(forgotten.files.len(), "file");
        let tokens = counted(forgotten.tokens, "token");
        let mut text = format!("forgot {documents} in {files}, {tokens}\n");
        for (node, &learns) in self.nodes.iter().zip(&forgotten.learns) {
            text += &format!("{node}  {}\n", counted(learns, "learn call"));
        }
        if forgotten.had_occurrences {
            let kb = &self.kb;
            text += &format!(
                "its occurrences are gone: `kato index --kb {kb} --occurrences` keeps those of the other documents\n"
            );
        }
        text
    }
}

/// Runs `kato forget`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let run = TrainedRun::of(args.kb.open(Access::Write)?)?;
    let mut options = TrainingOptions::default();
    options.memory_budget = ByteSize(default_budget()).in_memory();
    options.stop = stop_on_interrupt();
    let stop = options.stop.clone();
    let mut files = run.checkpoint().corpus.files().into_iter();
    let is_remote = files.any(|file| Location::is_location(&file.name));
    let fetcher = is_remote.then(|| remote::fetcher(None)).transpose()?;
    let forgotten = patiently("learning once more what is to be forgotten", || {
        forget(
            run.store(),
            run.learner(),
            &args.sources,
            &options,
            |reading| {
                let stop = stop.clone();
                let reading = reading
                    .on_bad_record(OnBadRecord::from(args.on_bad))
                    .with_interrupt(move || stop.is_stopped());
                match &fetcher {
                    Some(fetcher) => remote::with_fetcher(reading, fetcher),
                    None => reading,
                }
            },
        )
    })?;
    if args.rewrite {
        run.store().drop_deleted()?;
    }
    let outcome = Outcome {
        kb: args.kb.dir.display().to_string(),
        forgotten,
        // The store knows which of its blocks are whole.
        index: indexing::after_change(run.store()),
        nodes: run.store().nodes().to_vec(),
    };
    show(&outcome, args.json)
}
