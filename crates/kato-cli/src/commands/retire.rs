//! The commands `kato retire` and `kato purge`: knowledge that is taken back, pattern by pattern.
//!
//! ```text
//! kato retire --kb my-kb 4fcced76b3ddc506df362b9a8c040a592279b586
//! kato retire --kb my-kb --undo 4fcced76b3ddc506df362b9a8c040a592279b586
//! kato purge --kb my-kb
//! ```

use anyhow::Result;
use kato_model::PatternName;
use kato_store::{EmbeddedStore, PatternStore, Tombstones};
use serde::Serialize;
use serde_json::Value;

use crate::consent::agreed;
use crate::exit::bail_as;
use crate::indexing;
use crate::inspect::{View, show};
use crate::knowledge_base::{Access, KnowledgeBaseArgs};
use crate::numbers::counted;
use crate::output::unless_reader_gone;

/// Retires patterns: no prediction shows them from now on, and nobody learns them again. They stay in the
/// knowledge base, and in its counts, with all that they taught, until `kato purge` or `kato cleanup`
/// removes them.
///
/// A NAME is the SHA-1 of a pattern, with or without PTRN|. Without --node it is retired at the lowest node
/// that holds it. Servers and programs that have the knowledge base open see it when they open it again; while
/// one writes to it, this command is refused. A MongoDB has no place for it, and refuses it.
///
/// With --json the result is one JSON object on standard output: kb, applied, changed and unchanged, lists
/// of node and name.
///
/// It is done (exit code 0) also when all of them were retired before.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    knowledge_base: KnowledgeBaseArgs,
    /// Names of patterns.
    #[arg(value_name = "NAME", required = true, value_parser = pattern_name)]
    names: Vec<PatternName>,
    /// Node of the patterns, such as node0; needed to retire what no node holds. Default: the lowest that
    /// holds it, or with --undo the lowest where it is retired.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Take it back: they may be predicted and learned again.
    #[arg(long)]
    undo: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// Removes retired patterns with all that they counted: their counts, those of their symbols, their
/// emotives and metadata, in one commit. Their names stay retired, so nobody learns them again before `kato
/// retire --undo`.
///
/// First it shows what would go (except with --json). Then it asks; where standard input is no terminal, it
/// needs --yes. Patterns of the level above that refer to one keep its name as a symbol, and occurrences keep its
/// places, as they are of documents. What goes leaves the files on the disk later; see --rewrite. Only a copy
/// brings back what is gone. In a MongoDB nothing is retired, and so nothing goes.
///
/// With --json the result is one JSON object on standard output: kb, applied (whether it was done), changed
/// and unchanged, lists of node and name; unchanged are those that are not in the knowledge base; and index,
/// where that of what is left was written, with patterns, bytes and seconds.
///
/// It is done (exit code 0) also when nothing was to go or the answer was no.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    knowledge_base: KnowledgeBaseArgs,
    /// Node whose patterns go, such as node0. Default: all.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Only show what would go.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Write the segments again that hold what was purged, now or before, so that none has more of it left than
    /// its name, where others refer to it.
    #[arg(long, conflicts_with = "dry_run")]
    rewrite: bool,
    /// Print one JSON object to standard output.
    #[arg(long)]
    json: bool,
}

/// The patterns that a command changed, and those that it left as they were.
#[derive(Debug, Serialize)]
struct Changes {
    kb: String,
    /// Whether it was done: false for what was only looked at, or not agreed to.
    applied: bool,
    changed: Vec<Retirement>,
    unchanged: Vec<Retirement>,
    /// The index of what is left, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Value>,
    /// What became of those that changed.
    #[serde(skip)]
    verb: &'static str,
    #[serde(skip)]
    or_else: &'static str,
    /// What is said where both lists are empty.
    #[serde(skip)]
    if_none: String,
}

/// A pattern of a node.
#[derive(Debug, Clone, Serialize)]
struct Retirement {
    node: String,
    name: PatternName,
}

impl View for Changes {
    fn text(&self, _width: usize) -> String {
        let mut text = String::new();
        for (list, what) in [(&self.changed, self.verb), (&self.unchanged, self.or_else)] {
            for Retirement { node, name } in list {
                text.push_str(&format!("{name}  {node}  {what}\n"));
            }
        }
        if text.is_empty() {
            text.push_str(&self.if_none);
            text.push('\n');
        }
        text
    }
}

/// Reads the name of a pattern, with or without its prefix.
fn pattern_name(text: &str) -> Result<PatternName, String> {
    let name = text.parse();
    name.map_err(|_| "it is no name of a pattern: 40 hexadecimal digits".to_owned())
}

