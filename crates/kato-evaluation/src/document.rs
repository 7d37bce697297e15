//! The chunks about which a document asks every level: those that its learn calls would hold.

use kato_learner::DocumentPlan;
use kato_learner::plan::{Child, PlannedCall, PlannedSymbols};
use kato_model::{Event, PatternName};
use kato_tokenizer::Vocabulary;

use crate::distinct_tokens::DistinctTokens;

/// A document that the nodes may never have seen, cut as it would be for learning.
#[derive(Debug, Default)]
pub(crate) struct HeldOutDocument {
    /// All tokens that are in a chunk, each by the lowest id of its string.
    pub(crate) tokens: Vec<u32>,
    /// The chunks of each level, from the bottom up.
    pub(crate) levels: Vec<Vec<Chunk>>,
}

/// The events that would be learned as one pattern; at least two, of one symbol each.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) name: PatternName,
    pub(crate) events: Vec<Event>,
    /// Position of its first token in the document.
    pub(crate) first_token: usize,
}

impl Chunk {
    /// Returns the symbol of an event; `None` behind the last event.
    pub(crate) fn symbol(&self, idx: usize) -> Option<&str> {
        self.events.get(idx)?.symbols().first().map(String::as_str)
    }
}

/// Returns the tokens of a plan, in order, each by the lowest id of its string.
pub(crate) fn plan_tokens(plan: &DocumentPlan, distinct: &DistinctTokens) -> Vec<u32> {
    let mut tokens = Vec::with_capacity(plan.n_tokens());
    for call in plan.calls(0) {
        if let PlannedSymbols::Tokens(ids) = call.symbols {
            tokens.extend(ids.iter().map(|&id| distinct.lowest(id)));
        }
    }
    tokens
}

impl HeldOutDocument {
    /// Creates the document from its plan.
    pub(crate) fn from_plan(
        plan: &DocumentPlan,
        vocabulary: &Vocabulary,
        distinct: &DistinctTokens,
    ) -> Self {
        // Children refer to learn calls by their number, so the names below keep the calls of one
        // symbol, which have none.
        let mut levels = Vec::with_capacity(plan.n_nodes());
        let mut below: Vec<Option<PatternName>> = Vec::new();
        for node_idx in 0..plan.n_nodes() {
            let chunk = |call: PlannedCall<'_>| {
                Some(Chunk {
                    name: call.name?,
                    events: events_of(&call, &below, vocabulary),
                    first_token: call.first_token as usize,
                })
            };
            levels.push(plan.calls(node_idx).filter_map(chunk).collect());
            below = plan.calls(node_idx).map(|call| call.name).collect();
        }
        Self {
            tokens: plan_tokens(plan, distinct),
            levels,
        }
    }
}

/// Returns the symbols of a learn call, one event each.
fn events_of(
    call: &PlannedCall<'_>,
    below: &[Option<PatternName>],
    vocabulary: &Vocabulary,
) -> Vec<Event> {
    let event = |symbol: String| Event::in_given_order(vec![symbol]);
    match call.symbols {
        PlannedSymbols::Tokens(ids) => {
            // The learner refuses ids without a token, so the fallback is not reached.
            let text = |&id: &u32| vocabulary.get(id).unwrap_or_default().to_owned();
            ids.iter().map(text).map(event).collect()
        }
        PlannedSymbols::Children(children) => {
            let name = |child: &Child| match child {
                Child::Below(idx) => below.get(*idx as usize).copied().flatten(),
                Child::Foreign(name) => Some(*name),
                _ => None,
            };
            // The empty symbol stands for a chunk of one name, as in the original.
            let text =
                |child| name(child).map_or_else(String::new, |name| name.prefixed().to_string());
            children.iter().map(text).map(event).collect()
        }
        _ => Vec::new(),
    }
}
