//! The learn calls of planned documents, level by level, as the sequences that a server is to
//! learn.

use kato_learner::DocumentPlan;
use kato_learner::plan::{Child, PlannedSymbols};
use kato_protocol::extension::BatchItem;
use kato_tokenizer::Vocabulary;
use serde_json::{Map, Value};

use crate::stock::Item;

/// Appends a document's learn calls to the sequences of each level.
///
/// Calls of one symbol are left out: a server learns nothing from them. Every symbol is an event of
/// its own, as the original observes them.
pub(crate) fn append(
    plan: &DocumentPlan,
    vocabulary: &Vocabulary,
    metadata: &[(&str, &str)],
    levels: &mut [Vec<Item>],
) {
    for (node_idx, items) in levels.iter_mut().enumerate() {
        // Names of the level below, by learn call. A call without a name keeps its place, so that
        // the numbers of the others fit.
        let below: Vec<String> = match node_idx {
            0 => Vec::new(),
            _ => {
                let names = plan.calls(node_idx - 1).map(|call| call.name);
                names
                    .map(|name| name.map_or_else(String::new, |name| name.prefixed().to_string()))
                    .collect()
            }
        };
        for call in plan.calls(node_idx) {
            let Some(name) = call.name else {
                // One symbol is no pattern: KATO answers such a learn with an empty name and stores
                // nothing.
                continue;
            };
            let events = match call.symbols {
                PlannedSymbols::Tokens(ids) => {
                    let token = |&id: &u32| {
                        let token = vocabulary.get(id);
                        token.expect("the learner refuses ids without a token")
                    };
                    ids.iter().map(|id| vec![token(id).to_owned()]).collect()
                }
                PlannedSymbols::Children(children) => {
                    let name = |child: &Child| match child {
                        Child::Below(idx) => below[*idx as usize].clone(),
                        Child::Foreign(name) => name.prefixed().to_string(),
                        // The empty symbol that the original passes up for a chunk of one name.
                        _ => String::new(),
                    };
                    children.iter().map(|child| vec![name(child)]).collect()
                }
                // No other kind is planned.
                _ => Vec::new(),
            };
            let metadata = match call.with_metadata {
                true => text_map(metadata),
                false => Map::new(),
            };
            let item = BatchItem {
                events,
                metadata,
                ..BatchItem::default()
            };
            items.push(Item { name, item });
        }
    }
}

/// Returns pairs as a map of text.
fn text_map(pairs: &[(&str, &str)]) -> Map<String, Value> {
    let entry = |(key, value): &(&str, &str)| ((*key).to_owned(), Value::from(*value));
    pairs.iter().map(entry).collect()
}