/// Sets or removes tombstones.
pub(crate) fn run(args: &Args) -> Result<()> {
    args.knowledge_base.check("retire");
    let store = args.knowledge_base.open(Access::Write)?;
    let before = Tombstones::of_store(&*store)?;
    let mut tombstones = before.clone();
    let (verb, or_else) = match args.undo {
        false => ("retired", "was retired before"),
        true => ("no longer retired", "was not retired"),
    };
    let mut changes = Changes {
        kb: args.knowledge_base.to_string(),
        applied: true,
        changed: Vec::new(),
        unchanged: Vec::new(),
        index: None,
        verb,
        or_else,
        // At least one name is given.
        if_none: String::new(),
    };
    for &name in &args.names {
        // As it was before, so that a name given twice is of the same node.
        let node_idx = node_of(&*store, &before, args, &name)?;
        let is_changed = match args.undo {
            false => tombstones[node_idx].retire(name),
            true => tombstones[node_idx].raise(&name),
        };
        let node = store.nodes()[node_idx].clone();
        let list = match is_changed {
            true => &mut changes.changed,
            false => &mut changes.unchanged,
        };
        list.push(Retirement { node, name });
    }
    if !changes.changed.is_empty() {
        let no_names = vec![Vec::new(); tombstones.len()];
        store.bury(tombstones, &no_names, store.checkpoint())?;
    }
    show(&changes, args.json)
}

/// Finds the node at which a name is to be retired: the lowest that holds it, and where none does, the lowest at
/// which it is retired. To take it back these are looked at first.
fn node_of(
    store: &dyn PatternStore,
    tombstones: &[Tombstones],
    args: &Args,
    name: &PatternName,
) -> Result<usize> {
    if let Some(node) = &args.node {
        return node_idx(store, node);
    }
    let retired = tombstones
        .iter()
        .position(|of_node| of_node.get(name).is_some());
    if args.undo
        && let Some(node_idx) = retired
    {
        return Ok(node_idx);
    }
    for node_idx in 0..tombstones.len() {
        if store.pattern(node_idx, name)?.is_some() {
            return Ok(node_idx);
        }
    }
    match (retired, args.undo) {
        (Some(node_idx), _) => Ok(node_idx),
        (None, false) => bail_as!(
            Usage,
            "no node holds pattern {name}: say --node to retire it all the same"
        ),
        (None, true) => bail_as!(Usage, "pattern {name} is not retired, and no node holds it"),
    }
}

/// Removes what is retired, if the user agrees.
pub(crate) fn purge(args: &PurgeArgs) -> Result<()> {
    args.knowledge_base.check("purge");
    let access = match args.dry_run {
        true => Access::Read,
        false => Access::Write,
    };
    let store = args.knowledge_base.open(access)?;
    let only = args.node.as_ref().map(|node| node_idx(&*store, node));
    let only = only.transpose()?;
    let mut tombstones = Tombstones::of_store(&*store)?;
    let mut names = vec![Vec::new(); tombstones.len()];
    let mut changes = Changes {
        kb: args.knowledge_base.to_string(),
        applied: false,
        changed: Vec::new(),
        unchanged: Vec::new(),
        index: None,
        verb: "to be purged",
        or_else: "not in the knowledge base",
        if_none: String::new(),
    };
    let mut is_any_retired = false;
    for (node_idx, of_node) in tombstones.iter().enumerate() {
        if only.is_some_and(|only| only != node_idx) {
            continue;
        }
        is_any_retired |= !of_node.is_empty();
        names[node_idx].extend(of_node.unpurged());
        for &name in &names[node_idx] {
            let is_held = store.pattern(node_idx, &name)?.is_some();
            let node = store.nodes()[node_idx].clone();
            let list = match is_held {
                true => &mut changes.changed,
                false => &mut changes.unchanged,
            };
            list.push(Retirement { node, name });
        }
    }
    changes.if_none = nothing_to_purge(args.node.as_deref(), is_any_retired);
    if !args.json {
        // With --yes they are to go, whoever reads about it.
        unless_reader_gone(show(&changes, false))?;
    }
    let is_due = names.iter().any(|names| !names.is_empty());
    let question = format!("Purge {}?", counted(changes.changed.len(), "pattern"));
    if is_due && !args.dry_run && (args.yes || agreed("purge", &question)?) {
        for (tombstones, names) in tombstones.iter_mut().zip(&names) {
            names.iter().for_each(|&name| tombstones.purge(name));
        }
        store.bury(tombstones, &names, store.checkpoint())?;
        changes.applied = true;
        if !args.json {
            changes.verb = "purged";
            unless_reader_gone(show(&changes, false))?;
        }
    }
    drop(store);
    if let Some(dir) = args.knowledge_base.dir() {
        // Not where the answer was no.
        let is_wanted = args.rewrite && changes.applied == is_due;
        let is_rewritten = is_wanted && EmbeddedStore::open(dir)?.drop_deleted()?;
        if changes.applied || is_rewritten {
            changes.index = indexing::after(dir);
        }
    }
    match args.json {
        true => show(&changes, true),
        false => Ok(()),
    }
}

/// Says why nothing is to be purged, of one node or of all.
fn nothing_to_purge(node: Option<&str>, is_any_retired: bool) -> String {
    let place = node.map_or_else(String::new, |node| format!(" at {node}"));
    match is_any_retired {
        false => format!("Nothing is retired{place}."),
        true => format!("All that is retired{place} was purged before."),
    }
}

/// Returns the place of a node.
fn node_idx(store: &dyn PatternStore, node: &str) -> Result<usize> {
    let found = store.nodes().iter().position(|name| name == node);
    let Some(found) = found else {
        bail_as!(
            Usage,
            "there is no node {node:?} here; the nodes are {}",
            store.nodes().join(", ")
        );
    };
    Ok(found)
}
