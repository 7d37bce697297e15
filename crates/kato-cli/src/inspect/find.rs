//! The search for a pattern by what a user types: a name, with or without prefix, or the beginning
//! of one.

use anyhow::{Result, bail};
use kato_model::PatternName;
use kato_model::naming::NAME_PREFIX;
use kato_store::trace::Trace;
use kato_store::{KnowledgeBase, PatternStore};

use crate::exit::bail_as;
use crate::notice;

/// Fewest digits of a name that are looked for.
const MIN_DIGITS: usize = 6;

/// Returns the pattern that `typed` names, traced: from the node if it is given and has it, else
/// from the lowest that has it, which standard error says where a node is given.
///
/// # Errors
///
/// When no node has such a pattern, when the digits are the beginning of several names, and when
/// the store cannot be read.
pub(crate) fn find(store: &dyn PatternStore, node: Option<&str>, typed: &str) -> Result<Trace> {
    let preferred = node
        .map(|node| KnowledgeBase::new(store, node))
        .transpose()?;
    // The preferred node comes twice, which costs a second look only where it lacks the pattern.
    let nodes = || preferred.into_iter().chain(KnowledgeBase::all(store));
    let digits = typed.strip_prefix(NAME_PREFIX).unwrap_or(typed);
    let name = match typed.parse::<PatternName>() {
        Ok(name) => Some(name),
        Err(_) => complete(nodes(), digits)?,
    };
    if let Some(name) = name {
        // One name can be in several nodes, because it is a function of the pattern's content
        // alone.
        for knowledge_base in nodes() {
            if let Some(trace) = knowledge_base.trace(&name)? {
                let preferred = node.filter(|&node| node != trace.node());
                if let Some(node) = preferred {
                    notice::say(format_args!(
                        "{node} has no pattern {typed}: this is that of {}",
                        trace.node()
                    ));
                }
                return Ok(trace);
            }
        }
    }
    bail!(
        "no node has a pattern {typed}; the nodes are {}",
        store.nodes().join(", ")
    );
}

/// Returns the one name that begins with these digits, in the first node that has any.
fn complete<'a>(
    nodes: impl Iterator<Item = KnowledgeBase<'a>>,
    digits: &str,
) -> Result<Option<PatternName>> {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if !(MIN_DIGITS..2 * PatternName::BYTES).contains(&digits.len())
        || !digits.bytes().all(is_digit)
    {
        bail_as!(
            Usage,
            "{digits:?} is no pattern name: give the 40 lower-case hexadecimal digits of one, or at least its first \
             {MIN_DIGITS}"
        );
    }
    for knowledge_base in nodes {
        // Two would show that the digits are ambiguous; four give the message some names.
        let found = knowledge_base.with_name_prefix(digits, 4)?;
        match found.as_slice() {
            [] => {}
            [only] => return Ok(Some(only.name)),
            several => {
                let names: Vec<String> = several
                    .iter()
                    .map(|pattern| pattern.name.to_string())
                    .collect();
                bail_as!(
                    Usage,
                    "several patterns begin with {digits}: {}, …; give more digits",
                    names.join(", ")
                );
            }
        }
    }
    Ok(None)
}
