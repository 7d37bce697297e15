//! The command `kato cleanup`: forgets the rare patterns of a knowledge base with regard to the
//! patterns of the node above that refer to them.
//!
//! ```text
//! kato cleanup --kb my-kb --threshold 2 --dry-run
//! kato cleanup --kb my-kb --threshold 2 --references cascade
//! ```

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use kato_evaluation::analysis::cleanup::References;
use kato_evaluation::analysis::{CleanupOptions, CleanupPlan};

use crate::analysis::Cleanup;
use crate::consent::agreed;
use crate::indexing;
use crate::inspect::show;
use crate::knowledge_base::{Access, KnowledgeBaseArgs};
use crate::numbers::counted;
use crate::output::{stdout, unless_reader_gone};

/// Forgets the patterns of a knowledge base that were learned less often than --threshold, in one
/// commit.
///
/// First it shows what would go (except with --json), then it asks. Where standard input is no terminal, it needs
/// --yes.
/// Most patterns of real text are learned once: look before you leap, and keep a copy.
///
/// The position of the training stays: a run that is resumed afterwards goes on where it was, and
/// counts what was forgotten and comes again from one.
///
/// With --json the result is one JSON object on standard output: kb, threshold, references,
/// removed, applied, and nodes, each with node, patterns, learns, below_threshold,
/// kept_by_reference, removed_by_cascade, removed, learns_removed; and index, where that of what is left
/// was written, with patterns, bytes and seconds.
///
/// It is done (exit code 0) also when nothing was to go or the answer was no.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    knowledge_base: KnowledgeBaseArgs,
    /// Forget patterns learned less often than this.
    #[arg(long, value_name = "N", value_parser = crate::numbers::from_one::<u64>)]
    threshold: u64,
    /// What happens where a rare pattern is part of one that stays.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Policy::Keep)]
    references: Policy,
    /// Node that the threshold counts for, such as node0; can be given several times. Default: all.
    #[arg(long = "node", value_name = "NAME")]
    nodes: Vec<String>,
    /// Only show what would go.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Policy {
    /// It stays as well.
    Keep,
    /// Both go, and what they are part of.
    Cascade,
}

/// Plans a clean-up, shows it, and applies it if the user agrees.
pub(crate) fn run(args: &Args) -> Result<()> {
    args.knowledge_base.check("cleanup");
    // A clean-up holds the store for writing from the plan on, so that nothing is learned meanwhile
    // which the plan has not seen. A dry run only reads, also while a training writes.
    let access = if args.dry_run {
        Access::Read
    } else {
        Access::Write
    };
    let store = args.knowledge_base.open(access)?;
    let references = match args.references {
        Policy::Keep => References::Keep,
        Policy::Cascade => References::Cascade,
    };
    let mut options = CleanupOptions::new(args.threshold, references);
    options.nodes = (!args.nodes.is_empty()).then(|| args.nodes.clone());
    let plan = CleanupPlan::new(store.as_ref(), &options)?;
    let mut cleanup = Cleanup::planned(
        args.knowledge_base.to_string(),
        args.threshold,
        references,
        &plan,
    );
    // The question comes after the plan that it is about; with --json there is one object in the
    // end.
    if !args.json {
        // With --yes the patterns are to be forgotten, whoever reads about it.
        unless_reader_gone(show(&cleanup, false))?;
    }
    let question = format!("Forget {}?", counted(cleanup.removed, "pattern"));
    if !args.dry_run && cleanup.removed > 0 && (args.yes || agreed("forget", &question)?) {
        plan.apply(store.as_ref())?;
        cleanup.applied = true;
        drop(store);
        cleanup.index = args.knowledge_base.dir().and_then(indexing::after);
    }
    if args.json {
        return show(&cleanup, true);
    }
    let outcome = match (cleanup.applied, cleanup.removed) {
        (true, _) => "They are gone.",
        (false, 0) => "There is nothing to forget.",
        (false, _) => "Nothing was changed.",
    };
    Ok(writeln!(stdout(), "\n{outcome}")?)
}
