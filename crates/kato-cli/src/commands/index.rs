//! The command `kato index`: writes the index of a trained knowledge base beside it.
//!
//! ```text
//! kato index --kb my-kb
//! kato index --kb my-kb --memory 1GiB --json
//! kato index --kb my-kb --occurrences
//! ```

use std::path::PathBuf;

use anyhow::{Result, bail};
use indicatif::HumanBytes;
use kato::Preparation;
use kato_prediction::disk::{BuildOptions, BuildReport, IndexPolicy};
use kato_report::figures;
use serde::Serialize;

use crate::byte_size::ByteSize;
use crate::indexing::{WrittenCounts, head_options};
use crate::inspect::{View, show};
use crate::interrupt::{AGAIN, cancel_on_interrupt, is_interrupted};
use crate::knowledge_base::{Access, DirectoryArgs};
use crate::numbers::counted;
use crate::occurrences::{self, Kept};
use crate::patience::Spinner;
use crate::trained_run::TrainedRun;

/// Writes the index of a trained knowledge base beside it, with which it opens in milliseconds.
///
/// `kato train` and other commands leave one where there is much to ask: this writes it where there
/// is little as well, adds what was learned since, and writes it again where it is damaged or too much of it
/// was deleted. Answers are the same without it. One that is whole and holds all is kept.
///
/// The counts of the head are written as well, with which `kato next`, `kato score` and `kato
/// generate --head` open at once.
///
/// With --occurrences every place of the documents is kept as well, for `kato count` and `kato trace`: the
/// corpus is read once more, mostly from near the end of what is kept already, also after `kato train --add`.
///
/// With --json one object on standard output: kb, content (the digest of what was indexed),
/// patterns, bytes, seconds, was_there, head with ngrams, bytes, seconds and was_there, and with
/// --occurrences also occurrences with documents, tokens, bytes, seconds, was_there and missing_lessons (how
/// many learn calls the knowledge base has forgotten).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the training corpus lies now, if it was moved. Default: where it was.
    #[arg(value_name = "INPUT", requires = "occurrences")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Keep every place of the documents as well, in some two bytes a token. Sorting takes some 230 MB of memory,
    /// whatever --memory says, and more where a document has more than some 16 million tokens.
    #[arg(long)]
    occurrences: bool,
    /// Memory for sorting the index and the counts of the head, such as 1GiB; some more comes on top.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = crate::byte_size::memory)]
    memory: ByteSize,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Writes the index and says what became of it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let cancel = cancel_on_interrupt();
    let store = args.kb.open(Access::Read)?;
    let indexing = format!("indexing {}", args.kb.dir.display());
    let spinner = Spinner::new(indexing);
    let sort_bytes = args.memory.in_memory();
    let options = BuildOptions::default()
        .with_sort_bytes(sort_bytes)
        .with_checked_units(true)
        .with_cancel(cancel.clone());
    let counts = head_options(sort_bytes, cancel.clone());
    let mut preparation = Preparation::begin(&store, IndexPolicy::Require, options, counts);
    let built = preparation.write_index();
    let head = built.map(|built| {
        spinner.say(format!("counting the n-grams of {}", args.kb.dir.display()));
        (built, preparation.write_counts())
    });
    let written = head.map_err(anyhow::Error::from).and_then(|(built, head)| {
        let both = built.zip(head?);
        let (built, head) = both.expect("both are required");
        let occurrences = args.occurrences.then(|| {
            let tell = |line| spinner.say(line);
            occurrences::keep(&TrainedRun::of(store)?, &args.inputs, &cancel, tell)
        });
        Ok(Built::new(args, &built, &head, occurrences.transpose()?))
    });
    drop(spinner);
    // What was being written is no concern of who stopped it: all that was there is there still.
    if written.is_err() && is_interrupted() {
        bail!(AGAIN);
    }
    show(&written?, args.json)
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Built {
    kb: String,
    content: String,
    patterns: u64,
    bytes: u64,
    seconds: f64,
    was_there: bool,
    head: WrittenCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrences: Option<Kept>,
}

impl Built {
    fn new(
        args: &Args,
        report: &BuildReport,
        head: &kato::head::disk::CountsReport,
        occurrences: Option<Kept>,
    ) -> Self {
        Self {
            kb: args.kb.dir.display().to_string(),
            content: report.content.to_string(),
            patterns: report.patterns,
            bytes: report.bytes,
            seconds: report.elapsed.as_secs_f64(),
            was_there: report.was_there,
            head: WrittenCounts::of(head),
            occurrences,
        }
    }
}

impl View for Built {
    fn text(&self, _width: usize) -> String {
        let (patterns, bytes) = (counted(self.patterns, "pattern"), HumanBytes(self.bytes));
        let index = match self.was_there {
            true => format!("indexed already: {patterns}, in {bytes}\n"),
            false => {
                let took = figures::seconds(self.seconds);
                format!("indexed {patterns} in {took}, {bytes}\n")
            }
        };
        let (ngrams, bytes) = (
            counted(self.head.ngrams, "n-gram"),
            HumanBytes(self.head.bytes),
        );
        let head = match self.head.was_there {
            true => format!("counted already: {ngrams}, in {bytes}\n"),
            false => {
                let took = figures::seconds(self.head.seconds);
                format!("counted {ngrams} in {took}, {bytes}\n")
            }
        };
        let occurrences = self.occurrences.as_ref().map(Kept::text);
        index + &head + &occurrences.unwrap_or_default()
    }
}
