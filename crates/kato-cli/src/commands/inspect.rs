//! The command `kato inspect`: statistics of a knowledge base, histograms, patterns traced down to
//! their tokens, export and import.
//!
//! ```text
//! kato inspect --kb my-kb
//! kato inspect --kb my-kb --pattern b98534b3
//! kato inspect --kb my-kb --node node0 --export node0.jsonl
//! ```

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::error::ErrorKind;
use kato_scheduler::RunConfiguration;
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};

use crate::indexing;
use crate::inspect::{Decoder, Histograms, Overview, PatternView, export, find, import, show};
use crate::interrupt::stop_on_interrupt;
use crate::knowledge_base::{Access, DirectoryArgs};
use crate::occurrences::Lessons;
use crate::patience::Spinner;
use crate::program;

/// Patterns of each node that the overview lists unless told.
const MOST_FREQUENT: usize = 5;

/// Places of a pattern that are listed unless told.
const PLACES: usize = 10;

/// Looks into a knowledge base: how often its patterns were learned, what they say, and what they
/// are made of.
///
/// Without --histogram, --pattern, --export or --import it shows an overview: the run, a table of
/// its nodes, and their most frequent patterns as text. Reading works also while a training process
/// writes, and shows its last commit; --import needs the knowledge base for itself.
///
/// With --json every view is one JSON object on standard output. Overview: kb, complete, salvaged (where a part was
/// lost), server_node (of a server's directory), commits, disk_bytes, bytes_per_pattern, corpus, tokenizer,
/// tokenizer_problem, changed_settings, and nodes, each with node, chunk_size, totals, statistics and top. Histogram:
/// nodes, each with node and statistics, which holds the histogram. Pattern: document, lessons, name, node, frequency,
/// text, first_seen, metadata, emotives and events; a symbol of an event is a string, an object like this one
/// without document and lessons, or {"unknown": name}. lessons, where the knowledge base keeps occurrences (else
/// null), has count, how often its documents teach the pattern, places, as `kato trace` tells them, each with the
/// pattern above, and problem, where they are not to be used. Export into a file: node, exported, file; to standard
/// output it is the patterns alone. Import: node, imported, new_patterns, learns, and index, where one was written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    kb: DirectoryArgs,
    /// Node to look at, such as node0; with --pattern the one to look at first. Default: all; the
    /// lowest for --export and --import.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// How many of the most frequent patterns to list for each node, 5 unless told; with --pattern, of the
    /// places at which documents taught it, 10 unless told, where the knowledge base keeps occurrences
    /// (`kato index --occurrences`).
    #[arg(long, alias = "top", value_name = "N", conflicts_with_all = ["histogram", "export", "import"])]
    limit: Option<usize>,
    /// Draw how many patterns were learned how often.
    #[arg(long, group = "mode")]
    histogram: bool,
    /// Trace a pattern down to its tokens; the first 6 digits of its name are enough if no other
    /// begins with them.
    #[arg(long, value_name = "NAME", group = "mode")]
    pattern: Option<String>,
    /// With --pattern: pass over this many of the places, from the first on.
    // The parser asks for --pattern nowhere where another view forbids it.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "pattern", conflicts_with_all = ["histogram", "export", "import"])]
    after: u64,
    /// Write the patterns of a node to FILE: as Parquet, sorted by name, if its name ends with
    /// .parquet, else as JSON Lines, `-` for standard output. FILE is replaced when all is written.
    #[arg(long, value_name = "FILE", group = "mode")]
    export: Option<PathBuf>,
    /// Add exported patterns from FILE, Parquet if its name ends with .parquet, `-` for standard
    /// input, to a node: frequencies add up. All are added or none.
    #[arg(long, value_name = "FILE", group = "mode")]
    import: Option<PathBuf>,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Shows the view that was asked for, or exports or imports.
pub(crate) fn run(args: &Args) -> Result<()> {
    let to_stdout = args.export.as_deref() == Some(Path::new("-"));
    if to_stdout && args.json {
        let message = "--json and --export - would both write to standard output";
        program::subcommand("inspect")
            .error(ErrorKind::ArgumentConflict, message)
            .exit();
    }
    if let Some(file) = &args.import {
        let stop = stop_on_interrupt();
        // The only view that changes something, and so the only one that needs the store for
        // itself.
        let store = args.kb.open(Access::Write)?;
        let mut imported = import(&one_node(&store, args)?, file, &stop)?;
        drop(store);
        imported.index = indexing::after(&args.kb.dir);
        return show(&imported, args.json);
    }
    let store = args.kb.open(Access::Read)?;
    if let Some(file) = &args.export {
        let stop = stop_on_interrupt();
        let exported = export(&one_node(&store, args)?, file, &stop)?;
        // Standard output has the patterns then, and nothing else.
        return if file == Path::new("-") {
            Ok(())
        } else {
            show(&exported, args.json)
        };
    }
    if let Some(name) = &args.pattern {
        let trace = find(&store, args.node.as_deref(), name)?;
        // A knowledge base of another program has another configuration: its patterns are shown as
        // they are.
        let decoder = Decoder::of(
            RunConfiguration::from_json(store.configuration())
                .ok()
                .as_ref(),
        );
        let lessons = Lessons::of(&args.kb, &trace, args.after, args.limit.unwrap_or(PLACES))?;
        return show(
            &PatternView::of(&trace, lessons, &store, &decoder)?,
            args.json,
        );
    }
    let spinner = Spinner::new(String::new());
    let reading = |node: &str| spinner.say(format!("reading {node}"));
    if args.histogram {
        let histograms = Histograms::of(&store, args.node.as_deref(), reading)?;
        drop(spinner);
        return show(&histograms, args.json);
    }
    let overview = Overview::of(
        &store,
        args.node.as_deref(),
        args.limit.unwrap_or(MOST_FREQUENT),
        reading,
    )?;
    drop(spinner);
    show(&overview, args.json)
}

/// Returns the node to export or import: the one that was named, or the lowest.
fn one_node<'a>(store: &'a EmbeddedStore, args: &Args) -> Result<KnowledgeBase<'a>> {
    Ok(match &args.node {
        Some(node) => KnowledgeBase::new(store, node)?,
        None => KnowledgeBase::at(store, 0)?,
    })
}
