//! Counts a planned document into a batch.

use kato_model::batch::{BatchSymbol, Occurrence};
use kato_model::{Attributes, FirstSeen, LearnBatch, Metadata, PatternName};

use super::{HierarchicalConceptLearner, LearnScratch, TextDocument};
use crate::LearnError;
use crate::plan::Child;

impl HierarchicalConceptLearner {
    /// Learns one document as [`learn`](Self::learn) does, unless a pattern of it is refused. Then nothing
    /// of it is learned, and the level and the name of the first such pattern are returned.
    ///
    /// A document of any length is planned as a whole.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn learn_unless<'a>(
        &self,
        document: impl Into<TextDocument<'a>>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
        is_refused: impl Fn(usize, &PatternName) -> bool,
    ) -> Result<Option<(usize, PatternName)>, LearnError> {
        let document = document.into();
        let plan = self.plan(&document, scratch)?;
        let refused = (0..plan.n_nodes()).find_map(|level| {
            let mut names = plan.calls(level).filter_map(|call| call.name);
            let refused = names.find(|name| is_refused(level, name));
            refused.map(|name| (level, name))
        });
        if refused.is_none() {
            self.count(&document, batch, scratch);
        }
        Ok(refused)
    }

    /// Counts the plan in the scratch into a batch.
    pub(super) fn count(
        &self,
        document: &TextDocument<'_>,
        batch: &mut LearnBatch,
        scratch: &mut LearnScratch,
    ) {
        let LearnScratch {
            plan,
            occurrences: [below, learned],
            times,
            ..
        } = scratch;
        if self.config.recording.provenance {
            batch.record_document(document.document_idx, document.id);
        }
        // Children refer to the learn calls of the level directly below only, so two buffers that
        // swap at every level are enough.
        below.clear();
        for (node_idx, node) in plan.nodes.iter().enumerate() {
            times.run(Some(node_idx));
            learned.clear();
            for call_idx in 0..node.names.len() {
                let range = node.symbol_range(call_idx);
                if range.len() < 2 {
                    // Nothing is learned from one symbol, and nothing above refers to it. Its place
                    // is filled with any occurrence, because `Child::Below` counts calls, this one
                    // included.
                    learned.extend(learned.last().copied().or(below.last().copied()));
                    continue;
                }
                let name = node.names[call_idx];
                let occurrence = if node_idx == 0 {
                    // A token id is its own literal, so the chunk is handed over as a slice.
                    batch.learn_tokens(name, &plan.tokens[range])
                } else {
                    learn_children(batch, node_idx, name, &node.children[range], below)
                };
                if self.config.recording.provenance {
                    let token_idx = u64::from(node.first_tokens[call_idx]);
                    let seen = FirstSeen {
                        document_idx: document.document_idx,
                        token_idx,
                    };
                    batch.record_first_seen(node_idx, occurrence, seen);
                }
                // The call that carries metadata is the first of its level, as in the original,
                // which sends it with the first event of the first sequence.
                if self.config.recording.metadata && node.metadata_first && call_idx == 0 {
                    batch.attach(node_idx, occurrence, metadata_attributes(document.metadata));
                }
                learned.push(occurrence);
            }
            std::mem::swap(below, learned);
        }
        // The time until the next document belongs to no node.
        times.run(None);
    }
}

/// Counts one learn call above level 0; `below` holds the occurrences of the level below.
fn learn_children(
    batch: &mut LearnBatch,
    node_idx: usize,
    name: PatternName,
    children: &[Child],
    below: &[Occurrence],
) -> Occurrence {
    // Nearly all chunks hold only names from directly below. They are counted without an
    // allocation.
    let is_below = |child: &Child| matches!(child, Child::Below(_));
    if children.iter().all(is_below) {
        let symbols = children.iter().filter_map(|child| match child {
            Child::Below(idx) => Some(BatchSymbol::Child(below[*idx as usize])),
            Child::Foreign(_) | Child::Empty => None,
        });
        return batch.learn(node_idx, name, symbols);
    }
    // Literals are added to the batch before `learn` borrows it, hence the intermediate list. A
    // foreign pattern may be missing from this batch, so it is stored as the text of its name.
    let symbols: Vec<BatchSymbol> = children
        .iter()
        .map(|child| match child {
            Child::Below(idx) => BatchSymbol::Child(below[*idx as usize]),
            Child::Foreign(name) => {
                BatchSymbol::Literal(batch.literal(&name.prefixed().to_string()))
            }
            Child::Empty => BatchSymbol::Literal(batch.literal("")),
        })
        .collect();
    batch.learn(node_idx, name, symbols)
}

/// Returns the attributes of a pattern that carries these pairs as metadata.
pub(super) fn metadata_attributes(pairs: &[(&str, &str)]) -> Attributes {
    let mut metadata = Metadata::default();
    for (key, value) in pairs {
        metadata.insert_text(key, (*value).to_owned(), None);
    }
    Attributes {
        metadata,
        ..Attributes::default()
    }
}
