//! Which options do nothing with which others, by command, beside those that the parser knows to conflict.

use clap::ArgMatches;

use super::{Innermost, Unused, is_given, unless_absent};
use crate::backend::Backend;
use crate::knowledge_base::KnowledgeBaseArgs;
use crate::source::SourceArgs;
use crate::{commands, estimation, training};

/// Returns the first option that does nothing.
pub(super) fn find(innermost: &Innermost<'_>) -> Option<Unused> {
    let (command, matches) = (innermost.path.as_str(), innermost.matches);
    let own = match command {
        "train" | "plan" => training::unused(matches),
        "estimate" => estimation::unused(matches),
        "generate" => commands::generate::unused(matches),
        "analyze" => listed(matches),
        "history plot" => unless_absent(matches, "json", "the answer is the names of the files"),
        "history list" if is_given(matches, "csv") => {
            unless_absent(matches, "json", "--csv writes the table as CSV")
        }
        _ => command
            .strip_prefix("cluster ")
            .and_then(|step| of_a_plan(step, matches)),
    };
    // Ids are those of one command: what several share, the options say that they share.
    own.or_else(|| order(command, matches).filter(|_| innermost.shares::<SourceArgs>()))
        .or_else(|| place(matches).filter(|_| innermost.shares::<KnowledgeBaseArgs>()))
}

/// Finds a number of patterns that are listed in JSON alone, where none is written.
fn listed(matches: &ArgMatches) -> Option<Unused> {
    if matches.get_flag("json") || is_given(matches, "snapshot") {
        return None;
    }
    unless_absent(
        matches,
        "top",
        "it is for --json and --snapshot, which list patterns",
    )
}

/// Finds options of the steps of a cluster that a step has no use for. Working files are for whichever step makes
/// some: scripts name their directory for all.
fn of_a_plan(step: &str, matches: &ArgMatches) -> Option<Unused> {
    const OF_A_GENERATION: [&str; 6] = ["learn", "merge", "seal", "publish", "tag", "status"];
    if step == "forecast" {
        let why = "a forecast needs no plan";
        return unless_absent(matches, "store", why)
            .or_else(|| unless_absent(matches, "generation", why));
    }
    let generation: Option<&String> = matches.get_one("generation");
    let is_last = generation.is_some_and(|generation| generation == "last");
    if OF_A_GENERATION.contains(&step) || is_last {
        return None;
    }
    let why = "it is for learn, merge, seal, publish, tag and status";
    unless_absent(matches, "generation", why)
}

/// Finds options of a shuffled order without one.
fn order(command: &str, matches: &ArgMatches) -> Option<Unused> {
    // They draw documents at random by themselves. A plan does, too, but is of a run that has its own order.
    const DRAWING: [&str; 3] = ["datasets sample", "estimate", "tune"];
    if DRAWING.contains(&command) || is_given(matches, "shuffle") {
        return None;
    }
    ["epoch", "window"]
        .into_iter()
        .find_map(|id| unless_absent(matches, id, "it is for --shuffle"))
}

/// Finds options of a kind of knowledge base that the one that is named is not.
fn place(matches: &ArgMatches) -> Option<Unused> {
    match matches.try_get_one::<Backend>("kb").ok()?? {
        Backend::Embedded(_) => {
            let why = "it is for mongodb, and a directory holds one knowledge base";
            unless_absent(matches, "run", why)
        }
        Backend::Mongodb(_) => {
            let why = "it is for a directory, and a MongoDB has no commit before the newest one";
            unless_absent(matches, "go_back", why).or_else(|| {
                let why = "it is for a directory, and a MongoDB has no segments";
                unless_absent(matches, "rewrite", why)
            })
        }
        Backend::Kato(_) => None,
    }
}

#[cfg(test)]
mod tests;
