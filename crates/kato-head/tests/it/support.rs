//! Small hierarchies, trained into any store.

use kato_head::explanation::{Explanation, OrderTerm, Reason};
use kato_head::{Head, HeadOptions, SymbolId};
use kato_learner::plan::{Child, PlannedSymbols};
use kato_learner::{HierarchicalConceptLearner, TextDocument};
use kato_model::{Event, PatternName};
use kato_store::{MemoryStore, PatternStore};
use kato_tokenizer::Whitespace;
use proptest::prelude::*;
use serde_json::json;

pub(crate) const WORDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// One learn call of a document.
pub(crate) struct Call {
    pub(crate) level: usize,
    pub(crate) name: PatternName,
    pub(crate) events: Vec<Event>,
    /// The tokens of the document that it stands for.
    pub(crate) range: std::ops::Range<usize>,
}

/// A document as it is learned.
pub(crate) struct Planned {
    pub(crate) tokens: Vec<String>,
    pub(crate) calls: Vec<Call>,
}

pub(crate) fn learner(chunk_sizes: &[usize]) -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(Whitespace::from_texts(WORDS))
        .with_chunk_sizes(chunk_sizes.iter().copied())
        .with_min_paragraph_chars(0)
        .build()
        .unwrap()
}

pub(crate) fn documents() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(&WORDS[..4]);
    let document = prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "));
    prop::collection::vec(document, 0..6)
}

/// Teaches a store these documents in as many commits as there are documents.
pub(crate) fn teach(
    store: &dyn PatternStore,
    learner: &HierarchicalConceptLearner,
    documents: &[String],
) {
    let mut scratch = learner.new_scratch();
    for document in documents {
        let mut batch = learner.new_batch();
        let text = document.as_str();
        learner.learn(text, &mut batch, &mut scratch).unwrap();
        let staged = store.stage(batch.seal()).unwrap();
        store.commit(vec![staged], json!(null)).unwrap();
    }
}

pub(crate) fn memory_store(
    learner: &HierarchicalConceptLearner,
    documents: &[String],
) -> MemoryStore {
    let store = MemoryStore::new(&learner.node_names(), json!(null));
    teach(&store, learner, documents);
    store
}

/// Returns the learn calls of a document, with the tokens that each stands for.
pub(crate) fn plan(learner: &HierarchicalConceptLearner, document: &str) -> Planned {
    let mut scratch = learner.new_scratch();
    let text = TextDocument {
        text: document,
        ..TextDocument::default()
    };
    let plan = learner.plan(&text, &mut scratch).unwrap();
    let vocabulary = learner.tokenizer().vocabulary();
    let (mut tokens, mut calls) = (Vec::new(), Vec::new());
    // By learn call of the level below, those of one symbol included: name and range.
    let mut below: Vec<(Option<PatternName>, std::ops::Range<usize>)> = Vec::new();
    for level in 0..plan.n_nodes() {
        let mut here = Vec::new();
        for call in plan.calls(level) {
            let start = call.first_token as usize;
            let (symbols, end): (Vec<String>, usize) = match call.symbols {
                PlannedSymbols::Tokens(ids) => {
                    let words = ids.iter().map(|&id| vocabulary.get(id).unwrap().to_owned());
                    let words: Vec<String> = words.collect();
                    tokens.extend(words.iter().cloned());
                    let end = start + words.len();
                    (words, end)
                }
                PlannedSymbols::Children(children) => {
                    let child = |child: &Child| match child {
                        Child::Below(idx) => below[*idx as usize].clone(),
                        other => panic!("{other:?} needs another tail policy"),
                    };
                    let children: Vec<_> = children.iter().map(child).collect();
                    let end = children.last().unwrap().1.end;
                    let name = |name: &Option<PatternName>| name.unwrap().prefixed().to_string();
                    (children.iter().map(|(of, _)| name(of)).collect(), end)
                }
                other => panic!("{other:?}"),
            };
            here.push((call.name, start..end));
            if let Some(name) = call.name {
                calls.push(Call {
                    level,
                    name,
                    events: symbols.iter().map(|symbol| Event::new([symbol])).collect(),
                    range: start..end,
                });
            }
        }
        below = here;
    }
    Planned { tokens, calls }
}

/// Lists the counts of n-grams in an explanation.
pub(crate) fn orders_of(why: &mut Explanation) -> impl Iterator<Item = &mut OrderTerm> {
    why.parts
        .iter_mut()
        .flat_map(|part| match &mut part.reason {
            Reason::Ngrams { orders, .. } => orders.as_mut_slice(),
            _ => &mut [],
        })
}

pub(crate) fn vocabulary() -> Vec<&'static str> {
    WORDS.to_vec()
}

pub(crate) fn head_of(store: &dyn PatternStore, options: &HeadOptions) -> Head {
    Head::from_store_with_vocabulary(store, vocabulary(), options.clone()).unwrap()
}

pub(crate) fn ids(head: &Head, words: &[String]) -> Option<Vec<SymbolId>> {
    words.iter().map(|word| head.symbol(word)).collect()
}

/// Returns what comes next after words, as text and probability of everything, in the order of the
/// vocabulary.
pub(crate) fn distribution(head: &Head, history: &[&str]) -> Vec<f64> {
    let mut read = head.history();
    for word in history {
        head.read(&mut read, word);
    }
    let weights = kato_head::Weights::new();
    let next = head.next(&read, &weights, None);
    let distribution = next.distribution();
    let of = |word: &&str| head.symbol(word).map(|id| distribution.probability(id));
    WORDS.iter().filter_map(of).collect()
}
